import pytest
from hypothesis import given

from nestling.data.joining import written_out
from nestling.types import Document, Entity
from tests import strategies


def text_of(words, **options):
    return written_out(Document.of_words("d", [(words.split(), [])]), **options).text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("He , Dr. Lee , did n't go ( home ) .", "He, Dr. Lee, didn't go (home)."),
        ('" Well , " said she , " no ? "', '"Well," said she, "no?"'),
        ("“ That , ” said Mrs. Todd ’s son : “ No ! ”", "“That,” said Mrs. Todd’s son: “No!”"),
        ("„ Los Sonor “ und « Polizei » , 62,7 %", "„Los Sonor“ und «Polizei», 62,7%"),
        ("the dogs ' tails , 't was $ 5 ...", "the dogs' tails, 't was $5..."),
        ("hier - in Köln - war", "hier - in Köln - war"),
    ],
)
def test_words_are_joined_as_people_write(words, text):
    assert text_of(words) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("L - dopa in Parkinson ' s disease ( P < 0 . 05 ) .", "L-dopa in Parkinson's disease (P < 0.05)."),
        ("D1 / D2 , 1 , 200 mg , 8 , 12 mg .", "D1/D2, 1,200 mg, 8, 12 mg."),
        ("Wilms ' tumour", "Wilms' tumour"),
        ("- 5", "- 5"),
    ],
)
def test_words_that_were_cut_at_every_mark_are_put_together(words, text):
    assert text_of(words, is_cut=True) == text


def test_sentences_have_a_blank_between_them_and_entities_stay():
    sentences = [("He left .".split(), []), ("In ( old ) Oslo .".split(), [Entity.at(2, 5, "LOC")])]
    document = written_out(Document.of_words("d", sentences))
    assert document.text == "He left. In (old) Oslo."
    assert [m.text for m in document.mentions] == ["old) Oslo"]


@given(strategies.documents())
def test_words_and_entities_are_kept(document):
    made = written_out(document, is_cut=True)
    assert [s.words for s in made.sentences] == [s.words for s in document.sentences]
    assert [s.entities for s in made.sentences] == [s.entities for s in document.sentences]
    assert all(made.text[t.start : t.end] == t.text for t in made.tokens)
