"""Experiments: every one names models that can be built; runs are shared, resumed and measured once."""

import json
import time

import pytest

from nestling.data.formats import read, write
from nestling.experiments import EXPERIMENTS
from nestling.experiments.experiment import Experiment, Training, configured, gain
from nestling.experiments.running import Store
from nestling.settings import config_path, load_settings, settings_of
from nestling.types import Document, Entity
from tests.apps.test_cli import nestling  # noqa: F401


@pytest.mark.parametrize("size", ["light", "laptop", "paper"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_well_formed(name, size):
    experiment = EXPERIMENTS[name]
    trainings = experiment.trainings(size, 3)
    assert trainings or size == "paper"
    assert all(t.settings.training.seed == 3 for t in trainings)
    assert all(head in t.settings.heads for t in trainings for head in t.answers.values())
    rows = {(t.corpus, row) for t in trainings for row in t.answers}
    assert len(rows) == sum(len(t.answers) for t in trainings)  # no row twice
    if size == "laptop" and name != "bundling-small":
        assert experiment.paper.keys() <= rows


def test_alpha_of_zero_and_one_are_the_single_models_of_the_main_table():
    single = [t.settings for t in EXPERIMENTS["bundling-alpha"].trainings("laptop", 0)]
    main = [t.settings for t in EXPERIMENTS["bundling"].trainings("laptop", 0) if t.corpus == "conll04"]
    assert single[10] == main[0]  # SeqNER
    assert single[0] == main[1]  # SpanNER
    assert single[1] == main[2]  # α 0.1
    assert EXPERIMENTS["two-stage-ablation"].trainings("laptop", 0)[0].settings.data.sentences == 2087


def test_what_bundling_gains_by_hand():
    found = [
        ("SeqNER", 80.0),
        ("SeqNER", 82.0),
        ("BL-SeqNER", 83.5),
        ("SpanNER", 85.0),
        ("BL-SpanNER", 84.75),
        ("BL-grid", 1.0),
    ]
    records = [{"corpus": "x", "model": model, "f1": f1} for model, f1 in found]
    told = {model: gain(records, "x", model) for model, _ in found}
    assert told == {"SeqNER": "", "BL-SeqNER": "↑2.50", "SpanNER": "", "BL-SpanNER": "↓0.25", "BL-grid": ""}


def test_light_is_the_same_over_the_light_encoder():
    laptop, light = (EXPERIMENTS["two-stage-ablation"].trainings(size, 2)[1].settings for size in ("laptop", "light"))
    assert light.heads == laptop.heads
    assert light.data == laptop.data
    assert light.encoder == load_settings("conll04-light").encoder != laptop.encoder
    assert light.training.seed == 2
    assert configured("weibo", "light", 0) == configured("weibo", "laptop", 0)  # has no transformer


def test_configurations_by_name():
    assert load_settings("conll04-laptop").data.corpus == "conll04"
    assert load_settings(str(config_path("conll04-laptop"))) == load_settings("conll04-laptop")
    with pytest.raises(Exception, match="conll04-laptop"):
        load_settings("conll04-laptup")
    heads = configured("conll04", "laptop", 0, heads={"span": {"weight": 0.4}, "sequence": {"weight": 0.6}})
    assert (heads.answer, heads.weights) == ("sequence", {"span": 0.4, "sequence": 0.6})


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A corpus of a few sentences under the name of a known one, and an experiment on it."""
    documents = [
        Document.of_words(f"d{n}", [(["Ann", "saw", town, "."], [Entity.at(0, 1, "Peop"), Entity.at(2, 3, "Loc")])])
        for n, town in enumerate(("Rome", "Oslo", "Lima", "Bonn"))
    ]
    write(documents, tmp_path / "data.jsonl")
    monkeypatch.setattr("nestling.data.corpora.load", lambda *_, **__: documents)
    table = {
        "data": {"corpus": "conll04"},
        "encoder": {"parts": [{"kind": "affixes", "size": 16}]},
        "heads": {"span": {"weight": 0.5}, "sequence": {"weight": 0.5}},
        "training": {"epochs": 12, "head_rate": 0.02},
    }
    settings = settings_of(table, "test")
    training = Training(settings, {"one": "span", "two": "sequence"}, "tuned")
    made = Experiment(
        "a test", "no paper", lambda size, seed: [training], 1, {("conll04", "one"): 12.34}, is_analysed=True
    )
    monkeypatch.setitem(EXPERIMENTS, "tiny", made)
    return training


def test_models_are_trained_and_measured_once(tiny, tmp_path, monkeypatch):
    told = []
    store = Store(tmp_path / "runs", tell=told.append)
    records = list(store.measure("tiny", [tiny], command="x"))
    assert [(r["model"], r["corpus"], r["part"], r["encoder"]) for r in records] == [
        ("one", "conll04", "test", "affixes"),
        ("two", "conll04", "test", "affixes"),
    ]
    assert all(r["f1"] > 90 and r["train_seconds"] > 0 and r["decoding"] for r in records)
    assert json.loads((tmp_path / "runs" / "records" / "tiny.json").read_text()) == records
    predicted = list(read(store.predictions_of(tiny.settings, "test", "span")))
    assert len(predicted) == 4

    def fail(*_, **__):
        raise AssertionError("trained twice")

    with monkeypatch.context() as patch:
        patch.setattr("nestling.experiments.running.Run", fail)
        again = list(store.measure("tiny", [tiny], command="x"))
        assert [r["model"] for r in again] == ["one", "two"]
    epochs = len(told)
    other = list(store.measure("another", [tiny], command="x"))  # the same settings: the model is there
    assert (len(told), [r["f1"] for r in other]) == (epochs, [r["f1"] for r in records])


def test_a_deadline_stops_and_the_same_command_goes_on(tiny, tmp_path):
    told = []
    store = Store(tmp_path / "runs", tell=told.append)
    assert list(store.measure("tiny", [tiny], deadline=time.monotonic())) == []
    folder = store.path_of(tiny.settings)
    assert json.loads((folder / "training" / "state.json").read_text())["progress"]["step"] == 1
    assert told == ["stopped; the same command goes on"]
    assert len(list(store.measure("tiny", [tiny]))) == 2
    log = (folder / "log.txt").read_text()
    assert log.count("process(es) on cpu") == 1  # begun once


def test_what_is_measured_is_shown_though_other_models_are_not_trained_yet(tiny, tmp_path):
    store = Store(tmp_path / "runs", tell=lambda line: None)
    list(store.measure("tiny", [tiny]))
    other = Training(tiny.settings.model_copy(update={"answer": "sequence"}), {"three": "sequence"})
    found = list(store.measure("tiny", [other, tiny], deadline=time.monotonic()))
    assert [record["model"] for record in found] == ["one", "two"]


def test_a_row_decoded_otherwise_is_measured_anew(tiny, tmp_path):
    store = Store(tmp_path / "runs", tell=lambda line: None)
    list(store.measure("tiny", [tiny]))
    plain = Training(tiny.settings, tiny.answers, "as set")
    assert {record["decoded"] for record in store.measure("tiny", [plain])} == {"as set"}
    assert len(store.records("tiny")) == 4


def test_the_order_of_heads_is_no_other_model(tmp_path):
    heads = {"span": {}, "sequence": {}}
    swapped = {"sequence": {}, "span": {}}
    first, second = (settings_of({"heads": own, "answer": "span"}, "test") for own in (heads, swapped))
    assert Store(tmp_path).path_of(first) == Store(tmp_path).path_of(second)


def test_vectors_are_trained_on_the_training_text_alone(tiny, tmp_path):
    parts = [{"kind": "vectors", "path": "vectors/x-7.txt"}, {"kind": "affixes", "size": 16}]
    settings = settings_of(tiny.settings.model_dump() | {"encoder": {"parts": parts}}, "test")
    told = []
    for runs in (tmp_path / "runs", tmp_path / "runs" / ".." / "runs"):  # the same place by another name
        store = Store(runs, tell=told.append)
        assert store.trained(settings) is not None
    assert (tmp_path / "runs" / "vectors" / "conll04-7.txt").exists()
    assert sum("vectors from train" in line for line in told) == 1


def test_the_command(tiny, tmp_path, nestling):  # noqa: F811
    options = ("--runs", tmp_path / "runs", "--records", tmp_path / "records")
    code, output, _ = nestling("reproduce", "--list", *options)
    assert (code, "bundling-alpha" in output, "needs conll04" in output) == (0, True, True)
    code, output, _ = nestling("reproduce", "tiny", *options)
    assert (code, "12.34" in output, "one" in output) == (0, True, True)
    assert (tmp_path / "records" / "tiny.json").exists()
    code, output, _ = nestling("reproduce", "tiny", *options, "--json")
    assert (code, len(json.loads(output))) == (0, 2)
    code, output, _ = nestling("reproduce", "tiny", *options, "--plots", tmp_path / "plots")
    assert (code, "SpanNER" in output) == (0, False)
    assert (tmp_path / "plots" / "tiny-conll04.html").read_text().startswith("<!doctype html>")
    code, output, _ = nestling("reproduce", "--list", "--size", "paper", *options)
    assert (code, "not at this size" in output) == (0, True)
    code, _, error = nestling("reproduce", "bundling-alhpa", *options)
    assert (code, "bundling-alpha" in error) == (2, True)
    code, _, error = nestling("reproduce", "tiny", *options, "--corpus", "genia")
    assert (code, "not run on genia" in error) == (2, True)
