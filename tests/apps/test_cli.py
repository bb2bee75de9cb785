import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nestling.apps import cli
from nestling.apps.analysis import _named
from nestling.data.formats import read
from nestling.errors import DataError
from tests.conftest import ROOT

CORPUS = ROOT / "examples" / "corpus"
GOLD, PREDICTED = CORPUS / "gold.jsonl", CORPUS / "predicted.jsonl"


@pytest.fixture
def nestling(monkeypatch, capsys):
    """Runs the command as a user would; gives exit code, output and errors."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["nestling", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return run


def test_help_names_every_command(nestling):
    assert nestling("--help")[0] == 0
    code, output, _ = nestling("data", "--help")
    assert code == 0
    assert all(name in output for name in ("list", "stats", "check", "convert", "show"))
    for command in (["score"], *(["data", name] for name in ("list", "stats", "check", "convert", "show"))):
        code, output, _ = nestling(*command, "--help")
        assert (code, "--json" in output) == (0, True)


def test_version(nestling):
    assert nestling("--version")[1].startswith("nestling 0.")


class TestStats:
    def test_json_has_the_figures_of_every_part(self, nestling):
        code, output, _ = nestling("data", "stats", GOLD, "--json")
        (part,) = json.loads(output)
        assert (code, part["split"], part["entities"], part["discontinuous"]) == (0, "gold", 36, 2)

    def test_a_folder_of_parts_shows_leakage(self, nestling, tmp_path):
        for part, words in {"train": "a b", "devel": "a c", "test": "b d"}.items():
            (tmp_path / f"{part}.tsv").write_text("".join(f"{word}\tO\n\n" for word in words.split()))
        _, output, _ = nestling("data", "stats", tmp_path, "--json")
        parts = json.loads(output)
        assert [(p["split"], p["distinct_units_also_in_train"]) for p in parts] == [
            ("train", None),
            ("dev", 1),
            ("test", 1),
        ]

    def test_text_for_people(self, nestling):
        _, output, _ = nestling("data", "stats", GOLD)
        assert "sentences with nesting" in output
        assert "PLACE" in output

    def test_which_files_of_a_folder_are_parts(self, nestling, tmp_path):
        (tmp_path / "train.tsv").write_text("a\tO\n")
        (tmp_path / "train.md").write_text("notes")
        assert json.loads(nestling("data", "stats", tmp_path, "--json")[1])[0]["words"] == 1
        (tmp_path / "notes.txt").write_text("notes")
        assert json.loads(nestling("data", "stats", tmp_path, "--json")[1])[0]["words"] == 1
        (tmp_path / "train.conll").write_text("a\tO\n")
        code, _, errors = nestling("data", "stats", tmp_path)
        assert (code, "are both train" in errors) == (2, True)
        (tmp_path / "brat").mkdir()
        for name in ("a", "test"):
            (tmp_path / "brat" / f"{name}.txt").write_text("Rome.")
        assert json.loads(nestling("data", "stats", tmp_path / "brat", "--json")[1])[0]["documents"] == 2

    def test_offsets_that_are_off_by_one_are_told(self, nestling, tmp_path):
        row = {"id": "a", "text": "Left arm.", "entities": [{"fragments": [[1, 4]], "label": "BODY"}]}
        (tmp_path / "x.jsonl").write_text(json.dumps(row))
        code, output, _ = nestling("data", "check", tmp_path / "x.jsonl")
        assert (
            code,
            "begin or end inside a word, such as BODY 'eft' at 1 in 'a'" in " ".join(output.split("\n")),
        ) == (0, True)
        row["entities"][0]["fragments"] = [[0, 4]]
        (tmp_path / "x.jsonl").write_text(json.dumps(row))
        assert "0 warnings" in nestling("data", "check", tmp_path / "x.jsonl")[1]

    def test_of_a_known_corpus(self, nestling, corpora_root):
        _, output, _ = nestling("data", "stats", "conll04", "--root", corpora_root, "--json")
        assert [p["entities"] for p in json.loads(output)] == [3377, 893, 1079]
        _, output, _ = nestling("data", "stats", "conll04:dev", "--root", corpora_root, "--json")
        assert [p["split"] for p in json.loads(output)] == ["dev"]

    def test_cut_shows_the_parts_to_train_and_test_on(self, nestling, corpora_root):
        _, output, _ = nestling("data", "stats", "anercorp:dev", "--cut", "--root", corpora_root, "--json")
        assert [p["split"] for p in json.loads(output)] == ["dev"]


class TestShow:
    def test_brackets(self, nestling):
        code, output, _ = nestling("data", "show", GOLD, "-n", 1)
        assert code == 0
        assert output.strip() == (
            "[The [Port Authority]ORG of [Eastmere]PLACE]ORG has named [Ines Calder]PERSON its first [harbour master]ROLE."
        )

    def test_only_some(self, nestling):
        _, output, _ = nestling("data", "show", GOLD, "--only", "discontinuous")
        assert (
            output.strip()
            == "She reported [pain in [the [left]SIDE]BODY₂]SYMPTOM₁ and [right]SIDE [[knee]SYMPTOM₁]BODY₂."
        )
        assert len(nestling("data", "show", GOLD, "--only", "nested", "-n", 0)[1].splitlines()) == 8
        assert nestling("data", "show", GOLD, "--only", "crossing")[1] == ""
        assert len(nestling("data", "show", GOLD, "--label", "WORK")[1].splitlines()) == 1

    def test_json_is_our_own_format(self, nestling, tmp_path):
        _, output, _ = nestling("data", "show", GOLD, "-n", 2, "--json")
        path = tmp_path / "x.jsonl"
        path.write_text(output, encoding="utf-8")
        assert [len(d.sentences) for d in read(path)] == [1, 1]

    def test_crossing_entities_are_numbered(self, nestling, tmp_path):
        path = tmp_path / "x.jsonl"
        crossing = [{"fragments": [[0, 2]], "label": "A"}, {"fragments": [[1, 3]], "label": "B"}]
        path.write_text(json.dumps({"tokens": ["a", "b", "c"], "entities": crossing}))
        assert nestling("data", "show", path, "--only", "crossing")[1].strip() == "₁[a ₂[b]A₁ c]B₂"

    def test_control_characters_do_not_reach_the_terminal(self, nestling, tmp_path):
        path = tmp_path / "x.jsonl"
        path.write_text(json.dumps({"tokens": ["\x1b[31mred", "[bold]x", "\x9b1m"]}))
        _, output, _ = nestling("data", "show", path)
        assert output.strip() == "␛[31mred [bold]x \ufffd1m"


class TestCheck:
    def test_a_sound_file(self, nestling):
        code, output, _ = nestling("data", "check", GOLD)
        assert (code, output.strip()) == (0, "0 errors, 0 warnings; 6 documents and 36 entities can be read")

    def test_everything_wrong_is_listed_with_place_and_fix(self, nestling, tmp_path):
        path = tmp_path / "x.jsonl"
        lines = [
            '{"id": "a", "text": "one two", "entities": [{"fragments": [[0, 3]], "label": "Per"}]}',
            '{"id": "a", "text": "one two", "entities": [{"fragments": [[0, 3]], "label": "PER"}, {"fragments": [[0, 3]], "label": "PER"}]}',
            '{"id": "b", "text": "one", "entities": [{"fragments": [[0, 9]], "label": "PER"}]}',
            '{"id": "c", "text": "one"',
        ]
        path.write_text("\n".join(lines))
        code, output, _ = nestling("data", "check", path, "--json")
        found = [(p["line"], p["severity"]) for p in json.loads(output)]
        assert (code, found) == (2, [(2, "warning"), (3, "error"), (4, "error"), (None, "warning"), (None, "warning")])
        code, output, _ = nestling("data", "check", path)
        assert f"{path}:3: error: PER at 0-9 ends beyond the text, which has 3 characters" in output
        assert "labels that differ only in case: PER (2), Per (1) (write one of them)" in output
        assert "2 documents of x have the id 'a'" in output

    def test_what_cannot_be_read_at_all(self, nestling, tmp_path):
        (tmp_path / "x.jsonl").write_bytes(b'{"text": "a"}\n\xff\n')
        code, output, _ = nestling("data", "check", tmp_path / "x.jsonl")
        assert code == 2
        assert "x.jsonl:2: error: not UTF-8" in output

    def test_texts_of_test_in_train(self, nestling, tmp_path):
        for part in ("train", "test"):
            (tmp_path / f"{part}.tsv").write_text("Rome\tB-LOC\n")
        _, output, _ = nestling("data", "check", tmp_path)
        assert "1 texts of test are also in train" in output


class TestConvert:
    def test_there_and_back(self, nestling, tmp_path):
        assert nestling("data", "convert", GOLD, tmp_path / "b", "--to", "brat")[0] == 0
        assert nestling("data", "convert", tmp_path / "b", tmp_path / "x.jsonl")[0] == 0
        gold = {d.id: d.mentions for d in read(GOLD)}
        assert {d.id: d.mentions for d in read(tmp_path / "x.jsonl")} == gold

    def test_what_cannot_be_held_is_refused_or_dropped_by_name(self, nestling, tmp_path):
        code, _, errors = nestling("data", "convert", PREDICTED, tmp_path / "x.conll")
        assert code == 2
        assert "cannot hold a score: ORG at words 0-5 of document 'harbour'" in errors
        assert list(tmp_path.iterdir()) == []
        code, output, _ = nestling(
            "data", "convert", PREDICTED, tmp_path / "x.conll", "--drop", "scores", "--drop", "discontinuous", "--json"
        )
        assert json.loads(output)[0]["dropped"] == {"scores": 33, "discontinuous": 2}
        assert sum(1 for d in read(tmp_path / "x.conll") for _ in d.entities) == 31

    def test_all_parts_of_a_corpus_into_a_folder(self, nestling, tmp_path, corpora_root):
        code, output, _ = nestling("data", "convert", "conll04", tmp_path / "out", "--root", corpora_root)
        assert code == 2
        code, output, _ = nestling(
            "data", "convert", "conll04", tmp_path / "out", "--to", "jsonl", "--root", corpora_root
        )
        assert (code, len(output.splitlines())) == (0, 3)
        _, output, _ = nestling("data", "stats", tmp_path / "out", "--json")
        assert [p["entities"] for p in json.loads(output)] == [3377, 893, 1079]

    def test_several_parts_are_written_together_or_not_at_all(self, nestling, tmp_path):
        for part, lines in {"train": '{"text": "fine"}', "test": '{"text": "fine"'}.items():
            (tmp_path / "in").mkdir(exist_ok=True)
            (tmp_path / "in" / f"{part}.jsonl").write_text(lines)
        code, output, _ = nestling("data", "convert", tmp_path / "in", tmp_path / "a" / "out", "--to", "jsonl")
        assert (code, output) == (2, "")
        assert [entry.name for entry in tmp_path.iterdir()] == ["in"]
        code, output, _ = nestling("data", "convert", f"{tmp_path / 'in'}:train", tmp_path / "x.jsonl")
        assert (code, (tmp_path / "x.jsonl").exists()) == (0, True)

    def test_links_stay_links(self, nestling, tmp_path):
        (tmp_path / "real.jsonl").write_text("old")
        (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
        assert nestling("data", "convert", GOLD, tmp_path / "link.jsonl")[0] == 0
        assert (tmp_path / "link.jsonl").is_symlink()
        assert len(list(read(tmp_path / "real.jsonl"))) == 6

    def test_layers_and_schemes(self, nestling, tmp_path):
        nestling(
            "data",
            "convert",
            GOLD,
            tmp_path / "x.conll",
            "--scheme",
            "BILOU",
            "--order",
            "outermost",
            "--drop",
            "discontinuous",
        )
        assert "Authority\tI-ORG\tL-ORG\tO\tO" in (tmp_path / "x.conll").read_text()


class TestScore:
    def test_figures(self, nestling):
        code, output, _ = nestling("score", GOLD, PREDICTED, "--json")
        scores = json.loads(output)
        assert (code, scores["strict"]["right"], scores["strict"]["gold"], scores["strict"]["predicted"]) == (
            0,
            30,
            36,
            33,
        )
        assert scores["strict"]["f1_low"] < scores["strict"]["f1"] < scores["strict"]["f1_high"]
        assert "95 % interval" in nestling("score", GOLD, PREDICTED)[1]

    def test_against_another_prediction(self, nestling):
        _, output, _ = nestling("score", GOLD, PREDICTED, "--against", GOLD)
        assert "F1 100.00; the difference of -13.04 has p = " in output.replace("\n", " ")
        assert "95 % interval -" in output.replace("\n", " ")

    def test_several_parts_need_a_choice(self, nestling, corpora_root):
        code, _, errors = nestling("score", "conll04", GOLD, "--root", corpora_root)
        assert code == 2
        assert "several parts: train, dev, test (name one, as in conll04:test)" in errors


BAD = {
    "tag.tsv": (b"a\tO\nb\tX-PER\n", ":2: 'X-PER' is not a tag"),
    "order.jsonl": (
        b'{"text": "abc", "entities": [{"fragments": [[2, 1]], "label": "X"}]}',
        ":1: a span needs 0 <= start < end",
    ),
    "outside.jsonl": (
        b'{"text": "abc", "entities": [{"fragments": [[0, 4]], "label": "X"}]}',
        ":1: X at 0-4 ends beyond the text",
    ),
    "latin.tsv": (b"na\xefve\tO\n", ":1: not UTF-8"),
    "cut.jsonl": (b'{"text": "abc"}\n{"text": "ab', ":2: not JSON"),
    "empty.jsonl": (b"", ": holds no documents"),
    "bomb.xml": (b'<!DOCTYPE s [<!ENTITY a "aa">]>\n<set>&a;</set>', ":1: declares XML entities"),
    "cut.xml": (b"<set>\n<article>", ":2: not XML"),
}


SHOWN_BEFORE = {("show", "cut.jsonl")}  # the sentence before the bad line


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["stats", "show", "check", "convert", "score"])
def test_bad_input_is_one_clear_line_and_leaves_nothing(nestling, tmp_path, name, command):
    content, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    words = {"convert": ["data", "convert", path, tmp_path / "out.jsonl"], "score": ["score", path, path]}
    code, output, errors = nestling(*words.get(command, ["data", command, path]))
    said = output if command == "check" else errors
    assert code == 2
    assert f"{path}{message.replace(': ', ': error: ', 1) if command == 'check' else message}" in said.replace("\n", "")
    assert "Traceback" not in output + errors
    if command != "check":
        assert errors.count("nestling: ") == 1
        assert output == "" or (command, name) in SHOWN_BEFORE
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data", "stats", "missing.jsonl"], "missing.jsonl: no such file or folder"),
        (["data", "stats", "gnia"], "did you mean 'genia'"),
        (["data", "stats", str(CORPUS), "--format", "jsonl"], "cannot be read: Is a directory"),
        (["data", "stats", str(GOLD), "--format", "jsnl"], "did you mean 'jsonl'"),
        (["data", "stats", str(GOLD), "--part", "dev"], "unknown part of"),
        (["data", "stats", str(GOLD), "-f", "column", "--columns", "x"], "is not a list of column numbers"),
        (["data", "stats", str(GOLD), "--columns", "1"], "--columns is for column files, and this is jsonl"),
        (["data", "stats", str(GOLD), "-f", "column", "--columns", "9" * 5000], "is not a list of column numbers"),
        (["data", "stats", "x" * 5000], "File name too long"),
        (["data", "stats", "genia", "--language", "en", "--root", str(CORPUS)], "--language is for files"),
        (["data", "convert", str(GOLD), "/dev/null", "--to", "jsonl"], "is there already, and not a file"),
        (["data", "convert", str(GOLD), "x.jsonl", "--scheme", "BIO"], "unknown option of the format 'jsonl' 'scheme'"),
        (["data", "stats", str(GOLD), "--language", "qq"], "unknown language 'qq'"),
        (["data", "convert", str(GOLD), "/proc/nestling/x.jsonl"], "cannot be written"),
        (["data", "convert", str(GOLD), "x.unknown"], "the name does not tell a format"),
        (["data", "stats", "genia", "--root", "/nowhere"], "the corpus genia is not there"),
    ],
)
def test_wrong_words_are_one_clear_line(nestling, words, message):
    code, output, errors = nestling(*words)
    assert (code, output) == (2, "")
    assert message in errors.replace("\n", "")


def test_list(nestling, corpora_root):
    _, output, _ = nestling("data", "list", "--root", corpora_root, "--json")
    assert all(row["is_there"] for row in json.loads(output))
    assert "✓ genia " in nestling("data", "list", "--root", corpora_root)[1]


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text('{"tokens": ["word", "word", "word"]}\n' * 20_000)
    command = f"{sys.executable} -m nestling.apps.cli data show {path} -n 0 | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("word word word\n", "")


def test_a_full_disk_behind_the_output_is_one_clear_line():
    command = f"{sys.executable} -m nestling.apps.cli data stats {GOLD} > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (2, "nestling: [Errno 28] No space left on device")


def test_an_output_without_unicode(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "nestling.apps.cli", "data", "stats", str(GOLD)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "\\u03b5, covers 99 % of entities" in done.stdout


def test_pipes_are_read_once():
    command = f"cat {GOLD} | {sys.executable} -m nestling.apps.cli data check /dev/stdin --format jsonl"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "6 documents and 36 entities" in done.stdout


def test_the_demo_runs():
    done = subprocess.run([sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, check=True)
    for name in ("en-general", "en-bio", "en-medicine", "de-general"):
        assert name in done.stdout
    assert re.search(r"\[[^\]]*\[[^\]]+\]\w+", done.stdout)  # a bracket inside a bracket
    assert done.stdout.count("\nnestling ") == 3  # what to try next


def test_the_readme_example_runs(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = readme.split("```python\n")[1].split("```")[0]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert not list(Path(ROOT).glob("*.jsonl"))


class TestAnalyze:
    def test_tables_json_and_page(self, nestling, tmp_path):
        code, output, _ = nestling("analyze", GOLD, PREDICTED, "--train", GOLD)
        assert (code, "Overview" in output, "By eCon" in output, "Mistakes" in output) == (0, True, True, True)
        code, output, _ = nestling("analyze", GOLD, PREDICTED, f"perfect={GOLD}", "--reference", "perfect", "--json")
        found = json.loads(output)
        assert (code, found["reference"], set(found["models"])) == (0, "perfect", {"predicted", "perfect"})
        assert found["models"]["perfect"]["scores"]["strict"]["f1"] == 100.0
        code, output, _ = nestling("analyze", GOLD, PREDICTED, "--out", tmp_path / "r.html")
        assert (code, "r.html: 0.0 MB" in output) == (0, True)
        assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")

    def test_thresholds(self, nestling, tmp_path):
        rows = [json.loads(line) for line in PREDICTED.read_text().splitlines()]
        truth = {
            row["id"]: [(e["fragments"], e["label"]) for e in row["entities"]]
            for row in map(json.loads, GOLD.read_text().splitlines())
        }
        for row in rows:
            for entity in row["entities"]:
                entity["score"] = 0.9 if (entity["fragments"], entity["label"]) in truth[row["id"]] else 0.3
        (tmp_path / "scored.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        code, output, _ = nestling("analyze", GOLD, tmp_path / "scored.jsonl", "--fit-thresholds")
        assert (code, output.splitlines()[0], "= 0.6" in output) == (0, "[decoding.thresholds]", True)
        (tmp_path / "same.jsonl").write_text(GOLD.read_text().replace('"label"', '"score": 0.5, "label"'))
        assert "best as it is" in nestling("analyze", GOLD, tmp_path / "same.jsonl", "--fit-thresholds")[1]
        assert nestling("analyze", GOLD, GOLD, "--fit-thresholds")[0] == 2
        assert nestling("analyze", GOLD, tmp_path / "scored.jsonl", "--fit-thresholds", "--json")[0] == 2

    def test_predictions_of_another_format(self, nestling, tmp_path):
        nestling("data", "convert", GOLD, tmp_path / "gold.conll", "--to", "column", "--drop", "discontinuous")
        text = (tmp_path / "gold.conll").read_text()
        (tmp_path / "pred.txt").write_text(text)
        flat = tmp_path / "flat.jsonl"
        nestling("data", "convert", tmp_path / "gold.conll", flat, "--to", "jsonl")
        for command in ("analyze", "score"):
            options = ("--predicted-format", "column", "--json")
            code, output, _ = nestling(command, flat, tmp_path / "pred.txt", *options)
            found = json.loads(output)
            scores = found["models"]["pred"]["scores"] if command == "analyze" else found
            assert (code, scores["strict"]["f1"]) == (0, 100.0)

    def test_names(self):
        assert _named(["a 2=x", "a=y", "a=z", "runs/b=1/c.jsonl"]) == {
            "a 2": "x",
            "a": "y",
            "a 3": "z",
            "c": "runs/b=1/c.jsonl",
        }
        with pytest.raises(DataError, match="needs a name"):
            _named(["=x"])

    def test_what_is_wrong_is_one_line(self, nestling, tmp_path):
        lines = GOLD.read_text().splitlines(keepends=True)
        (tmp_path / "short.jsonl").write_text("".join(lines[:-1]))
        code, _, error = nestling("analyze", GOLD, tmp_path / "short.jsonl")
        assert (code, "only in gold" in error) == (2, True)
        code, _, error = nestling("analyze", GOLD, PREDICTED, "--reference", "predicte")
        assert (code, "predicted" in error) == (2, True)
