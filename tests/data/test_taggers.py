import importlib.util
import sys

import pytest

from nestling.data.features import TagIndexer
from nestling.data.taggers import TAGGERS, load_tagger
from nestling.errors import MissingExtraError, UnknownNameError


def test_english_tags():
    pytest.importorskip("textblob")
    tag = load_tagger("en")
    assert tag(("The", "gene", "was", "cloned", "in", "Oslo", ".")) == ["DT", "NN", "VBD", "VBN", "IN", "NNP", "."]
    assert len(tag(("a/b", "x\u00a0y", "and/or", "/"))) == 4


@pytest.mark.parametrize("name", TAGGERS)
def test_every_tagger_gives_a_tag_a_word_or_says_what_to_install(name):
    words = ("Hallo", ",", "Москва", "2024", "!")
    package = {"en": "textblob", "de": "HanTa", "ru": "natasha"}[name]
    if importlib.util.find_spec(package):
        assert len(load_tagger(name)(words)) == len(words)
    else:
        with pytest.raises(MissingExtraError, match=rf'pip install "nestling\[pos-{name}\]"'):
            load_tagger(name)


def test_a_missing_tagger_says_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "textblob.en", None)
    with pytest.raises(MissingExtraError, match=r'pip install "nestling\[pos-en\]"'):
        load_tagger("en")


def test_unknown_tagger():
    with pytest.raises(UnknownNameError, match="known: de, en, ru"):
        load_tagger("xx")


def test_tags_as_numbers():
    indexer = TagIndexer(lambda words: [word[0] for word in words], ["a", "b"])
    assert indexer([[("ax", "bx", "cx")], [("b",)]]).tolist() == [[1, 2, 0], [2, 0, 0]]
