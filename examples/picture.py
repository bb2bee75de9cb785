"""Draws docs/nested.svg, the picture in the README: python examples/picture.py"""

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

import nestling
from nestling.apps.terminal import Painter

ROOT = Path(__file__).parent.parent
NO_REMOTE_FONTS = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def main() -> None:
    console = Console(record=True, width=112, file=io.StringIO(), force_terminal=True, highlight=False)
    painter = Painter()
    for document in nestling.read(ROOT / "examples" / "corpus" / "gold.jsonl"):
        for sentence in document.sentences:
            if sentence.entities:
                console.print(painter.draw(sentence))
    picture = ROOT / "docs" / "nested.svg"
    title = "nestling data show examples/corpus/gold.jsonl"
    console.save_svg(str(picture), title=title, code_format=NO_REMOTE_FONTS, unique_id="nested")


if __name__ == "__main__":
    main()
