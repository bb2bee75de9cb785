"""Models made small: exported, loaded again, and computing in eight bits."""

import json
import logging

import pytest
import torch
from torch import nn

from nestling import checkpoint
from nestling.checkpoint import export, load, load_model
from nestling.config import embedded
from nestling.errors import CheckpointError, DataError, SettingsError, UnknownNameError
from nestling.evaluation.scores import score
from nestling.nn import int8
from nestling.nn.int8 import Int8Linear
from nestling.packing import pack, unpack
from nestling.run import Run
from nestling.settings import settings_of
from tests.small_runs import corpus, table, trained, transformer, weights


def size_of(folder):
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


@pytest.mark.parametrize(
    ("precision", "most", "nearness"), [("fp32", 1.0, 0.0), ("fp16", 0.6, 1e-3), ("int8", 0.5, 0.05)]
)
def test_exported_models_find_the_same(tmp_path, tiny_transformer, precision, most, nearness):
    settings = table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=6)
    settings["data"]["root"] = str(tmp_path)
    trained(tmp_path, settings)
    export(tmp_path / "run", tmp_path / "small", precision)
    assert size_of(tmp_path / "small") <= most * size_of(tmp_path / "run")
    assert str(tmp_path) not in "".join(file.read_text() for file in (tmp_path / "small").glob("*.json"))
    before, after = load(tmp_path / "run"), load(tmp_path / "small")
    assert any(isinstance(m, Int8Linear) for m in after.model.modules()) == (
        precision == "int8" and int8.is_supported()
    )
    for one, other in zip(before.pipe(corpus()), after.pipe(corpus()), strict=True):
        assert [m.text for m in one.mentions] == [m.text for m in other.mentions]
        for mention, same in zip(one.mentions, other.mentions, strict=True):
            assert mention.score == pytest.approx(same.score, abs=nearness)


def test_eight_bits_do_not_depend_on_batches(tmp_path, tiny_transformer):
    trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=2))
    recognizer = load(tmp_path / "run", precision="int8")
    together = list(recognizer.pipe(corpus()))
    for document, same in zip(corpus(), together, strict=True):
        alone = recognizer(document)
        assert [(m.text, m.label) for m in alone.mentions] == [(m.text, m.label) for m in same.mentions]
        assert [m.score for m in alone.mentions] == pytest.approx([m.score for m in same.mentions], abs=1e-5)


def test_where_eight_bits_are_not_possible_there_is_a_message(tmp_path, tiny_transformer, monkeypatch, caplog):
    trained(tmp_path, table(tmp_path, {"span": {}}, epochs=1), name="plain")
    trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=1))
    monkeypatch.setattr(int8, "is_supported", lambda: False)
    with caplog.at_level(logging.WARNING):
        load(tmp_path / "plain", precision="int8")
        recognizer = load(tmp_path / "run", precision="int8")
    assert not any(isinstance(m, Int8Linear) for m in recognizer.model.modules())
    assert "this model has none" in caplog.messages[0]
    assert "runs in fp32" in caplog.messages[1]


def test_what_a_package_has_is_not_shipped_again(tmp_path):
    folder = embedded()
    encoder = {"parts": [{"kind": "transformer", "frozen": 1}]}
    settings = settings_of(table(tmp_path, {"span": {}}, encoder, epochs=1), "test")
    run = Run(settings, tmp_path / "run")
    checkpoint.save_model(tmp_path / "run", run.built)
    export(tmp_path / "run", tmp_path / "small", "int8")
    assert size_of(tmp_path / "small") < 12e6 < size_of(folder)
    words = "encoder.model.embeddings.word_embeddings.weight"
    assert torch.equal(load_model(tmp_path / "small").model.state_dict()[words], run.built.model.state_dict()[words])


@pytest.mark.parametrize(("precision", "nearness"), [("fp16", 1e-5), ("int8", 2e-4)])
def test_of_known_embeddings_rows_that_changed_are_shipped(tmp_path, precision, nearness):
    settings = settings_of(table(tmp_path, {"span": {}}, {"parts": [{"kind": "transformer", "layers": 0}]}), "test")
    run = Run(settings, tmp_path / "run")
    words = run.built.model.state_dict()["encoder.model.embeddings.word_embeddings.weight"]
    before = words[:10].clone()
    words[2:4] += 0.02 * torch.rand(2, words.shape[1])
    checkpoint.save_model(tmp_path / "run", run.built)
    export(tmp_path / "run", tmp_path / "small", precision)
    assert size_of(tmp_path / "small") < 1e5
    loaded = load_model(tmp_path / "small").model.state_dict()["encoder.model.embeddings.word_embeddings.weight"]
    assert torch.equal(loaded[:2], before[:2])
    assert torch.equal(loaded[4:], words[4:])
    assert torch.allclose(loaded[2:4], words[2:4], atol=nearness, rtol=0)
    assert not torch.equal(loaded[2:4], before[2:4])


@pytest.mark.parametrize(
    "rows", [torch.tensor([0, 4]), torch.tensor([0, -1]), torch.tensor([0]), torch.tensor([0.0, 1.0]), None]
)
def test_rows_that_do_not_fit_are_refused(rows):
    added = {} if rows is None else {"e": torch.ones(2, 3), "e.rows": rows.int() if rows.dtype == torch.long else rows}
    packed = added or {"e.rows": torch.tensor([0, 1], dtype=torch.int32)}
    with pytest.raises(CheckpointError, match="rows of e"):
        unpack(packed, ["e"], {"e": torch.zeros(4, 3)})


def test_a_model_without_a_transformer_is_stored_in_eight_bits_and_computed_in_full(tmp_path, caplog):
    trained(tmp_path, table(tmp_path, {"span": {}}, epochs=1))
    export(tmp_path / "run", tmp_path / "half", "fp16")
    export(tmp_path / "run", tmp_path / "small", "int8")
    assert size_of(tmp_path / "small") < 0.65 * size_of(tmp_path / "half")
    with caplog.at_level(logging.WARNING):
        weights = load(tmp_path / "small").model.state_dict()
    assert not caplog.messages
    for name, full in load(tmp_path / "run").model.state_dict().items():
        assert torch.allclose(weights[name], full, atol=float(full.abs().max()) / 60, rtol=0)
    with pytest.raises(UnknownNameError, match="precision"):
        load(tmp_path / "small", precision="fp16")


@pytest.mark.parametrize(
    "change", [{"hidden_act": "nope"}, {"num_attention_heads": 0}, {"hidden_size": "x"}, {"vocab_size": 0}]
)
def test_transformers_from_anybody(tmp_path, tiny_transformer, change):
    trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=1))
    config, manifest = tmp_path / "run" / "transformer" / "config.json", tmp_path / "run" / "manifest.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change))
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"files": {}}))
    with pytest.raises(CheckpointError):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    "change",
    [{"heads": {"span": {"widest": 10**14}}}, {"encoder": {"parts": [{"kind": "affixes", "rows": 10**14}]}}],
)
def test_settings_that_would_fill_the_memory(tmp_path, change):
    trained(tmp_path, table(tmp_path, {"span": {}}, epochs=1))
    path = tmp_path / "run" / "settings.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(SettingsError, match="less than or equal to"):
        load(tmp_path / "run")


def test_an_export_does_not_say_where_clusters_lay(tmp_path):
    (tmp_path / "brown.txt").write_text("01\tRome\t9\n10\tAnn\t3\n")
    parts = [{"kind": "clusters", "source": str(tmp_path / "brown.txt")}]
    trained(tmp_path, table(tmp_path, {"span": {}}, {"parts": parts}, epochs=1))
    export(tmp_path / "run", tmp_path / "small", "fp16")
    assert load_model(tmp_path / "small").settings.encoder.parts[0].source == "brown.txt"


def test_weights_that_are_not_finite(tmp_path, tiny_transformer):
    run, _ = trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=1))
    weights = {name: weight.clone() for name, weight in run.built.model.state_dict().items()}
    next(weight for name, weight in weights.items() if "query.weight" in name).fill_(float("nan"))
    checkpoint.save_weights(tmp_path / "run", weights)
    with pytest.raises(CheckpointError, match="not finite"):
        load(tmp_path / "run", precision="int8")


def test_damage_is_told(tmp_path, tiny_transformer):
    trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=1))
    export(tmp_path / "run", tmp_path / "small", "int8")
    with pytest.raises(DataError, match="is there already"):
        export(tmp_path / "run", tmp_path / "small", "int8")
    manifest = json.loads((tmp_path / "small" / "manifest.json").read_text())
    changes = [
        ({"borrowed": ["x"]}, "embedded encoder"),
        ({"borrowed": 3}, "is damaged"),
    ]
    if int8.is_supported():
        changes += [({"ranges": ranges}, "in int8") for ranges in ([], 3, [{"encoder": ["a", 1]}])]
    for change, message in changes:
        (tmp_path / "small" / "manifest.json").write_text(json.dumps(manifest | change))
        with pytest.raises(CheckpointError, match=message):
            load(tmp_path / "small")


def test_levels_without_scales_are_refused():
    with pytest.raises(CheckpointError, match="the scales of w are missing"):
        unpack({"w": torch.ones(2, 3, dtype=torch.int8)}, [], {})


def test_the_mean_of_models_that_began_alike(tmp_path):
    """The same first weights, another order of learning, and more of it."""
    for order in (1, 2):
        trained(tmp_path, table(tmp_path, {"span": {}}, epochs=20 + order, order=order), name=f"run-{order}")
    checkpoint.average([tmp_path / "run-1", tmp_path / "run-2"], tmp_path / "mean")
    one, two, mean = (weights(tmp_path / name) for name in ("run-1", "run-2", "mean"))
    assert any(not torch.equal(one[name], two[name]) for name in one)
    assert all(torch.allclose(mean[name], (one[name] + two[name]) / 2) for name in mean)
    assert score(corpus(), load(tmp_path / "mean").pipe(corpus())).strict.f1 > 90


def test_models_that_began_otherwise_have_no_mean(tmp_path):
    for seed in (1, 2):
        trained(tmp_path, table(tmp_path, {"span": {}}, epochs=1, seed=seed), name=f"run-{seed}")
    with pytest.raises(CheckpointError, match=r"run-2 was not begun as .*run-1 was"):
        checkpoint.average([tmp_path / "run-1", tmp_path / "run-2"], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_rows_that_changed_little_are_borrowed_and_of_pieces_more_than_of_layers():
    known = {name: torch.ones(4, 8) for name in ("embeddings.word_embeddings.weight", "dense.weight")}
    shares = torch.tensor([0.0, 0.01, 0.03, 0.05]).unsqueeze(1)  # by which a row changed
    model = nn.ModuleDict({"dense": nn.Linear(8, 4, bias=False)})
    model["embeddings"] = nn.ModuleDict({"word_embeddings": nn.Embedding(4, 8)})
    model.load_state_dict({name: weight + shares for name, weight in known.items()})
    packed, borrowed = pack(model, "int8", known)
    assert set(borrowed) == set(known)
    rows = {name: packed[f"{name}.rows"].tolist() for name in known}
    assert rows == {"embeddings.word_embeddings.weight": [3], "dense.weight": [2, 3]}
    weights = unpack(packed, borrowed, known)
    assert torch.allclose(weights["dense.weight"][2:], torch.ones(2, 8) + shares[2:], atol=1e-3)
    assert torch.equal(weights["dense.weight"][:2], torch.ones(2, 8))
