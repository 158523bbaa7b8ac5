"""Addresses of the page: the columns of a file, and what is wanted of them.

What cannot be read is a problem, which is shown where it was typed. Columns that are
left open are guessed in ``guessed_columns``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar, final

from starlette.datastructures import QueryParams

from trueness._core.checks.advice import page_advice
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import fraction, real_number
from trueness.app.files import DataFile
from trueness.calibration.calibrators import CALIBRATORS
from trueness.cli._columns import (
    read_share,
)
from trueness.cli.judge import (
    guess_judges,
    guess_votes,
)
from trueness.cli.leaves import guess_node
from trueness.data.column_roles import Guess, several_scores
from trueness.data.data_tables import DataTable
from trueness.ensembles.combiners import COMBINERS
from trueness.findings.request import Cost, Request
from trueness.metrics.grammar import constraint, metric
from trueness.nogold.verdicts import LABELLED
from trueness.threshold.constraints import (
    GROUPS,
    SIDES,
    asks_for_groups,
    asks_for_two_cuts,
    read_scoped_constraints,
)
from trueness.threshold.prevalences import read_prevalence

Value = TypeVar("Value")

# of a table of attempts: how people call what passed, what was tried, and by whom
PASSED_NAMES = (
    "passed",
    "pass",
    "correct",
    "is_correct",
    "resolved",
    "success",
    "solved",
)
ITEM_NAMES = ("item", "item_id", "question_id", "task_id", "doc_id", "problem",
         "instance_id")  # fmt: skip
SYSTEM_NAMES = ("system", "model", "run", "agent")


@final
@dataclass(frozen=True)
class DataKind:
    """What columns can be: how a shell and the page call it, and how it is guessed."""

    option: str
    command: str
    title: str
    guess: Guess
    has_labels: bool = False  # of all cases: they may have groups, weights, clusters


KINDS: Mapping[str, DataKind] = {
    "scores": DataKind("score", "report", "Scores, with labels", several_scores, True),
    "verified": DataKind("score", "report", "Tests, with labels", several_scores, True),
    "alone": DataKind("score", "evaluate", "Scores, without labels", several_scores),
    "tests": DataKind("vote", "report", "Tests or judges, without labels", guess_votes),
    "leaves": DataKind("node", "leaves", "Leaves of a tree", guess_node),
    "judges": DataKind(
        "judge", "judge", "Judges, and labels of some cases", guess_judges
    ),
    "systems": DataKind(
        "passed",
        "evals",
        "Attempts of systems at items",
        lambda table, _: columns_named(table, PASSED_NAMES),
    ),
}
FIELDS = {
    "label": "Label", "positive": "Positive value", "score": "Scores", "vote": "Tests",
    "node": "Leaf", "judge": "Judges", "passed": "Passed",
    "labelled": "How the labelled cases were chosen",
    "rule": "Rule", "count": "Count", "weight": "Weight", "cluster": "Clusters",
    "by": "Groups", "yes": "Verdict that means positive",
    "verdict": "Verdicts",
    "item": "Item", "system": "System", "level": "Confidence level",
    "guarantee": "Guarantee", "prevalence": "Prevalence in use",
    "half-width": "Half-width",
    "combine": "Combiner", "missing-scores": "Cases without a score",
}  # fmt: skip
# the same by the options of Python, which errors name
FORM_FIELDS = {
    **{name.replace("-", "_"): title for name, title in FIELDS.items()},
    "scores": FIELDS["score"],
    "subject_to": "Constraint",
    "votes": FIELDS["vote"],
}
# options that have a field of another name
FORM_NAMES = {
    **dict.fromkeys(("score", "scores", "vote", "votes"), "column"),
    **dict.fromkeys(("node", "judge", "passed"), "column"),
}
# not "w": a guess that is wrong would move every number
WEIGHT_NAMES = ("weight", "weights", "sample_weight", "survey_weight", "case_weight")
NO_LABELS = "no human labels"
DROP = "leave them out"
# fields of a design that not every answer takes, and what is chosen there instead
CHOICE_WITHOUT_COLUMN = {
    "weight": "all cases have equal weight",
    "cluster": "every case is independent",
}
DEFAULT_LEVEL = 0.95  # of confidence
DEFAULT_CALIBRATOR = "auto"
NO_COLUMN = "-"  # in an address: none of the columns, also where one would be guessed


@final
@dataclass(frozen=True)
class VerdictColumns:
    """What only leaves, verdicts and attempts have; None where nothing is said."""

    rule: str | None = None  # column that says in words what a leaf is
    yes: str | None = None  # the verdict that means positive
    labelled: str | None = None  # how the labelled cases were chosen
    verdict: str | None = None  # column of verdicts, of a table with a row for each
    item: str | None = None  # column that names what was judged, or tried
    system: str | None = None  # column that names who answered


NO_COLUMNS = Request()
NO_VERDICTS = VerdictColumns()


@final
@dataclass(frozen=True)
class DataChoice:
    """Which cases of a file are counted: its columns, as an address names them."""

    file: DataFile
    kind: str = ""
    columns: Request = NO_COLUMNS
    verdicts: VerdictColumns = NO_VERDICTS

    @property
    def is_long(self) -> bool:
        """Return whether a table of judges has a row for each verdict."""
        return self.kind == "judges" and self.verdicts.verdict is not None

    @property
    def design_columns(self) -> dict[str, str]:
        """The columns of weights and of clusters, by the names of their fields."""
        column_of_field = {
            "weight": self.columns.weight,
            "cluster": self.columns.cluster,
        }
        return {
            field_name: column
            for field_name, column in column_of_field.items()
            if column is not None and column != NO_COLUMN
        }


@final
@dataclass(frozen=True)
class TypedGoal:
    """What a threshold is chosen by, as it was typed."""

    direction: str = "maximize"
    objective: str = ""
    cost_fp: float | None = None
    cost_fn: float | None = None
    prevalence: str = ""  # one number, or a range

    @property
    def cost(self) -> Cost | None:
        """The costs as the report takes them."""
        if self.cost_fp is None or self.cost_fn is None:
            return None
        return {"fp": self.cost_fp, "fn": self.cost_fn}

    @cached_property
    def prevalence_or_range(self) -> float | tuple[float, float] | None:
        """The prevalence of use, or its range."""
        return read_share(self.prevalence or None)


@final
@dataclass(frozen=True, eq=False)
class Address:
    """All that an address states, with the columns where these are clear."""

    data: DataChoice
    goal: TypedGoal
    analysis_options: Request  # what is wanted of the counts: no columns
    problems: Mapping[str, str]  # by the field that they are about
    chosen_columns: Request | None = None

    @property
    def file(self) -> DataFile:
        """The file that is looked at."""
        return self.data.file

    @property
    def kind(self) -> str:
        """What the columns are: a name of ``KINDS``."""
        return self.data.kind

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of scores, or of what takes their place."""
        return self.data.columns.scores

    @property
    def prevalence(self) -> float | None:
        """The prevalence of use, where it is one number: part of the design."""
        stated_prevalence = self.goal.prevalence_or_range
        if self.kind != "scores" or isinstance(stated_prevalence, tuple):
            return None
        return stated_prevalence

    @property
    def other_level(self) -> float | None:
        """The level where it is not the usual one."""
        level = self.analysis_options.level
        return None if level == DEFAULT_LEVEL else level

    @property
    def score(self) -> str:
        """The classifier that is looked at: the chosen one, or the first."""
        chosen = self.analysis_options.classifier
        return chosen if chosen in self.columns else self.columns[0]

    @cached_property
    def request(self) -> Request:
        """The columns with what is wanted of them, as the report takes it."""
        analysis_options = self.analysis_options
        return replace(
            self.chosen_columns or NO_COLUMNS,
            maximize=analysis_options.maximize,
            minimize=analysis_options.minimize,
            subject_to=analysis_options.subject_to,
            guarantee=analysis_options.guarantee,
            cost=analysis_options.cost,
            prevalences=analysis_options.prevalences,
            calibrator=analysis_options.calibrator,
            half_width=analysis_options.half_width,
            classifier=analysis_options.classifier,
            combiner=analysis_options.combiner,
            level=analysis_options.level,
        )

    @cached_property
    def request_text(self) -> str:
        """The request as text, by which answers are remembered."""
        return repr(self.request)


def column_or_none(name: str | None) -> str | None:
    """Return the column of a field; None where none is meant."""
    return None if name == NO_COLUMN else name


# ---- read an address


def read_address(query: QueryParams, file: DataFile) -> Address:
    """Read an address; what cannot be read is a problem of its field.

    What is wrong is not asked for, so that the rest is shown.
    """
    reader = AddressReader(query)
    data = _read_data(reader, file)
    direction = reader.choice("goal", ("maximize", "minimize")) or "maximize"
    objective = reader.text("objective", metric)
    constraints = reader.constraints(by=query.get("by") or None)
    goal = TypedGoal(
        direction=direction,
        objective=objective,
        cost_fp=reader.number("cost_fp", _read_cost),
        cost_fn=reader.number("cost_fn", _read_cost),
        prevalence=reader.text("prevalence", _read_prevalence),
    )

    level = reader.number("level", fraction)
    guarantee = reader.number("guarantee", fraction)
    prevalences = goal.prevalence_or_range
    analysis_options = Request(
        maximize=objective or None if direction == "maximize" else None,
        minimize=objective or None if direction == "minimize" else None,
        subject_to=constraints,
        # without a constraint there is nothing to guarantee
        guarantee=guarantee if constraints else None,
        cost=goal.cost,
        prevalences=prevalences if isinstance(prevalences, tuple) else None,
        level=DEFAULT_LEVEL if level is None else level,
        calibrator=reader.choice("calibrate", CALIBRATORS) or DEFAULT_CALIBRATOR,
        half_width=reader.number("half_width", fraction),
        classifier=reader.column("classifier") or "",
        combiner=reader.choice("combine", COMBINERS),
    )

    if (goal.cost_fp is None) != (goal.cost_fn is None):
        reader.problems.setdefault("cost_fn", "Both costs are needed, or none.")

    return Address(data, goal, analysis_options, reader.problems)


def _read_data(reader: AddressReader, file: DataFile) -> DataChoice:
    """Read which columns an address names, and what they are."""
    kind = reader.choice("kind", KINDS, strip=False)
    columns = Request(
        label=reader.column("label"),
        positive=reader.column("positive"),
        scores=reader.columns("column"),
        by=reader.column("by"),
        count=reader.column("count"),
        weight=reader.column("weight"),
        cluster=reader.column("cluster"),
        missing_scores=reader.choice("missing_scores", ("drop",), strip=False) or None,
    )

    verdicts = VerdictColumns(
        rule=reader.column("rule"),
        yes=reader.column("yes"),
        labelled=reader.choice("labelled", LABELLED, strip=False) or None,
        verdict=reader.column("verdict"),
        item=reader.column("item"),
        system=reader.column("system"),
    )

    return DataChoice(file, kind, columns, verdicts)


@final
class AddressReader:
    """Reads the fields of an address, and collects problems by their fields.

    Of a field that is there several times the last value counts.
    """

    def __init__(self, query: QueryParams) -> None:
        self._query = query
        self.problems: dict[str, str] = {}

    def column(self, name: str) -> str | None:
        """Read the name of a column, to which a space may belong."""
        values = self._values(name, str, strip=False)
        return values[-1] if values else None

    def columns(self, name: str) -> tuple[str, ...]:
        """Read the names of several columns, each of them once."""
        return tuple(dict.fromkeys(self._values(name, str, strip=False)))

    def choice(self, name: str, choices: Iterable[str], strip: bool = True) -> str:
        """Read one of several words; "" where none is said."""
        names = tuple(choices)

        def check(text: str) -> str:
            if text not in names:
                raise InputError(f"{text!r} is none of {', '.join(names)}.")
            return text

        values = self._values(name, check, strip=strip)
        return values[-1] if values else ""

    def text(self, name: str, check: Callable[[str], object]) -> str:
        """Read a text that ``check`` can read; it is kept as it was typed."""
        values = self._values(name, partial(_text_if_valid, check=check))
        return values[-1] if values else ""

    def number(self, name: str, check: Callable[[float, str], float]) -> float | None:
        """Read a number."""
        title = FIELDS.get(name, name)
        values = self._values(name, lambda text: check(float(text), title))
        return values[-1] if values else None

    def constraints(self, by: str | None) -> tuple[str, ...]:
        """Read the constraints, each of which has a field of its own."""
        check = partial(_read_constraint, by=by)
        read_one = partial(_text_if_valid, check=check)
        return tuple(self._values("subject_to", read_one, numbered=True))

    def _values(
        self,
        name: str,
        read_one: Callable[[str], Value],
        *,
        strip: bool = True,
        numbered: bool = False,
    ) -> list[Value]:
        """Read all values of a field; those that cannot be read are problems."""
        texts = self._query.getlist(name)
        if strip:
            texts = [text.strip() for text in texts]

        values: list[Value] = []
        for place, text in enumerate(filter(None, texts)):
            field_name = f"{name}_{place}" if numbered else name
            try:
                values.append(read_one(text))
            except InputError as err:
                self.problems[field_name] = page_text(err)
            except ValueError:
                self.problems[field_name] = f"{text!r} is not a number."

        return values


def _text_if_valid(text: str, check: Callable[[str], object]) -> str:
    """Return a text that can be read, as it was typed."""
    check(text)
    return text


def _read_cost(value: float, name: str) -> float:
    """Read the cost of an error."""
    if real_number(value, name) < 0:
        raise InputError(f"A cost must be 0 or more; found {value:g}.")
    return value


def _read_prevalence(text: str) -> None:
    """Check the prevalence of use, or its range."""
    read_prevalence(read_share(text))


def _read_constraint(text: str, by: str | None) -> None:
    """Check a constraint: of one cut, of two, or of groups, which must be there."""
    if asks_for_groups([text]):
        if by is None:
            raise InputError(
                "A constraint between groups needs groups.",
                option="by",
                example="COLUMN",
            )
        read_scoped_constraints(text, GROUPS)
    elif asks_for_two_cuts([text]):
        read_scoped_constraints(text, SIDES)
    else:
        constraint(text)


def columns_named(table: DataTable, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first column that has one of these names, if there is one."""
    matching = [column for column in table.kinds if column.lower() in names]
    return tuple(matching[:1])


def marked_field(error: InputError | NotEnoughCases, default: str) -> str:
    """Return the field of the page that an error is about."""
    option = error.option or default
    return FORM_NAMES.get(option, option)


def page_text(error: InputError | NotEnoughCases) -> str:
    """Message of an error, and what to choose on the page.

    >>> page_text(InputError("Which column holds the labels?", option="label",
    ...                      choices=["y", "z"]))
    'Which column holds the labels? Choose one under Label.'
    """
    advice = page_advice(error, FORM_FIELDS, {"drop": repr(DROP)})
    return f"{error.message} {advice}".strip()
