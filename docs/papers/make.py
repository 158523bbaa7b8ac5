"""Write the tables of the papers' pages, and draw their figures: ``make papers``.

    python docs/papers/make.py [--check] [NAME ...]

Every call on a page is run and compared with the paper; a value that differs from what
the page says is an error. With ``--check`` nothing is written: the files must be what
the calls give.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import items  # noqa: E402 - beside this file; documentation is no package

NAMES = ("kim2021", "keith2012", "sameni2025", "zhang2024", "ramazi")
FIGURES = HERE.parent / "figures"
DRAWN = HERE.parent / "_generated" / "figures"


def paper_of(name: str) -> items.Paper:
    """Return the items of one paper."""
    return importlib.import_module(name).PAPER


def text_of(name: str) -> str:
    """Return the tables of one page; an error when a value is not what it says."""
    return "\n".join(items.lines_of(paper_of(name))) + "\n"


def file_of(name: str) -> Path:
    """Return the file that a page includes."""
    return HERE / "tables" / f"{name}.inc"


def figures_of(name: str) -> list[str]:
    """Return the scripts that draw the figures of one paper."""
    return [item.figure for item in paper_of(name).items if item.figure]


def draw(stem: str, folder: Path) -> Path:
    """Draw one figure into a folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = runpy.run_path(str(FIGURES / f"{stem}.py"))["chart"]()
    path = folder / f"{stem}.svg"
    axes.figure.savefig(path)
    pyplot.close(axes.figure)
    return path


def main(words: list[str]) -> int:
    """Write or check the tables of the named papers, or of all; draw their figures."""
    only_check = "--check" in words
    names = [word for word in words if word != "--check"] or list(NAMES)
    stale = []
    for name in names:
        text = text_of(name)
        if only_check:
            if file_of(name).read_text(encoding="utf-8") != text:
                stale.append(name)
            continue
        file_of(name).write_text(text, encoding="utf-8")
        DRAWN.mkdir(parents=True, exist_ok=True)
        for stem in figures_of(name):
            draw(stem, DRAWN)
        sys.stdout.write(f"{name}: {items.summary(paper_of(name))}\n")
    for name in stale:
        sys.stderr.write(f"{file_of(name)} is not what its calls give: make papers\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
