"""`nestling vectors`, as a user types it."""

import json

from tests.apps.test_cli import nestling  # noqa: F401
from tests.conftest import ROOT

GOLD = ROOT / "examples" / "corpus" / "gold.jsonl"


def test_train_and_look(nestling, tmp_path):  # noqa: F811
    file = tmp_path / "v.txt"
    code, output, _ = nestling("vectors", "train", GOLD, "--out", file, "--size", 5, "--epochs", 3)
    assert (code, "vectors from" in output) == (0, True)
    made = json.loads((tmp_path / "v.txt.json").read_text())
    assert (made["parts"], len(made["losses"])) == (["gold"], 3)
    code, output, _ = nestling("vectors", "train", GOLD, "--out", file, "--size", 5, "--epochs", 3, "--json")
    assert (code, json.loads(output)) == (0, made)
    code, output, _ = nestling("vectors", "info", file, "the", "-n", 2, "--json")
    found = json.loads(output)
    assert (code, found["size"], len(found["nearest"]["the"])) == (0, 5, 2)
    assert nestling("vectors", "info", file, "zebra")[0] == 2


def test_the_training_text_alone_unless_all_is_wanted(nestling, tmp_path):  # noqa: F811
    for part, word in {"train": "here", "test": "there"}.items():
        row = {"id": part, "tokens": ["so", word], "entities": []}
        (tmp_path / f"{part}.jsonl").write_text(json.dumps(row) + "\n")
    nestling("vectors", "train", tmp_path, "--out", tmp_path / "v" / "one.txt", "--epochs", 1)
    assert "there" not in (tmp_path / "v" / "one.txt").read_text()
    nestling("vectors", "train", tmp_path, "--out", tmp_path / "v" / "all.txt", "--epochs", 1, "--all-parts")
    assert "there" in (tmp_path / "v" / "all.txt").read_text()
