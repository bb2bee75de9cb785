"""Parts of speech, by taggers that install from registries; all optional.

A saved model names one of TAGGERS, never a package: a downloaded model must not choose what code is imported.
"""

from collections.abc import Callable, Sequence
from threading import Lock

from nestling.errors import MissingExtraError, UnknownNameError

Tagger = Callable[[Sequence[str]], list[str]]
_LOCK = Lock()


def _english() -> Tagger:
    """textblob's pattern tagger: Penn Treebank tags."""
    from textblob.en import parse

    def tag(words: Sequence[str]) -> list[str]:
        joined = " ".join("_".join(word.split()).replace("/", "|") for word in words)
        tagged = str.split(parse(joined, tokenize=False, chunks=False), " ")
        return [word.rpartition("/")[2] for word in tagged] if len(tagged) == len(words) else [""] * len(words)

    return tag


def _german() -> Tagger:
    """HanTa: the tags of the Stuttgart-Tübingen tagset."""
    from HanTa.HanoverTagger import HanoverTagger

    tagger = HanoverTagger("morphmodel_ger.pgz")
    return lambda words: [tag for _, _, tag in tagger.tag_sent(list(words))]


def _russian() -> Tagger:
    """natasha: universal parts of speech."""
    from natasha import NewsEmbedding, NewsMorphTagger

    tagger = NewsMorphTagger(NewsEmbedding())
    return lambda words: [token.pos for token in tagger(list(words)).tokens]


TAGGERS: dict[str, Callable[[], Tagger]] = {"en": _english, "de": _german, "ru": _russian}


def load_tagger(name: str) -> Tagger:
    """The tagger of a language."""
    if name not in TAGGERS:
        raise UnknownNameError("tagger", name, TAGGERS)
    try:
        with _LOCK:
            tagger = TAGGERS[name]()
            tagger(["A"])  # so that all of it is loaded
            return tagger
    except ImportError:
        raise MissingExtraError(f"the tagger {name!r}", f"pos-{name}") from None
