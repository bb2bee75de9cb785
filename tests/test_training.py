"""Training, resuming, saving and loading, on tiny encoders with random weights."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import pytest
import torch
from accelerate.state import AcceleratorState

from nestling import checkpoint
from nestling.checkpoint import load
from nestling.data.formats import write
from nestling.errors import CheckpointError, SettingsError, TrainingError, UnknownNameError
from nestling.evaluation.scores import score
from nestling.heads import HEADS
from nestling.nn.encoders import Transformer
from nestling.run import Corpus, Run, load_corpus
from nestling.settings import load_settings, settings_of, without_places
from nestling.training import Average, rate_at
from nestling.types import Document, Entity, Span
from tests.conftest import ROOT
from tests.small_runs import MOST, NESTED, PEOPLE, TOWNS, corpus, table, trained, transformer, weights


@pytest.mark.parametrize("name", HEADS)
def test_every_head_learns_eight_sentences_and_survives_saving(tmp_path, name):
    gold = corpus(MOST.get(name, NESTED))
    run, steps = trained(tmp_path, table(tmp_path, {name: {}}, entities=MOST.get(name, NESTED), rule="any"))
    assert run.trainer.progress.best == 100.0
    assert all(torch.isfinite(torch.tensor(list(s.losses.values()))).all() for s in steps)
    found = list(load(tmp_path / "run").pipe(gold))
    assert score(gold, found).strict.f1 == 100.0
    assert all(0 < m.score <= 1 for d in found for m in d.mentions)


def test_one_trained_model_answers_with_any_of_its_heads(tmp_path):
    run, _ = trained(tmp_path, table(tmp_path, {name: {} for name in HEADS}))
    for name in HEADS:
        assert load(tmp_path / "run", answer=name).model.answer == name
        run.built.model.answer = name
        assert score(corpus(), run.recognizer.pipe(corpus())).strict.f1 > 90


@pytest.mark.parametrize("name", HEADS)
def test_gradients_reach_every_parameter(tmp_path, name):
    settings = table(
        tmp_path, {name: {"tagging": "crf"} if name == "sequence" else {}}, entities=MOST.get(name, NESTED)
    )
    run = Run(settings_of(settings, "test"), tmp_path / "run")
    batch = run.trainer.passages(0)
    losses = run.built.model(run.built.batcher.batch(batch), run.built.batcher.targets(batch))
    run.built.model.total({key: loss.total / loss.terms for key, loss in losses.items()}).backward()
    assert [key for key, p in run.built.model.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_predictions_do_not_depend_on_batches_or_padding(tmp_path, tiny_transformer, monkeypatch):
    settings = table(tmp_path, {"span": {}, "sequence": {}}, transformer(tiny_transformer), epochs=2)
    trained(tmp_path, settings)
    recognizer = load(tmp_path / "run")
    long = Document.of_words("long", [(["Ann", "in", "Rome"] * 40, [])])
    documents = [*corpus(), long, *corpus()]
    together = list(recognizer.pipe(documents))
    monkeypatch.setattr(recognizer.budget, "words", 1)
    for document, found in zip(documents, together, strict=True):
        alone = recognizer(document)
        assert [e.key for e in alone.entities] == [e.key for e in found.entities]
        assert [e.score for e in alone.entities] == pytest.approx([e.score for e in found.entities], abs=1e-5)


def test_all_word_level_parts_together_survive_saving(tmp_path):
    """The token representation of Locate and Label, section 2.1, without the transformer."""
    pytest.importorskip("textblob")
    (tmp_path / "vectors.txt").write_text("2 3\nrome 1 0 0\nann 0 1 0\n")
    (tmp_path / "clusters.txt").write_text("01\tRome\t9\n01\tOslo\t5\n10\tAnn\t3\n")
    parts = [
        {"kind": "vectors", "path": str(tmp_path / "vectors.txt")},
        {"kind": "pos", "tagger": "en"},
        {"kind": "clusters", "source": str(tmp_path / "clusters.txt")},
    ]
    parts += [{"kind": "characters", "size": 8}, {"kind": "characters", "size": 8, "reader": "convolution"}]
    settings = table(tmp_path, {"span": {}}, {"parts": parts, "top": {"kind": "bilstm", "size": 32}}, epochs=20)
    run, _ = trained(tmp_path, settings)
    assert run.trainer.progress.best > 80
    for name in ("vectors.txt", "clusters.txt"):
        (tmp_path / name).unlink()  # a saved model needs no file but its own
    found = load(tmp_path / "run").pipe(corpus())
    assert score(corpus(), found).strict.f1 == pytest.approx(run.trainer.progress.best)


@pytest.mark.parametrize("head", ["sequence", "span", "two_stage", "fragments", "grid"])
def test_what_was_not_looked_for_is_unknown_not_absent(tmp_path, head):
    """Two sets of the same sentences, each with one label annotated: the model finds both labels everywhere."""
    halves = []
    for n, document in enumerate(corpus() + corpus()):
        label = ("PER", "LOC")[n < 8]
        kept = [[e for e in s.entities if e.label == label] for s in document.sentences]
        known = replace(document, id=f"x{n}").with_entities(kept)
        halves.append(replace(known, annotated=frozenset([label])))
    settings = table(tmp_path, {head: {}})
    write(halves, tmp_path / "data.jsonl")
    run, _ = trained(tmp_path, settings)
    assert run.trainer.progress.best == 100.0  # of dev, too, half is unknown
    assert score(corpus(), load(tmp_path / "run").pipe(corpus())).strict.f1 > 90


def test_corpora_together(tmp_path, monkeypatch):
    first = [d.with_entities([e for e in s.entities if e.label == "PER"] for s in d.sentences) for d in corpus()]
    second = [d.with_entities([e for e in s.entities if e.label == "LOC"] for s in d.sentences) for d in corpus()]
    parts = {"conll04": first, "genia": second}
    monkeypatch.setattr("nestling.data.corpora.load", lambda name, *_, **__: parts[name])
    settings = table(tmp_path, {"span": {}}, epochs=1)
    found = load_corpus(settings_of(settings | {"data": {"corpus": "conll04", "also": ["genia"]}}, "test").data)
    assert [d.id for d in found.train][7:9] == ["conll04/d7", "genia/d0"]
    assert [d.annotated for d in found.dev][7:9] == [{"PER"}, {"LOC"}]
    assert found.notes == ["conll04: has PER", "genia: has LOC"]
    named_twice = settings | {"data": {"corpus": "conll04", "also": ["genia", "genia"]}}
    twice = load_corpus(settings_of(named_twice, "test").data)
    assert len(twice.train) - len(found.train) == len(second)
    assert (twice.dev, twice.notes) == (found.dev, found.notes)


def test_a_label_that_only_dev_of_a_corpus_has_is_missed_and_no_crash(tmp_path, monkeypatch):
    train = [d.with_entities([e for e in s.entities if e.label == "PER"] for s in d.sentences) for d in corpus()]
    monkeypatch.setattr("nestling.data.corpora.load", lambda _, part, **__: train if part == "train" else corpus())
    settings = table(tmp_path, {"span": {}}) | {"data": {"corpus": "conll04", "also": ["genia"]}}
    assert load_corpus(settings_of(settings, "test").data).dev[0].annotated == {"PER", "LOC"}


def test_a_model_of_several_corpora_is_judged_by_the_labels_that_gold_has(tmp_path):
    half = [d.with_entities([e for e in s.entities if e.label == "PER"] for s in d.sentences) for d in corpus()]
    built = Run(settings_of(table(tmp_path, {"span": {}}), "test"), tmp_path / "run").built
    for also, judged in (((), None), (("genia",), {"PER"})):
        data = built.settings.data.model_copy(update={"also": also})
        recognizer = replace(built, settings=built.settings.model_copy(update={"data": data})).recognizer()
        assert {d.annotated for d in recognizer.judged_by(half)} == {judged and frozenset(judged)}
        looked_for = {d.annotated for d in recognizer.judged_by(half, ["PER", "LOC"])}
        assert looked_for == {judged and frozenset(["PER", "LOC"])}  # what is found of LOC in vain counts


def test_a_model_by_name(tmp_path, monkeypatch):
    trained(tmp_path, table(tmp_path, {"span": {}}, epochs=1), name="mine")
    monkeypatch.chdir(tmp_path / "mine")
    with pytest.raises(CheckpointError, match="no model of that name"):
        load("mine")
    monkeypatch.setenv("NESTLING_MODELS", str(tmp_path))
    assert load("mine").model.answer == "span"


def test_a_part_of_train_and_of_dev(tmp_path):
    settings = table(tmp_path, {"span": {}}, epochs=1)
    settings["data"] |= {"sentences": 6, "dev_sentences": 3}
    run = Run(settings_of(settings, "test"), tmp_path / "run")
    assert (len(run.corpus.train), len(run.corpus.dev), len(run.corpus.dev_inputs)) == (6, 3, 3)
    assert [note.startswith(("learning", "epochs")) for note in run.corpus.notes] == [True, True]


def test_frozen_layers_stay_as_they_were(tmp_path, tiny_transformer):
    settings = table(tmp_path, {"span": {}}, transformer(tiny_transformer, frozen=2), epochs=1)
    run = Run(settings_of(settings, "test"), tmp_path / "run")
    before = {name: p.detach().clone() for name, p in run.built.model.named_parameters()}
    list(run.steps())
    changed = {name for name, p in run.built.model.named_parameters() if not torch.equal(p, before[name])}
    still = {name for name in before if "model.embeddings." in name or "encoder.layer.0." in name}
    assert still
    assert not changed & still
    assert any("encoder.layer.1." in name for name in changed)
    with pytest.raises(SettingsError, match="4 layers cannot be frozen: 3 are known"):
        trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer, frozen=4)), name="other")


def test_pieces_that_are_never_met_stay_as_they_were(tmp_path, tiny_transformer):
    run = Run(settings_of(table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=1), "t"), tmp_path / "r")
    table_of = next(p.model for p in run.built.model.modules() if isinstance(p, Transformer)).embeddings.word_embeddings
    before = table_of.weight.detach().clone()
    met = set(run.built.batcher.batch(run.trainer.passages(0)).features["transformer"].ids.unique().tolist())
    list(run.steps())
    changed = (table_of.weight != before).any(dim=1).nonzero().flatten().tolist()
    assert changed
    assert set(changed) <= met


@pytest.mark.parametrize("layers", [0, 1])
def test_the_lowest_layers_alone(tmp_path, tiny_transformer, layers):
    trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer, layers=layers), epochs=1))
    names = list(load(tmp_path / "run").model.state_dict())
    assert any("model.embeddings." in name for name in names)
    assert any("encoder.layer.0." in name for name in names) == (layers == 1)
    assert not any("encoder.layer.1." in name for name in names)
    assert f"({layers} layers)" in (tmp_path / "run" / "README.md").read_text()
    with pytest.raises(SettingsError, match="it has 2 layers, not 3"):
        trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer, layers=3)), name="other")


def test_a_transformer_that_is_remembered_stays_as_it_was(tmp_path, tiny_transformer):
    settings = table(tmp_path, {"span": {}}, transformer(tiny_transformer, is_remembered=True), epochs=2)
    run = Run(settings_of(settings, "test"), tmp_path / "run")
    part = next(m for m in run.built.model.modules() if isinstance(m, Transformer))
    before = {name: weight.clone() for name, weight in part.model.state_dict().items()}
    list(run.steps())
    assert all(torch.equal(before[name], weight) for name, weight in part.model.state_dict().items())
    assert len(part.memory.known) == len({tuple(d.sentences[0].words) for d in corpus()})
    recognizer = load(tmp_path / "run")
    assert next(m for m in recognizer.model.modules() if isinstance(m, Transformer)).memory is None
    for one, other in zip(recognizer.pipe(corpus()), run.recognizer.pipe(corpus()), strict=True):
        assert [m.score for m in one.mentions] == pytest.approx([m.score for m in other.mentions], abs=1e-2)


def test_attention_has_the_dropout_of_the_settings(tmp_path, tiny_transformer):
    for rate in (0.0, 0.3):
        settings = table(tmp_path, {"span": {}}, transformer(tiny_transformer, attention_dropout=rate))
        run = Run(settings_of(settings, "test"), tmp_path / f"run-{rate}")
        (own,) = (part for part in run.built.model.modules() if isinstance(part, Transformer))
        assert own.model.encoder["layer"][0].attention.dropout == rate


@pytest.mark.parametrize("name", HEADS)
def test_every_head_learns_in_half_precision(tmp_path, name, monkeypatch):
    monkeypatch.setattr(AcceleratorState, "_shared_state", {})  # accelerate has one precision a process
    _run, steps = trained(tmp_path, table(tmp_path, {name: {}}, epochs=2, precision="bf16"))
    assert all(torch.isfinite(torch.tensor(list(s.losses.values()))).all() for s in steps)


def test_context_and_long_sentences(tmp_path, tiny_transformer):
    settings = table(tmp_path, {"span": {"widest": 60}}, transformer(tiny_transformer, context=30), epochs=1)
    trained(tmp_path, settings)
    recognizer = load(tmp_path / "run")
    long = Document.of_words("long", [(["Ann", "lives"], []), (["word"] * 5000, [])])
    found = recognizer(long)
    assert [len(s) for s in found.sentences] == [2, 5000]
    assert recognizer("").sentences == ()
    assert recognizer("Ann lives in Rome.\n\nBob too.").text == "Ann lives in Rome.\n\nBob too."


def test_an_entity_of_sixty_words_is_found(tmp_path):
    settings = table(tmp_path, {"span": {"widest": 60, "negatives": 500}}, epochs=40, head_rate=0.05)
    long = [
        Document.of_words(f"d{n}", [(["x", *["w"] * 58, "y", "end"], [Entity.at(0, 60, "LONG")])]) for n in range(4)
    ]
    write(long, tmp_path / "data.jsonl")
    run, _ = trained(tmp_path, settings)
    assert run.trainer.progress.best == 100.0


def test_threads_share_a_recogniser(tmp_path, tiny_transformer):
    from concurrent.futures import ThreadPoolExecutor

    trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=10))
    recognizer = load(tmp_path / "run")
    texts = [f"{PEOPLE[n % 4]} lives in old {TOWNS[n % 4]} with word{n}." for n in range(40)]
    alone = [recognizer(text) for text in texts]
    assert any(found.mentions for found in alone)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(recognizer, texts)) == alone


def test_rates_go_up_and_down():
    assert [rate_at(share, 0.1) for share in (0, 0.05, 0.1, 0.55, 1)] == pytest.approx([0, 0.5, 1, 0.5, 0])


def test_a_step_that_a_scaler_leaves_out_stops_nothing(tmp_path, monkeypatch):
    """In fp16 gradients overflow now and then; the scaler passes such a step over and tries a lower scale."""
    run = Run(settings_of(table(tmp_path, {"span": {}}, epochs=1), "test"), tmp_path / "run")
    run.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=float("inf"))
    monkeypatch.setattr(
        run.accelerator, "unscale_gradients", lambda: run.accelerator.scaler.unscale_(run.trainer.optimizer)
    )
    before = {name: value.clone() for name, value in run.built.model.state_dict().items()}
    next(run.steps())
    assert all(torch.equal(before[name], value) for name, value in run.built.model.state_dict().items())


def test_weights_are_averaged_by_hand():
    model = torch.nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(1.0)
    average = Average(model, 0.5)
    for step, value in enumerate((2.0, 4.0), 1):
        model.weight.data.fill_(value)
        average.add(step)  # keeps 1/11, then 2/12
    mean = (1 / 11 + 2 * 10 / 11) / 6 + 4 * 5 / 6
    with average.in_place():
        assert model.weight.item() == pytest.approx(mean)
    assert model.weight.item() == 4.0


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_a_run_that_is_cut_and_resumed_ends_like_one_that_was_not(tmp_path, average):
    settings = table(tmp_path, {"sequence": {}, "span": {}}, epochs=4, average=average)
    trained(tmp_path, settings, "whole")
    cut = Run(settings_of(settings, "test"), tmp_path / "cut", save_seconds=0)
    for n, _ in enumerate(cut.steps()):
        if n == 4:  # in the middle of the second epoch
            break
    run, steps = trained(tmp_path, settings, "cut", resume=True)
    assert len(steps) < 4 * 3
    assert run.trainer.progress.epoch == 4
    whole, resumed = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    lines = [
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("whole", "cut")
    ]
    assert [row["dev"] for row in lines[0]] == [row["dev"] for row in lines[1]]
    assert list(trained(tmp_path, settings, "cut", resume=True)[1]) == []  # nothing is left to do


def test_each_epoch_has_other_names(tmp_path):
    settings = table(tmp_path, {"span": {}}, epochs=3)
    settings["data"]["renamed"] = 1.0
    run = Run(settings_of(settings, "test"), tmp_path / "run")
    words = [[s.words for p in run.trainer.passages(epoch) for s in p.sentences] for epoch in (0, 1, 0)]
    assert words[0] == words[2] != words[1]
    assert {own[0] for own in words[0]} <= set(PEOPLE)
    assert [own[1:] for own in words[0]] == [sentence.words[1:] for d in corpus() for sentence in d.sentences]
    assert trained(tmp_path, settings, "whole")[0].corpus.dev == corpus()  # dev stays as it is
    cut = Run(settings_of(settings, "test"), tmp_path / "cut", save_seconds=0).steps()
    for _ in range(4):
        next(cut)
    cut.close()
    trained(tmp_path, settings, "cut", resume=True)
    whole, resumed = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_what_a_model_annotated_is_learnt_beside_train_and_not_judged(tmp_path):
    settings = table(tmp_path, {"span": {}}, epochs=1)
    found = [replace(document, id=f"found-{document.id}") for document in corpus(NESTED)]
    write(found, tmp_path / "found.jsonl")
    line = {"id": "raw", "text": "Ann lives in Rome.", "entities": [{"fragments": [[13, 17]], "label": "LOC"}]}
    (tmp_path / "raw.jsonl").write_text(json.dumps(line))
    settings["data"]["silver"] = [str(tmp_path / "found.jsonl"), str(tmp_path / "raw.jsonl")]
    run = Run(settings_of(settings, "test"), tmp_path / "run")
    assert run.corpus.train == corpus()
    assert run.corpus.silver[:-1] == found
    assert [m.text for m in run.corpus.silver[-1].mentions] == ["Rome"]
    assert run.corpus.dev == corpus()
    assert run.corpus.notes == ["9 sentences that a model annotated are learnt too, 8 of them an epoch"]
    assert set(run.built.batcher.labels) == {"PER", "LOC", "CITY"}
    assert without_places(run.settings).data.silver == ("found.jsonl", "raw.jsonl")


def test_an_epoch_has_as_many_sentences_of_silver_as_of_train_and_all_have_their_turn():
    silver = [replace(document, id=f"found-{n}-{document.id}") for n in range(3) for document in corpus()]
    size = sum(len(document.sentences) for document in corpus())
    every = Corpus(corpus(), [], [], [], silver)
    epochs = [every.in_epoch(epoch, seed=1) for epoch in range(4)]
    assert all(epoch[: len(corpus())] == corpus() for epoch in epochs)
    turns = [[(d.id, s) for d in epoch[len(corpus()) :] for s in d.sentences] for epoch in epochs]
    assert [len(turn) for turn in turns] == [size] * 4
    wanted = [(document.id, sentence) for document in silver for sentence in document.sentences]
    assert Counter(turns[0] + turns[1] + turns[2]) == Counter(wanted)
    assert turns[3] == turns[0]
    assert turns[0] == [(d.id, s) for d in every.in_epoch(0, seed=1)[len(corpus()) :] for s in d.sentences]
    assert turns[0] != [(d.id, s) for d in every.in_epoch(0, seed=2)[len(corpus()) :] for s in d.sentences]
    assert Corpus(corpus(), [], [], [], silver[:2]).in_epoch(7, seed=1) == [*corpus(), *silver[:2]]


def test_an_epoch_that_was_cut_is_recorded_whole(tmp_path):
    settings = table(tmp_path, {"span": {}}, epochs=2)
    trained(tmp_path, settings, "whole")
    steps = Run(settings_of(settings, "test"), tmp_path / "cut").steps()
    next(steps)
    steps.close()  # saves where it stands
    assert json.loads((tmp_path / "cut" / "training" / "state.json").read_text())["progress"]["step"] == 1
    trained(tmp_path, settings, "cut", resume=True)
    first = [
        json.loads((tmp_path / name / "metrics.jsonl").read_text().splitlines()[0])["losses"]
        for name in ("whole", "cut")
    ]
    assert first[0] == first[1]


INSIDE_A_WORD = {  # the same text and mention in every format that has raw text
    "data.jsonl": '{"text": "antiadrenergic drug", "entities": [{"fragments": [[4, 9]], "label": "X"}]}',
    "data.json": '[{"text": "antiadrenergic drug", "entities": [{"start": 4, "end": 9, "label": "X"}]}]',
    "data.ann": "T1\tX 4 9\tadren",
    "data.xml": "<set><article><bibliomisc>1</bibliomisc>"
    '<sentence>anti<cons sem="G#protein">adren</cons>ergic drug</sentence></article></set>',
}


@pytest.mark.parametrize("name", INSIDE_A_WORD)
def test_raw_text_is_learnt_as_it_will_be_met(tmp_path, name):
    """A text without words is split without its mentions, in training, for dev and in use."""
    path = tmp_path / name
    path.write_text(INSIDE_A_WORD[name] + "\n")
    path.with_suffix(".txt").write_text("antiadrenergic drug")  # for brat
    made = load_corpus(
        settings_of({"data": {"train": str(path), "dev": str(path)}, "heads": {"span": {}}}, "test").data
    )
    assert [sentence.words for sentence in made.train[0].sentences] == [("antiadrenergic", "drug")]
    assert [sentence.words for sentence in made.dev_inputs[0].sentences] == [("antiadrenergic", "drug")]
    assert any("1 were widened" in note for note in made.notes)


def test_building_leaves_the_callers_random_numbers_alone(tmp_path):
    trained(tmp_path, table(tmp_path, {"span": {}}, epochs=1))
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load(tmp_path / "run")
    assert torch.equal(torch.rand(3), expected)


def test_patience_stops_early(tmp_path):
    run, _ = trained(tmp_path, table(tmp_path, {"span": {}}, epochs=30, patience=2, head_rate=1e-9))
    assert run.trainer.progress.epoch <= 4


@pytest.mark.slow
def test_a_run_that_is_over_keeps_its_card(tmp_path):
    settings = table(tmp_path, {"span": {}}, epochs=1)
    trained(tmp_path, settings)
    (tmp_path / "run" / "README.md").write_text("by hand")
    trained(tmp_path, settings, resume=True)
    assert (tmp_path / "run" / "README.md").read_text() == "by hand"


def test_resuming_takes_over_no_folder_of_others(tmp_path):
    settings = settings_of(table(tmp_path, {"span": {}}, epochs=1), "test")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "settings.json").write_text("{}")
    with pytest.raises(SettingsError, match="no run that could go on"):
        Run(settings, tmp_path / "mine", resume=True)
    assert (tmp_path / "mine" / "settings.json").read_text() == "{}"


def test_what_was_being_saved_when_a_run_was_killed_goes_away(tmp_path):
    settings = table(tmp_path, {"span": {}}, epochs=1)
    left = tmp_path / "run" / "training" / ".state-1.new.safetensors.abcdef"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    trained(tmp_path, settings, resume=True)
    assert not left.exists()


def test_a_head_that_cannot_be_measured_so_is_told_at_once(tmp_path):
    with pytest.raises(SettingsError, match="'span' does not label given spans"):
        Run(settings_of(table(tmp_path, {"span": {}}, measure="given_spans"), "test"), tmp_path / "run")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"corpus": "genia", "train": "x.jsonl"}, "not both: corpus and train"),
        ({"also": ["genia"], "train": "x.jsonl", "dev": "x.jsonl"}, "further corpora stand beside a corpus"),
    ],
)
def test_data_from_two_places(data, message):
    with pytest.raises(SettingsError, match=message):
        settings_of({"data": data, "heads": {"span": {}}}, "test")


def test_files_are_found_beside_the_configuration_too(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.jsonl").write_text("")
    text = '[data]\ntrain = "train.jsonl"\ndev = "dev.jsonl"\nsilver = ["train.jsonl", "x.jsonl"]\n[heads.span]\n'
    (tmp_path / "mine" / "my.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    data = load_settings(tmp_path / "mine" / "my.toml").data
    train = str(tmp_path / "mine" / "train.jsonl")
    assert (data.train, data.dev, data.silver) == (train, "dev.jsonl", (train, "x.jsonl"))


def test_a_run_that_was_stopped_at_its_last_step_gets_its_card(tmp_path):
    settings = settings_of(table(tmp_path, {"span": {}}, epochs=1), "test")
    for step in Run(settings, tmp_path / "run").steps():
        if step.score is not None:
            break
    assert not (tmp_path / "run" / "card.json").exists()
    assert list(Run(settings, tmp_path / "run", resume=True).steps()) == []
    assert (tmp_path / "run" / "card.json").exists()


def test_a_damaged_run_is_told_where_it_is_resumed(tmp_path):
    settings = table(tmp_path, {"span": {}}, epochs=1)
    trained(tmp_path, settings)
    (tmp_path / "run" / "settings.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"settings\.json: is damaged"):
        Run(settings_of(settings, "test"), tmp_path / "run", resume=True)


def test_kill_9_and_resume(tmp_path):
    import tomllib

    settings = table(tmp_path, {"sequence": {}, "span": {}}, epochs=60)
    lines = [f"answer = 'span'\n[data]\ntrain = {settings['data']['train']!r}\ndev = {settings['data']['dev']!r}"]
    lines += [
        "[[encoder.parts]]\nkind = 'affixes'\n[heads.sequence]\n[heads.span]\n[training]\nepochs = 60\nbatch_size = 2"
    ]
    config = tmp_path / "config.toml"
    config.write_text("\n".join(lines))
    assert tomllib.loads(config.read_text())
    command = [sys.executable, "-m", "nestling.apps.cli", "train", str(config)]
    subprocess.run([*command, "--out", str(tmp_path / "whole")], check=True, capture_output=True)
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "cut")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    state = tmp_path / "cut" / "training" / "state.json"
    while not state.exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    load(tmp_path / "cut")  # what was saved is usable
    subprocess.run([*command, "--out", str(tmp_path / "cut"), "--resume"], check=True, capture_output=True)
    whole, resumed = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.slow
def test_two_processes_learn_like_one(tmp_path):
    """The same global batches, split between processes: the same losses, epoch by epoch."""
    table(tmp_path, {"span": {}})
    config = tmp_path / "config.toml"
    data = tmp_path / "data.jsonl"
    config.write_text(
        f"[data]\ntrain = '{data}'\ndev = '{data}'\n[[encoder.parts]]\nkind = 'affixes'\ndropout = 0.0\n"
        "[heads.sequence]\nweight = 0.3\ndropout = 0.0\n[heads.span]\nweight = 0.7\ndropout = 0.0\n"
        "[training]\nepochs = 4\nbatch_size = 3\n"
    )
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--num_machines", "1", "--mixed_precision", "no"]
    several = ["--multi_gpu", "--dynamo_backend", "no", "--num_processes"]  # torchrun; the variable makes it use CPUs
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true"}
    losses = {}
    for processes in (1, 2):
        words = ["-m", "nestling.apps.cli", "train", str(config), "--out", str(tmp_path / f"run-{processes}")]
        command = [*launch, *several, str(processes), *words] if processes > 1 else [sys.executable, *words]
        subprocess.run(command, check=True, capture_output=True, timeout=300, env=environment)
        log = (tmp_path / f"run-{processes}" / "log.txt").read_text()
        assert f"{processes} process" in log
        rows = (tmp_path / f"run-{processes}" / "metrics.jsonl").read_text().splitlines()
        losses[processes] = [json.loads(row)["losses"] for row in rows]
    assert len(losses[1]) == 4
    for one, two in zip(losses[1], losses[2], strict=True):
        assert two == pytest.approx(one, rel=1e-4)


class TestBadInput:
    def test_unknown_keys_name_the_nearest(self, tmp_path):
        for change, message in (
            ({"trainig": {}}, "unknown key 'trainig'; did you mean 'training'"),
            ({"training": {"epoch": 3}}, "unknown key 'training.epoch'; did you mean 'epochs'"),
            ({"heads": {"spam": {}}}, "unknown head 'spam'"),
            ({"heads": {}}, "name at least one of"),
            ({"heads": {"span": {}}, "answer": "sequence"}, "names none of the heads"),
            ({"training": {"epochs": 0}}, "training.epochs: Input should be greater than"),
        ):
            with pytest.raises(SettingsError, match=message):
                settings_of({"heads": {"span": {}}, **change}, "x.toml")
        with pytest.raises(SettingsError, match="did you mean 'features'"):
            settings_of({"heads": {"span": {"feature": "hybrid"}}}, "x.toml")
        (tmp_path / "x.toml").write_text("a = [")
        with pytest.raises(SettingsError, match="not TOML"):
            load_settings(tmp_path / "x.toml")

    def test_changes(self):
        settings = load_settings(
            ROOT / "configs" / "conll04-laptop.toml", ["training.epochs=3", "heads.span.weight=0.5", "answer=sequence"]
        )
        assert (settings.training.epochs, settings.weights["span"], settings.answer) == (3, 0.5, "sequence")

    def test_nothing_to_learn(self, tmp_path):
        settings = table(tmp_path, {"span": {}})
        write([Document.of_words("d", [(["no", "names"], [])])], tmp_path / "data.jsonl")
        with pytest.raises(TrainingError, match="no entities"):
            Run(settings_of(settings, "test"), tmp_path / "run")

    def test_labels_that_only_dev_has_are_told(self, tmp_path):
        settings = table(tmp_path, {"span": {}}, epochs=1)
        write([Document.of_words("d", [(["x"], [Entity.at(0, 1, "NEW")])])], tmp_path / "dev.jsonl")
        settings["data"]["dev"] = str(tmp_path / "dev.jsonl")
        run, _ = trained(tmp_path, settings)
        assert any("labels that train has not: NEW (1)" in note for note in run.notes())

    def test_a_loss_that_is_not_a_number(self, tmp_path):
        run = Run(settings_of(table(tmp_path, {"span": {}}), "test"), tmp_path / "run")
        run.built.model.heads["span"].of_width.bias.data[:] = float("nan")
        with pytest.raises(TrainingError, match="the loss is nan in epoch 1, step 1; go on .* lower"):
            list(run.steps())

    def test_a_folder_that_is_not_empty(self, tmp_path):
        settings = settings_of(table(tmp_path, {"span": {}}, epochs=1), "test")
        with pytest.raises(SettingsError, match="is not empty"):
            Run(settings, tmp_path)
        list(Run(settings, tmp_path / "run").steps())
        other = settings_of(table(tmp_path, {"span": {}}, epochs=2), "test")
        with pytest.raises(CheckpointError, match=r"was begun with .*, not "):
            Run(other, tmp_path / "run", resume=True)

    def test_damaged_models(self, tmp_path, monkeypatch):
        trained(tmp_path, table(tmp_path, {"span": {}}, epochs=1))
        folder = tmp_path / "run"
        manifest = json.loads((folder / "manifest.json").read_text())
        file = folder / manifest["weights"]["file"]
        good = file.read_bytes()
        file.write_bytes(good[:-1] + b"x")
        with pytest.raises(CheckpointError, match="is damaged: its hash"):
            load(folder)
        file.unlink()
        with pytest.raises(CheckpointError, match="is missing"):
            load(folder)
        file.write_bytes(good)
        for change, message in (
            ({"format": 2}, "install a newer"),
            ({"weights": {"file": "../x"}}, "names no weights"),
        ):
            (folder / "manifest.json").write_text(json.dumps(manifest | change))
            with pytest.raises(CheckpointError, match=message):
                load(folder)
        (folder / "manifest.json").write_text("{")
        with pytest.raises(CheckpointError, match="is damaged"):
            load(folder)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        before = (folder / "labels.json").read_text()
        (folder / "labels.json").write_text('["PER", "LOC"]')  # turned round
        with pytest.raises(CheckpointError, match="labels.json: is missing or damaged"):
            load(folder)
        (folder / "manifest.json").write_text(json.dumps(manifest | {"files": {}}))
        for labels, message in (('["PER"]', "do not fit the settings"), ("[1, 2]", "is damaged")):
            (folder / "labels.json").write_text(labels)
            with pytest.raises(CheckpointError, match=message):
                load(folder)
        (folder / "labels.json").write_text(before)
        packed = folder / "vocabularies.json.gz"
        for damaged in (b"", b"{}", packed.read_bytes()[:-9], gzip.compress(b'{"affixes": 3}')):
            packed.write_bytes(damaged)
            with pytest.raises(CheckpointError, match="is damaged"):
                load(folder)
        monkeypatch.setattr(checkpoint, "_MOST_UNPACKED", 10)
        with pytest.raises(CheckpointError, match="holds more than"):
            load(folder)
        packed.unlink()
        (folder / "vocabularies.json").write_text('{"affixes": 3}')  # as earlier versions wrote it
        with pytest.raises(CheckpointError, match="is damaged"):
            load(folder)
        (folder / "manifest.json").write_text('{"format": 1}')
        (folder / "vocabularies.json").write_text("{}")
        with pytest.raises(CheckpointError, match="names no weights"):
            load(folder)
        with pytest.raises(CheckpointError, match="no such folder"):
            load(tmp_path / "nothing")
        (tmp_path / "nothing").mkdir()
        with pytest.raises(CheckpointError, match="is this a model folder"):
            load(tmp_path / "nothing")

    def test_a_transformer_folder_runs_no_code_and_asks_no_hub(self, tmp_path, tiny_transformer, monkeypatch):
        trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=1))
        folder = tmp_path / "run"
        manifest = json.loads((folder / "manifest.json").read_text()) | {"files": {}}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        config = json.loads((folder / "transformer" / "config.json").read_text())
        evil = config | {"model_type": "evil", "auto_map": {"AutoConfig": "evil.C", "AutoModel": "evil.M"}}
        (folder / "transformer" / "config.json").write_text(json.dumps(evil))
        (folder / "transformer" / "evil.py").write_text("open('ran', 'w')")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("builtins.input", lambda *_: "y")
        with pytest.raises(CheckpointError, match="cannot be loaded"):
            load(folder)
        assert not (tmp_path / "ran").exists()
        shutil.rmtree(folder / "transformer")
        with pytest.raises(CheckpointError, match="transformer: is missing"):
            load(folder)

    def test_weights_of_half_precision_are_learnt_in_full(self, tmp_path, tiny_transformer):
        from transformers import AutoModel, AutoTokenizer

        AutoModel.from_pretrained(tiny_transformer).to(torch.bfloat16).save_pretrained(tmp_path / "half")
        AutoTokenizer.from_pretrained(tiny_transformer).save_pretrained(tmp_path / "half")
        run, _ = trained(tmp_path, table(tmp_path, {"span": {}}, transformer(tmp_path / "half"), epochs=1))
        assert {p.dtype for p in run.built.model.parameters()} == {torch.float32}
        load(tmp_path / "run")

    def test_a_model_without_its_state_is_not_overwritten(self, tmp_path):
        settings = table(tmp_path, {"span": {}}, epochs=1)
        trained(tmp_path, settings)
        shutil.rmtree(tmp_path / "run" / "training")
        with pytest.raises(CheckpointError, match="not where its training stood"):
            Run(settings_of(settings, "test"), tmp_path / "run", resume=True)

    def test_another_training_text_is_noticed(self, tmp_path):
        settings = table(tmp_path, {"span": {}}, epochs=1)
        trained(tmp_path, settings)
        write([Document.of_words("d", [(["Ann", "Lee"], [Entity.at(0, 2, "ZZZ")])])], tmp_path / "data.jsonl")
        with pytest.raises(CheckpointError, match="another training text"):
            Run(settings_of(settings, "test"), tmp_path / "run", resume=True)

    def test_a_gradient_that_is_not_a_number_touches_nothing(self, tmp_path):
        run = Run(settings_of(table(tmp_path, {"span": {}}), "test"), tmp_path / "run")
        bias = run.built.model.heads["span"].of_width.bias
        steps = run.steps()
        next(steps)
        bias.register_hook(lambda gradient: gradient * float("nan"))
        with pytest.raises(TrainingError, match="the gradient is nan"):
            next(steps)
        assert all(torch.isfinite(p).all() for p in run.built.model.parameters())
        slower = table(tmp_path, {"span": {}}, head_rate=1e-4)
        assert Run(settings_of(slower, "test"), tmp_path / "run", resume=True).trainer.progress.step == 0

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"training": {"seed": -1}}, "training.seed"),
            ({"training": {"precision": "x"}}, "training.precision"),
            ({"encoder": {"parts": []}}, "encoder.parts"),
            ({"encoder": {"top": {"kind": "bilstm", "size": 33}}}, "multiple of 2"),
            ({"heads": {"span": 5}}, "heads.span: a table"),
            ({"heads": {"span": {"dropout": 2}}}, "less than 1"),
            ({"heads": {"span": {"wieght": 2}}}, "did you mean 'weight'"),
            ({"heads": {"span": {"weight": float("nan")}}}, "not a number from 0 up"),
            ({"heads": {"span": {"weight": 0}}}, "all weights are 0"),
            ({"heads": {"two_stage": {"loss_weights": [1, -1, 1]}}}, "greater than or equal to 0"),
            ({"decoding": {"thresholds": {"A": 5}}}, "thresholds.A"),
            ({"seed": 1}, "'seed' belongs in another table"),
        ],
    )
    def test_settings_that_cannot_be(self, change, message):
        with pytest.raises(SettingsError, match=message):
            settings_of({"heads": {"span": {}}, **change}, "x.toml")

    def test_what_a_head_cannot_express_is_told(self, tmp_path):
        settings = table(tmp_path, {"sequence": {}}, epochs=1)
        twice = [Entity.at(0, 2, "A"), Entity.at(0, 2, "B"), Entity.at(0, 1, "A")]
        gapped = Entity((Span(0, 1), Span(2, 3)), "A")
        write([Document.of_words("d", [(["x", "y", "z"], [*twice, gapped])])], tmp_path / "data.jsonl")
        notes = " ".join(Run(settings_of(settings, "test"), tmp_path / "run").notes())
        assert "1 entities of train are discontinuous; sequence finds none" in notes
        assert "1 entities of train have the very words of another" in notes
        assert "sequence finds one layer" in notes

    def test_a_disk_that_is_full_while_saving(self, tmp_path, tiny_transformer):
        """A limit on the size of files stands in for the disk: the old model stays, and one line says why."""
        settings = table(tmp_path, {"span": {}}, transformer(tiny_transformer), epochs=2)
        trained(tmp_path, settings)
        before = weights(tmp_path / "run")
        code = (
            "import json, resource, sys\nfrom pathlib import Path\nfrom nestling.checkpoint import load_model, save_weights\n"
            "folder = Path(sys.argv[1])\nbuilt = load_model(folder)\nresource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))\n"
            "built.model.heads['span'].of_width.bias.data += 1\nsave_weights(folder, built.model.state_dict())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "run")], capture_output=True, text=True, check=False
        )
        assert "CheckpointError" in done.stderr
        assert "cannot be written" in done.stderr
        after = weights(tmp_path / "run")
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert [path.name for path in (tmp_path / "run").glob(".*")] == []

    def test_a_head_that_is_not_there(self, tmp_path):
        trained(tmp_path, table(tmp_path, {"span": {}}, epochs=1))
        with pytest.raises(UnknownNameError, match="unknown head of this model"):
            load(tmp_path / "run", answer="sequence")

    def test_a_transformer_that_cannot_be_loaded(self, tmp_path):
        settings = table(tmp_path, {"span": {}}, {"parts": [{"kind": "transformer", "model": str(tmp_path / "none")}]})
        with pytest.raises(SettingsError, match="cannot be loaded"):
            Run(settings_of(settings, "test"), tmp_path / "run")
