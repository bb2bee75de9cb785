"""The models that come with nestling, tried as a new user would."""

import json
from functools import cache

import pytest

import nestling
from nestling.cards import read_card
from nestling.checkpoint import model_folders, model_path
from tests.varied_texts import VARIED

NAMES = ("en-general", "en-bio", "en-medicine", "de-general")
pytestmark = pytest.mark.xdist_group("shipped")  # so that a model is loaded once


@cache
def model(name):
    return nestling.load(name)


@pytest.mark.parametrize("name", NAMES)
def test_they_are_small_and_have_a_card_with_scores(name):
    figures = read_card(model_path(name))
    assert 0 < figures["megabytes"] <= 25
    assert figures["scores"]
    assert figures["labels"] == list(model(name).batcher.labels)


@pytest.mark.parametrize("name", NAMES)
def test_they_learnt_from_text_as_they_meet_it(name):
    """Words that are cut at the borders of gold are easy to learn from, and are not what users have."""
    assert json.loads((model_path(name) / "card.json").read_text(encoding="utf-8"))["from_raw_text"]


def test_all_of_them_are_small():
    own = [folder for folder in model_folders() if folder.name in NAMES]
    assert sum(file.stat().st_size for folder in own for file in folder.rglob("*") if file.is_file()) <= 60e6


@pytest.mark.parametrize("kind", VARIED)
@pytest.mark.parametrize("name", NAMES)
def test_any_text_is_read_and_its_characters_are_kept(name, kind):
    text = VARIED[kind]
    found = model(name)(text)
    assert found.text == text
    for mention in found.mentions:
        for fragment in mention.fragments:
            own = text[fragment.start : fragment.end]
            assert own
            assert own == own.strip()
        assert 0 <= mention.score <= 1
        assert mention.label in model(name).batcher.labels


def test_a_text_that_is_repeated_gets_the_same_entities_again_and_again():
    """Batches of long texts change nothing: 150 copies of a sentence have 150 times what it has alone."""
    text = VARIED["three thousand words"]
    once = model("en-general")(text[: len(text) // 150])
    often = model("en-general")(text)
    assert once.mentions
    assert len(often.mentions) == 150 * len(once.mentions)


@pytest.mark.parametrize(
    ("name", "text", "outer", "inner"),
    [
        ("en-general", "The captain's wife waited in the kitchen of the inn.", "The captain's wife", "The captain"),
        ("en-bio", "Expression of the IL-2 gene was measured in T cells.", "IL-2 gene", "IL-2"),
    ],
)
def test_entities_inside_entities_are_found(name, text, outer, inner):
    found = [mention.text for mention in model(name)(text).mentions]
    assert outer in found
    assert inner in found
