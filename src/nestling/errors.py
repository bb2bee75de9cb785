"""Everything nestling raises on purpose.

NestlingError
├── InvalidValueError     a Span, Entity, Sentence … that breaks its own rules (also a ValueError)
├── DataError             a file that cannot be read or written; knows file, line and a fix
│   └── CannotHoldError   a document that a format has no way to write down
├── SettingsError         a configuration that cannot be used; names the key and the nearest known one
├── CheckpointError       a model folder that is damaged, incomplete or from a newer version
├── TrainingError         training that cannot go on
├── UnknownNameError      a name that is in none of the tables; the nearest known one is suggested
└── MissingExtraError     an optional part that is not installed; says the line to type
"""

from collections.abc import Iterable
from difflib import get_close_matches


class NestlingError(Exception):
    """Base of all errors raised on purpose."""


class InvalidValueError(NestlingError, ValueError):
    """A value that breaks its own rules."""


class DataError(NestlingError):
    """Input or output that cannot be used, with the place and a fix."""

    def __init__(self, message: str, *, path: object = None, line: int | None = None, fix: str = "") -> None:
        self.message, self.path, self.line, self.fix = message, path, line, fix
        super().__init__(": ".join(filter(None, [place(path, line), message])) + (f" ({fix})" if fix else ""))


class CannotHoldError(DataError):
    """A document that a format has no way to write down."""


class SettingsError(NestlingError):
    """A configuration that cannot be used."""


class CheckpointError(NestlingError):
    """A model folder that cannot be loaded."""


class TrainingError(NestlingError):
    """Training that cannot go on."""


class UnknownNameError(NestlingError):
    """A name that is in none of the tables."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = nearest(name, names)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(names)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


class MissingExtraError(NestlingError):
    """An optional part that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} is not installed; type: pip install "nestling[{extra}]"')


def place(path: object, line: int | None) -> str:
    """`path:line`, or as much of it as is known."""
    if path is None:
        return ""
    return f"{path}:{line}" if line is not None else str(path)


def nearest(name: str, known: Iterable[str], alike: float = 0.7) -> str | None:
    """The known name that a misspelt one most likely meant."""
    matches = get_close_matches(name, list(known), n=1, cutoff=alike)
    return matches[0] if matches else None
