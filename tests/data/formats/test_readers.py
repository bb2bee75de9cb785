"""Each format, on small files written for the purpose."""

import json

import pytest

from nestling.data.files import Watch
from nestling.data.formats import guess, read
from nestling.data.formats.column import Layout
from nestling.errors import DataError
from nestling.types import Span


def put(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def mentions(documents):
    return [(m.text, m.label) for document in documents for m in document.mentions]


def places(documents):
    return [
        (" ".join(s.words), [(tuple((f.start, f.end) for f in e.fragments), e.label) for e in s.entities])
        for document in documents
        for s in document.sentences
    ]


class TestJsonl:
    def one(self, tmp_path, record):
        (document,) = read(put(tmp_path, "x.jsonl", json.dumps(record)))
        return document

    def test_text_with_characters(self, tmp_path):
        entities = [
            {"fragments": [[0, 4], [15, 18]], "label": "arm", "score": 0.97},
            {"fragments": [[9, 18]], "label": "arm"},
        ]
        document = self.one(tmp_path, {"id": "a", "text": "left and right arm", "entities": entities})
        assert [(m.text, m.score) for m in document.mentions] == [("left arm", 0.97), ("right arm", 1.0)]

    def test_characters_are_code_points(self, tmp_path):
        document = self.one(tmp_path, {"text": "😀 Ünal", "entities": [{"fragments": [[2, 6]], "label": "PER"}]})
        assert document.mentions[0].text == "Ünal"

    def test_tokens_with_words(self, tmp_path):
        entities = [{"fragments": [[0, 1], [2, 3]], "label": "X"}, {"fragments": [[0, 1]], "label": "Y"}]
        document = self.one(tmp_path, {"tokens": ["a", "b", "c"], "entities": entities})
        assert places([document]) == [("a b c", [(((0, 1), (2, 3)), "X"), (((0, 1),), "Y")])]
        assert document.id == "x:1"

    def test_keys_of_other_tools(self, tmp_path):
        heard = []
        path = put(
            tmp_path, "x.jsonl", '{"text": "a b", "spans": [{"start": 0, "end": 1}]}\n{"text": "a", "entitys": []}'
        )
        list(read(path, "jsonl", watch=Watch(heard.append)))
        assert [problem.message for problem in heard] == [
            "no entities, and the key 'spans' is not read",
            "unknown key 'entitys'",
        ]

    def test_a_slip_in_an_entity_does_not_change_the_format(self, tmp_path):
        path = put(tmp_path, "x.jsonl", '{"text": "a", "entities": [{"fragment": [[0, 1]], "label": "X"}]}')
        assert guess(path) == "jsonl"

    def test_sentences_with_words_of_the_document(self, tmp_path):
        record = {"sentences": [["a", "b"], ["c", "d"]], "entities": [{"fragments": [[2, 4]], "label": "X"}]}
        assert places([self.one(tmp_path, record)]) == [("a b", []), ("c d", [(((0, 2),), "X")])]

    def test_text_with_sentences(self, tmp_path):
        record = {"text": "ab cd.ef", "sentences": [[[0, 2], [3, 6]], [[6, 8]]], "entities": []}
        assert [s.words for s in self.one(tmp_path, record).sentences] == [("ab", "cd."), ("ef",)]

    def test_no_entities_and_other_keys(self, tmp_path):
        assert self.one(tmp_path, {"text": "Hello.", "source": "web", "context": 1, "sentence_id": 2}).mentions == ()

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"text": "abc", "entities": [{"fragments": [[2, 1]], "label": "X"}]}', "0 <= start < end"),
            ('{"text": "abc", "entities": [{"fragments": [[0, 9]], "label": "X"}]}', "ends beyond the text"),
            ('{"text": "abc", "entities": [{"fragments": [[0]], "label": "X"}]}', "entities.0.fragments.0: "),
            ('{"text": "abc", "entities": [{"fragments": [], "label": "X"}]}', "entities.0.fragments: "),
            ('{"text": "abc", "entities": [{"fragments": [[0, 1]]}]}', "entities.0.label: Field required"),
            ('{"text": "abc", "entities": [{"fragments": [[0, 1]], "label": "X", "score": NaN}]}', "between 0 and 1"),
            ('{"text": "abc", "entites": []}', "unknown key 'entites' .did you mean 'entities'"),
            (
                '{"text": "abc", "entities": [{"fragments": [[0, 1]], "label": "X", "scroe": 1}]}',
                "did you mean 'score'",
            ),
            ('{"text": "abc", "tokens": ["abc"]}', "tokens: Input should be None"),
            ('{"id": "\\ud800", "text": "a"}', "surrogate"),
            ('{"text": "a", "entities": [{"fragments": [[0, 1]], "label": "\\ud800"}]}', "surrogate"),
            ('{"text": "a\\ud800"}', "surrogate"),
            ('{"tokens": ["a"], "entities": [{"fragments": [[0, 2]], "label": "X"}]}', "beyond the last word"),
            ('{"sentences": [["a"], ["b"]], "entities": [{"fragments": [[0, 2]], "label": "X"}]}', "in two sentences"),
            ('{"tokens": ["a", ""]}', "a token needs a text"),
            ('{"id": "x"}', "needs a text, tokens or sentences"),
            ("[" * 100_000, "not JSON"),
            ('{"text": ' * 100_000, "nested too deeply|not JSON"),
            ("17", "valid dictionary|Input should be"),
            ('{"text": "abc", "entities"', "not JSON"),
            (
                '{"text": "abc", "entities": [{"fragments": [[0, ' + "9" * 5000 + ']], "label": "X"}]}',
                "not JSON|Exceeds",
            ),
        ],
    )
    def test_bad_lines_name_file_and_line(self, tmp_path, line, message):
        path = put(tmp_path, "x.jsonl", '{"text": "fine"}\n' + line + "\n")
        with pytest.raises(DataError, match=message) as caught:
            list(read(path, "jsonl"))
        assert (caught.value.path, caught.value.line) == (str(path), 2)


class TestColumn:
    def test_layers_of_both_orders_and_a_trailing_tab(self, tmp_path):
        text = "Lord\tB-PER\tB-PER\t\nChancellor\tO\tI-PER\t\n\nHe\tO\tO\t\n"
        documents = list(read(put(tmp_path, "x.tsv", text)))
        assert places(documents) == [("Lord Chancellor", [(((0, 2),), "PER"), (((0, 1),), "PER")]), ("He", [])]
        assert [d.id for d in documents] == ["x:1", "x:4"]

    def test_several_labels_in_a_cell(self, tmp_path):
        text = "New B-ORG|B-GPE\nYork I-ORG|I-GPE\nTimes I-ORG\n"
        assert mentions(read(put(tmp_path, "x.bio", text))) == [("New York Times", "ORG"), ("New York", "GPE")]

    def test_documents_and_columns_of_conll03(self, tmp_path):
        text = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\n\nBonn NNP B-NP I-LOC\n\n-DOCSTART- -X- O O\n\nhe PRP B-NP O\n"
        path = put(tmp_path, "x.conll", text)
        documents = list(read(path, layout=Layout(columns=(3,))))
        assert [len(d.sentences) for d in documents] == [2, 1]
        assert mentions(documents) == [("EU", "ORG"), ("Bonn", "LOC")]
        with pytest.raises(DataError, match=r"x.conll:3: 'NNP' is not a tag .*--columns"):
            list(read(path))

    def test_blank_only_lines_separate_and_line_ends_do_not_matter(self, tmp_path):
        assert len(list(read(put(tmp_path, "x.tsv", "\ufeffa\tO\r\n\t\r\nb\tO\r\n")))) == 2

    def test_stray_tags_are_reported_and_kept(self, tmp_path):
        problems = []
        documents = list(read(put(tmp_path, "x.tsv", "a\tO\nb\tI-PER\n"), watch=Watch(problems.append)))
        assert mentions(documents) == [("b", "PER")]
        assert [(p.line, p.severity) for p in problems] == [(2, "warning")]

    @pytest.mark.parametrize(
        ("text", "line", "message"),
        [
            ("a\tO\nb\tX-PER\n", 2, "'X-PER' is not a tag"),
            ("a\tO\nb\n", 2, "1 columns instead of 2"),
            ("a\tO\nb\tO\tO\n", 2, "3 columns instead of 2"),
            ("a\tO\n\tO\n", 2, "no word"),
            ("just text\nand more\n", 1, "'text' is not a tag"),
        ],
    )
    def test_bad_lines(self, tmp_path, text, line, message):
        with pytest.raises(DataError, match=message) as caught:
            list(read(put(tmp_path, "x.tsv", text)))
        assert caught.value.line == line

    def test_all_problems_are_found_when_collected(self, tmp_path):
        problems = []
        documents = list(read(put(tmp_path, "x.tsv", "a\tX\n\nb\n\nc\tB-PER\n"), watch=Watch(problems.append)))
        assert [p.line for p in problems] == [1, 3]
        assert mentions(documents) == [("c", "PER")]


class TestBrat:
    def test_discontinuous_unordered_and_other_lines(self, tmp_path):
        put(tmp_path, "d.txt", "left and right arm")
        lines = [
            "T1\tarm 15 18;0 4\tarm left",
            "R1\tis Arg1:T1 Arg2:T2",
            "#1\tScore T1\t0.5",
            "T2\tarm 9 18\tright arm",
        ]
        put(tmp_path, "d.ann", "\n".join(lines))
        (document,) = read(tmp_path)
        assert [(m.text, m.score) for m in document.mentions] == [("left arm", 0.5), ("right arm", 1.0)]

    def test_line_ends_count_as_stored(self, tmp_path):
        put(tmp_path, "d.txt", "one\r\ntwo\r\n")
        put(tmp_path, "d.ann", "T1\tX 5 8\ttwo\r\n")
        assert mentions(read(tmp_path / "d.ann")) == [("two", "X")]

    def test_odd_lines_are_reported(self, tmp_path):
        put(tmp_path, "d.txt", "one two")
        put(tmp_path, "d.ann", "T1\tX 0 3\tonce\nstray\nT2\tX 0 3\tone\n")
        problems = []
        list(read(tmp_path, watch=Watch(problems.append)))
        assert [(p.line, p.severity) for p in problems] == [(1, "warning"), (2, "warning"), (None, "warning")]
        assert "annotated twice" in problems[2].message

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("T1\tX 3 1\tx", "0 <= start < end"),
            ("T1\tX 0 99\tx", "ends beyond the text"),
            ("T1\tX 3 4\t ", "is blank"),
            ("T1 X 0 3 one", "not a mention"),
            ("T1\tX 0 3\tone\nT1\tX 4 7\ttwo", "a second T1"),
            ("#1\tScore T1\tlots\nT1\tX 0 3\tone", "'lots' is not a score"),
            ("#1\tScore T1\t7\nT1\tX 0 3\tone", "between 0 and 1"),
        ],
    )
    def test_bad_lines(self, tmp_path, line, message):
        put(tmp_path, "d.txt", "one two")
        path = put(tmp_path, "d.ann", line + "\n")
        with pytest.raises(DataError, match=message) as caught:
            list(read(tmp_path))
        assert caught.value.path == str(path)

    def test_missing_texts(self, tmp_path):
        put(tmp_path, "d.ann", "")
        with pytest.raises(DataError, match="has no .txt file beside it"):
            list(read(tmp_path))
        put(tmp_path, "outer/train/d.txt", "x")
        with pytest.raises(DataError, match="holds no .txt files .*: train"):
            list(read(tmp_path / "outer"))


def test_nested_json_as_ace_and_kbp_are_passed_on(tmp_path):
    def sentence(words, *entities, id):
        found = [{"type": label, "start": start, "end": end} for start, end, label in entities]
        tokens = {"tokens": words.split(), "entities": found, "relations": [], "ltokens": [], "rtokens": ["x"]}
        return tokens | {"pos": ["NN"] * len(words.split()), "org_id": id, "orig_id": f"{id}-{words}"}

    nested = [(0, 4, "PER"), (0, 3, "ORG"), (0, 2, "GPE")]
    rows = [
        sentence("East Fenland council chair", *nested, id="news-1"),
        sentence("She resigned .", (0, 1, "PER"), id="news-1"),
        sentence("It rained .", id="news-2"),
    ]
    path = put(tmp_path, "train.json", json.dumps(rows))
    assert guess(path) == "spert"
    first, second = read(path)
    assert (len(first.sentences), len(second.sentences)) == (2, 1)
    assert [(m.text, m.label) for m in first.mentions] == [
        ("East Fenland council chair", "PER"),
        ("East Fenland council", "ORG"),
        ("East Fenland", "GPE"),
        ("She", "PER"),
    ]


def test_spert_with_entities_and_with_tags(tmp_path):
    items = [
        {"tokens": ["Ann", "Lee", "ran"], "entities": [{"type": "Peop", "start": 0, "end": 2}], "orig_id": 1},
        {"tokens": ["Bob", "in", "New", "York"], "tags": ["U-Peop", "O", "B-Loc", "L-Loc"], "orig_id": 2},
    ]
    path = put(tmp_path, "x.json", json.dumps(items))
    assert guess(path) == "spert"
    assert mentions(read(path)) == [("Ann Lee", "Peop"), ("Bob", "Peop"), ("New York", "Loc")]


def test_dygie_counts_words_of_the_document_ends_included(tmp_path):
    record = {
        "doc_key": "k",
        "sentences": [["a", "b"], ["c", "d", "e"]],
        "ner": [[[0, 1, "X"]], [[2, 2, "Y"], [2, 4, "X"]]],
    }
    path = put(tmp_path, "x.json", json.dumps(record) + "\n")
    assert guess(path) == "dygie"
    (document,) = read(path)
    assert document.id == "k"
    assert places([document]) == [("a b", [(((0, 2),), "X")]), ("c d e", [(((0, 3),), "X"), (((0, 1),), "Y")])]


def test_w2ner_with_gaps(tmp_path):
    items = [
        {
            "sentence": ["left", "and", "right", "arm"],
            "ner": [{"index": [0, 3], "type": "arm"}, {"index": [2, 3], "type": "arm"}],
        }
    ]
    path = put(tmp_path, "x.json", json.dumps(items))
    assert guess(path) == "w2ner"
    (document,) = read(path)
    assert [e.fragments for e in document.entities] == [(Span(0, 1), Span(3, 4)), (Span(2, 4),)]


def test_mentions(tmp_path):
    record = {
        "sent_id": "s",
        "tokens": ["Kofi", "Annan"],
        "entity_mentions": [{"start": 0, "end": 2, "entity_type": "PER"}],
    }
    path = put(tmp_path, "x.jsonlines", json.dumps(record))
    assert guess(path) == "mentions"
    assert mentions(read(path)) == [("Kofi Annan", "PER")]


def test_offsets_under_both_names(tmp_path):
    items = [
        {
            "doc_id": "1",
            "doc_text": "\nEm Lisboa.",
            "entities": [{"text": "Lisboa", "label": "LOCAL", "start_offset": 4, "end_offset": 10}],
        },
        {"id": 2, "text": "Em Braga.", "entities": [{"type": "LOCAL", "start": 3, "end": 8}]},
    ]
    path = put(tmp_path, "x.json", json.dumps(items))
    assert guess(path) == "offsets"
    assert mentions(read(path, language="pt")) == [("Lisboa", "LOCAL"), ("Braga", "LOCAL")]


def test_json_arrays_name_the_line_of_a_bad_item(tmp_path):
    path = put(tmp_path, "x.json", '[\n{"tokens": ["a"], "tags": ["O"]},\n{"tokens": ["a"], "tags": ["B"]}\n]')
    with pytest.raises(DataError, match="x.json:3: 'B' is not a tag"):
        list(read(path))
    path = put(tmp_path, "x.json", '[{"tokens": ["a"], "tags": ["O"]}]\n[{"tokens": ["lost"], "tags": ["O"]}]')
    with pytest.raises(DataError, match="x.json:2: something behind the end of the array"):
        list(read(path))
    for text, message in (
        ('[\n{"tokens": ["a"], "tags": ["O"]},\n{"tok', "x.json:3: not JSON"),
        ("[1 2]", "does not end with ]"),
    ):
        with pytest.raises(DataError, match=message):
            list(read(put(tmp_path, "x.json", text), "spert", watch=Watch(lambda _: None)))


GENIA = """<?xml version="1.0"?><!DOCTYPE set SYSTEM "gpml.dtd"><set>
<article><articleinfo><bibliomisc>MEDLINE:1</bibliomisc></articleinfo>
<title><sentence><cons lex="a" sem="G#other_name"><cons lex="b" sem="G#DNA_domain_or_region">IL-2 gene</cons> expression</cons>.</sentence></title>
<abstract><sentence>Of <cons sem="(AND G#protein_x G#protein_x)"><cons lex="*a">alpha</cons> and <cons>beta chains</cons></cons>;
<cons sem="G#RNA_molecule"><cons sem="G#protein_molecule">p50</cons></cons> &amp; daltons.</sentence></abstract></article></set>"""


class TestGenia:
    def test_raw_text_words_and_labels(self, tmp_path):
        (document,) = read(put(tmp_path, "x.xml", GENIA))
        assert document.id == "MEDLINE:1"
        assert document.text == "IL-2 gene expression.\nOf alpha and beta chains; p50 & daltons."
        assert [s.words for s in document.sentences] == [
            ("IL-2", "gene", "expression", "."),
            ("Of", "alpha", "and", "beta", "chains", ";", "p50", "&", "daltons."),
        ]
        assert mentions([document]) == [("IL-2 gene", "DNA"), ("p50", "protein")]

    def test_all_classes_and_labels(self, tmp_path):
        documents = read(put(tmp_path, "x.xml", GENIA), all_types=True, one_label=False)
        assert mentions(documents) == [
            ("IL-2 gene expression", "other_name"),
            ("IL-2 gene", "DNA_domain_or_region"),
            ("p50", "RNA_molecule"),
            ("p50", "protein_molecule"),
        ]


KNOWTATOR = """<?xml version="1.0"?>
<annotations textSource="7.txt">
  <annotation><mention id="m1"/><span start="9" end="14"/><span start="0" end="4"/></annotation>
  <annotation><mention id="m2"/><span start="9" end="18"/></annotation>
  <classMention id="m1"><mentionClass id="CL:1">x</mentionClass></classMention>
  <classMention id="m2"><mentionClass id="CL:2">x</mentionClass></classMention>
</annotations>"""


class TestKnowtator:
    def folder(self, tmp_path, xml=KNOWTATOR):
        put(tmp_path, "texts/7.txt", "left and right arm")
        put(tmp_path, "sets/CL/7.txt.knowtator.xml", xml)
        return tmp_path / "sets"

    def test_folders_or_classes_as_labels(self, tmp_path):
        sets = self.folder(tmp_path)
        assert guess(sets) == "knowtator"
        assert mentions(read(sets, texts=tmp_path / "texts")) == [("left right", "CL"), ("right arm", "CL")]
        found = read(sets, texts=tmp_path / "texts", labels="class", ids=["7"])
        assert mentions(found) == [("left right", "CL:1"), ("right arm", "CL:2")]

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ('start="0" end="4"', 'start="4" end="x"', "not a span"),
            ('start="9" end="18"', 'start="9" end="99"', "ends beyond the text"),
            ('<span start="9" end="18"/>', "", "without a span"),
        ],
    )
    def test_bad_spans(self, tmp_path, old, new, message):
        sets = self.folder(tmp_path, KNOWTATOR.replace(old, new))
        with pytest.raises(DataError, match=rf"knowtator.xml:[34]: .*{message}"):
            list(read(sets, texts=tmp_path / "texts"))


BOMB = '<?xml version="1.0"?><!DOCTYPE set [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n<set>&b;</set>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "declares XML entities, which are refused"),
        ('<!DOCTYPE set [<!ENTITY x SYSTEM "file:///etc/passwd">]><set>&x;</set>', "declares XML entities"),
        ("<set><article></set>", "not XML: mismatched tag"),
        ("<set><article>", "not XML: no element found"),
        ("<a>" * 1000, "nested more than 200 deep"),
        ("plain", "not XML: syntax error"),
        ('<?xml version="1.0" encoding="gb2312"?><set/>', "not XML"),
        ('<?xml version="1.0" encoding="nosuch"?><set/>', "not XML"),
    ],
)
def test_hostile_xml(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        list(read(put(tmp_path, "x.xml", text)))


@pytest.mark.parametrize(
    "record",
    [
        {"id": 0, "text": "a", "entities": [{"start": 0, "end": 1, "label": "X"}]},
        {"id": 0, "text": "a", "entities": [{"fragments": [[0, 1]], "label": "X"}]},
    ],
)
def test_the_id_nought_is_an_id(tmp_path, record):
    assert [d.id for d in read(put(tmp_path, "x.json", json.dumps([record])))] == ["0"]


def test_arrays_are_no_larger_than_files_may_be(tmp_path, monkeypatch):
    path = put(tmp_path, "x.json", json.dumps([{"tokens": ["a"]}] * 100, indent=1))
    assert len(list(read(path, "jsonl"))) == 100
    monkeypatch.setattr("nestling.data.files.MAX_FILE_BYTES", 1000)
    with pytest.raises(DataError, match="larger than"):
        list(read(path, "jsonl"))


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.tsv", "x.xml", "x.spacy"])
def test_files_that_cannot_be_read(tmp_path, name):
    with pytest.raises(DataError, match=f"{name}: cannot be read: No such file"):
        list(read(tmp_path / name))
    path = tmp_path / name
    path.write_bytes(b"")
    with pytest.raises(DataError, match="holds no documents|not XML|not a DocBin"):
        list(read(path))
    path.write_bytes(b'{"text": "ok"}\tO\nna\xefve\tO\n'.replace(b"\tO", b"" if name.startswith("x.json") else b"\tO"))
    with pytest.raises(DataError, match=":2: not UTF-8 .byte 0xef|not XML|not a DocBin"):
        list(read(path))
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match="holds no .txt files"):
        list(read(path))
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        list(read(path, "column"))


def test_damaged_docbin(tmp_path):
    import zlib

    import srsly

    for raw in (zlib.compress(b"\x00" * 100), zlib.compress(srsly.msgpack_dumps({"attrs": [1]})), b"PK\x03\x04"):
        (tmp_path / "x.spacy").write_bytes(raw)
        with pytest.raises(DataError, match="not a DocBin"):
            list(read(tmp_path / "x.spacy"))
