"""A WordNet of a few nouns."""

import pytest

from nestling.data import wordnet
from nestling.data.clusters import read_clusters
from nestling.errors import DataError

LICENCE = "  1 This is where the licence stands.\n"
SYNSETS = {  # number: words, what they are a kind or an instance of
    "00000001": (["entity"], []),
    "00000002": (["person", "soul"], [("@", "00000001")]),
    "00000003": (["governess"], [("@", "00000002")]),
    "00000004": (["city"], [("@", "00000001")]),
    "00000005": (["Oxford"], [("@i", "00000004")]),
    "00000006": (["lord", "noble_man"], [("+", "00000009"), ("@", "00000002")]),
    "00000007": (["run"], [("@", "00000001")]),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(wordnet, "_MANY", 3)
    data, index = [LICENCE], [LICENCE]
    for number, (words, above) in SYNSETS.items():
        told = " ".join(f"{word} 0" for word in words)
        pointers = "".join(f" {sort} {other} n 0000" for sort, other in above)
        data.append(f'{number} 03 n {len(words):02x} {told} {len(above):03d}{pointers} | what it is; "an example"\n')
        index += [f"{word.lower()} n 1 1 @ 1 0 {number}\n" for word in words]
    (tmp_path / "data.noun").write_text("".join(data))
    (tmp_path / "index.noun").write_text("".join(index))
    (tmp_path / "index.sense").write_text(
        "run%2:38:00:: 00000099 1 9\nrun%1:04:00:: 00000007 1 2\nlord%1:18:00:: 00000006 1 4\n"
    )
    return tmp_path


def test_nouns_by_their_nearest_hypernym_of_many(folder):
    found = wordnet.read_nouns(folder)
    assert {word: own for word, (own, _) in found.items()} == {
        "entity": "entity",
        "entities": "entity",
        "person": "person",  # of four: person, soul, governess and lord
        "persons": "person",
        "soul": "person",
        "souls": "person",
        "governess": "person",
        "governesses": "person",
        "lord": "person",
        "lords": "person",
        "city": "entity",  # with Oxford two, too few for a class
        "cities": "entity",
        "Oxford": "entity, one",  # names have no plural
    }  # and run is a verb more often than a noun; noble_man is not one word
    assert (found["lord"][1], found["soul"][1]) == (5.0, 1.0)


def test_they_are_clusters(folder):
    assert wordnet.is_wordnet(folder)
    found = read_clusters(str(folder), 100)
    assert sorted(map(len, map(str.split, found))) == [1, 4, 8]
    assert read_clusters(str(folder), 1) == ["lord"]  # the most frequent


@pytest.mark.parametrize(("name", "line"), [("data.noun", "x"), ("index.noun", "lord n 7"), ("index.sense", "a b")])
def test_what_is_no_wordnet(folder, name, line):
    with (folder / name).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=f"is not a line of WordNet's {name}"):
        wordnet.read_nouns(folder)


def test_plurals():
    nouns = ["lord", "lady", "boy", "box", "church", "woman", "wife"]
    assert [wordnet.plural(noun) for noun in nouns] == [
        "lords",
        "ladies",
        "boys",
        "boxes",
        "churches",
        "women",
        "wives",
    ]
