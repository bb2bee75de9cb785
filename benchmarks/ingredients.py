"""What each ingredient of en-general brings, on dev of LitBank, with few sentences and epochs.

python benchmarks/ingredients.py --wordnet FOLDER [--only WordNet ...] [--seed 1] [--minutes 60]
"""

import time
from typing import Any

from records import ROOT, add
from runs import command, figures, finished, parser_of

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.evaluation.scores import score
from nestling.settings import Settings, load_settings, settings_of

TRANSFORMER, AFFIXES, CLUSTERS, WORDNET = range(4)  # parts of the configuration
INGREDIENTS: dict[str, tuple[set[int], dict[str, Any]]] = {  # parts of the encoder, and what is set besides
    "none": ({TRANSFORMER, AFFIXES}, {}),
    "other names": ({TRANSFORMER, AFFIXES}, {"renamed": 0.5}),
    "clusters": ({TRANSFORMER, AFFIXES, CLUSTERS}, {}),
    "WordNet": ({TRANSFORMER, AFFIXES, WORDNET}, {}),
    "all": ({TRANSFORMER, AFFIXES, CLUSTERS, WORDNET}, {"renamed": 0.5}),
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--wordnet", required=True, help="folder with the files of WordNet")
    parser.add_argument("--only", nargs="*", default=list(INGREDIENTS), choices=INGREDIENTS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    for name in given.only:
        settings = with_ingredient(name, given.wordnet, given.seed)
        run = finished(settings, ROOT / "runs" / "ingredients" / f"{name}-{given.seed}", until)
        if run is None:
            return
        corpus = str(settings.data.corpus)
        gold, recognizer = corpora.load(corpus, "dev"), load(run.folder)
        found = recognizer.pipe(recognizer.inputs(gold, is_raw=corpora.find(corpus).is_raw))
        row = figures(run, score(gold, found))
        add({"experiment": "ingredients", "corpus": corpus, "part": "dev", "model": name, **row, "command": command()})


def with_ingredient(name: str, wordnet: str, seed: int) -> Settings:
    """en-general's settings with one ingredient, or all."""
    parts, data = INGREDIENTS[name]
    changes = ["data.sentences=2500", "training.epochs=5", "training.average=0.99", f"training.seed={seed}"]
    changes += [f"encoder.parts.{WORDNET}.source={wordnet}", "data.renamed=0"]
    table = load_settings("en-general", changes).model_dump()
    table["encoder"]["parts"] = [own for n, own in enumerate(table["encoder"]["parts"]) if n in parts]
    table["data"] |= data
    return settings_of(table, name)


if __name__ == "__main__":
    main()
