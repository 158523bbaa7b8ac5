"""Settings of the documentation site; `make docs` builds it, warnings are errors."""

import ast
import importlib
import inspect
import runpy
from pathlib import Path
from typing import Any

import karat

HERE = Path(__file__).parent
GENERATED = HERE / "_generated"
DOORS = {
    "plots": "Figures (karat.plots)",
    "report": "Reports (karat.report)",
    "estimators": "For scikit-learn (karat.estimators)",
}

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
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "README.md", "_cli_head.md", "_json_head.md"]
html_theme = "pydata_sphinx_theme"
html_title = "Karat"
html_show_sourcelink = False
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"


def write_reference() -> None:
    """Write a page of the reference for every public name, from ``karat.__all__``."""
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
            "   :inherited-members: Map, Record",
            "```",
            "",
        ]
    for module, what in DOORS.items():
        lines += [f"## {what}", ""]
        names = importlib.import_module(f"karat.{module}").__all__
        for name in sorted(names):
            kind = "autoclass" if name[0].isupper() else "autofunction"
            target = f".. {kind}:: karat.{module}.{name}"
            lines += ["```{eval-rst}", target, "```", ""]
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
    (GENERATED / "reference.md").write_text("\n".join(lines) + "\n")


def write_commands() -> None:
    """Write the page of the command line, from the commands themselves."""
    import typer.main

    from karat.cli import app
    from karat.cli._schema import ABOUT, HEAD, NO_FILE, RESULTS, lines

    root = typer.main.get_command(app)
    page = ["# The command line", "", "```{include} ../_cli_head.md", "```", ""]
    for name in root.list_commands(None):
        command = root.get_command(None, name)
        parts = getattr(command, "commands", None) or {"": command}
        for part, leaf in parts.items():
            page += command_lines(f"karat {name} {part}".rstrip(), leaf)
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


def write_gallery() -> None:
    """Write a page with every figure of ``figures/`` and the code that draws it."""
    page = ["# Gallery", "", "Every picture is built from the code under it.", ""]
    for path in sorted((HERE / "figures").glob("*.py")):
        text = path.read_text()
        title = (ast.get_docstring(ast.parse(text)) or path.stem).splitlines()[0]
        page += [f"## {title.rstrip('.')}", "", f"![{title}](figures/{path.stem}.svg)"]
        page += ["", "<details><summary>The code</summary>", ""]
        page += ["```python", text.rstrip(), "```", "", "</details>", ""]
    (GENERATED / "gallery.md").write_text("\n".join(page) + "\n")


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
            karat.plots.save(runpy.run_path(str(path))["chart"](), drawn)


GENERATED.mkdir(exist_ok=True)
write_reference()
write_commands()
write_gallery()
write_benchmarks()
draw_figures()
