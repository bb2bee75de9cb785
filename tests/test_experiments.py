"""Experiments: every one names models that can be built; runs are shared, resumed and measured once."""

import json
import time

import pytest

from nestling.data.formats import write
from nestling.experiments import EXPERIMENTS
from nestling.experiments.experiment import Experiment, Training, configured
from nestling.experiments.running import Store
from nestling.settings import config_path, load_settings, settings_of
from nestling.types import Document, Entity
from tests.apps.test_cli import nestling  # noqa: F401


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_well_formed(name):
    experiment = EXPERIMENTS[name]
    trainings = experiment.trainings("laptop", 3)
    assert trainings
    assert all(t.settings.training.seed == 3 for t in trainings)
    assert all(head in t.settings.heads for t in trainings for head in t.answers.values())
    rows = {(t.corpus, row) for t in trainings for row in t.answers}
    assert len(rows) == sum(len(t.answers) for t in trainings)  # no row twice


def test_alpha_of_zero_and_one_are_the_single_models_of_the_main_table():
    single = [t.settings for t in EXPERIMENTS["bundling-alpha"].trainings("laptop", 0)]
    main = [t.settings for t in EXPERIMENTS["bundling"].trainings("laptop", 0) if t.corpus == "conll04"]
    assert single[10] == main[0]  # SeqNER
    assert single[0] == main[1]  # SpanNER
    assert single[1] == main[2]  # α 0.1
    assert EXPERIMENTS["two-stage-ablation"].trainings("laptop", 0)[0].settings.data.sentences == 2087


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
    made = Experiment("a test", "no paper", lambda size, seed: [training], 1, {("conll04", "one"): 12.34})
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

    def fail(*_, **__):
        raise AssertionError("trained twice")

    with monkeypatch.context() as patch:
        patch.setattr("nestling.experiments.running.Run", fail)
        again = list(store.measure("tiny", [tiny], command="x"))
        assert sorted(r["model"] for r in again) == ["one", "two"]
    epochs = len(told)
    other = list(store.measure("another", [tiny], command="x"))  # the same settings: the model is there
    assert (len(told), [r["f1"] for r in other]) == (epochs, [r["f1"] for r in records])


def test_a_deadline_stops_and_the_same_command_goes_on(tiny, tmp_path):
    store = Store(tmp_path / "runs", tell=lambda line: None)
    assert list(store.measure("tiny", [tiny], command="x", deadline=time.monotonic())) == []
    assert len(list(store.measure("tiny", [tiny], command="x"))) == 2


def test_the_command(tiny, tmp_path, nestling):  # noqa: F811
    options = ("--runs", tmp_path / "runs", "--records", tmp_path / "records")
    code, output, _ = nestling("reproduce", "--list", *options)
    assert (code, "bundling-alpha" in output, "needs conll04" in output) == (0, True, True)
    code, output, _ = nestling("reproduce", "tiny", *options)
    assert (code, "12.34" in output, "one" in output) == (0, True, True)
    assert (tmp_path / "records" / "tiny.json").exists()
    code, output, _ = nestling("reproduce", "tiny", *options, "--json")
    assert (code, len(json.loads(output))) == (0, 2)
    code, _, error = nestling("reproduce", "bundling-alhpa", *options)
    assert (code, "bundling-alpha" in error) == (2, True)
    code, _, error = nestling("reproduce", "tiny", *options, "--corpus", "genia")
    assert (code, "not run on genia" in error) == (2, True)
