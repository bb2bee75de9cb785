"""Every figure that was measured of the public corpora, and how they are split. Skips where they are not there."""

import json
from collections import Counter
from functools import cache

import pytest

from nestling.data import corpora
from nestling.data.files import Source
from nestling.data.formats import read
from nestling.data.statistics import describe
from nestling.errors import DataError, UnknownNameError
from nestling.types import Document
from tests.conftest import CORPORA_ROOT

COUNTS = CORPORA_ROOT / "counts.json"
EXPECTED = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
NAMES = list(EXPECTED) or [pytest.param("none", marks=pytest.mark.skip(f"no counts in {CORPORA_ROOT}"))]

# Three of the expected figures were measured in ways that the definitions beside them do not bear out. The tests
# below reproduce them from the files, so that the difference is known to be this and nothing else.
SLIPS = {
    ("nerel", "train", "nested"): 15286,
    ("nerel", "train", "inner"): 9581,
    ("weibo", "test", "distinct_units_also_in_train"): 38,
}


@cache
def _read_once(path, format, options):
    return list(read(path, format, **dict(options)))


@pytest.fixture
def _reading_once(monkeypatch):
    """GENIA's files are read once by all the tests that look at them in different ways."""

    def cached(path, format, watch, **options):
        return _read_once(path, format, tuple(options.items()))

    monkeypatch.setattr(corpora, "read", cached)


@pytest.mark.parametrize("name", NAMES)
def test_statistics_reproduce_the_measured_counts(name, corpora_root):
    assert corpora.parts_of(name, shipped=True) == tuple(part["split"] for part in EXPECTED[name])
    train = None
    for expected in EXPECTED[name]:
        part = expected["split"]
        documents = corpora.load(name, part, root=corpora_root, shipped=True)
        found = describe(part, documents, corpora.find(name).unit, train).as_json()
        wanted = expected | {key: value for (*place, key), value in SLIPS.items() if place == [name, part]}
        assert {key: found[key] for key in wanted} == wanted
        assert set(found["type_counts"]) <= set(corpora.find(name).labels)
        train = documents if part == "train" else train


def test_nerel_slip_is_eight_mentions_whose_fragments_stand_out_of_order(corpora_root):
    """The expected 15271 and 9569 take the first fragment's start and the last one's end, as listed, for the hull."""
    nested = inner = unordered = 0
    for path in sorted((corpora_root / "nerel" / "train").glob("*.ann")):
        hulls = set()
        for _, line in Source(path).lines():
            if line.startswith("T"):
                label, offsets = line.split("\t")[1].split(" ", 1)
                fragments = tuple(tuple(map(int, pair.split())) for pair in offsets.split(";"))
                unordered += list(fragments) != sorted(fragments)
                hulls.add((fragments[0][0], -fragments[-1][1], fragments, label))
        inside, around = set(), set()
        ordered = sorted(hulls)
        for n, outer in enumerate(ordered):
            for other in ordered[n + 1 :]:
                if other[0] >= -outer[1]:
                    break
                if other[1] >= outer[1] and other[:2] != outer[:2]:
                    around.add(outer)
                    inside.add(other)
        nested += len(inside | around)
        inner += len(inside)
    assert (unordered, nested, inner) == (8, 15271, 9569)
    assert (nested, inner) == tuple(EXPECTED["nerel"][0][key] for key in ("nested", "inner"))


def test_weibo_slip_is_the_digit_that_is_no_part_of_the_text(corpora_root):
    """The expected 36 compares characters with their places in words; two messages are segmented differently."""

    def messages(part, cut):
        cells = [
            line.split("\t")[0] for _, line in Source(corpora_root / "weibo" / f"weiboNER_2nd_conll.{part}").lines()
        ]
        texts = "\n".join(cell[:-1] if cut else cell for cell in cells).split("\n\n")
        return {text.strip("\n") for text in texts}

    assert len(messages("train", cut=False) & messages("test", cut=False) - {""}) == 36
    assert len(messages("train", cut=True) & messages("test", cut=True) - {""}) == 38


@pytest.mark.usefixtures("_reading_once")
@pytest.mark.xdist_group("genia")
def test_genia_matches_table_5_in_every_cell(corpora_root):
    table_5 = {"train": (16692, 3522, 25.35, 50509, 9064, 17.95), "test": (1854, 446, 25.99, 5506, 1199, 21.78)}
    for part, cells in table_5.items():
        f = describe(part, corpora.load("genia", part, root=corpora_root, shipped=True)).as_json()
        assert (f["sentences"], f["sentences_with_nesting"], f["mean_length"]) == cells[:3]
        assert (f["entities"], f["nested"], f["nested_percent"]) == cells[3:]


@pytest.mark.usefixtures("_reading_once")
@pytest.mark.xdist_group("genia")
def test_genia_xml_gives_the_published_sentences(corpora_root):
    for part in ("train", "dev", "test"):
        published = corpora.load("genia", part, root=corpora_root)
        articles = corpora.load("genia-xml", part, root=corpora_root)
        theirs = [(s.words, {e.key for e in s.entities}) for d in published for s in d.sentences]
        assert [(s.words, {e.key for e in s.entities}) for d in articles for s in d.sentences] == theirs
        assert len(articles) < len(theirs)
        assert any("." in document.text and " ." not in document.text for document in articles)  # raw, not re-joined


def test_every_corpus_has_the_three_parts_or_says_so():
    without_train = {"genia-docsplit"}
    for name in corpora.CORPORA:
        assert corpora.parts_of(name) == (("dev", "test") if name in without_train else ("train", "dev", "test"))


@pytest.mark.usefixtures("_reading_once")
@pytest.mark.xdist_group("genia")
def test_genia_articles_are_split_by_article(corpora_root):
    parts = {part: corpora.load("genia-articles", part, root=corpora_root) for part in ("train", "dev", "test")}
    assert [sum(len(d.sentences) for d in own) for own in parts.values()] == [15049, 1765, 1732]
    assert [len({d.id for d in own}) for own in parts.values()] == [1601, 199, 199]
    for part in ("dev", "test"):
        mine = Counter(e.label for d in parts[part] for e in d.entities)
        found = corpora.load("genia-docsplit", part, root=corpora_root)
        theirs = Counter(e.label for d in found for e in d.entities)
        assert sum(abs(mine[label] - theirs[label]) for label in mine) <= 0.02 * sum(theirs.values())


@pytest.mark.parametrize("name", ["genia", "litbank", "litbank-sentences", "anercorp"])  # genia-xml: the test above
def test_dev_is_cut_from_train_and_never_from_test(name, corpora_root, request):
    again = corpora.load(name, "dev", root=corpora_root)
    request.getfixturevalue("_reading_once")
    parts = {part: corpora.load(name, part, root=corpora_root) for part in corpora.parts_of(name)}
    assert list(parts) == ["train", "dev", "test"]
    shipped = {p: corpora.load(name, p, root=corpora_root, shipped=True) for p in corpora.parts_of(name, shipped=True)}

    def sentences(documents):
        return Counter(sentence.words for document in documents for sentence in document.sentences)

    if "test" in shipped:
        assert sentences(parts["test"]) == sentences(shipped["test"])
        assert sentences(parts["train"]) + sentences(parts["dev"]) == sentences(shipped["train"])
    else:
        (everything,) = shipped.values()
        assert sum(map(sentences, parts.values()), Counter()) == sentences(everything)
    if name == "litbank":
        assert [len(own) for own in parts.values()] == [80, 10, 10]
    assert again == parts["dev"]
    assert 0.05 < sum(sentences(again).values()) / sum(sum(map(sentences, parts.values()), Counter()).values()) < 0.15


def made(*counts):
    return [
        Document.of_words(str(n), [([f"{n}.{i}", "x"], []) for i in range(count)]) for n, count in enumerate(counts)
    ]


def test_sentences_in_a_row_cut_the_document_they_end_in():
    documents = made(3, 2, 4)
    first, last = corpora.first_sentences(documents, 0, 4), corpora.first_sentences(documents, 4)
    assert [len(d.sentences) for d in first] == [3, 1]
    assert [len(d.sentences) for d in last] == [1, 4]
    assert (first[1].text, last[0].text) == ("1.0 x", "1.1 x")
    assert first[0] is documents[0]


def test_what_is_held_out_depends_on_ids_alone():
    documents = made(*[1] * 50)
    dev, test = corpora.held_out(documents, 0.1), corpora.held_out(documents, 0.1, skip=0.1)
    assert (len(dev), len(test), len({d.id for d in dev + test})) == (5, 5, 10)
    assert corpora.held_out(reversed(documents), 0.1) == dev


def test_where_corpora_are(tmp_path, monkeypatch):
    monkeypatch.delenv("NESTLING_DATA", raising=False)
    with pytest.raises(DataError, match="set NESTLING_DATA to the folder that holds litbank/, or say --root DIR"):
        corpora.load("litbank", "dev")
    monkeypatch.setenv("NESTLING_DATA", str(tmp_path))
    with pytest.raises(DataError, match="the corpus litbank is not there"):
        corpora.load("litbank", "dev")
    with pytest.raises(UnknownNameError, match="did you mean 'litbank'"):
        corpora.find("litbnak")
    with pytest.raises(UnknownNameError, match="part of litbank"):
        corpora.load("litbank", "de", root=tmp_path)


def test_sentences_of_abstracts_stand_together_as_texts(corpora_root):
    alone, together = (corpora.load(name, "test", root=corpora_root) for name in ("ncbi-disease", "ncbi-disease-text"))
    assert [len(document.sentences) for document in together] == [20] * (len(alone) // 20)
    assert [s.words for d in together for s in d.sentences] == [s.words for d in alone for s in d.sentences]
    assert sum(len(d.mentions) for d in together) == sum(len(d.mentions) for d in alone)
    assert len({document.id for document in together}) == len(together)
    assert " ." not in together[0].text
