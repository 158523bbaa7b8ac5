"""What was found? Numbers, figures and notes, before anybody shows them.

A ``Finding`` is the answer to one question, made once. The shell prints it, ``--json``
writes its numbers, the report and the page lay it out, a notebook shows it; none of
them computes, so that they cannot disagree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, final

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.figures import Bars, Crosses, Curves, Intervals, Line, Matrix
from trueness._core.imports import HigherFunction
from trueness._core.names import distinguishable_names
from trueness._core.numbers import MINUS, in_column, is_estimate
from trueness._core.records import (
    Answers,
    Estimate,
    Record,
    json_value,
    native_frame,
    shown,
)
from trueness.findings.notes import Note, as_notes, section_text
from trueness.metrics.confusion import Confusion

if TYPE_CHECKING:  # the data of a finding, which is read when a report is made
    from trueness.findings.subject import Subject

FigureData = Curves | Bars | Intervals | Crosses | Matrix
REPORT_OF: HigherFunction[Callable[..., Any]] = HigherFunction("report_of")
MAX_NAME_LETTERS = 40  # letters of a name that came with the data
MAX_ROWS_AT_A_GLANCE = 8  # rows of a table that is read at a glance


@final
@dataclass(frozen=True)
class Lane:
    """Where does a number lie on its scale, and what is it compared with?

    The scale goes from ``start`` to ``end``; ``low`` and ``high`` are the interval.
    """

    value: float
    low: float
    high: float
    start: float = 0.0
    end: float = 1.0
    reference: float | None = None
    reference_text: str = ""


class Tile(NamedTuple):
    """A number that is seen first: its name, how it is written, and how sure it is."""

    name: str
    value: str
    detail: str
    lane: Lane | None = None


@final
@dataclass(frozen=True)
class Table:
    """Values under a head: a caption, the names of the columns, and rows of values.

    ``brief`` tables belong to the answer, and every face shows them; the others are
    for readers who want to know more. ``most`` is how many letters of a name are
    written.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    brief: bool = True
    most: int = MAX_NAME_LETTERS

    @property
    def texts(self) -> list[list[str]]:
        """Write the values, those of a column alike."""
        columns = [self._column(c) for c in zip(*self.rows, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def _column(self, values: Sequence[Any]) -> list[str]:
        if not all(isinstance(v, str) for v in values):
            return [shown(text, 600) for text in in_column(values, 3)]
        if len(set(values)) == len(values):  # names, which have to stay apart
            return distinct_pair_names(values, self.most)
        return [shown(v, self.most) for v in values]

    @property
    def folded(self) -> bool:
        """Return whether it is for some readers only, or too long for a glance."""
        return not self.brief or len(self.rows) > MAX_ROWS_AT_A_GLANCE

    @property
    def wordy(self) -> list[bool]:
        """Return for each column whether it holds words, and not numbers."""
        columns = zip(*self.rows, strict=True)
        return [all(isinstance(value, str) for value in column) for column in columns]

    @property
    def columns(self) -> dict[str, list[Any]]:
        """Numbers as numbers, an estimate as three columns."""
        columns: dict[str, list[Any]] = {}
        for name, cells in zip(self.head, zip(*self.rows, strict=True), strict=True):
            if not any(map(is_estimate, cells)):
                columns[name] = list(cells)
                continue

            # a cell without an estimate is empty in all three
            columns[name] = [getattr(cell, "value", None) for cell in cells]
            columns[f"{name} low"] = [getattr(cell, "low", None) for cell in cells]
            columns[f"{name} high"] = [getattr(cell, "high", None) for cell in cells]

        return columns


def distinct_pair_names(names: Sequence[str], max_letters: int) -> list[str]:
    """Write names so that they stay apart; of a pair, each of both names.

    >>> distinct_pair_names(["model_of_2025_a − model_of_2025_b"], 23)
    ['mo…_2025_a − mo…_2025_b']
    """
    pairs = [name.split(_MINUS) for name in names]
    if (
        not names
        or max(map(len, names)) <= max_letters
        or any(len(p) != 2 for p in pairs)
    ):
        return distinguishable_names(list(names), max_letters)

    parts = sorted({part for pair in pairs for part in pair})
    short = distinguishable_names(parts, (max_letters - len(_MINUS)) // 2)
    text_of_part = dict(zip(parts, short, strict=True))
    return [_MINUS.join(text_of_part[part] for part in pair) for pair in pairs]


_MINUS = f" {MINUS} "


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    brief: bool = True,
    most: int = MAX_NAME_LETTERS,
) -> Table:
    """Return a table of rows of any kind."""
    return Table(
        caption,
        tuple(head),
        tuple(tuple(row) for row in rows),
        brief=brief,
        most=most,
    )


@final
@dataclass(frozen=True)
class Figure:
    """What is to be drawn, and what should be seen in it.

    ``order`` names the classifiers as their colours follow each other. The dot of a
    threshold is ``at`` a place and follows two quantities when the threshold moves;
    ``rule`` is the quantity that an upright line follows, ``tilt`` those at both ends
    of a straight line. ``shaded`` are strips where a constraint is not met. ``counts``
    are the cells of a confusion matrix at the threshold, in words; ``histogram`` is
    drawn under curves, on their axis; the scores of ``logit`` are drawn on that scale.
    ``groups`` are points with intervals, those of each classifier by its name.
    ``labels`` name the area under each curve, with its interval, beside the curve.
    A figure that is ``folded`` is for readers who want to know more.
    """

    data: FigureData
    title: str
    note: str = ""
    order: tuple[str, ...] = ()
    of: str = "classifier"
    at: tuple[float, float] | None = None
    follow: str = ""
    rule: str = ""
    tilt: str = ""
    ends: tuple[float, float] = (0.0, 0.0)
    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None
    shaded: tuple[tuple[Array, Array, Array], ...] = ()
    band: str = "band"
    legend: bool = False
    counts: Mapping[str, str] | None = None
    histogram: Bars | None = None
    logit: bool = False
    labels: Mapping[str, str] | None = None
    groups: Mapping[str, Line] | None = None
    folded: bool = False


def figure(
    title: str,
    data: FigureData,
    title_values: Mapping[str, Any] | None = None,
    *,
    note: str | None = None,
    order: tuple[str, ...] = (),
    of: str = "classifier",
    at: tuple[float, float] | None = None,
    follow: str = "",
    rule: str = "",
    tilt: str = "",
    ends: tuple[float, float] = (0.0, 0.0),
    x: tuple[float, float] | None = None,
    y: tuple[float, float] | None = None,
    shaded: tuple[tuple[Array, Array, Array], ...] = (),
    band: str = "band",
    legend: bool = False,
    counts: Mapping[str, str] | None = None,
    histogram: Bars | None = None,
    logit: bool = False,
    folded: bool = False,
) -> Figure:
    """Return a figure; what should be seen in it stands under its title.

    That is ``note``, or the sentence of ``title`` with the values of ``title_values``.
    """
    if note is None:
        note = section_text("figure", title, title_values or {})

    return Figure(
        data=data,
        title=title,
        note=note,
        order=order,
        of=of,
        at=at,
        follow=follow,
        rule=rule,
        tilt=tilt,
        ends=ends,
        x=x,
        y=y,
        shaded=shaded,
        band=band,
        legend=legend,
        counts=counts,
        histogram=histogram,
        logit=logit,
        folded=folded,
    )


@final
@dataclass(frozen=True, repr=False, eq=False)
class Finding(Record):
    """The answer to one question, with numbers, sentences, tables and figures.

    Attributes
    ----------
    question : str
        The question.
    numbers : dict
        Every number of the answer, as estimates, records and plain values.
    answer : tuple of Note
        The answer in a sentence or two.
    notes : tuple of Note
        What to keep in mind.
    tables : tuple of Table
        The numbers, as tables.
    figures : tuple of Figure
        What can be drawn.
    method, caveat : str
        The method, and what the answer cannot say.
    key : str
        The question in one word.
    """

    question: str
    numbers: dict[str, Any]
    answer: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = field(default=(), repr=False)
    method: str = ""
    caveat: str = ""
    key: str = ""
    _subject: Subject | None = field(default=None, repr=False, compare=False)

    def __getattr__(self, name: str) -> Any:
        """Return a number of the answer by its name: ``finding.auc``.

        Of several scores or tests a table of them.
        """
        numbers = vars(self).get("numbers", {})
        if name in numbers:
            return numbers[name]

        for kind in ("scores", "tests"):
            rows = numbers.get(kind) or {}
            values = {key: row[name] for key, row in rows.items() if name in row}
            if len(values) == 1:
                return next(iter(values.values()))
            if values:
                return Answers(values)

        raise AttributeError(
            f"This finding has no {name!r}; it has {', '.join(_number_names(numbers))}."
        )

    def report(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """Write a report about the same data to an HTML file.

        Parameters
        ----------
        path
            Name of the file, which ends in .html.
        options
            As in :func:`trueness.report`.
        """
        if self._subject is None:
            raise InputError(
                "This finding does not hold its data.",
                example=PythonCode('trueness.report(data, "report.html")'),
            )
        return REPORT_OF.load()(self._subject, path, **options)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer and what to keep in mind, as Python says it."""
        return tuple(map(str, (*self.answer, *self.notes)))

    def __repr__(self) -> str:
        """Return what the command line prints: answer, tables and notes."""
        lines = [str(sentence) for sentence in self.answer]
        for answer_table in self.tables:
            if answer_table.brief:
                lines += ["", *_lines_of_table(answer_table), ""]
        lines += [str(sentence) for sentence in self.notes]
        return "\n".join(lines).strip()

    def with_remarks(self, remarks: Iterable[str]) -> Finding:
        """Return the finding with remarks on the columns, before its notes."""
        return replace(self, notes=(*as_notes(remarks), *self.notes))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and the sentences as ``json.dumps`` takes them."""
        return {
            "question": self.question,
            "sentences": list(self.sentences),
            "numbers": json_value(self.numbers),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the first table as a frame: numbers as numbers, intervals apart."""
        columns = self.tables[0].columns if self.tables else {}
        return native_frame(columns, backend)


def subject_of(answer: Finding) -> Subject | None:
    """Return the data that a finding is about; None where it does not hold them."""
    return answer._subject


def _number_names(numbers: Mapping[str, Any]) -> list[str]:
    """Return the names of the numbers that can be asked for."""
    names = list(numbers)
    for kind in ("scores", "tests"):
        for row in (numbers.get(kind) or {}).values():
            names += [key for key in row if key not in names]
    return names


def finding(
    code: str,
    numbers: Mapping[str, Any],
    *,
    key: str = "",
    title_values: Mapping[str, Any] | None = None,
    answer: tuple[Note, ...] = (),
    notes: tuple[Note, ...] = (),
    tables: tuple[Table, ...] = (),
    figures: tuple[Figure, ...] = (),
    method: str | None = None,
    caveat: str | None = None,
) -> Finding:
    """Return a finding; its title, method and caveat are texts of its code or key.

    ``title_values`` are the values in these texts.
    """
    values = title_values or {}
    key = key or code

    if method is None:
        method = section_text("method", code, values) or section_text(
            "method", key, values
        )
    if caveat is None:
        caveat = section_text("caveat", code, values) or section_text(
            "caveat", key, values
        )

    return Finding(
        question=section_text("title", code, values),
        numbers=dict(numbers),
        answer=answer,
        notes=notes,
        tables=tables,
        figures=figures,
        method=method,
        caveat=caveat,
        key=key,
    )


def _lines_of_table(table_to_print: Table) -> list[str]:
    """Return a table as lines of equal columns: words to the left, numbers right."""
    rows = [list(table_to_print.head), *table_to_print.texts]
    widths = []
    for column in zip(*rows, strict=True):
        widths.append(max(map(len, column)))

    lines = []
    for row in rows:
        cells = []
        for text, width, is_wordy in zip(
            row, widths, table_to_print.wordy, strict=True
        ):
            cells.append(text.ljust(width) if is_wordy else text.rjust(width))
        lines.append("  ".join(cells).rstrip())

    return lines


def in_groups(
    of_all_cases: Finding, groups: Mapping[str, Any], group_table: Table
) -> Finding:
    """Return an answer with the numbers of each group, and a table of them."""
    numbers = of_all_cases.numbers | {"groups": groups}
    tables = (*of_all_cases.tables, group_table)
    return replace(of_all_cases, numbers=numbers, tables=tables)


def fields_of(record: object, *names: str) -> dict[str, Any]:
    """Return some fields of a record, for the numbers of a finding."""
    return {name: getattr(record, name) for name in names}


@final
@dataclass(frozen=True)
class Page:
    """Findings that are read together: a report.

    ``question`` is answered by ``headline``, with ``lead`` beside it. ``answers`` are
    the questions of a reader in a hurry with their sentences, ``facts`` what was
    counted, ``ranking`` the AUC of each of several classifiers, ``ties`` how many of
    them share each rank, ``slider`` every number that moves with the threshold.
    ``confusion`` are the counts of one test, which has no threshold.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    tiles: tuple[Tile, ...]
    answers: tuple[tuple[str, tuple[Note, ...]], ...]
    findings: tuple[Finding, ...]
    slider: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""
    headline: Note | None = None
    lead: tuple[Note, ...] = ()
    ranking: tuple[tuple[str, Estimate], ...] = ()
    ties: tuple[int, ...] = ()
    confusion: Confusion | None = None
