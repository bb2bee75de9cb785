"""What a user names on the command line — a corpus, a part of one, a file or a folder — as parts to read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nestling.apps.terminal import progress
from nestling.data import corpora
from nestling.data.files import Problem, Watch, raise_errors
from nestling.data.formats import FORMATS, guess, is_raw, read
from nestling.data.formats.column import Layout
from nestling.data.statistics import Unit
from nestling.errors import DataError, UnknownNameError
from nestling.types import Document

_NOT_DATA = (".md", ".log", ".py", ".toml", ".gz", ".zip")
_PART_NAMES = {
    "train": "train",
    "dev": "dev",
    "devel": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
}


@dataclass
class Named:
    """The parts that a name stands for; reading them collects what is wrong in `problems`."""

    name: str
    parts: Mapping[str, Callable[[Watch], Iterable[Document]]]
    unit: Unit
    is_raw: bool = False  # texts without words
    language: str = "en"
    labels: tuple[str, ...] = ()  # that were looked for, where that is known
    sizes: Mapping[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def stream(self, part: str, *, report: Callable[[Problem], None] = raise_errors) -> Iterator[Document]:
        """The documents of a part one by one, with a progress bar."""

        def heard(problem: Problem) -> None:
            self.problems.append(problem)
            report(problem)

        with progress(f"reading {self.name} {part}", self.sizes.get(part)) as advance:
            yield from self.parts[part](Watch(heard, advance))

    def read(self) -> dict[str, list[Document]]:
        """The documents of all parts."""
        return {part: list(self.stream(part)) for part in self.parts}

    def only(self, part: str | None) -> "Named":
        """The same with one part, or all where none is named."""
        if part is None:
            return self
        if part not in self.parts:
            raise UnknownNameError(f"part of {self.name}", part, self.parts)
        return replace(self, parts={part: self.parts[part]}, problems=[])


@dataclass(frozen=True, slots=True)
class Reading:
    """How a user wants a name read."""

    format: str | None = None
    root: Path | None = None
    language: str | None = None
    columns: str | None = None
    shipped: bool = False

    def of_predictions(self, format: str | None, columns: str | None) -> "Reading":
        """The same for predictions, which may have a format and columns of their own."""
        is_other = format is not None and format != self.format
        return replace(self, format=format or self.format, columns=columns or (None if is_other else self.columns))

    def options(self, format: str) -> dict[str, Any]:
        """The options for the reader of a format."""
        options: dict[str, Any] = {}
        if self.columns is not None and format != "column":
            raise DataError(
                f"--columns is for column files, and this is {format}", fix="leave it out, or say --format column"
            )
        if self.columns is not None:
            options["layout"] = Layout(columns=_numbers(self.columns))
        if self.language is not None and FORMATS[format].takes_language:
            options["language"] = self.language
        return options


def named(name: str, how: Reading) -> Named:
    """A corpus (`genia`), a file, a folder, a folder of train, dev and test, or a part (`genia:test`, `folder:test`).

    The name of a corpus is the corpus; a folder of the same name is `./genia`.
    """
    whole, _, part = name.partition(":")
    if whole in corpora.CORPORA:
        return _corpus(whole, how).only(part or None)
    if Path(name).exists():
        return _files(name, Path(name), how)
    if part and Path(whole).is_dir():
        return _files(whole, Path(whole), how).only(part)
    near = UnknownNameError("corpus", name, corpora.CORPORA)
    raise DataError(f"no such file or folder, and {near}", path=name)


def one_part(name: str, how: Reading) -> Named:
    """What a name stands for, where that must be a single part."""
    found = named(name, how)
    if len(found.parts) > 1:
        raise DataError(f"{name} has several parts: {', '.join(found.parts)}", fix=f"name one, as in {name}:test")
    return found


def _files(name: str, path: Path, how: Reading) -> Named:
    found = _parts(path)
    format = how.format or guess(next(iter(found.values())))
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    options = how.options(format)

    def reader(place: Path) -> Callable[[Watch], Iterable[Document]]:
        return lambda watch: read(place, format, watch=watch, **options)

    sizes = {part: place.stat().st_size for part, place in found.items() if place.is_file()}
    raw = is_raw(next(iter(found.values())), format)
    return Named(
        name,
        {part: reader(place) for part, place in found.items()},
        corpora.unit_of(FORMATS[format].is_raw),
        raw,
        how.language or "en",
        sizes=sizes,
    )


def _corpus(name: str, how: Reading) -> Named:
    for option, value in {"--format": how.format, "--language": how.language, "--columns": how.columns}.items():
        if value is not None:
            raise DataError(f"{option} is for files; how the corpus {name} is read is known", fix=f"leave {option} out")
    corpora.folder_of(name, how.root)

    def reader(part: str) -> Callable[[Watch], Iterable[Document]]:
        return lambda watch: corpora.load(name, part, root=how.root, shipped=how.shipped, watch=watch)

    parts = corpora.parts_of(name, shipped=how.shipped)
    corpus = corpora.find(name)
    return Named(
        name, {part: reader(part) for part in parts}, corpus.unit, corpus.is_raw, corpus.language, corpus.labels
    )


def _parts(path: Path) -> dict[str, Path]:
    """The parts of a folder that holds train, dev or test; else the path as a part of its own."""
    entries = sorted(path.iterdir()) if path.is_dir() else []
    found: dict[str, Path] = {}
    entries = [entry for entry in entries if entry.suffix not in _NOT_DATA]
    if _is_brat(entries):
        return {path.stem: path}
    for entry in entries:
        part = _PART_NAMES.get(entry.stem)
        if part in found:
            raise DataError(f"{found[part].name} and {entry.name} are both {part}", path=path, fix="name one of them")
        if part is not None:
            found[part] = entry
    return {part: found[part] for part in ("train", "dev", "test") if part in found} or {path.stem: path}


def _is_brat(entries: list[Path]) -> bool:
    """Whether the files of a folder are documents, whatever their names: annotated ones, or nothing but texts."""
    suffixes = {entry.suffix for entry in entries}
    return ".ann" in suffixes or (suffixes == {".txt"} and any(e.stem not in _PART_NAMES for e in entries))


def _numbers(columns: str) -> tuple[int, ...]:
    numbers = columns.split(",")
    if not all(number.strip().isdecimal() and len(number) < 5 for number in numbers):
        raise DataError(f"{columns[:40]!r} is not a list of column numbers", fix="write for example --columns 3 or 1,2")
    return tuple(int(number) for number in numbers)
