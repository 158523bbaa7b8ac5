"""What does an answer look like in a notebook? A sentence, a small table, a figure.

Jupyter removes drawings and style sheets from notebooks that somebody else ran, until
they are trusted; it keeps images. So a figure is an image, in light and dark colours.
The table has the colours of the notebook. No number is computed here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from html import escape
from importlib import resources
from typing import Any, Protocol, TypeGuard

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.figures import (
    Axis,
    Curves,
    Line,
    TitledFigure,
    intervals,
    span,
)
from trueness._core.imports import HigherFunction
from trueness._core.imports import required as _required
from trueness._core.numbers import (
    MINUS,
    is_estimate,
    number_of,
    p_is,
    p_value,
    percent,
)
from trueness._core.records import Answers, Estimate, Record, TwoAxes, brief, shown
from trueness.calibration.proper_scores import ProperScore
from trueness.comparison.results import Comparison
from trueness.counts.values import Tally
from trueness.findings.cut_answers import (
    about_point,
    matrix_table,
    metrics_table,
    rows_of,
    validation_notes,
)
from trueness.findings.records import Finding, Table, subject_of
from trueness.findings.subject import has_no_labels, tallies_of
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import text_of
from trueness.monitoring.verdicts import Check
from trueness.ranking.figures import curve_figure
from trueness.ranking.scorecards import DecileTable
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.validation import Validation

_required("markupsafe", "report")  # says what to install
from trueness.reports.figure_files import figure_svg  # noqa: E402
from trueness.reports.notebook_sentences import sentence_about  # noqa: E402

FIGURE_OF_ANSWER: HigherFunction[Callable[[Any], TitledFigure | None]] = HigherFunction(
    "figure_of_answer"
)
WIDTH = 400  # of a figure, in pixels
MAX_TABLE_ROWS = 14  # of a table
MAX_ARRAY_ENTRIES = 6  # of an array in a table
MAX_INTERVALS = 10  # in a figure
MAX_CURVES = 5
AXIS_TITLES = {"fpr": "false positive rate", "tpr": "true positive rate (recall)"}
_CELL_STYLE = (
    "padding:2px 10px;white-space:nowrap;text-align:{};"
    "border-bottom:1px solid rgba(128,128,128,.35)"
)
# what a table of an answer does not repeat
_FIELDS_NOT_SHOWN = ("notes", "bounds", "level", "name", "method", "axes", "targets")
_FIELDS_OF_ESTIMATE = ("value", "low", "high", "se")  # its sentence has them
_PARTS_OF_SCORE = {
    "mcb": "miscalibration (MCB)",
    "dsc": "discrimination (DSC)",
    "unc": "uncertainty (UNC)",
    "skill": "skill",
}


def show_in_notebook(answer: Record) -> str:
    """Return the HTML of an answer: sentences, one small table, one small figure."""
    if isinstance(answer, Finding):
        return _page(
            [str(note) for note in answer.answer],
            _finding_table(answer),
            figure_of(answer),
            [str(note) for note in answer.notes],
        )

    notes = [str(note) for note in getattr(answer, "notes", ())]
    if isinstance(answer, Answers):
        notes = answer.notes

    sentences = _sentences(answer)
    notes = [note for note in notes if note not in sentences]
    return _page(sentences, _table(answer), figure_of(answer), notes)


def sketch(answer: Record) -> str:
    """Return the HTML of the figure of an answer, or nothing."""
    figure = figure_of(answer)
    return "" if figure is None else picture(figure)


def figure_of(answer: Record) -> TitledFigure | None:
    """Return the figure that shows an answer, or None where nothing can be drawn."""
    if isinstance(answer, Finding):
        subject = subject_of(answer)
        if answer.key == "ranking" and subject is not None:
            if has_no_labels(subject.cases):
                return None
            return _roc_curves(tallies_of(subject.data), answer.numbers["scores"])
        if not answer.figures:
            return None
        first = answer.figures[0]
        return TitledFigure(first.data, first.title, first.note)

    figure = FIGURE_OF_ANSWER.load()(answer)
    if figure is not None:
        return figure

    if isinstance(answer, TwoAxes):
        return _curves_of({"": answer})
    if isinstance(answer, Answers) and _are_one_kind_of_curve(answer):
        return _curves_of(dict(list(answer.items())[:MAX_CURVES]))
    if _has_probabilities(answer):
        return _reliability_curve(answer)

    estimates = dict(list(_comparable_estimates(answer).items())[:MAX_INTERVALS])
    if not estimates:
        return None

    # differences are compared with zero, which is drawn
    are_differences = isinstance(answer, Comparison)
    axis_title = "difference" if are_differences else "estimate"
    zero = 0.0 if are_differences else None
    figure_data = intervals("Estimates", axis_title, estimates, zero=zero)

    return TitledFigure(figure_data, "", "Estimates with their intervals")


def _roc_curves(
    tallies: Mapping[str, Tally], measures_by_score: Mapping[str, Any]
) -> TitledFigure:
    """Draw the ROC curves of the scores, the best ones first."""
    names = [name for name in measures_by_score if name in tallies]
    best = {}
    for name in names[:MAX_CURVES]:
        area = measures_by_score[name]["auc"].value
        best[f"{shown(name, 30)}: AUC {area:.3f}"] = tallies[name]

    return TitledFigure(
        curve_figure("roc", best), "", f"ROC curve of {', '.join(best)}"
    )


def _are_one_kind_of_curve(answers: Answers) -> bool:
    """Return whether all answers are curves with the same axes."""
    axes = {getattr(answer, "axes", None) for answer in answers.values()}
    return len(axes) == 1 and None not in axes


def _curves_of(answers: Mapping[Any, TwoAxes]) -> TitledFigure:
    """Draw the two columns of each answer as a curve."""
    first = next(iter(answers.values()))
    x_name, y_name = [
        AXIS_TITLES.get(name, name.replace("_", " ")) for name in first.axes
    ]
    lines = []
    for name, answer in answers.items():
        is_finite = np.isfinite(answer.x) & np.isfinite(answer.y)
        columns = {"x": answer.x[is_finite], "y": answer.y[is_finite]}
        lines.append(Line(shown(name, 40) if name else y_name, columns))

    # rates have axes from 0 to 1, so that figures can be compared
    across = np.concatenate([line["x"] for line in lines])
    up = np.concatenate([line["y"] for line in lines])
    if across.size and _are_fractions(across) and _are_fractions(up):
        x_axis = Axis("x", x_name)
        y_axis = Axis("y", y_name)
    else:
        x_axis = span("x", x_name, across)
        y_axis = span("y", y_name, up)

    data = Curves(type(first).__name__, x_axis, y_axis, tuple(lines))
    description = f"{y_name} against {x_name}"

    return TitledFigure(data, "", description)


def _are_fractions(values: Array) -> bool:
    """Return whether all values lie between 0 and 1."""
    return bool(values.min() >= 0 and values.max() <= 1)


class ScoresWithProbabilities(Protocol):
    """An answer with the probability that each score means."""

    score: Floats
    probability: Floats


def _has_probabilities(answer: Record) -> TypeGuard[ScoresWithProbabilities]:
    """Return whether an answer has a probability for each of several scores."""
    return isinstance(getattr(answer, "probability", None), np.ndarray)


def _reliability_curve(answer: ScoresWithProbabilities) -> TitledFigure | None:
    """Draw the probability that a score means, beside the diagonal."""
    score = answer.score
    probability = answer.probability
    if score.size != probability.size or not 0 <= score.min() <= score.max() <= 1:
        return None

    line = Line("probability", {"x": score, "y": probability})
    diagonal = Line("", {"x": np.array([0.0, 1.0]), "y": np.array([0.0, 1.0])})
    data = Curves(
        "Reliability",
        Axis("x", "score"),
        Axis("y", "proportion of positives"),
        (line,),
        guides=(diagonal,),
    )

    return TitledFigure(data, "", "Reliability curve")


def _sentences(answer: Record) -> list[str]:
    """Say the answer in words: the first line of what it prints."""
    if isinstance(answer, Answers):
        return []
    if isinstance(answer, DecileTable):
        return []
    if isinstance(answer, OperatingPoint):
        return [str(note) for note in about_point(answer)]
    if _is_of_one_threshold(answer):
        notes = (*about_point(answer.choice)[:1], *validation_notes(answer))
        return [str(note) for note in notes]

    sentence = sentence_about(answer)
    if sentence is not None:
        return [sentence]

    if "__repr__" in vars(type(answer)):
        return [repr(answer).splitlines()[0]]

    # the number that the answer is about; else what the answer is
    for field in fields(answer):
        value = getattr(answer, field.name)
        if isinstance(value, Estimate):
            return [_first_line(value)]
    docstring = (type(answer).__doc__ or "").strip().replace("``", "")
    return docstring.splitlines()[:1]


def _is_of_one_threshold(answer: Record) -> TypeGuard[Validation]:
    """Return whether an answer is what to expect of one threshold on new cases."""
    return isinstance(answer, Validation) and isinstance(answer.choice, OperatingPoint)


def _table(answer: Record) -> str:
    """Write the numbers of an answer under one another."""
    if isinstance(answer, Estimate):
        return ""
    if isinstance(answer, OperatingPoint):
        return _tables([matrix_table(answer.confusion)])
    if _is_of_one_threshold(answer):
        return _tables([metrics_table(answer.metrics, answer.choice.confusion)])

    rows = list(_rows(answer))[:MAX_TABLE_ROWS]
    return _html_table(("", "estimate"), rows) if rows else ""


def _rows(answer: Record) -> Iterable[tuple[str, str]]:
    """Go through the numbers of an answer, by their names."""
    if isinstance(answer, Answers):
        return [(str(name), _first_line(part)) for name, part in answer.items()]
    if isinstance(answer, Comparison):
        return _rows_of_comparison(answer)
    if isinstance(answer, DecileTable):
        return _rows_of_deciles(answer)
    if isinstance(answer, Check):
        return [
            (str(verdict.verdict), str(verdict.reason)) for verdict in answer.verdicts
        ]

    rows = []
    for field in fields(answer):
        rows += _rows_of_field(answer, field.name)

    if isinstance(answer, ProperScore):
        rows += [
            (title, brief(getattr(answer, name)))
            for name, title in _PARTS_OF_SCORE.items()
        ]

    return rows


def _rows_of_deciles(answer: DecileTable) -> list[tuple[str, str]]:
    """Write the cases of each group, and the proportion of positives."""
    columns = (answer.decile, answer.n, answer.rate)
    return [
        (f"decile {decile}", f"{number_of(cases)} cases, {percent(rate)} positive")
        for decile, cases, rate in zip(*columns, strict=True)
    ]


def _rows_of_comparison(answer: Comparison) -> list[tuple[str, str]]:
    """Write each value, and each difference with its p-value."""
    values = zip(answer.names, answer.values, strict=True)
    rows = [(str(name), _first_line(value)) for name, value in values]
    for pair in answer.pairs:
        difference = f"{_first_line(pair.difference)}, {p_is(pair.p_adjusted)}"
        rows.append((_part_name(pair), difference))
    return rows


def _rows_of_field(answer: Record, name: str) -> list[tuple[str, str]]:
    """Write one field of an answer; a mapping or several parts take several rows."""
    value = getattr(answer, name)
    is_hidden = name.startswith("_") or name in _FIELDS_NOT_SHOWN
    if is_estimate(answer) or hasattr(answer, "predict"):
        # the range of a map says as little as an estimate that is written above
        is_hidden = is_hidden or name in _FIELDS_OF_ESTIMATE
    if is_hidden or _is_not_shown(value):
        return []

    if isinstance(value, Mapping):
        return [(_title(key), _unnamed(part)) for key, part in value.items()]
    if isinstance(value, Record) and not isinstance(value, Estimate):
        sentence = getattr(value, "sentence", "") or _in_one_line(value)
        return [(_title(name), sentence)]
    if name == "p_value":
        return [("p-value", p_value(value))]

    holds_records = isinstance(value, tuple) and any(
        isinstance(part, Record) for part in value
    )
    if holds_records:
        return [(_part_name(part), _first_line(part)) for part in value]
    return [(_title(name), _unnamed(value))]


def _title(key: object) -> str:
    """Return the name of a row: that of a metric in words."""
    name = str(key)
    return text_of(name) if name in METRICS else name.replace("_", " ")


def _unnamed(value: object) -> str:
    """Write a value in one line, without the name that its row has."""
    if isinstance(value, Estimate):
        value = replace(value, name="")
    return _in_one_line(value)


def _in_one_line(value: object) -> str:
    """Write a value; of a record with several lines all but its name."""
    head, *lines = brief(value).splitlines() or [""]
    if not lines or head != type(value).__name__:
        return head
    return ", ".join(line.strip() for line in lines)


def _is_not_shown(value: object) -> bool:
    """Return whether a field is empty, a switch, or too long for a small table."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, float):
        return not np.isfinite(value)
    if isinstance(value, np.ndarray):
        return value.size > MAX_ARRAY_ENTRIES or value.ndim > 1
    if isinstance(value, tuple) and any(isinstance(v, np.ndarray) for v in value):
        return True
    return isinstance(value, tuple) and not value


def _first_line(value: object) -> str:
    return brief(value).splitlines()[0] if brief(value) else ""


def _part_name(value: object) -> str:
    """Name a part of an answer: a pair by both, others by their own name."""
    if hasattr(value, "first") and hasattr(value, "second"):
        return f"{value.first} {MINUS} {value.second}"
    return str(getattr(value, "name", ""))


def _comparable_estimates(answer: Record) -> dict[str, Estimate]:
    """Collect estimates on one scale, which can stand in one figure."""
    if isinstance(answer, Estimate):
        return {answer.name or "estimate": answer}

    estimates: dict[str, Estimate] = {}
    parts = answer.items() if isinstance(answer, Answers) else _estimates(answer)
    for name, part in parts:
        if isinstance(part, Estimate) and np.isfinite(part.value):
            estimates[shown(name, 40)] = part

    proportions = {}
    differences = {}
    for name, estimate in estimates.items():
        if estimate.low >= 0 and estimate.high <= 1:
            proportions[name] = estimate
        elif -1 <= estimate.low < 0:
            differences[name] = estimate

    # a proportion and a difference have no scale in common: proportions come first
    if proportions:
        return proportions
    if differences:
        return differences
    # on scales of their own: no two of them can be compared
    return dict(list(estimates.items())[:1])


def _estimates(answer: Record) -> Iterable[tuple[str, Any]]:
    """Go through the estimates that an answer holds, by their names."""
    # of a comparison
    if isinstance(answer, Comparison):
        for pair in answer.pairs:
            yield _part_name(pair), pair.difference
        return

    if _is_of_one_threshold(answer):
        yield from rows_of({n: answer.metrics[n] for n in SHOWN if n in answer.metrics})
        return

    for field in fields(answer):
        value = getattr(answer, field.name)
        if isinstance(value, Estimate):
            yield field.name.replace("_", " "), value
        elif isinstance(value, Mapping):
            for name, part in value.items():
                yield str(name), part
        elif isinstance(value, tuple):
            yield from _estimates_of_parts(value)


def _estimates_of_parts(parts: tuple[Any, ...]) -> Iterable[tuple[str, Estimate]]:
    """Go through the parts that are an estimate, or have one of a comparison."""
    for part in parts:
        difference = getattr(part, "difference", getattr(part, "win_rate", None))
        if isinstance(difference, Estimate):
            yield _part_name(part), difference
        elif isinstance(part, Estimate):
            yield part.name, part


def _finding_table(finding: Finding) -> str:
    """Write the tables of a finding that are read at a glance."""
    return _tables(table for table in finding.tables if table.brief)


def _tables(tables: Iterable[Table]) -> str:
    """Write tables under one another."""
    return "".join(
        _html_table(table.head, [tuple(row) for row in table.texts[:MAX_TABLE_ROWS]])
        for table in tables
    )


def _html_table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a small table, words left and numbers right; every cell is escaped."""
    top = "".join(_cell("th", text, column) for column, text in enumerate(head))
    body = ""

    for row in rows:
        cells = "".join(_cell("td", text, column) for column, text in enumerate(row))
        body += f"<tr>{cells}</tr>"

    style = "border-collapse:collapse;margin:6px 0;font-variant-numeric:tabular-nums"
    return (
        f'<table style="{style}"><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _cell(tag: str, text: str, place: int) -> str:
    style = _CELL_STYLE.format("left" if place == 0 else "right")
    return f'<{tag} style="{style}">{escape(str(text))}</{tag}>'


def _page(
    sentences: Iterable[str],
    table: str,
    figure: TitledFigure | None,
    notes: Iterable[str],
) -> str:
    """Put sentences, table, figure and notes under one another."""
    sentences_html = "".join(
        f'<p style="margin:4px 0">{escape(sentence)}</p>' for sentence in sentences
    )
    small = "margin:2px 0;font-size:90%;opacity:.8"
    notes_html = "".join(f'<p style="{small}">{escape(note)}</p>' for note in notes)
    image = picture(figure) if figure is not None else ""
    return f"<div>{sentences_html}{table}{image}{notes_html}</div>"


def picture(figure: TitledFigure) -> str:
    """Show a figure as an image, in the colours of a light or a dark page."""
    light = figure_svg(figure, with_readouts=False)
    dark = _in_dark_colours(light)
    text = escape(figure.description or figure.title or "Figure")

    return (
        '<picture style="display:block;margin:6px 0">'
        f'<source media="(prefers-color-scheme: dark)" srcset="{_data_address(dark)}">'
        f'<img alt="{text}" width="{WIDTH}" style="border-radius:6px" '
        f'src="{_data_address(light)}"></picture>'
    )


def _data_address(svg: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    return f"data:image/svg+xml;base64,{data}"


def _in_dark_colours(svg: str) -> str:
    """Turn every light colour of a drawing into its dark partner."""
    light, dark = _colours()
    dark_colour_of = {light[name]: dark[name] for name in light if name in dark}
    dark_colour_of |= {"#ffffff": dark["--paper"], "#1b1f24": dark["--ink"]}

    return re.sub(
        r"#[0-9a-fA-F]{3,6}\b",
        lambda match: dark_colour_of.get(_six_digits(match[0]), match[0]),
        svg,
    )


def _six_digits(colour: str) -> str:
    """Write #fff as #ffffff."""
    digits = colour[1:].lower()
    return "#" + (
        "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    )


@cache
def _colours() -> tuple[dict[str, str], dict[str, str]]:
    """Return the colours of the report by name, light and dark."""
    folder = resources.files("trueness.reports")
    parts = (folder / "style.css").read_text(encoding="utf-8").split("}")
    definition = re.compile(r"(--[\w-]+):\s*(#[0-9a-f]+)")
    light = dict(definition.findall(parts[0]))
    dark = dict(definition.findall(parts[1]))
    return light, dark
