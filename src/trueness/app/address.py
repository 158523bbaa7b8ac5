"""What does an address ask for? Columns of a file, and what is wanted of them.

Whatever is left open is guessed, as the command line guesses; what cannot be read is a
problem, and is said where it was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
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
    choose,
    looks_counted,
    read_share,
)
from trueness.cli._long_files import refuse_long_file
from trueness.cli._source import REAL_TYPES, WHOLE_TYPES, Source, known
from trueness.cli.judge import (
    as_wide,
    data_of_judges,
    guess_judges,
    guess_votes,
    in_log,
    repeats_in_log,
)
from trueness.cli.leaves import guess_node
from trueness.data.column_roles import (
    COUNT_NAMES,
    NODE_NAMES,
    Guess,
    count_column,
    find_label,
    has_no_label,
    is_score,
    several_scores,
)
from trueness.data.data_tables import DataTable
from trueness.data.engines import quoted
from trueness.data.verdict_logs import ITEM, SYSTEM
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
PASSED = ("passed", "pass", "correct", "is_correct", "resolved", "success", "solved")
ITEMS = ("item", "item_id", "question_id", "task_id", "doc_id", "problem",
         "instance_id")  # fmt: skip
SYSTEMS = ("system", "model", "run", "agent")


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
        lambda table, _: named_like(table, PASSED),
    ),
}
FIELDS = {
    "label": "Label", "positive": "Positive value", "score": "Scores", "vote": "Tests",
    "node": "Leaf", "judge": "Judges", "passed": "Passed",
    "labelled": "How the labelled cases were chosen",
    "rule": "Rule", "count": "Count", "weight": "Weight", "cluster": "Clusters",
    "by": "Groups", "positive-verdict": "Verdict that means positive",
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
WITHOUT = {
    "weight": "all cases have equal weight",
    "cluster": "every case is independent",
}
DEFAULT_LEVEL = 0.95  # of confidence
DEFAULT_CALIBRATOR = "auto"
NOTHING = "-"  # in an address: none of the columns, also where one would be guessed


@final
@dataclass(frozen=True)
class VerdictColumns:
    """What only leaves, verdicts and attempts have; None where nothing is said."""

    rule: str | None = None  # column that says in words what a leaf is
    positive_verdict: str | None = None  # the verdict that means positive
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
        named = {"weight": self.columns.weight, "cluster": self.columns.cluster}
        return {
            field_name: column
            for field_name, column in named.items()
            if column is not None and column != NOTHING
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
    """All that an address states; ``chosen`` has the columns, where these are clear."""

    data: DataChoice
    goal: TypedGoal
    analysis_options: Request  # what is wanted of the counts: no columns
    problems: Mapping[str, str]  # by the field that they are about
    chosen: Request | None = None

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
        stated = self.goal.prevalence_or_range
        if self.kind != "scores" or isinstance(stated, tuple):
            return None
        return stated

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
            self.chosen or NO_COLUMNS,
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
    return None if name == NOTHING else name


# ---- read an address


def read(query: QueryParams, file: DataFile) -> Address:
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
        positive_verdict=reader.column("positive_verdict"),
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
        values = self._values(name, partial(_checked, check=check))
        return values[-1] if values else ""

    def number(self, name: str, check: Callable[[float, str], float]) -> float | None:
        """Read a number."""
        title = FIELDS.get(name, name)
        values = self._values(name, lambda text: check(float(text), title))
        return values[-1] if values else None

    def constraints(self, by: str | None) -> tuple[str, ...]:
        """Read the constraints, each of which has a field of its own."""
        check = partial(_read_constraint, by=by)
        read_one = partial(_checked, check=check)
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


def _checked(text: str, check: Callable[[str], object]) -> str:
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


# ---- guess what was left open


@final
@dataclass(frozen=True)
class CompleteData:
    """The columns of an address with those that were guessed, or what hinders it."""

    data: DataChoice
    chosen: Request | None
    problems: Mapping[str, str]


def complete(data: DataChoice) -> CompleteData:
    """Guess what was left open; without ``chosen``, and a problem, where one cannot."""
    with data.file.held():  # guessing reads some rows
        guessed = _with_guesses(data)
        kind = KINDS[guessed.kind]
        try:
            _check_columns(guessed)
            chosen = _chosen_columns(guessed, kind.guess)
        except InputError as err:
            problems = {marked_field(err, kind.option): page_text(err)}
            with suppress(InputError):  # the label may be clear all the same
                label = _chosen_columns(guessed, lambda *_: ()).label
                columns = replace(guessed.columns, label=label)
                guessed = replace(guessed, columns=columns)
            return CompleteData(guessed, None, problems)

    if kind.has_labels:
        guessed = _with_kind_of_scores(guessed, chosen)

    if not guessed.is_long:  # in the order of the file: one choice has one address
        in_order = tuple(c for c in data.file.source.types if c in chosen.scores)
        chosen = replace(chosen, scores=in_order)

    return CompleteData(_with_chosen(guessed, chosen), chosen, {})


def _with_kind_of_scores(data: DataChoice, chosen: Request) -> DataChoice:
    """Tell scores from the verdicts of tests, which have no threshold to choose."""
    table = data.file.source.table
    with data.file.held():
        any_score = any(is_score(table, column) for column in chosen.scores)
    return replace(data, kind="scores" if any_score else "verified")


def _with_chosen(data: DataChoice, chosen: Request) -> DataChoice:
    """Name the columns that were chosen, as an address would name them."""
    columns = replace(
        data.columns,
        label=chosen.label or data.columns.label,
        scores=data.columns.scores if data.is_long else chosen.scores,
        count=chosen.count or NOTHING,
    )
    has_systems = data.kind in ("judges", "systems")
    verdicts = replace(data.verdicts, system=chosen.by if has_systems else None)

    return replace(data, columns=columns, verdicts=verdicts)


def _with_guesses(data: DataChoice) -> DataChoice:
    """Guess what the columns are, and which of them count, weigh and explain."""
    source = data.file.source
    is_log = bool(data.file.judges)
    kind = data.kind or ("systems" if is_log else guess_kind(source))
    if kind == "alone" and data.columns.label:
        kind = "scores"

    if kind == "systems":
        verdicts = replace(
            data.verdicts,
            item=data.verdicts.item or _guess_in_log(data.file, ITEM, ITEMS),
            system=data.verdicts.system or _guess_in_log(data.file, SYSTEM, SYSTEMS),
        )
        return replace(data, kind=kind, verdicts=verdicts)

    columns = data.columns
    count = columns.count
    if not count and not KINDS[kind].has_labels:
        count = looks_counted(source, replace(columns, weight=None))

    taken = {columns.label, *columns.scores, columns.by, count, columns.cluster}
    weight = columns.weight
    if KINDS[kind].has_labels and weight is None:
        weight = _guess_weight(source, taken)

    rule = NOTHING
    if kind == "leaves":
        rule = data.verdicts.rule or _guess_rule(source, taken)

    return replace(
        data,
        kind=kind,
        columns=replace(columns, count=count, weight=weight or NOTHING),
        verdicts=replace(data.verdicts, rule=rule),
    )


def _guess_rule(source: Source, taken: set[str | None]) -> str:
    """Return the column that says in words what a leaf is, if there is one."""
    for name in named_like(source.table, ("rule",)):
        if name not in taken:
            return name
    return NOTHING


def _guess_in_log(file: DataFile, of_log: str, names: tuple[str, ...]) -> str | None:
    """Return the column of a log, or the one of a table that is called like it."""
    if file.judges:
        return in_log(file.source, of_log)
    return next(iter(named_like(file.source.table, names)), None)


def _chosen_columns(data: DataChoice, guess: Guess) -> Request:
    """Choose the columns as the command does that answers about such a file."""
    if data.kind == "judges":
        return _columns_of_judges(data, guess)
    if data.kind == "systems":
        return _columns_of_attempts(data, guess)

    columns = data.columns
    kind = KINDS[data.kind]
    of_scores = kind.has_labels
    chosen = choose(
        data.file.source,
        replace(
            columns,
            count=column_or_none(columns.count),
            weight=column_or_none(columns.weight),
            cluster=column_or_none(columns.cluster),
            missing_scores=columns.missing_scores if of_scores else None,
        ),
        option=kind.option,
        guess=guess,
        needs_label=data.kind not in ("tests", "alone"),
    )

    if of_scores and not columns.count:
        others = (chosen.by, chosen.weight, chosen.cluster)
        table = data.file.source.table
        count = count_column(table, chosen.label, chosen.scores, others)
        chosen = replace(chosen, count=count)

    if of_scores:
        refuse_long_file(data.file.source, chosen)

    return chosen


def _check_columns(data: DataChoice) -> None:
    """Refuse weights where cases are counted whole, and a rule that is not there."""
    if not KINDS[data.kind].has_labels:
        for name in data.design_columns:
            raise InputError(
                f"{FIELDS[name]} is for cases with labels; here they are counted one "
                f"by one. Choose {WITHOUT[name]!r} there.",
                option=name,
            )

    known(data.file.source, column_or_none(data.verdicts.rule), "--rule")


@final
@dataclass(frozen=True)
class WideTable:
    """Verdicts as a table with a row per answer, and what its columns are."""

    source: Source
    judges: tuple[str, ...]
    item: str | None
    system: str | None


def wide_table(data: DataChoice) -> WideTable:
    """Make a table with a row per answer of verdicts, which may have a row each."""
    verdicts = data.verdicts

    if data.is_long and len(data.columns.scores) != 1:
        raise InputError(
            "Which column holds the names of the judges?",
            option="judge",
            choices=data.file.source.types,
        )

    if data.is_long and verdicts.item is None:
        raise InputError(
            "Which column names what was judged?",
            option="item",
            choices=data.file.source.types,
        )

    with data.file.held():
        source, judges, item, system = as_wide(
            data.file.source,
            data.file.judges,
            data.columns.scores,
            verdicts.verdict,
            verdicts.item,
            verdicts.system,
            column_or_none(data.columns.label),
        )

    return WideTable(source, judges, item, system)


def _columns_of_judges(data: DataChoice, guess: Guess) -> Request:
    """Choose as ``trueness judge`` does; labels and how they came are never guessed."""
    columns = data.columns
    if columns.label is None:
        raise InputError(
            "Which column holds the labels? Where there are none, choose "
            f"{NO_LABELS!r} there.",
            option="label",
            choices=data.file.source.types,
        )

    label = column_or_none(columns.label)
    known(data.file.source, label, "--label")
    count = column_or_none(columns.count)
    wide = wide_table(data)
    taken = {label, count, wide.item, wide.system}
    file_data = data_of_judges(
        wide.source,
        wide.judges or guess(wide.source.table, taken),
        label,
        columns.positive or data.verdicts.positive_verdict,
        count,
        wide.system,
        DEFAULT_LEVEL,
        0,
        repeats_in_log(wide.source, data.file.judges),
    )

    if label is not None and data.verdicts.labelled is None:
        raise InputError(
            "Were the labelled cases chosen at random, by the verdicts of the judges, "
            "or by their true label? The data do not show it.",
            option="labelled",
            choices=LABELLED,
        )

    return file_data.request


def _columns_of_attempts(data: DataChoice, guess: Guess) -> Request:
    """Choose as ``trueness evals`` does: what was tried, whether it passed, by whom."""
    source = data.file.source
    if data.verdicts.item is None:
        raise InputError(
            "Which column names what was tried?",
            option="item",
            choices=source.types,
        )

    passed = data.columns.scores or data.file.judges[:1] or guess(source.table, set())
    if len(passed) != 1:
        raise InputError(
            "Which column says what passed?",
            option="passed",
            choices=source.types,
        )

    system = column_or_none(data.verdicts.system)
    known(source, data.verdicts.item, "--item")
    known(source, passed[0], "--passed")
    known(source, system, "--system")

    return Request(scores=tuple(passed), by=system)


def named_like(table: DataTable, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first column that has one of these names, if there is one."""
    matching = [column for column in table.kinds if column.lower() in names]
    return tuple(matching[:1])


def guess_kind(source: Source) -> str:
    """Return the kind of data: scores, labelled or not, tests, leaves or attempts."""
    names = {c.lower() for c in source.types}
    if names & {*PASSED} and names & {*ITEMS}:
        return "systems"

    real = [c for c, kind in source.types.items() if kind.startswith(REAL_TYPES)]
    if not real and names & set(NODE_NAMES):
        return "leaves"
    if has_no_label(source.table, set()):
        return "alone" if real else "scores"
    if real or _has_label(source.table):
        return "scores"

    counted = {c for c in source.types if c.lower() in COUNT_NAMES}
    try:
        guess_votes(source.table, {*counted})
    except InputError:
        return "scores"

    return "tests"


def _has_label(table: DataTable) -> bool:
    """Return whether one column is beyond doubt that of the labels."""
    try:
        find_label(table, set())
    except InputError:
        return False
    return True


def _guess_weight(source: Source, taken: set[str | None]) -> str | None:
    """Return the column that is called like weights, and can hold them."""
    for name, kind in source.types.items():
        is_number = kind in WHOLE_TYPES or kind.startswith(REAL_TYPES)
        is_called_so = name.lower() in WEIGHT_NAMES and name not in taken
        if not is_called_so or not is_number:
            continue

        ((smallest,),) = source.rows.aggregate(f"min({quoted(name)})").fetchall()
        if smallest is not None and smallest >= 0:
            return name
        return None

    return None


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
