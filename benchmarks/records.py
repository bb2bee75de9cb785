"""What was measured: benchmarks/results/<experiment>.json, a list of records."""

import fcntl
import json
import subprocess
from pathlib import Path
from typing import Any

from nestling.data.files import written

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
KEY = ("experiment", "corpus", "part", "model", "encoder", "seed", "sentences", "threads")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()


COMMIT = _git("rev-parse", "--short", "HEAD") + ("-changed" if _git("status", "--porcelain", "src", "configs") else "")


def records(experiment: str) -> list[dict[str, Any]]:
    path = RESULTS / f"{experiment}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def add(record: dict[str, Any]) -> None:
    """Adds a record, in place of one of the same key."""
    record = {**record, "commit": COMMIT}
    key = [record.get(name) for name in KEY]
    with (ROOT / "runs" / "records.lock").open("w") as lock:  # several benchmarks may run at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = [old for old in records(record["experiment"]) if [old.get(name) for name in KEY] != key]
        with written(RESULTS / f"{record['experiment']}.json") as temporary:
            temporary.write_text(json.dumps([*kept, record], indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record), flush=True)
