"""Files from anybody, read with limits and exact complaints; files of ours, written whole or not at all."""

import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Literal, NoReturn, ParamSpec, TypeVar

from pydantic import TypeAdapter, ValidationError

from nestling.errors import DataError, InvalidValueError, place
from nestling.types import Document

MAX_LINE_BYTES = 256 * 2**20
MAX_FILE_BYTES = 2 * 2**30  # of files that must be read whole

UNION_TAGS = ("by text", "by words")  # pydantic puts the tags of unions into the places of errors

log = logging.getLogger(__name__)
Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a file: an error cannot be read, a warning was mended or looks odd."""

    path: str
    line: int | None
    message: str
    fix: str
    severity: Literal["error", "warning"]

    def __str__(self) -> str:
        return f"{place(self.path, self.line)}: {self.severity}: {self.message}" + (
            f" ({self.fix})" if self.fix else ""
        )


def raise_errors(problem: Problem) -> None:
    """The usual report: errors are raised, warnings go to the log."""
    if problem.severity == "error":
        raise DataError(problem.message, path=problem.path, line=problem.line, fix=problem.fix)
    log.info("%s", problem)


def _ignore(_: int) -> None:
    """The usual progress: nobody looks."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Who hears of reading: of problems, and of bytes as they are done."""

    report: Callable[[Problem], None] = raise_errors
    advance: Callable[[int], None] = _ignore


STDIN = Path("-")
QUIET = Watch()


@dataclass(frozen=True, slots=True)
class Source:
    """A file being read: its contents, and where to say what is wrong with it.

    `error` returns when the watch collects problems; the reader then leaves out the part that is wrong and goes on.
    """

    path: Path
    watch: Watch = QUIET

    def at(self, path: Path) -> "Source":
        """Another file under the same watch."""
        return Source(path, self.watch)

    def error(self, message: str, *, line: int | None = None, fix: str = "") -> None:
        """Says that a part cannot be read."""
        self.watch.report(Problem(str(self.path), line, message, fix, "error"))

    def warning(self, message: str, *, line: int | None = None, fix: str = "") -> None:
        """Says that a part was mended or looks odd."""
        self.watch.report(Problem(str(self.path), line, message, fix, "warning"))

    def fail(self, message: str, *, line: int | None = None, fix: str = "") -> NoReturn:
        """Says that nothing further can be read."""
        raise DataError(message, path=self.path, line=line, fix=fix)

    def id_at(self, line: int) -> str:
        """An id for a document that has none: the file and the line."""
        return f"{self.path.stem}:{line}"

    def made(
        self,
        line: int | None,
        make: Callable[Arguments, Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Iterator[Value]:
        """What `make` gives; where it raises InvalidValueError, an error at the line and nothing."""
        try:
            value = make(*args, **kwargs)
        except InvalidValueError as error:
            self.error(str(error), line=line, fix="mend or remove it; ends are not included in spans")
        else:
            if isinstance(value, Document):
                self._look_over(line, value)
            yield value

    def _look_over(self, line: int | None, document: Document) -> None:
        for sentence in document.sentences:
            if len({entity.key for entity in sentence.entities}) < len(sentence.entities):
                keys = [entity.key for entity in sentence.entities]
                (first, *_), label = next(key for key in keys if keys.count(key) > 1)
                words = " ".join(sentence.words[first.start : first.end])
                message = f"{label} {words[:60]!r} is annotated twice in document {document.id!r}"
                self.warning(message, line=line, fix="scores and statistics count it once")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Line numbers from 1 and lines without their ends."""
        with self.open() as file:
            number = 0
            while raw := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    self.fail(
                        f"a line longer than {MAX_LINE_BYTES >> 20} MiB",
                        line=number,
                        fix="cut it into documents",
                    )
                self.watch.advance(len(raw))
                start = 3 if number == 1 and raw.startswith(b"\xef\xbb\xbf") else 0
                yield number, self._decode(raw[start:], number).rstrip("\r\n")

    def text(self) -> str:
        """The whole file, line ends as stored."""
        raw = self.content()
        self.watch.advance(len(raw))
        return self._decode(raw, 1)

    def content(self) -> bytes:
        """The whole file."""
        with self.open() as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            self.fail(f"larger than {MAX_FILE_BYTES >> 30} GiB", fix="cut it into several files, or use JSON lines")
        return raw

    def json_items(self) -> Iterator[tuple[int, Any]]:
        """Line numbers and values: of a JSON array its items, else one value a line."""
        lines = self.lines()  # once only: the path may be a pipe
        before: list[str] = []
        for number, line in lines:
            before.append(line)
            if line.lstrip().startswith("["):
                return self._array_items("\n".join([*before, *self._limited(lines)]))
            if line.strip() == "{":
                self.fail("an object over several lines", line=number, fix="each line must be one whole JSON object")
            if line.strip():
                return self._line_items(chain([(number, line)], lines))
        return iter(())

    def _limited(self, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
        """Lines that are held together, as long as they are no more than a file may have."""
        size = 0
        for _, line in lines:
            size += len(line)
            if size > MAX_FILE_BYTES:
                self.fail(f"larger than {MAX_FILE_BYTES >> 30} GiB", fix="cut it into several files, or use JSON lines")
            yield line

    def records(self, shape: TypeAdapter[Value]) -> Iterator[tuple[int, Value]]:
        """The JSON items that have the given shape; the others are errors."""
        for line, item in self.json_items():
            try:
                yield line, shape.validate_python(item)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(str(part) for part in first["loc"] if part not in UNION_TAGS)
                fix = "mend it, or name another format with --format"
                self.error(f"{where}: {first['msg']}" if where else first["msg"], line=line, fix=fix)

    def open(self) -> IO[bytes]:
        """The file, for reading bytes; `-` is the standard input."""
        if self.path == STDIN:
            return sys.stdin.buffer
        try:
            return self.path.open("rb")
        except OSError as error:
            fix = "name a file in it" if isinstance(error, IsADirectoryError) else ""
            self.fail(f"cannot be read: {error.strerror}", fix=fix)

    def _decode(self, raw: bytes, first_line: int) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = first_line + raw.count(b"\n", 0, error.start)
            shown = f"byte 0x{raw[error.start]:02x}" if error.start < len(raw) else "the end"
            self.fail(f"not UTF-8 ({shown})", line=line, fix="convert it, for example with iconv -f LATIN1 -t UTF-8")

    def _line_items(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Any]]:
        for number, line in lines:
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                self.error(f"not JSON: {_why(error)}", line=number, fix="each line must be one whole JSON object")

    def _array_items(self, text: str) -> Iterator[tuple[int, Any]]:
        decoder = json.JSONDecoder()
        counted, line = 0, 1
        position = _skip_blank(text, text.index("[") + 1)
        while not text.startswith("]", position):
            line, counted = line + text.count("\n", counted, position), position
            try:
                item, position = decoder.raw_decode(text, position)
            except (ValueError, RecursionError) as error:
                self.fail(f"not JSON: {_why(error)}", line=getattr(error, "lineno", line), fix="is the file whole?")
            yield line, item
            position = _skip_blank(text, position)
            if text.startswith(",", position):
                position = _skip_blank(text, position + 1)
            elif not text.startswith("]", position):
                self.fail(
                    "the array does not end with ]",
                    line=line + text.count("\n", counted),
                    fix="is the file whole?",
                )
        if (behind := _skip_blank(text, position + 1)) < len(text):
            at = line + text.count("\n", counted, behind)
            self.fail(
                f"something behind the end of the array: {text[behind : behind + 40]!r}", line=at, fix="take it out"
            )


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def _skip_blank(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary path that becomes `path` when the block ends well, and leaves nothing behind when it does not."""
    real = path.resolve()  # a link stays a link
    if real.exists() and not real.is_file():
        raise DataError("is there already, and not a file", path=path, fix="name a new file")
    with _beside(real) as temporary:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(real)


@contextmanager
def written_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes `path`, which must be new or empty, when the block ends well."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DataError("is there already", path=path, fix="name a new folder, or empty this one")
    with _beside(path) as temporary:
        temporary.mkdir()
        yield temporary
        temporary.replace(path)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A temporary name in the same folder, which is made if need be; on failure both are gone again."""
    temporary = path.with_name(f".{path.name[:100]}.{token_hex(6)}")
    missing: list[Path] = []
    try:
        missing = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
    except BaseException as error:
        with suppress(OSError):
            shutil.rmtree(temporary) if temporary.is_dir() else temporary.unlink(missing_ok=True)
            for folder in missing:
                folder.rmdir()
        if isinstance(error, OSError):
            raise DataError(f"cannot be written: {error.strerror}", path=path) from error
        raise
