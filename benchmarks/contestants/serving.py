"""What every contestant is: a process that reads one JSON command a line and answers with what it took.

It needs nothing but the standard library, so that contestants can run in environments of their own.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Runs = dict[str, Callable[[list[Any]], int]]  # what is run on texts; gives how many entities were found


def serve(make: Callable[[dict[str, Any]], Runs]) -> None:
    """Answers until the input ends. `make` gets the first command, which sets everything up."""
    started = time.monotonic()
    runs = make(json.loads(sys.stdin.readline()))
    answer({"ready": time.monotonic() - started})
    for line in sys.stdin:
        command = json.loads(line)
        texts = command["texts"]
        wall, cpu = time.monotonic(), time.process_time()
        found = runs[command["run"]](texts)
        answer(
            {
                "wall": time.monotonic() - wall,
                "cpu": time.process_time() - cpu,
                "entities": found,
                "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )


def answer(row: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()
