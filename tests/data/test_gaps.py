from nestling.data.gaps import made_up
from nestling.types import Document, Entity, Span


def sentence(text, *entities):
    """Words, and entities as a label and pairs of places."""
    return text.split(), [Entity(tuple(Span(*place) for place in places), label) for label, *places in entities]


GAPPED = sentence("the cortex of the kidney grew", ("part", (1, 3), (4, 5)), ("part", (4, 5)))
COORDINATED = sentence("trabecular and cortical bone", ("part", (0, 1), (3, 4)), ("part", (2, 4)))


def made(*sentences, ratio=1.0):
    return [
        ({(m.label, m.text) for m in document.mentions}, document.text)
        for document in made_up([Document.of_words("d", sentences)], ratio)
    ]


def test_a_gap_is_filled_as_train_fills_it():
    plain = sentence("tips of digits", ("part", (0, 3)), ("part", (2, 3)))
    assert made(GAPPED, plain) == [({("part", "tips of digits"), ("part", "digits")}, "tips of the digits")]


def test_mentions_that_end_alike_are_coordinated():
    plain = sentence("a hind limb", ("part", (1, 3)))
    other = sentence("the fore limb here", ("part", (1, 3)), ("side", (1, 2)))
    found = made(COORDINATED, plain, other, ratio=10)
    assert ({("part", "hind limb"), ("part", "fore limb"), ("side", "fore")}, "a hind and fore limb") in found
    assert ({("part", "fore limb"), ("side", "fore"), ("part", "hind limb")}, "the fore and hind limb here") in found


def test_mentions_that_begin_alike_are_coordinated():
    plain = sentence("cell growth", ("event", (0, 2)))
    other = sentence("cell death", ("event", (0, 2)))
    found = made(COORDINATED, plain, other, ratio=10)
    assert ({("event", "cell growth"), ("event", "cell death")}, "cell growth and death") in found


def test_one_and_its_plural_are_not_coordinated():
    found = made(COORDINATED, sentence("limb bud", ("part", (0, 2))), sentence("limb buds", ("part", (0, 2))), ratio=10)
    assert not any("and bud" in text for _, text in found)


def test_mentions_inside_others_are_left_alone():
    nested = sentence("growth of limb of mice", ("event", (0, 5)), ("part", (2, 5)))
    ((mentions, text),) = made(GAPPED, nested)
    assert text in ("growth of the limb of mice", "growth of limb of the mice")
    assert mentions == {("event", "growth of limb of mice"), ("part", "limb of mice")}


def test_as_many_as_are_asked_for_and_always_the_same():
    plain = [sentence(f"tip of {word}", ("part", (0, 3))) for word in "abcdefgh"]
    assert len(made(GAPPED, *plain, ratio=3)) == 3
    assert made(GAPPED, *plain, ratio=3) == made(GAPPED, *plain, ratio=3)
    assert made(*plain, ratio=3) == []  # train has no gaps


def test_three_are_coordinated_too():
    plain = [sentence(f"the {word} limb", ("part", (1, 3))) for word in ("fore", "hind", "lost", "new", "old", "small")]
    found = made(COORDINATED, *plain, ratio=50)
    three = [(mentions, text.split()) for mentions, text in found if " , " in text]
    assert three
    for mentions, (_, first, _, second, conjunction, third, _) in three:
        assert conjunction == "and"
        assert mentions == {("part", f"{word} limb") for word in (first, second, third)}


def test_a_gap_gets_other_words_that_train_has_behind_the_same_word():
    other = sentence("tips of each digit were long", ("part", (0, 2), (3, 4)), ("part", (3, 4)))
    assert made(GAPPED, other) == [
        ({("part", "cortex of kidney"), ("part", "kidney")}, "the cortex of each kidney grew"),
        ({("part", "tips of digit"), ("part", "digit")}, "tips of the digit were long"),
    ]


def test_words_of_a_mention_in_a_gap_are_kept():
    used = sentence("tips of mouse digits", ("part", (0, 2), (3, 4)), ("animal", (2, 3)))
    assert made(GAPPED, used) == []
