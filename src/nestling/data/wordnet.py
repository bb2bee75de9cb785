"""Nouns by what they are, from the files of WordNet (Fellbaum, 1998): a governess is a person, a parlour a structure.

A noun is taken in its first sense, and has the nearest hypernym that covers many nouns. Words that are more often verbs
or adjectives in texts that were counted are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nestling.data.files import Source

FILES = ("data.noun", "index.noun", "index.sense")
_MANY = 500  # nouns that a class has, with those of the classes below it
_NOUN = "1"  # in the keys of index.sense


@dataclass(frozen=True, slots=True)
class _Synset:
    """Words that mean the same, and the number of what they are a kind, or an instance, of."""

    words: tuple[str, ...]
    above: str | None
    is_instance: bool


def is_wordnet(folder: Path) -> bool:
    """Whether a folder has the files that are needed."""
    return all((folder / name).is_file() for name in FILES)


def read_nouns(folder: Path) -> dict[str, tuple[str, float]]:
    """Nouns of one word, in the plural too, with their class and how often they were counted."""
    synsets = dict(_synsets(Source(folder / "data.noun")))
    counts = _counts(Source(folder / "index.sense"))
    first = dict(_first_senses(Source(folder / "index.noun"), synsets, counts))
    sizes = Counter(above for number in first.values() for above in _chain(number, synsets))
    found: dict[str, tuple[str, float]] = {}
    for word, number in first.items():
        chain = _chain(number, synsets)
        many = next((above for above in chain if sizes[above] >= _MANY), chain[-1])
        name = synsets[many].words[0] + (", one" if synsets[number].is_instance else "")  # Oxford is one city
        found[word] = name, 1.0 + counts[word.lower()][_NOUN]
    return {plural(word): own for word, own in found.items() if word.islower()} | found


def plural(noun: str) -> str:
    """The regular plural."""
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    for end, own in (("man", "men"), ("fe", "ves")):
        if noun.endswith(end):
            return noun.removesuffix(end) + own
    return noun + "s"


def _synsets(source: Source) -> Iterator[tuple[str, _Synset]]:
    """The lines of data.noun: number, file, sort, words (how many are told in base 16), pointers, and a gloss."""
    for line, content in source.lines():
        if content.startswith("  "):
            continue  # the licence
        fields = content.partition(" | ")[0].split()
        try:
            behind = 4 + 2 * int(fields[3], 16)
            pointers = [fields[start : start + 3] for start in range(behind + 1, behind + 4 * int(fields[behind]), 4)]
            above = [(sort, number) for sort, number, part in pointers if sort in ("@", "@i") and part == "n"]
            sort, number = min(above, key=lambda own: own[0], default=("@", None))  # the first; kinds before instances
            yield fields[0], _Synset(tuple(fields[4:behind:2]), number, sort == "@i")
        except (IndexError, ValueError):
            source.fail("is not a line of WordNet's data.noun", line=line)


def _counts(source: Source) -> dict[str, Counter[str]]:
    """How often each lemma was counted as what part of speech."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for line, content in source.lines():
        try:
            key, _, _, count = content.split()
            lemma, _, rest = key.partition("%")
            found[lemma][rest[:1]] += int(count)
        except ValueError:
            source.fail("is not a line of WordNet's index.sense", line=line)
    return found


def _first_senses(
    source: Source, synsets: Mapping[str, _Synset], counts: Mapping[str, Counter[str]]
) -> Iterator[tuple[str, str]]:
    """Nouns of one word, as they are written, with the number of their first synset."""
    for line, content in source.lines():
        if content.startswith("  "):
            continue
        try:
            lemma, _, senses, *fields = content.split()
            number = fields[-int(senses)]
            words = synsets[number].words
        except (IndexError, KeyError, ValueError):
            source.fail("is not a line of WordNet's index.noun", line=line)
        counted = counts.get(lemma, Counter())
        is_noun = 2 * counted[_NOUN] >= counted.total()
        if is_noun and "_" not in lemma and any(character.isalpha() for character in lemma):
            yield next((word for word in words if word.lower() == lemma), lemma), number


def _chain(number: str, synsets: Mapping[str, _Synset]) -> list[str]:
    """A synset and all above it."""
    found: list[str] = []
    above: str | None = number
    while above is not None and above not in found and above in synsets:
        found.append(above)
        above = synsets[above].above
    return found
