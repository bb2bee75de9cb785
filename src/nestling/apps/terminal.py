"""What a person sees in the terminal: nested brackets, tables, progress."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from nestling.types import Sentence

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_COLOURS = (
    "cyan",
    "magenta",
    "green",
    "yellow",
    "blue",
    "red",
    "bright_cyan",
    "bright_magenta",
    "bright_green",
    "bright_yellow",
)
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def visible(text: str) -> str:
    """The text with control characters, which a terminal would obey, made visible."""
    return "".join(_shown(character) if ord(character) < 160 else character for character in text)


def _shown(character: str) -> str:
    if character in "\t\n\r":
        return " "
    code = ord(character)
    if code < 32:
        return chr(0x2400 + code)
    return "\ufffd" if 127 <= code < 160 else character


class Painter:
    """Draws sentences with nested brackets, a colour a label: `[[IL-2]protein gene]DNA`.

    The fragments of a discontinuous entity carry its number: `[left]side₁ and right [arm]side₁`. So do both brackets of
    entities that cross: `₁[a ₂[b]X₁ c]Y₂`.
    """

    def __init__(self) -> None:
        self._colours: dict[str, str] = {}

    def colour(self, label: str) -> str:
        """The colour of a label, given out in the order of first use."""
        return self._colours.setdefault(label, _COLOURS[len(self._colours) % len(_COLOURS)])

    def draw(self, sentence: Sentence) -> Text:
        """A sentence with brackets around its entities."""
        opened: dict[int, list[tuple[str, str]]] = {}
        closed: dict[int, list[tuple[int, str, str]]] = {}
        number = 0
        for entity in sentence.entities:  # outer before inner
            is_numbered = entity.is_discontinuous or any(map(entity.crosses, sentence.entities))
            number += is_numbered
            mark = str(number).translate(_SUBSCRIPTS) if is_numbered else ""
            for fragment in entity.fragments:
                opened.setdefault(fragment.start, []).append((entity.label, "" if entity.is_discontinuous else mark))
                closed.setdefault(fragment.end - 1, []).append((fragment.start, entity.label, mark))
        drawn = Text()
        previous = sentence.tokens[0].start
        for n, token in enumerate(sentence.tokens):
            drawn.append(" " if token.start > previous else "")
            for label, mark in opened.get(n, ()):
                drawn.append(f"{mark}[", style=f"bold {self.colour(label)}")
            drawn.append(visible(token.text))
            for _, label, mark in sorted(closed.get(n, ()), key=lambda closing: -closing[0]):
                drawn.append("]", style=f"bold {self.colour(label)}")
                drawn.append(visible(label) + mark, style=self.colour(label))
            previous = token.end
        return drawn


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table whose first column is names and whose others are figures."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for n, name in enumerate(header):
        made.add_column(visible(name), justify="left" if n == 0 else "right", overflow="fold")
    for row in rows:
        made.add_row(*(visible(cell) if isinstance(cell, str) else cell for cell in row))
    return made


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on the error stream that appears where that is a terminal; gives the function that moves it on."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)
