"""What `make demo` shows: a small corpus with nested and discontinuous entities, and a prediction scored against it."""

from pathlib import Path

import nestling
from nestling.apps.tables import score_tables, statistics_tables
from nestling.apps.terminal import Painter, out
from nestling.data.statistics import describe

CORPUS = Path(__file__).parent / "corpus"


def main() -> None:
    gold = list(nestling.read(CORPUS / "gold.jsonl"))
    predicted = list(nestling.read(CORPUS / "predicted.jsonl"))
    painter = Painter()

    out.rule("Gold and prediction, nested", align="left")
    for truth, guess in zip(gold, predicted, strict=True):
        for right, found in zip(truth.sentences, guess.sentences, strict=True):
            out.print("gold     ", painter.draw(right))
            out.print("predicted", painter.draw(found), "")

    out.rule("The corpus: nestling data stats examples/corpus/gold.jsonl", align="left")
    out.print(next(iter(statistics_tables([describe("gold", gold)]))), "")

    out.rule("The score: nestling score examples/corpus/gold.jsonl examples/corpus/predicted.jsonl", align="left")
    for table in score_tables(nestling.score(gold, predicted)):
        out.print(table, "")


if __name__ == "__main__":
    main()
