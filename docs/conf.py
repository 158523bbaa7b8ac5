"""Settings of the documentation site; `make docs` builds it, warnings are errors."""

import contextlib
import importlib
import inspect
import json
import operator
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

import trueness

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import gallery  # noqa: E402
import house  # noqa: E402
import search_words  # noqa: E402

GENERATED = HERE / "_generated"
DOORS = {
    "plots": "Figures (trueness.plots)",
    "reports": "Reports (trueness.reports)",
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
    "mathml",
]
html_math_renderer = "mathml"
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "README.md", "_cli_head.md", "_json_head.md"]
html_theme = "pydata_sphinx_theme"
html_title = "Trueness"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["trueness.css"]
html_search_scorer = str(HERE / "_static" / "search_scores.js")
html_sidebars = {
    page: []
    for page in ("comparison", "one_idea", "faq", "index", "_generated/gallery")
}
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
}
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
            names = [
                n for n in line.replace(",", " ").split() if n in trueness._MODULES
            ]
            found[list(found)[-1]] += names
    return {q: names for q, names in found.items() if names}


def entry(name: str) -> list[str]:
    """Give the place where Sphinx puts a docstring, or the names that a table holds."""
    value = operator.attrgetter(name)(trueness)
    if isinstance(value, Mapping):
        held = ", ".join(f"`{key}`" for key in value)
        return [f"`trueness.{name}` holds {held}.", ""]
    is_class = name.rpartition(".")[2][0].isupper()
    kind = "autoclass" if is_class else "autofunction"
    lines = ["```{eval-rst}", f".. {kind}:: trueness.{name}"]
    if inspect.isclass(value):
        lines.append("   :members:")
        # methods that scikit-learn makes, whose words lead to its own pages
        made = [
            m for m in dir(value) if m.startswith("set_") and m.endswith("_request")
        ]
        lines += [f"   :exclude-members: {', '.join(made)}"] if made else []
    return [*lines, "```", ""]


def room_of(name: str) -> str:
    """Tell in which room a public name lives: the first word of its module."""
    home = trueness._MODULES[name].removeprefix("trueness.")
    return home.removeprefix("_core.").partition(".")[0]


def summary(name: str) -> str:
    """Return the first sentence of a docstring, which names the quantity."""
    value = getattr(trueness, name)
    if isinstance(value, Mapping):
        return "A table of names."
    text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    # without the marks of Sphinx: :meth:`Panel.write` -> `Panel.write`
    text = re.sub(r":\w+:(?=`)", "", text)
    return " ".join(text.split()).replace("|", "\\|")


ROOM_WORDS = {
    "checks": "What can go wrong (errors and warnings)",
    "records": "Answers (records)",
    **DOORS,
}


def write_room(room: str, names: list[str]) -> None:
    """Write the page of a room: what it says of itself, then its public names."""
    title = ROOM_WORDS.get(room, f"trueness.{room}")
    lines = [f"# {title}", ""]
    if room in house.rooms() and room not in DOORS:
        about = inspect.getdoc(importlib.import_module(f"trueness.{room}")) or ""
        # as text: the head of a room is written for readers of the code
        lines += ["```text", about, "```", ""]
    for name in names:
        is_metric = isinstance(
            operator.attrgetter(name)(trueness), trueness.records.Metric
        )
        lines += [] if is_metric or name == "METRICS" else entry(name)
    if room == "metrics":
        lines += ["## Metrics", "", "| name | question | better | range | reference |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for m in trueness.METRICS.values():
            span = f"{m.range[0]:g} to {m.range[1]:g}"
            row = (f"`{m.name}`", m.question, m.direction, span, m.reference)
            lines.append("| " + " | ".join(row) + " |")
    (GENERATED / "rooms" / f"{room}.md").write_text("\n".join(lines) + "\n")


def write_reference() -> None:
    """Write the reference: the names most people need by question, a page per room."""
    (GENERATED / "rooms").mkdir(exist_ok=True)
    rooms: dict[str, list[str]] = {}
    for name in sorted(trueness._MODULES):
        rooms.setdefault(room_of(name), []).append(name)
    for module in (*trueness._ROOMS, *DOORS):
        held = importlib.import_module(f"trueness.{module}")
        rooms.setdefault(module, []).extend(
            f"{module}.{name}"
            for name in sorted(held.__all__)
            if getattr(held, name) is not getattr(trueness, name, None)
        )
    for room, names in rooms.items():
        write_room(room, names)
    lines = ["# Reference", ""]
    lines += [
        "The names that most people need, by the question they answer. All others,"
    ]
    lines += ["and every detail, are on the page of their package.", ""]
    for question, names in questions().items():
        lines += [f"## {question}", ""]
        lines += ["| name | what it answers |", "| --- | --- |"]
        lines += [
            f"| [`{name}`](rooms/{room_of(name)}.md) | {summary(name)} |"
            for name in names
        ]
        lines.append("")
    lines += ["## Packages", "", "```{toctree}", ":maxdepth: 1", ""]
    lines += [f"rooms/{room}" for room in sorted(rooms)]
    (GENERATED / "reference.md").write_text("\n".join([*lines, "```", ""]))


def write_commands() -> None:
    """Write the page of the command line, from the commands themselves."""
    from trueness.cli._app import COMMANDS, load

    page = ["# The command line", "", "```{include} ../_cli_head.md", "```", ""]
    for name in COMMANDS:
        command = load(name)
        parts = getattr(command, "commands", None) or {"": command}
        for part, leaf in parts.items():
            page += command_lines(f"trueness {name} {part}".rstrip(), leaf)
    (GENERATED / "cli.md").write_text("\n".join(page) + "\n")
    (GENERATED / "json.md").write_text("\n".join(json_page()) + "\n")


def json_page() -> list[str]:
    """List what ``--json`` writes for the example of every command, key by key."""
    from typer.testing import CliRunner

    from trueness.cli._app import COMMANDS, app, load

    page = ["# What `--json` writes", "", "```{include} ../_json_head.md", "```", ""]
    meanings = meanings_of_fields()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in COMMANDS:
            command = load(name)
            if getattr(command, "commands", None) or name in ("app", "demo"):
                continue
            text = inspect.getdoc(command.callback)
            example = text.partition("Example:\n")[2].replace("\\\n", " ")
            words = shlex.split(example)[1:]
            done = CliRunner().invoke(app, [*words, "--json"])
            if done.exit_code not in (0, 4, 5):
                raise RuntimeError(f"{name}: {done.stderr}")
            head = ["| key | kind | meaning |", "| --- | --- | --- |"]
            page += [f"## {name}", "", *head]
            for path, kind in paths(json.loads(done.stdout)):
                last = re.split(r"[.\[]", path.removesuffix("[]"))[-1]
                page.append(f"| `{path}` | {kind} | {meanings.get(last, '')} |")
            page.append("")
    return page


def paths(value: Any, where: str = "") -> list[tuple[str, str]]:
    """Give every path of a JSON value with the kind of value at its end."""
    if isinstance(value, dict) and value:
        dot = "." if where else ""
        return [row for k, v in value.items() for row in paths(v, f"{where}{dot}{k}")]
    if isinstance(value, list) and value:
        return paths(value[0], f"{where}[]")
    kinds = {str: "text", bool: "yes or no", int: "whole", float: "number"}
    return [(where, kinds.get(type(value), ""))]


def meanings_of_fields() -> dict[str, str]:
    """Read what fields of records mean from their documentation."""
    found: dict[str, str] = {}
    records = [f"records.{name}" for name in trueness.records.__all__]
    for name in (*trueness._MODULES, *records):
        text = inspect.getdoc(operator.attrgetter(name)(trueness)) or ""
        block = text.partition("Attributes\n----------\n")[2].partition("\n\n")[0]
        for part in re.split(r"\n(?=\S)", block):
            head, _, words = part.partition("\n")
            meaning = " ".join(words.split()).partition(". ")[0].rstrip(".")
            for field in head.partition(" : ")[0].split(", "):
                found.setdefault(field, meaning.replace("|", " "))
    return found


def command_lines(name: str, command: Any) -> list[str]:
    """Give the help of one command as Markdown."""
    text = inspect.getdoc(command.callback)
    question, _, example = text.partition("Example:\n")
    out = [f"## {name}", "", " ".join(question.split()), ""]
    if example:
        out += ["```sh", example.strip(), "```", ""]
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


def write_other_names() -> None:
    """Write what other libraries and professions call each function."""
    from trueness._core.not_computed import NEAREST
    from trueness._core.synonyms import CALLS
    from trueness.cli._synonyms import command_of_call

    page = [
        "# What others call it",
        "",
        "The names that scikit-learn, pROC, yardstick, torchmetrics, epidemiology, "
        "credit scoring and machine learning use, and what to type here.",
        "",
        "| names elsewhere | here, and in a shell | page |",
        "| --- | --- | --- |",
    ]
    for call, synonyms in CALLS.items():
        command = command_of_call(call)
        in_a_shell = f"<br>`{command}`" if command else ""
        here = f"`trueness.{call}`{in_a_shell}"
        page.append(row_of_names(synonyms, here, call))
    page += [
        "",
        "## What Trueness does not compute",
        "",
        "| names elsewhere | what comes nearest | page |",
        "| --- | --- | --- |",
    ]
    for call, synonyms in NEAREST.items():
        page.append(row_of_names(synonyms, f"`trueness.{call}`", call))
    (GENERATED / "other_names.md").write_text("\n".join(page) + "\n")


def row_of_names(synonyms: tuple[str, ...], here: str, call: str) -> str:
    """Write a row: the names of others, what to type here, and where it is shown."""
    names = ", ".join(name.replace("_", "\\_") for name in synonyms)
    page = search_words.page_of_call(call)
    return f"| {names} | {here} | [{page}](../howto/{page}.md) |"


def write_benchmarks() -> None:
    """Copy the measured tables."""
    results = HERE.parent / "benchmarks" / "RESULTS.md"
    text = results.read_text() if results.exists() else "# Benchmarks\n"
    (GENERATED / "benchmarks.md").write_text(text)


def draw_figures() -> None:
    """Draw every script of ``figures/``: ``chart()`` of each returns axes."""
    matplotlib.use("Agg")
    importlib.import_module("matplotlib.pyplot")
    folder = Path(__file__).parent
    target = folder / "_generated" / "figures"
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted((folder / "figures").glob("*.py")):
        drawn = target / f"{path.stem}.svg"
        if not drawn.exists() or drawn.stat().st_mtime < path.stat().st_mtime:
            axes = runpy.run_path(str(path))["chart"]()
            axes.figure.savefig(drawn)
            matplotlib.pyplot.close(axes.figure)


def add_search_words(app: Any, docname: str, source: list[str]) -> None:
    """Give a page the names of other libraries or of its paper, for the search."""
    source[0] = search_words.with_search_words(docname, source[0])


def setup(app: Any) -> None:
    """Tell Sphinx what to do with a page that it has read."""
    app.connect("source-read", add_search_words)


GENERATED.mkdir(exist_ok=True)
(GENERATED / "house.svg").write_text(house.svg())
write_reference()
write_commands()
gallery.write(GENERATED)
write_benchmarks()
write_other_names()
draw_figures()
