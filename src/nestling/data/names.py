"""Other names in the place of those of train: so that a model learns what is around names, and not names by heart.

A book has one cast, and so has a newspaper's year; on the names of another book, what was learnt by heart is of no use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from nestling.types import Document, Entity, Sentence, Span

Words = tuple[str, ...]
Name = tuple[str, Words]  # its label, its words


def renamed(documents: Sequence[Document], share: float, seed: str) -> list[Document]:
    """Documents with a share of their names exchanged for others of the same label; a seed always gives the same.

    A name is exchanged all over a document, or nowhere in it.
    """
    common = frozenset(token.text for document in documents for token in document.tokens if token.text.islower())
    known: dict[str, list[Words]] = {}
    for label, words in dict.fromkeys(name for d in documents for s in d.sentences for name, _ in names_in(s, common)):
        known.setdefault(label, []).append(words)
    random = Random(seed)

    def instead(name: Name) -> Words:
        return random.choice(known[name[0]]) if random.random() < share else name[1]

    def anew(document: Document) -> Document:
        chosen: dict[Name, Words] = {}
        made = []
        for sentence in document.sentences:
            found = {(entity.start, entity.end): name for name, entity in names_in(sentence, common)}
            chosen |= {name: instead(name) for name in dict.fromkeys(found.values()) if name not in chosen}
            made.append(_exchanged(sentence, {place: chosen[name] for place, name in found.items()}))
        return replace(Document.of_words(document.id, made), annotated=document.annotated)

    return [anew(document) for document in documents]


def names_in(sentence: Sentence, common: frozenset[str]) -> Iterator[tuple[Name, Entity]]:
    """The mentions in capitals, with a word that is never in small letters, in none of their label and around none."""
    for entity in sentence.entities:
        words = sentence.words[entity.start : entity.end]
        others = [other for other in sentence.entities if other is not entity]
        borders = {border for other in others for f in other.fragments for border in (f.start, f.end)}
        is_apart = borders.isdisjoint(range(entity.start + 1, entity.end)) and not any(
            other.label == entity.label and other.start <= entity.start and entity.end <= other.end for other in others
        )
        is_name = all(w[:1].isupper() for w in words) and any(w.lower() not in common for w in words)
        if is_apart and is_name and not entity.is_discontinuous:
            yield (entity.label, words), entity


def _exchanged(sentence: Sentence, instead: dict[tuple[int, int], Words]) -> tuple[list[str], list[Entity]]:
    """The words and mentions of a sentence with other words at places that have nothing in common."""
    words: list[str] = []
    moved = [0]  # where the border before each word, and the last one, is now
    ends = {start: (end, own) for (start, end), own in instead.items()}
    position = 0
    while position < len(sentence):
        end, own = ends.get(position, (position + 1, sentence.words[position : position + 1]))
        words += own
        moved += [len(words)] * (end - position)
        position = end
    entities = [
        replace(entity, fragments=tuple(Span(moved[f.start], moved[f.end]) for f in entity.fragments))
        for entity in sentence.entities
    ]
    return words, entities
