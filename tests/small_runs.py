"""A corpus that is learnt by heart in seconds, settings for it, and runs."""

from nestling.checkpoint import load_model
from nestling.data.formats import write
from nestling.run import Run
from nestling.settings import settings_of
from nestling.types import Document, Entity, Span

TOWNS, PEOPLE = ("Rome", "Oslo", "Lima", "Bonn"), ("Ann", "Bob", "Eve", "Tom")

FLAT = (Entity.at(0, 1, "PER"), Entity.at(3, 5, "LOC"))
NESTED = (*FLAT, Entity.at(4, 5, "CITY"))
GAPPED = (*NESTED, Entity((Span(0, 1), Span(3, 5)), "PAIR"))
MOST = {"sequence": FLAT, "grid": GAPPED}  # that a head can express; others: NESTED


def corpus(entities=FLAT):
    """Eight sentences that a model can learn by heart."""
    made = []
    for n in range(8):
        words = [PEOPLE[n % 4], "lives", "in", "old", TOWNS[(n * 3) % 4], "now" if n % 2 else "."]
        made.append(Document.of_words(f"d{n}", [(words, entities)]))
    return made


def table(folder, heads, encoder=None, *, entities=FLAT, rule="flat", **training):
    write(corpus(entities), folder / "data.jsonl")
    return {
        "data": {"train": str(folder / "data.jsonl"), "dev": str(folder / "data.jsonl")},
        "encoder": encoder
        or {"parts": [{"kind": "affixes", "size": 32, "dropout": 0.0}], "top": {"kind": "bilstm", "size": 32}},
        "heads": heads,
        "decoding": {"rule": rule},
        "training": {"epochs": 30, "batch_size": 4, "head_rate": 0.02, "encoder_rate": 0.005, **training},
    }


def trained(folder, settings, name="run", **options):
    run = Run(settings_of(settings, "test"), folder / name, **options)
    steps = list(run.steps())
    return run, steps


def transformer(folder, **options):
    return {"parts": [{"kind": "transformer", "model": str(folder), **options}, {"kind": "characters", "size": 8}]}


def weights(folder):
    return load_model(folder).model.state_dict()
