"""Settings of the documentation site; `make docs` builds it, warnings are errors."""

import inspect
import runpy
from pathlib import Path

import karat

project = "Karat"
author = "the Karat developers"
copyright = "2026, the Karat developers"
version = release = karat.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "README.md"]
html_theme = "pydata_sphinx_theme"
html_title = "Karat"
html_show_sourcelink = False
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"


def write_reference() -> None:
    """Write a page of the reference for every public name, from ``karat.__all__``."""
    folder = Path(__file__).parent / "_generated"
    folder.mkdir(exist_ok=True)
    functions = [n for n in karat.__all__ if inspect.isroutine(getattr(karat, n))]
    classes = [n for n in karat.__all__ if inspect.isclass(getattr(karat, n))]
    lines = ["# Reference", "", "## Functions", ""]
    for name in functions:
        lines += ["```{eval-rst}", f".. autofunction:: karat.{name}", "```", ""]
    lines += ["## Values and errors", ""]
    for name in classes:
        lines += [
            "```{eval-rst}",
            f".. autoclass:: karat.{name}",
            "   :members:",
            "```",
            "",
        ]
    lines += ["## Metrics", "", "| name | question | better | range | reference |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for m in karat.METRICS.values():
        low, high = m.range
        row = (
            f"`{m.name}`",
            m.question,
            m.direction,
            f"{low:g} to {high:g}",
            m.reference,
        )
        lines.append("| " + " | ".join(row) + " |")
    (folder / "reference.md").write_text("\n".join(lines) + "\n")


def draw_figures() -> None:
    """Draw every script of ``figures/``: each has a function ``chart()``."""
    folder = Path(__file__).parent
    target = folder / "_generated" / "figures"
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted((folder / "figures").glob("*.py")):
        drawn = target / f"{path.stem}.svg"
        if not drawn.exists() or drawn.stat().st_mtime < path.stat().st_mtime:
            karat.plots.save(runpy.run_path(str(path))["chart"](), drawn)


write_reference()
draw_figures()
