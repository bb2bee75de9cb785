import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.errors import InvalidValueError, UnknownNameError
from nestling.text import LANGUAGES, _by_rules, _by_runs, _has_runs, build, parse, resplit
from nestling.types import Mention, Span, joined

SAMPLES = {
    "en": ("Dr. Smith left the U.S. in 1999. He didn't return! Why?", [8, 4 + 1, 2]),
    "de": ("Die Firma BASF SE sitzt in Ludwigshafen. Sie wurde 1865 gegründet.", [8, 5]),
    "ru": ("Барак Обама живёт в Вашингтоне. Он купил дом за 8,1 млн долларов.", [6, 8]),
    "zh": ("我在北京。你好吗？", [5, 4]),
    "ar": ("ذهب أحمد إلى القاهرة. هل وصل؟", [5, 3]),
    "pt": ("A Maria mora em Lisboa. Ela trabalha na CMAF.", [6, 5]),
    "es": ("María vive en Madrid. ¿Trabaja en la ONU?", [5, 6]),
}


def words(document):
    return [list(sentence.words) for sentence in document.sentences]


@pytest.mark.parametrize("language", SAMPLES)
def test_sentences_and_words(language):
    text, lengths = SAMPLES[language]
    document = parse(text, language=language)
    assert [len(sentence) for sentence in document.sentences] == lengths
    assert all(text[t.start : t.end] == t.text for t in document.tokens)


def test_no_character_is_lost_by_any_language():
    text = " ".join(sample for sample, _ in SAMPLES.values()) + "\r\n\r\n\u00a0x\u200by\t😀 \x1c end\u3000"
    for language in LANGUAGES:
        assert "".join(t.text for t in parse(text, language=language).tokens) == "".join(text.split())


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_becomes_a_document(text):
    document = parse(text)  # a Document refuses words that leave out or move a character
    assert "".join(t.text for t in document.tokens) == "".join(text.split())


RUNS = st.sampled_from(
    "can't U.S. :) don't, 3.5mg/kg (a) “Ja,” l'eau z.B. x-y's http://a.b/c?d=1 10km 。 \u200b ' . -".split()
)


@given(st.lists(st.one_of(RUNS, st.text(max_size=6)), max_size=8), st.sampled_from([*filter(_has_runs, LANGUAGES)]))
def test_words_between_blanks_are_those_of_the_whole_text(runs, language):
    text = " ".join(runs)
    assert list(_by_runs(language, text, 3)) == _by_rules(language, text, 3)


def test_line_breaks_end_sentences_unless_lines_are_wrapped():
    assert words(parse("A title\nThe first line. The second")) == [
        ["A", "title"],
        ["The", "first", "line", "."],
        ["The", "second"],
    ]
    wrapped = "It was a long\nline that goes\non and on.\n\nNew paragraph"
    assert [len(sentence) for sentence in parse(wrapped).sentences] == [10 + 1, 2]


def test_quotes_and_brackets_stay_with_their_sentence():
    assert words(parse('"Go!" he said. (He went.) "Well."')) == [
        ['"', "Go", "!", '"', "he", "said", "."],
        ["(", "He", "went", ".", ")"],
        ['"', "Well", ".", '"'],
    ]


@pytest.mark.parametrize(
    ("language", "text", "starts"),
    [
        ("de", "„Halt.“ Dann ging er.", [0, 8]),
        ("de", "Sie kam am 3. Mai. Er blieb bis 1990. Dann ging er.", [0, 19, 38]),
        ("zh", "价格是3.5元。“好。”他说。", [0, 8, 12]),
        ("en", "iPhone sales fell. iPad sales rose. Wait... He left.", [0, 19, 36, 44]),
        ("en", "See Fig. 3 and Smith et al. 2003. No. 5 is new.", [0, 34]),
        ("en", "He said no. She left. 3 men came.", [0, 12, 22]),
        ("en", "1. Ann Lee\n2. Bo came. He left.", [0, 11, 23]),
        ("pt", "A Dra. Ana chegou. O Sr. Lima saiu.", [0, 19]),
    ],
)
def test_where_sentences_start(language, text, starts):
    assert [s.tokens[0].start for s in parse(text, language=language).sentences] == starts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It was hepatitis C.\nGeorge W. Bush", "It was hepatitis C . George W. Bush"),
        ("Give AmB.", "Give AmB ."),
        ("In the U.S.", "In the U.S."),
        ("He works for Vale Inc.", "He works for Vale Inc."),
        ("the drug (PPA)-induced pain [3]-like f(x)", "the drug ( PPA ) - induced pain [ 3 ] - like f(x )"),
    ],
)
def test_points_at_the_end_and_hyphens_behind_brackets(text, words):
    assert [token.text for token in parse(text).tokens] == words.split()


@pytest.mark.parametrize("text", ["a " * 5000, "a, b " * 2000, ")" * 5000, "!" * 5000, "=)" * 3000, "x" * 50_000])
def test_sentences_are_not_endless(text):
    document = parse(text)
    assert sum(map(len, document.sentences)) == len(list(document.tokens))
    assert max(map(len, document.sentences)) < 1200


def test_words_are_cut_at_the_borders_of_mentions_and_sentences_kept_whole():
    text = "Call Yahoo! Inc. Now, anti-CD28mAb works."
    mentions = [Mention.of(text, [Span(5, 16)], "ORG"), Mention.of(text, [Span(27, 31)], "protein")]
    document = parse(text, mentions=mentions)
    assert document.mentions == tuple(mentions)
    assert "CD28" in {token.text for token in document.tokens}
    assert words(parse("One. Two.", mentions=[Mention.of("One. Two.", [Span(2, 7)], "X")]))[0][:2] == ["On", "e"]


@given(st.data())
def test_every_mention_is_held_exactly(data):
    text = "Ab. Cd ef-gh\nIj (kl) 3.5mg mn!? Op\n\nqr st."
    offsets = st.integers(0, len(text) - 1).filter(lambda n: not text[n].isspace())
    mentions = []
    for _ in range(data.draw(st.integers(0, 5))):
        positions = data.draw(st.sets(offsets, min_size=1, max_size=5))
        fragments = joined(Span(n, n + 1) for n in positions)
        mentions.append(Mention.of(text, fragments, data.draw(st.sampled_from("XY"))))
    document = parse(text, mentions=mentions)
    held = {(m.label, frozenset(_characters(text, m))) for m in document.mentions}
    assert held == {(m.label, frozenset(_characters(text, m))) for m in mentions}


def _characters(text, mention):
    """The characters of a mention; blanks between its fragments do not count."""
    return {n for f in mention.fragments for n in range(f.start, f.end) if not text[n].isspace()}


def test_blanks_at_the_ends_of_mentions_are_trimmed():
    assert parse("one two", mentions=[Mention.of("one two", [Span(3, 7)], "X")]).mentions[0].text == "two"
    with pytest.raises(InvalidValueError, match="is blank"):
        parse("one  two", mentions=[Mention.of("one  two", [Span(3, 5)], "X")])


def test_build_refuses_mentions_that_words_do_not_fit():
    with pytest.raises(InvalidValueError, match="X 'ne' at characters 1-3 does not start and end with words"):
        build("d", "one two", [(0, 3), (4, 7)], [0], [Mention.of("one two", [Span(1, 3)], "X")])
    with pytest.raises(InvalidValueError, match="is not in one sentence"):
        build("d", "one two", [(0, 3), (4, 7)], [0, 4], [Mention.of("one two", [Span(0, 7)], "X")])


def test_unknown_language():
    with pytest.raises(UnknownNameError, match="unknown language 'xq'"):
        parse("a", language="xq")


@pytest.mark.parametrize("piece", ["Some words, and more. ", "(", "a", "http://a.b/c?", "\n", "北京。", "-. "])
def test_long_texts_take_linear_time(piece):
    def seconds(size):
        text = piece * (size // len(piece))
        start = time.process_time()
        document = parse(text)
        spent = time.process_time() - start
        assert "".join(t.text for t in document.tokens) == "".join(text.split())
        return spent

    parse("warm up")
    small, large = (min(seconds(size) for _ in range(3)) for size in (20_000, 160_000))  # others use the machine too
    assert large < 8 * small * 2.5 + 0.5


@pytest.mark.slow
def test_a_megabyte_is_kept_whole():
    text = "".join(sample + "\n" for sample, _ in SAMPLES.values()) * 3300
    assert len(text) > 1_000_000
    start = time.process_time()
    assert "".join(t.text for t in parse(text).tokens) == "".join(text.split())
    assert time.process_time() - start < 30


def test_resplit_splits_as_if_there_were_no_mentions():
    text = "Call Yahoo! Inc. Now anti-CD28mAb works."
    mentions = [
        Mention.of(text, [Span(5, 16)], "ORG"),
        Mention.of(text, [Span(26, 30)], "protein"),
        Mention.of(text, [Span(0, 4)], "X"),
    ]
    made = resplit(parse(text, mentions=mentions))
    assert [s.words for s in made.document.sentences] == [s.words for s in parse(text).sentences]
    assert {m.text for m in made.document.mentions} >= {"CD28mAb", "Call"}
    assert (made.widened, made.dropped + len(made.document.mentions)) == (1, 3)
