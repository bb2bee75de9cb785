"""How many words a batch may have so that a process stays below a limit, learnt from what batches took."""

import ctypes
import re
import sys
from math import isfinite
from pathlib import Path
from threading import Lock

from nestling.errors import InvalidValueError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MOST_WORDS, _FIRST = 2048, 256
_SAFETY = 0.7  # of what is left is counted on
_STATUS = Path("/proc/self/status")


class Budget:
    """Words a batch: few at first, then as many as a limit in megabytes allows; without one, as many as are fast."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit, self.words = limit, MOST_WORDS if limit is None else _FIRST
        self._each = 0.0  # megabytes a word of a batch, at worst
        self._lock = Lock()
        if limit is not None and not isfinite(limit):
            raise InvalidValueError("max_memory is not a number of megabytes")
        if limit is not None and resident() > _SAFETY * limit:
            raise InvalidValueError(
                f"max_memory is {limit:.0f} MB, but {resident():.0f} MB are taken before any text is read"
            )

    def learn(self, largest: int, before: float, highest: float) -> None:
        """What a batch of so many words took tells how many are allowed.

        `before` it so much was held, and `highest` is the most that ever had been. The next may be twice as large.
        """
        if self.limit is None or not largest:
            return
        with self._lock:
            if peak() > highest:  # else it took no more than was there
                self._each = max(self._each, (peak() - before) / largest)
            left = _SAFETY * (self.limit - resident())
            allowed = int(left / self._each) if self._each else MOST_WORDS
            self.words = max(1, min(allowed, max(2 * largest, self.words), MOST_WORDS))


def release() -> None:
    """Gives back to the system what is free but held: batches of many sizes leave a heap full of holes."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(library, "malloc_trim"):  # that of GNU
        library.malloc_trim(0)  # type: ignore[union-attr]


def resident() -> float:
    """The memory that this process has, in megabytes."""
    return _status("VmRSS") or peak()


def peak() -> float:
    """The most memory that this process has had, in megabytes."""
    known = _status("VmHWM")
    if known is None and resource is not None:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return known or 0.0


def _status(name: str) -> float | None:
    if not _STATUS.exists():
        return None
    found = re.search(rf"{name}:\s+(\d+)", _STATUS.read_text(encoding="utf-8"))
    return int(found.group(1)) / 1024 if found else None
