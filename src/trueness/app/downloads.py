"""What does a person take away? The report, what was fitted, rows, and figures."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from markupsafe import Markup

from trueness._core.imports import required
from trueness.app.address import Asked
from trueness.app.lines import COMBINER, MAP, REPORT
from trueness.app.session import Counted, rates, whole_page
from trueness.calibration.calibrators import calibrate
from trueness.calibration.maps import map_to_json
from trueness.cli._shell import CommandAnswer, about, answered, envelope
from trueness.cli.report import report_result, report_words
from trueness.data.engines import reading
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import compare_combiners
from trueness.findings.page import page_about
from trueness.findings.records import Figure, Page
from trueness.findings.subject import tallies_of
from trueness.findings.without_labels import pass_rates
from trueness.report.page import file_of, render
from trueness.report.svg import draw

FILES = (REPORT, "report.json", MAP, COMBINER)
ROW = 18  # height of a name under a figure


def file_made(counted: Counted, asked: Asked, name: str) -> bytes:
    """Write a file of ``FILES``: what the command, or its ``--save``, writes."""
    if name == MAP:
        one = tallies_of(counted.data)[asked.score]
        made: Any = calibrate(one, method=asked.calibrate)
        return f"{map_to_json(made)}\n".encode()
    if name == COMBINER:
        made = COMBINERS[asked.combine or _best_combiner(counted, asked.level)](
            counted.data
        )
        return f"{map_to_json(made)}\n".encode()
    page = _report(counted, asked)
    return render(page).encode() if name == REPORT else _json(counted, asked, page)


def _best_combiner(counted: Counted, level: float) -> str:
    seed = counted.request.seed
    return compare_combiners(counted.data, level=level, rng=seed).best()


def _report(counted: Counted, asked: Asked) -> Page:
    """Make the report that the command makes."""
    source = counted.request.source.name
    if asked.kind in ("judges", "systems"):
        return whole_page(counted, asked, source)
    words: dict[str, Any] = {"level": asked.level}
    if asked.kind != "tests":
        words = asked.wanted | asked.sections | {"groups": counted.groups}
    seed = counted.request.seed
    return page_about(counted.data, source=source, rng=seed, **words)


def _json(counted: Counted, asked: Asked, page: Page) -> bytes:
    """Write what ``trueness report --json``, or ``judge --json``, writes."""
    if asked.kind == "judges":
        found, _, compared = rates(counted, asked)
        answer = answered("judge", pass_rates(found, compared))
    else:
        result = report_result(page, Path(REPORT), len(render(page).encode()))
        answer = CommandAnswer("report", result, report_words(page))
    answer = replace(answer, about=about(counted.request, counted.first))
    return (json.dumps(envelope(answer), indent=2, allow_nan=False) + "\n").encode()


def flagged_rows(counted: Counted, score: str, cut: float, target: Path) -> None:
    """Write the rows whose score reaches the threshold, all columns, to a file."""
    at_least = duckdb.ColumnExpression(score) >= duckdb.ConstantExpression(cut)
    with reading():
        rows = counted.request.source.rows.filter(at_least)
        write = rows.write_parquet if target.suffix == ".parquet" else rows.write_csv
        write(str(target))


# the classes of marks, as ``trueness.report.svg`` writes them
_DRAWN = re.compile(
    r"\.(grid|tick|title|name|mid|end|line|curve|thick|chance|area|band|expected|"
    r"positives|negatives|forbidden|dot|rule|gone|c\d)\b"
)


@cache
def _plain_style() -> str:
    """Give the rules of figures in the light colours, without any variable."""
    text = file_of("style.css")
    colours = dict(re.findall(r"(--[\w-]+):\s*(#[0-9a-f]+)", text.split("}")[0]))
    rules = re.findall(r"(\.[\w., -]+)(\{[^}]*\})", text.split("@media print")[0])
    drawn = [r for r in rules if _DRAWN.search(r[0])]
    flat = " ".join(selector + body for selector, body in drawn)
    for name, colour in colours.items():
        flat = flat.replace(f"var({name})", colour)
    return flat


def figure_file(figure: Figure, names: Sequence[str], kind: str) -> bytes:
    """Write a figure of the page as a file of its own, in the light colours.

    The page names its classifiers above all figures; a file names them below its own.
    """
    text = str(draw(figure)[0])
    shown = list(enumerate(names)) if "data-model" in text else []
    sizes = re.search(r'viewBox="0 0 (\d+) (\d+)"', text)
    width, below = (int(v) for v in sizes.groups()) if sizes else (360, 320)
    height = below + ROW * len(shown) + (8 if shown else 0)
    size = f'width="{2 * width}" height="{2 * height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
    paper = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    first = f"><style>{_plain_style()}</style>{paper}"
    legend = Markup("").join(_named(k, name, below + ROW * k) for k, name in shown)
    text = text.replace("<svg ", head, 1).replace(">", first, 1)
    text = text.replace(f'0 0 {width} {below}"', f'0 0 {width} {height}"', 1)
    text = f"{text.removesuffix('</svg>')}{legend}</svg>"
    if kind == "svg":
        return text.encode()
    found: bytes = required("vl_convert", "plots").svg_to_png(text, scale=2)
    return found


def _named(k: int, name: str, y: int) -> Markup:
    return Markup(
        '<path class="line curve chosen c{c}" d="M54 {y}L84 {y}"/>'
        '<text class="name" x="92" y="{base}">{name}</text>'
    ).format(c=k % 8, y=y + 8, base=y + 12, name=name)
