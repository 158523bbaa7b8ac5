"""Settings of the documentation site; `make docs` builds it, warnings are errors."""

import ast
import importlib
import inspect
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trueness

HERE = Path(__file__).parent
GENERATED = HERE / "_generated"
DOORS = {
    "plots": "Figures (trueness.plots)",
    "report": "Reports (trueness.report)",
    "estimators": "For scikit-learn (trueness.estimators)",
}

project = "Trueness"
author = "the Trueness developers"
copyright = "2026, the Trueness developers"
version = release = trueness.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "README.md", "_cli_head.md", "_json_head.md"]
html_theme = "pydata_sphinx_theme"
html_title = "Trueness"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["trueness.css"]
html_sidebars = {"comparison": [], "one_idea": [], "index": []}
html_theme_options = {"show_toc_level": 2, "navbar_align": "left"}
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"


def questions() -> dict[str, list[str]]:
    """Read the table of contents of ``trueness``: public names by question."""
    found: dict[str, list[str]] = {}
    for line in (trueness.__doc__ or "").splitlines():
        if line and not line.startswith(" ") and "?" in line:
            found[line.partition("?")[0] + "?"] = []
        elif line.startswith("    ") and found:
            names = [n for n in line.replace(",", " ").split() if n in trueness.__all__]
            found[list(found)[-1]] += names
    return {q: names for q, names in found.items() if names}


def entry(name: str) -> list[str]:
    """Give the place where Sphinx puts a docstring, or the names that a table holds."""
    value = getattr(trueness, name, None)
    if isinstance(value, Mapping):
        held = ", ".join(f"`{key}`" for key in value)
        return [f"`trueness.{name}` holds {held}.", ""]
    is_class = name.rpartition(".")[2][0].isupper()
    kind = "autoclass" if is_class else "autofunction"
    lines = ["```{eval-rst}", f".. {kind}:: trueness.{name}"]
    return [*lines, *(["   :members:"] if inspect.isclass(value) else []), "```", ""]


def write_reference() -> None:
    """Write the reference by question, from ``trueness.__doc__`` and the docstrings."""
    lines = ["# Reference", "", "Every public name, by the question it answers.", ""]
    listed: set[str] = set()
    for question, names in questions().items():
        lines += [f"## {question}", ""]
        for name in names:
            listed.add(name)
            is_metric = isinstance(getattr(trueness, name), trueness.Metric)
            lines += [] if is_metric or name == "METRICS" else entry(name)
    for module, what in DOORS.items():
        lines += [f"## {what}", ""]
        for name in sorted(importlib.import_module(f"trueness.{module}").__all__):
            lines += entry(f"{module}.{name}")
    lines += ["## Metrics", ""]
    for name in sorted(set(trueness.__all__) - listed - set(trueness.METRICS)):
        lines += entry(name)
    lines += ["| name | question | better | range | reference |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for m in trueness.METRICS.values():
        span = f"{m.range[0]:g} to {m.range[1]:g}"
        row = (f"`{m.name}`", m.question, m.direction, span, m.reference)
        lines.append("| " + " | ".join(row) + " |")
    (GENERATED / "reference.md").write_text("\n".join(lines) + "\n")


def write_commands() -> None:
    """Write the page of the command line, from the commands themselves."""
    import typer.main

    from trueness.cli import app
    from trueness.cli._schema import ABOUT, HEAD, NO_FILE, RESULTS, lines

    root = typer.main.get_command(app)
    page = ["# The command line", "", "```{include} ../_cli_head.md", "```", ""]
    for name in root.list_commands(None):
        command = root.get_command(None, name)
        parts = getattr(command, "commands", None) or {"": command}
        for part, leaf in parts.items():
            page += command_lines(f"trueness {name} {part}".rstrip(), leaf)
    (GENERATED / "cli.md").write_text("\n".join(page) + "\n")
    page = ["# What `--json` writes", "", "```{include} ../_json_head.md", "```", ""]
    without = " and ".join(f"`{name}`" for name in NO_FILE)
    shared = {"every command": HEAD, f"every command but {without}": ABOUT}
    for name, schema in {**shared, **RESULTS}.items():
        where = "" if name in shared else "result"
        page += [f"## {name}", "", "| key | kind | meaning |", "| --- | --- | --- |"]
        rows = lines(schema, where)
        page += [f"| `{key}` | {kind} | {text} |" for key, kind, text in rows]
        page.append("")
    (GENERATED / "json.md").write_text("\n".join(page) + "\n")


def command_lines(name: str, command: Any) -> list[str]:
    """Give the help of one command as Markdown."""
    text = inspect.getdoc(inspect.unwrap(command.callback))
    question, _, example = text.partition("Example: ")
    out = [f"## {name}", "", " ".join(question.split()), ""]
    if example:
        out += ["```sh", " ".join(example.split()), "```", ""]
    out += ["| option | meaning | default |", "| --- | --- | --- |"]
    for p in command.params:
        if p.name == "help" or "completion" in p.name:
            continue
        words = getattr(p, "help", "") or ""
        # 0 is a default to be shown, though it equals False
        none = p.default is False or p.default in (None, (), "")
        default = "" if none else p.default
        shown = ", ".join(f"`{o}`" for o in p.opts if o != "file") or "`FILE`"
        out.append(f"| {shown} | {words.replace('|', ' ')} | {default} |")
    return [*out, ""]


GALLERY = {
    "Curves": "roc_band precision_recall groups det gain lift leakage binormal_fit",
    "Where to cut": "readme constraints pareto pareto_plane cost_curve net_benefit",
    "What a score means": "reliability reliability_models calibration_maps "
    "decomposition fermi_fit",
    "Several models": "comparison dominance combiners rank_correlation",
    "No gold standard": "no_gold_posterior no_gold_plane dependence_matrix",
    "Leaves": "leaf_tree leaf_confidence leaf_utility majority_likelihood",
}


def write_gallery() -> None:
    """Write a page with every figure of ``figures/`` and the code that draws it."""
    page = ["# Gallery", "", "Every picture is built from the code under it.", ""]
    groups = {title: stems.split() for title, stems in GALLERY.items()}
    known = {stem for stems in groups.values() for stem in stems}
    every = sorted(path.stem for path in (HERE / "figures").glob("*.py"))
    groups["From the papers and the studies"] = [s for s in every if s not in known]
    for title, stems in groups.items():
        page += [f"## {title}", ""]
        for stem in stems:
            page += picture(HERE / "figures" / f"{stem}.py")
    (GENERATED / "gallery.md").write_text("\n".join(page) + "\n")


def picture(path: Path) -> list[str]:
    """Give one picture of the gallery, with its code folded away."""
    text = path.read_text()
    title = (ast.get_docstring(ast.parse(text)) or path.stem).splitlines()[0]
    return [
        *(f"### {title.rstrip('.')}", "", f"![{title}](figures/{path.stem}.svg)", ""),
        *("<details><summary>The code</summary>", "", "```python", text.rstrip()),
        *("```", "", "</details>", ""),
    ]


def write_benchmarks() -> None:
    """Copy the measured tables."""
    results = HERE.parent / "benchmarks" / "RESULTS.md"
    text = results.read_text() if results.exists() else "# Measured\n"
    (GENERATED / "benchmarks.md").write_text(text)


def draw_figures() -> None:
    """Draw every script of ``figures/``: each has a function ``chart()``."""
    folder = Path(__file__).parent
    target = folder / "_generated" / "figures"
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted((folder / "figures").glob("*.py")):
        drawn = target / f"{path.stem}.svg"
        if not drawn.exists() or drawn.stat().st_mtime < path.stat().st_mtime:
            trueness.plots.save(runpy.run_path(str(path))["chart"](), drawn)


GENERATED.mkdir(exist_ok=True)
write_reference()
write_commands()
write_gallery()
write_benchmarks()
draw_figures()
