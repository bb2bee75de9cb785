"""train, evaluate and predict, as a user types them."""

import io
import json
import subprocess
import sys

import pytest

from nestling.data.formats import read
from nestling.settings import load_settings
from tests.apps.test_cli import nestling  # noqa: F401
from tests.conftest import ROOT

GOLD = ROOT / "examples" / "corpus" / "gold.jsonl"
CONFIG = f"""
[data]
train = "{GOLD}"
dev = "{GOLD}"
[[encoder.parts]]
kind = "affixes"
[encoder.top]
kind = "convolutions"
size = 32
layers = 2
[heads.span]
[training]
epochs = 25
batch_size = 3
head_rate = 0.02
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(CONFIG)
    return path


def test_train_evaluate_and_predict(nestling, config, tmp_path, monkeypatch):  # noqa: F811
    code, output, errors = nestling("train", config, "--out", tmp_path / "run")
    assert code == 0
    assert "dev strict F1" in output
    assert "ε = 8; 0 of 34 entities of train are longer" in errors
    told = (tmp_path / "run" / "README.md").read_text()
    assert "Best strict F1 on dev" in told
    assert "Trained on gold.jsonl" in told  # not where it lies
    code, output, _ = nestling("evaluate", tmp_path / "run", GOLD, "--json")
    assert (code, json.loads(output)["strict"]["f1"] > 80) == (0, True)
    (tmp_path / "other.jsonl").write_text('{"tokens": ["Ann"], "entities": [{"fragments": [[0, 1]], "label": "ZZZ"}]}')
    assert (
        "does not have count as missed: ZZZ (1)" in nestling("evaluate", tmp_path / "run", tmp_path / "other.jsonl")[2]
    )
    code, output, _ = nestling("predict", "-m", tmp_path / "run", "Ines Calder ran Eastmere.", "It rained.")
    first, second = map(json.loads, output.splitlines())
    assert (code, first["text"], second["id"]) == (0, "Ines Calder ran Eastmere.", "1")
    (tmp_path / "in.txt").write_text("Ines Calder ran.\n\nIt rained.\n")
    assert len(nestling("predict", "-m", tmp_path / "run", "-i", tmp_path / "in.txt")[1].splitlines()) == 2
    assert len(nestling("predict", "-m", tmp_path / "run", "-i", GOLD, "--threshold", "1")[1].splitlines()) == 6
    (tmp_path / "in.jsonlines").write_text('{"id": "one", "text": "Ines Calder ran."}\n')
    assert json.loads(nestling("predict", "-m", tmp_path / "run", "-i", tmp_path / "in.jsonlines")[1])["id"] == "one"


@pytest.mark.parametrize(
    ("typed", "texts"),
    [
        (b"\xef\xbb\xbfIt rained.\r\n\r\nAnn ran.\r\n", ["It rained.", "Ann ran."]),
        (b'{ "id": 0, "text": "It rained."}\n', ["It rained."]),
        (b'\n{"tokens": ["Ann", "ran"], "entities": [{"fragments": [[0, 1]], "label": "X"}]}\n', ["Ann ran"]),
    ],
)
def test_standard_input_is_read_as_files_are(nestling, monkeypatch, typed, texts):  # noqa: F811
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(typed))))
    code, output, _ = nestling("predict", "-m", "de-general", "-i", "-")
    assert (code, [json.loads(line)["text"] for line in output.splitlines()]) == (0, texts)


def test_standard_input_that_is_no_text(nestling, monkeypatch):  # noqa: F811
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"It rained.\n\xff\n"))))
    code, _, errors = nestling("predict", "-m", "de-general", "-i", "-")
    assert (code, "-:2: not UTF-8 (byte 0xff)" in errors) == (2, True)


def test_models_that_have_a_name_are_not_changed(nestling):  # noqa: F811
    for words in (["tune-decoding", "de-general", GOLD], ["card", "de-general", "--test", GOLD]):
        code, _, errors = nestling(*words)
        assert (code, "nestling export de-general --out mine" in errors) == (2, True)


def test_two_stages_are_inspected_and_tuned(nestling, config, tmp_path):  # noqa: F811
    run = tmp_path / "run"
    config.write_text(CONFIG.replace("[heads.span]", "[heads.two_stage]\nwindows = [1, 2, 4]\ndropout = 0.1"))
    code, _, _ = nestling("train", config, "--out", run)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert (code, rows[-1]["inside"]["gold near a seed"]) == (0, pytest.approx(33 / 34, abs=0.03))
    code, output, _ = nestling("inspect", run, GOLD, "--json")
    groups = json.loads(output)["groups"]
    assert (code, groups["lengths enumerated"]["gold"] + groups["lengths never enumerated"]["gold"]) == (0, 36)
    code, output, _ = nestling("inspect", run, GOLD, "--cases", 2)
    assert (code, "Inside the head" in output, "never enumerated" in output) == (0, True, True)
    before = json.loads(nestling("evaluate", run, GOLD, "--json")[1])["strict"]["f1"]
    code, output, _ = nestling("tune-decoding", run, GOLD, "--json", "--dry-run")
    told = json.loads(output)
    ways = {way["way"]: way for way in told["ways"]}
    assert list(ways) == ["as it is", "one threshold", "expected F1", "soft-NMS"]
    assert ways["as it is"]["f1"] == pytest.approx(before, abs=1e-3)
    assert ways["soft-NMS"]["f1"] >= ways["one threshold"]["f1"] >= before - 1e-3  # on what they were fitted to
    assert json.loads(nestling("evaluate", run, GOLD, "--json")[1])["strict"]["f1"] == before
    assert nestling("tune-decoding", run, GOLD, "--answer", "two_stage")[0] == 2  # a model keeps one decoding
    assert nestling("tune-decoding", run, GOLD)[0] == 0
    after = json.loads(nestling("evaluate", run, GOLD, "--json")[1])["strict"]["f1"]
    assert after == pytest.approx(ways[told["taken"]]["f1"], abs=1e-3)


def test_the_mean_of_two_models(nestling, config, tmp_path):  # noqa: F811
    runs = [tmp_path / f"run-{order}" for order in (1, 2)]
    for order, run in enumerate(runs, 1):
        assert nestling("train", config, "--out", run, "--set", f"training.order={order}")[0] == 0
    code, output, _ = nestling("average", *runs, "--out", tmp_path / "mean")
    assert (code, "the mean of 2 models" in output) == (0, True)
    assert json.loads(nestling("evaluate", tmp_path / "mean", GOLD, "--json")[1])["strict"]["f1"] > 50
    assert nestling("average", runs[0], "--out", tmp_path / "alone")[0] == 2
    assert nestling("train", config, "--out", tmp_path / "other", "--set", "training.seed=1")[0] == 0
    code, _, errors = nestling("average", runs[0], tmp_path / "other", "--out", tmp_path / "no")
    assert (code, "was not begun as" in errors) == (2, True)


def test_text_first(nestling, tmp_path, tiny_transformer):  # noqa: F811
    """Hidden words before entities, as a user sees it."""
    path = tmp_path / "first.toml"
    parts = f'[[encoder.parts]]\nkind = "transformer"\nmodel = "{tiny_transformer}"\n[pretraining]\nepochs = 2\n'
    path.write_text(CONFIG.replace('[[encoder.parts]]\nkind = "affixes"\n', parts, 1))
    code, output, errors = nestling("train", path, "--out", tmp_path / "run", "--set", "training.epochs=1")
    assert (code, "dev strict F1" in output) == (0, True)
    assert errors.count("pretraining, epoch") == 2
    assert "hidden pieces guessed" in errors


def test_given_spans(nestling, config, tmp_path):  # noqa: F811
    run = tmp_path / "run"
    config.write_text(CONFIG.replace("[heads.span]", "[heads.fragments]\nnegatives = 0\nsize = 16"))
    assert nestling("train", config, "--out", run, "--set", "training.epochs=30")[0] == 0
    code, output, _ = nestling("evaluate", run, GOLD, "--given-spans", "--json")
    found = json.loads(output)
    assert (code, found["continuous"], found["discontinuous"]) == (0, 34, 2)
    assert found["given_spans_accuracy"] > 80
    assert "no NER F1" in nestling("evaluate", run, GOLD, "--given-spans", "--out", tmp_path / "given.jsonl")[1]
    gold, labelled = read(GOLD), list(read(tmp_path / "given.jsonl"))
    pairs = [
        (e, g) for d, truth in zip(labelled, gold, strict=True) for e, g in zip(d.mentions, truth.mentions, strict=True)
    ]
    right = sum(e.label == g.label for e, g in pairs)
    assert right == found["continuous_right"] + found["discontinuous_right_joined"]
    assert all(max(e.probabilities, key=e.probabilities.get) == e.label for e, _ in pairs)
    nestling("evaluate", run, GOLD, "--out", tmp_path / "found.jsonl")
    code, output, _ = nestling("analyze", GOLD, tmp_path / "found.jsonl", tmp_path / "given.jsonl", "--json")
    assert (code, set(json.loads(output)["models"])) == (0, {"found", "given"})


def test_seeds(nestling, config, tmp_path):  # noqa: F811
    code, output, _ = nestling(
        "train", config, "--out", tmp_path / "runs", "--seeds", 2, "--set", "training.epochs=2", "--json"
    )
    assert (code, [row["seed"] for row in json.loads(output)]) == (0, [0, 1])
    code, output, _ = nestling(
        "train", config, "--out", tmp_path / "runs", "--seeds", 2, "--set", "training.epochs=2", "--resume"
    )
    assert (code, "± " in output) == (0, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "none.toml"], "none.toml: cannot be read"),
        (["train", "{config}", "--set", "training.epoch=3"], "unknown key 'training.epoch'; did you mean 'epochs'?"),
        (["train", "{config}", "--set", "x"], "write key=value"),
        (["train", "{config}", "--set", "training.epochs.x=3"], "'x' stands in no table"),
        (["train", "{config}", "--set", "encoder.parts.1.size=3"], "no '1' in a list of 1"),
        (["train", "{config}", "--set", "encoder.parts.0.sise=3"], "did you mean 'size'?"),
        (["train", "{config}", "--set", "data.train=none.jsonl"], "none.jsonl"),
        (["evaluate", "none", str(GOLD)], "no model of that name"),
        (["predict", "-m", "none", "text"], "no model of that name"),
    ],
)
def test_bad_words_are_one_clear_line(nestling, config, tmp_path, words, message):  # noqa: F811
    code, _, errors = nestling(
        *[word.format(config=config) for word in words], *(["--out", tmp_path / "r"] if words[0] == "train" else [])
    )
    assert code == 2
    assert message in errors.replace("\n", "")
    assert "Traceback" not in errors


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.stem)
def test_every_config_is_valid(path):
    load_settings(path)


def test_foreign_encoders_can_be_bundled():
    command = [sys.executable, str(ROOT / "examples" / "foreign_encoder.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout.split()[-1]) > 70


def test_the_worked_example_is_sound():
    settings = load_settings(ROOT / "examples" / "own-data" / "config.toml")
    for part in (settings.data.train, settings.data.dev):
        found = list(read(ROOT / part))
        assert sum(len(document.mentions) for document in found) > 30
        assert all(mention.text == mention.text.strip() for document in found for mention in document.mentions)


def test_models_are_exported_judged_and_listed(nestling, config, tmp_path, monkeypatch):  # noqa: F811
    nestling("train", config, "--out", tmp_path / "run", "--set", "training.epochs=4")
    code, output, _ = nestling("export", tmp_path / "run", "--out", tmp_path / "all" / "small", "--check", GOLD)
    assert code == 0
    assert "entities are the same" in output
    (tmp_path / "notes.md").write_text("## Limits\n\nIt knows eight sentences.\n")
    code, _, _ = nestling("card", tmp_path / "all" / "small", "--test", GOLD, "--notes", tmp_path / "notes.md")
    page = (tmp_path / "all" / "small" / "README.md").read_text()
    assert code == 0
    assert "| all |" in page
    assert "It knows eight sentences." in page
    assert nestling("card", tmp_path / "all" / "small")[1] == page
    assert nestling("card", tmp_path / "all" / "small", "--test", GOLD)[0] == 0
    assert "It knows eight sentences." in (tmp_path / "all" / "small" / "README.md").read_text()
    assert {"en-bio", "en-general", "en-medicine", "de-general"} <= set(nestling("models")[1].split())
    monkeypatch.setenv("NESTLING_MODELS", str(tmp_path / "all"))
    code, output, _ = nestling("models", "--json")
    rows = {row["name"]: row for row in json.loads(output)}
    assert rows["small"]["megabytes"] > 0
    assert rows["small"]["f1"].keys() == {str(GOLD)}
    assert "small" in nestling("models")[1]
    (tmp_path / "all" / "small" / "card.json").write_text("[")  # a card is no part of the model
    assert nestling("models")[0] == 0
    assert nestling("predict", "-m", "small", "It rained.")[0] == 0
    assert "did you mean 'small'?" in nestling("predict", "-m", "smal", "It rained.")[2]
    (tmp_path / "all" / "small").rename(tmp_path / "all" / "en-general")
    assert nestling("predict", "It rained.")[0] == 0  # the model that is used where none is named
