"""What `make demo` shows: nested entities in paragraphs of five kinds, found by the models that come with nestling."""

import time

import nestling
from nestling.apps.terminal import Painter, out

TEXTS = {
    ("news", "en-general"): (
        "The harbour council of Eastmere said on Monday that the ferry Saint Brannoc will not sail before spring. "
        "Ada Moreland, the council's new chair, told reporters at the town hall that the owner of the ship, "
        "Northern Light Lines, had not paid the shipyard in Kiel since June. Her predecessor's brother runs the firm."
    ),
    ("fiction", "en-general"): (
        "Old Mr. Harrow's eldest daughter came down to the kitchen of the vicarage before anyone was awake. "
        "Her carriage was already at the gate, and the boy who minded the horses slept under its wheels. "
        '"You will write to me from London," said the cook, "and to your poor father in his study."'
    ),
    ("biomedicine", "en-bio"): (
        "Stimulation of human T lymphocytes through CD28 increased IL-2 gene expression and NF-kappa B binding to the "
        "IL-2 promoter. In Jurkat cells, cyclosporin A blocked the interleukin-2 receptor alpha chain gene."
    ),
    ("medicine", "en-medicine"): (
        "Two patients with chronic renal failure who were given cyclosporin A developed hypertension and tremor. "
        "Both recovered when the drug was replaced by azathioprine, but one had gouty arthritis after furosemide."
    ),
    ("German news", "de-general"): (
        "Der Präsident der Universität Hamburg traf am Dienstag den norwegischen Botschafter in Berlin. "
        "Anna Lindqvist vom Verlag Suhrkamp las in der Stadtbibliothek Bremen aus ihrem Roman."
    ),
}
NEXT = (
    'nestling predict "Ann Lee\'s sister left the hotel in Oslo."      entities of a text of yours',
    "nestling train examples/own-data/config.toml --out runs/boats    a model of your own, from thirty sentences",
    "nestling models                                                  what comes with it, and how good it is",
)


def main() -> None:
    for (kind, name), text in TEXTS.items():
        recognizer = nestling.load(name)
        recognizer(text)  # the first text of a model is slower
        began = time.perf_counter()
        document = recognizer(text)
        seconds = time.perf_counter() - began
        speed = sum(map(len, document.sentences)) / seconds
        out.rule(f"{kind}: {name}, {len(document.mentions)} entities, {speed:,.0f} words a second", align="left")
        painter = Painter()
        for sentence in document.sentences:
            out.print(painter.draw(sentence))
        out.print()
    out.rule("to try next", align="left")
    for line in NEXT:
        out.print(line, markup=False, highlight=False)


if __name__ == "__main__":
    main()
