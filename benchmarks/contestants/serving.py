"""What every contestant is: a script that trains, predicts, or serves to be timed.

    python contestant.py train TRAIN DEV FOLDER      train on JSON lines, judge by others, write the best model
    python contestant.py predict FOLDER TEXTS OUT    write the texts with the entities that are found
    python contestant.py serve                       answer one JSON command a line with what it took

Lines have `id`, `text` and `entities`, each with `start`, `end` and `label`. Nothing but the standard library is
needed here, so that contestants can run in environments of their own.
"""

import json
import math
import random
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Runs = dict[str, Callable[[list[Any]], Any]]  # what is run on texts; most give how many entities were found
Train = Callable[[list[Row], list[Row], Path, dict[str, Any]], None]
Predict = Callable[[Path, list[str]], list[list[Row]]]


def main(make: Callable[[dict[str, Any]], Runs], train: Train | None = None, predict: Predict | None = None) -> None:
    """Does what the arguments say. Options such as `epochs=3` may follow them."""
    what, *rest = sys.argv[1:] or ["serve"]
    if what == "serve":
        serve(make)
    elif what == "train" and train is not None:
        told = dict(option.split("=") for option in rest[3:])
        train(read(rest[0]), read(rest[1]), Path(rest[2]), told)
    elif what == "predict" and predict is not None:
        rows = read(rest[1])
        found = predict(Path(rest[0]), [row["text"] for row in rows])
        lines = [json.dumps({**row, "entities": own}) for row, own in zip(rows, found, strict=True)]
        Path(rest[2]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        sys.exit(__doc__)


def read(path: str) -> list[Row]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def serve(make: Callable[[dict[str, Any]], Runs]) -> None:
    """Answers until the input ends. `make` gets the first command, which sets everything up."""
    runs = make(json.loads(sys.stdin.readline()))
    answer({"ready": True})
    for line in sys.stdin:
        command = json.loads(line)
        texts = command["texts"]
        wall, cpu = time.monotonic(), time.process_time()
        found = runs[command["run"]](texts)
        answer(
            {
                "wall": time.monotonic() - wall,
                "cpu": time.process_time() - cpu,
                "found": found,
                "megabytes": peak(),
            }
        )


def peak() -> float:
    """The most memory that this process has had; what getrusage tells begins with that of its parent."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def answer(row: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


# What training has in common


def batches(rows: list[Any], size: int, epoch: int) -> Iterator[list[Any]]:
    """Rows in another order each epoch, so many at a time."""
    order = list(rows)
    random.Random(epoch).shuffle(order)
    for start in range(0, len(order), size):
        yield order[start : start + size]


def f1(rows: list[Row], found: Iterable[list[Row]]) -> float:
    """Strict F1 of entities by characters and label."""
    right = wanted = given = 0
    for row, own in zip(rows, found, strict=True):
        gold = {(e["start"], e["end"], e["label"]) for e in row["entities"]}
        theirs = {(e["start"], e["end"], e["label"]) for e in own}
        right, wanted, given = right + len(gold & theirs), wanted + len(gold), given + len(theirs)
    return 200 * right / max(wanted + given, 1)


def flat(entities: list[Row]) -> list[Row]:
    """Entities that do not overlap: of those that do, the longest."""
    kept: list[Row] = []
    for entity in sorted(entities, key=lambda e: (e["start"] - e["end"], e["start"])):
        if all(entity["end"] <= other["start"] or other["end"] <= entity["start"] for other in kept):
            kept.append(entity)
    return sorted(kept, key=lambda e: int(e["start"]))


def widest(lengths: Iterable[int], share: float = 0.99) -> int:
    """The fewest words that so many of the entities have at most, in a tool's own words."""
    ordered = sorted(lengths)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]
