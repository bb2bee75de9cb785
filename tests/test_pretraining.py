"""Hidden words: what is hidden, that guessing them is learnt, and that a run with it can be stopped at any step."""

import json

import pytest
import torch

from nestling.checkpoint import load
from nestling.config import build
from nestling.data.batches import Batcher, passages
from nestling.errors import CheckpointError, SettingsError
from nestling.masking import MaskedWords
from nestling.nn.encoders import Transformer
from nestling.pretraining import Pretraining, texts_of
from nestling.run import Run
from nestling.settings import settings_of
from nestling.types import Document, Labels
from tests.small_runs import corpus, table, trained, transformer, weights

MASK = 4  # of the tiny tokenizer


def settings(folder, model, **pretraining):
    """A run with hidden words before it."""
    made = table(folder, {"span": {}}, transformer(model), epochs=2, batch_size=8)
    return made | {"pretraining": {"epochs": 2, "batch_words": 20, "rate": 0.005, **pretraining}}


def masked(model, share=0.5):
    """What guesses, and a batch of its pieces."""
    built = build(
        settings_of({"heads": {"span": {"widest": 2}}, "encoder": transformer(model)}, "test"), Labels(()), {}
    )
    part = next(own for own in built.model.modules() if isinstance(own, Transformer))
    batcher = Batcher({part.name: built.batcher.indexers[part.name]}, Labels(()))
    return MaskedWords(part.eval(), MASK, share=share), batcher.batch(list(passages(corpus())))


def seen(own, batch):
    """The pieces as the transformer is shown them, and what guesses and wanted pieces came of it."""
    shown = []
    hidden = own.encoder.hidden
    own.encoder.hidden = lambda ids, mask: (shown.append(ids), hidden(ids, mask))[1]
    logits, wanted = own.guesses(batch)
    return shown[0], logits, wanted


def test_whole_words_are_hidden_and_nothing_else_changes(tiny_transformer):
    own, batch = masked(tiny_transformer)
    pieces = batch.features[own.encoder.name]
    torch.manual_seed(0)
    shown, logits, wanted = seen(own, batch)
    places = (shown == MASK).flatten().nonzero().flatten()
    words = pieces.words.flatten(0, 1)  # (B * T, K)
    touched = torch.isin(words, places).any(dim=1)
    changed = torch.isin(words, (shown != pieces.ids).flatten().nonzero().flatten()).any(dim=1)
    real = batch.mask.flatten().sum().item()
    assert logits.shape == (len(wanted), len(own.table))
    assert 0.25 < touched.sum().item() / real < 0.75
    assert len(places) == pytest.approx(0.8 * len(wanted), rel=0.2)
    assert len(wanted) >= (words[touched | changed] > 0).sum()  # every piece of a word that is touched is asked for
    assert (shown[pieces.ids < MASK] == pieces.ids[pieces.ids < MASK]).all()  # padding, first and last pieces


def test_a_piece_that_is_shown_in_the_place_of_another_is_of_the_batch(tiny_transformer):
    own, batch = masked(tiny_transformer, share=0.9)
    ids = batch.features[own.encoder.name].ids
    shown, _, _ = seen(own, batch)
    assert set(shown.unique().tolist()) <= {*ids.unique().tolist(), MASK}
    assert ((shown != ids) & (shown != MASK)).any()


def test_one_word_at_least_is_hidden(tiny_transformer):
    own, batch = masked(tiny_transformer, share=1e-9)
    _, wanted = own.guesses(batch)
    assert len(wanted) > 0
    assert torch.isfinite(own(batch)["masked"].total)


def test_words_are_learnt_and_pieces_that_are_not_met_stay_as_they_were(tmp_path, tiny_transformer):
    run = Run(settings_of(settings(tmp_path, tiny_transformer, epochs=40, share=0.3), "test"), tmp_path / "run")
    part = next(own for own in run.built.model.modules() if isinstance(own, Transformer))
    before = part.model.embeddings.word_embeddings.weight.detach().clone()
    met = set(run.built.batcher.batch(run.trainer.passages(0)).features["transformer"].ids.unique().tolist())
    steps = [step for step in run.steps() if step.phase == "pretraining"]
    changed = (part.model.embeddings.word_embeddings.weight != before).any(dim=1).nonzero().flatten().tolist()
    scores = [step.score for step in steps if step.score is not None]
    assert len(scores) == 40
    assert max(scores[-10:]) > scores[0] + 20
    assert steps[-1].losses == {}
    assert [step.share for step in steps] == sorted(step.share for step in steps)
    assert steps[-1].share == 1.0
    assert changed
    assert set(changed) <= {*met, MASK}


def test_what_was_learnt_is_what_training_begins_with(tmp_path, tiny_transformer):
    """And the folder keeps nothing of the first phase but a line for each epoch in its log."""
    run = Run(settings_of(settings(tmp_path, tiny_transformer), "test"), tmp_path / "run")
    part = next(own for own in run.built.model.modules() if isinstance(own, Transformer))
    first = part.model.encoder["layer"][0].output.dense.weight.detach().clone()
    phases = []
    for step in run.steps():
        if step.phase == "training" and "training" not in phases:
            begun = part.model.encoder["layer"][0].output.dense.weight.detach().clone()
        phases.append(step.phase)
    assert phases == sorted(phases)
    assert (begun - first).abs().mean() > 1e-3
    assert not (tmp_path / "run" / "pretraining").exists()
    assert (tmp_path / "run" / "log.txt").read_text().count("pretraining, epoch") == 2
    assert load(tmp_path / "run")(corpus()[0]) is not None


@pytest.mark.parametrize("stop", [1, 3, 5, 7])
def test_a_run_that_is_cut_in_any_phase_ends_like_one_that_was_not(tmp_path, tiny_transformer, stop):
    own = settings(tmp_path, tiny_transformer)
    total = len(trained(tmp_path, own, "whole")[1])
    for n, _ in enumerate(Run(settings_of(own, "test"), tmp_path / "cut", save_seconds=0).steps(), 1):
        if n == stop:
            break
    _, steps = trained(tmp_path, own, "cut", resume=True)
    assert len(steps) == total - stop
    whole, resumed = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_going_on_with_other_settings_is_refused(tmp_path, tiny_transformer):
    own = settings(tmp_path, tiny_transformer)
    steps = Run(settings_of(own, "test"), tmp_path / "run").steps()
    next(steps)
    steps.close()
    other = settings(tmp_path, tiny_transformer, share=0.4)
    with pytest.raises(CheckpointError, match="begun with another training text"):
        Run(settings_of(other, "test"), tmp_path / "run", resume=True)


def test_more_text_from_files(tmp_path, tiny_transformer):
    (tmp_path / "more.txt").write_text("Ann went home. Bob stayed.\n", encoding="utf-8")
    (tmp_path / "more.jsonl").write_text(json.dumps({"text": "Eve came."}) + "\n", encoding="utf-8")
    (document,) = texts_of(tmp_path / "more.txt", "en")
    assert [len(sentence) for sentence in document.sentences] == [4, 3]
    own = settings(tmp_path, tiny_transformer, texts=[str(tmp_path / "more.txt"), str(tmp_path / "more.jsonl")])
    run = Run(settings_of(own, "test"), tmp_path / "run")
    assert isinstance(run.pretraining, Pretraining)
    words = [" ".join(s.words) for p in run.pretraining.trainer.passages(0) for s in p.sentences]
    assert words[-3:] == ["Ann went home .", "Bob stayed .", "Eve came ."]
    assert len(words) == len(corpus()) + 3


@pytest.mark.parametrize("encoder", [None, {"is_remembered": True}])
def test_an_encoder_that_cannot_learn_from_text_is_refused(tmp_path, tiny_transformer, encoder):
    own = settings(tmp_path, tiny_transformer)
    own["encoder"] = {"parts": [{"kind": "affixes"}]} if encoder is None else transformer(tiny_transformer, **encoder)
    with pytest.raises(SettingsError, match="no transformer that is trained"):
        Run(settings_of(own, "test"), tmp_path / "run")


def test_a_tokenizer_without_a_mask_is_refused(tmp_path, tiny_transformer):
    import shutil

    shutil.copytree(tiny_transformer, tmp_path / "bare")
    path = tmp_path / "bare" / "tokenizer_config.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in told.items() if key != "mask_token"}))
    with pytest.raises(SettingsError, match="no piece that hides others"):
        Run(settings_of(settings(tmp_path, tmp_path / "bare"), "test"), tmp_path / "run")


def test_without_the_setting_there_is_no_first_phase(tmp_path, tiny_transformer):
    own = settings(tmp_path, tiny_transformer) | {"pretraining": {}}
    run, steps = trained(tmp_path, own)
    assert run.pretraining is None
    assert {step.phase for step in steps} == {"training"}
    assert isinstance(run.corpus.train[0], Document)
