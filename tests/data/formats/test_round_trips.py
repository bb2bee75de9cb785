"""read(write(d)) == d, wherever the format can hold d."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from nestling.data.formats import read, write
from nestling.data.formats.column import Layout
from nestling.errors import CannotHoldError, DataError, UnknownNameError
from nestling.types import Document, Entity, Span
from tests.strategies import corpora, documents, documents_of_words


def there_and_back(documents, name, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(documents, path, **options)
        assert [entry.name for entry in Path(folder).iterdir()] == [name]
        return list(read(path, options.get("format")))


@given(corpora())
def test_jsonl(made):
    assert there_and_back(made, "x.jsonl") == made


@given(corpora(documents_of_words, discontinuous=False, scored=False))
def test_column(made):
    for scheme in ("BIO", "BIOES", "BILOU"):
        assert there_and_back(made, "x.conll", scheme=scheme, order="outermost") == made


def meaning(document):
    """What brat holds: the text, and mentions in characters."""
    characters = [
        (
            frozenset(n for f in m.fragments for n in range(f.start, f.end) if not document.text[n].isspace()),
            m.label,
            m.score,
        )
        for m in document.mentions
    ]
    return document.id, document.text, sorted(characters, key=repr)


@settings(max_examples=30)
@given(corpora())
def test_brat_holds_texts_and_mentions(made):
    assert sorted(map(meaning, there_and_back(made, "x", format="brat"))) == sorted(map(meaning, made))


@settings(max_examples=30)
@given(documents())
def test_brat_keeps_what_it_gave(document):
    once = there_and_back([document], "x", format="brat")
    assert there_and_back(once, "x", format="brat") == once


def test_brat_with_tokens_as_they_stand(tmp_path):
    document = Document.of_words("d", [(["U.S.A.", "wins"], [Entity.at(0, 1, "GPE")]), (["yes", "!"], [])])
    write([document], tmp_path / "x", "brat")
    assert list(read(tmp_path / "x", is_tokenised=True)) == [document]


@settings(max_examples=50)
@given(corpora(discontinuous=False))
def test_docbin(made):
    assert there_and_back(made, "x.spacy") == made


def test_docbin_is_read_by_spacy(tmp_path):
    import spacy
    from spacy.tokens import DocBin

    nested = Document.of_words("a", [(["New", "York", "Times"], [Entity.at(0, 3, "ORG", 0.5), Entity.at(0, 2, "GPE")])])
    flat = Document.of_words("b", [(["New", "York"], [Entity.at(0, 2, "GPE")]), (["Yes"], [])])
    write([nested, flat], tmp_path / "x.spacy")
    first, second = DocBin(store_user_data=True).from_disk(tmp_path / "x.spacy").get_docs(spacy.blank("en").vocab)
    assert [(s.text, s.label_) for s in first.spans["sc"]] == [("New York Times", "ORG"), ("New York", "GPE")]
    assert first.spans["sc"].attrs["scores"] == [0.5, 1.0]
    assert (len(first.ents), first.user_data["id"]) == (0, "a")
    assert [(e.text, e.label_) for e in second.ents] == [("New York", "GPE")]
    assert [sentence.text for sentence in second.sents] == ["New York\n", "Yes"]


def test_docbin_of_flat_entities_only(tmp_path):
    import spacy
    from spacy.tokens import DocBin

    doc = spacy.blank("en")("Ann lives in Rome. Bob does not.")
    doc.ents = [doc.char_span(0, 3, label="PER"), doc.char_span(13, 17, label="GPE")]
    DocBin(docs=[doc]).to_disk(tmp_path / "x.spacy")
    (document,) = read(tmp_path / "x.spacy")
    assert [(m.text, m.label) for m in document.mentions] == [("Ann", "PER"), ("Rome", "GPE")]
    assert len(document.sentences) == 2


@pytest.mark.parametrize(("id", "word"), [("O", "x"), (" a", "x"), ("d", "-DOCSTART-"), ("d", "a\tb")])
def test_column_refuses_what_it_would_read_otherwise(tmp_path, id, word):
    with pytest.raises(CannotHoldError, match="column files cannot hold the (id|word)"):
        write([Document.of_words(id, [(["y", word], [])])], tmp_path / "x.conll")


DISCONTINUOUS = Entity((Span(0, 1), Span(2, 3)), "arm")


@pytest.mark.parametrize(
    ("name", "entities", "message"),
    [
        ("x.conll", [DISCONTINUOUS], "discontinuous entity: arm at words 0-1 and 2-3 of document 'd'"),
        ("x.conll", [Entity.at(0, 1, "X", 0.5)], "a score: X at words 0-1 of document 'd'"),
        ("x.conll", [Entity.at(0, 1, "X")] * 2, "the same entity twice: X at words 0-1"),
        ("x.conll", [Entity.at(0, 1, "a|b")], r"a label with .*: a\|b at words 0-1"),
        ("x.spacy", [DISCONTINUOUS], "discontinuous entity: arm 'left arm' in document 'd'"),
        ("x", [Entity.at(0, 1, "a b")], "label with blanks: 'a b' on 'left' in document 'd'"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_nothing_written(tmp_path, name, entities, message):
    good = Document.of_words("good", [(["fine"], [])])
    bad = Document.of_words("d", [(["left", "and", "arm"], entities)])
    with pytest.raises(CannotHoldError, match=message):
        write([good, bad], tmp_path / name, "brat" if name == "x" else None)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_source_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.jsonl"
    write([Document.of_words("d", [(["a"], [])])], path)
    before = path.read_bytes()

    def broken():
        yield Document.of_words("e", [(["b"], [])])
        raise DataError("the disk is on fire")

    with pytest.raises(DataError, match="on fire"):
        write(broken(), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.jsonl"]


def test_brat_refuses_two_documents_of_one_id_and_a_full_folder(tmp_path):
    document = Document.of_words("d", [(["a"], [])])
    with pytest.raises(CannotHoldError, match="two documents have the id 'd'"):
        write([document, document], tmp_path / "x", "brat")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").write_text("mine")
    with pytest.raises(DataError, match="is there already"):
        write([document], tmp_path / "full", "brat")
    assert (tmp_path / "full" / "note.txt").read_text() == "mine"


def test_names_of_formats_and_options(tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'jsonl'"):
        read(tmp_path, "jsnl")
    with pytest.raises(UnknownNameError, match="unknown option of the format 'jsonl' 'layout'"):
        read(tmp_path, "jsonl", layout=Layout())
    with pytest.raises(DataError, match="the name does not tell a format"):
        write([], tmp_path / "x.dat")
    with pytest.raises(DataError, match="'spert' is only read"):
        write([], tmp_path / "x.json", "spert")
