"""Clusters of words that stand in like places (Brown et al., 1992), found in far more text than anybody annotates."""

import gzip
import json
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

from nestling.data.files import Source
from nestling.data.wordnet import is_wordnet, read_nouns
from nestling.errors import MissingExtraError

LANGUAGES = ("de", "en")  # that spacy-lookups-data has clusters of


def read_clusters(source: str, most: int) -> list[str]:
    """The most frequent words by their clusters, each a string of words with blanks between them.

    The source is one of LANGUAGES, or a file of lines "bits, tab, word, tab, count", as Brown's programs write it, or a
    folder with the files of WordNet, whose nouns are then in classes of their hypernyms.
    """
    counted = _counted(source)
    clusters: dict[str, list[str]] = defaultdict(list)
    for word, (cluster, _) in sorted(counted.items(), key=lambda item: (-item[1][1], item[0]))[:most]:
        clusters[cluster].append(word)
    return [" ".join(words) for words in clusters.values()]


def _counted(source: str) -> dict[str, tuple[str, float]]:
    if source in LANGUAGES:
        return _of_language(source)
    return read_nouns(Path(source)) if is_wordnet(Path(source)) else _of_file(Source(Path(source)))


def _of_file(source: Source) -> dict[str, tuple[str, float]]:
    """Words with their cluster and how often they occur."""
    found: dict[str, tuple[str, float]] = {}
    for line, content in source.lines():
        try:
            bits, word, count = content.rstrip("\r\n").split("\t")
            found[word] = bits, int(count)
        except ValueError:
            source.fail(f"{content[:60]!r} is not bits, a word and a count, with tabs between them", line=line)
        if word.split() != [word]:
            source.fail(f"{word!r} is no word", line=line)
    if not found:
        source.fail("holds no clusters")
    return found


def _of_language(language: str) -> dict[str, tuple[str, float]]:
    """The same from spacy-lookups-data, where 0 is no cluster and frequencies are logarithms."""
    try:
        folder = files("spacy_lookups_data") / "data"
    except ModuleNotFoundError:
        raise MissingExtraError(f"clusters of words for {language!r}", "clusters") from None
    clusters, logarithms = (
        json.loads(gzip.decompress((folder / f"{language}_lexeme_{what}.json.gz").read_bytes()))
        for what in ("cluster", "prob")
    )
    return {
        word: (str(cluster), logarithms[word])
        for word, cluster in clusters.items()
        if cluster and word in logarithms and word.split() == [word]
    }
