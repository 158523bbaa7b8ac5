"""What does an address ask for? Columns of a file, and what is wanted of them.

Whatever is left open is guessed, as the command line guesses; what cannot be read is a
problem, and is said where it was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, final

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
    LABEL_NAMES,
    DataTable,
    Guess,
    several_scores,
)
from trueness.data.engines import quoted
from trueness.data.first_look import NODE_NAMES
from trueness.data.verdict_logs import ITEM, SYSTEM
from trueness.ensembles.combiners import COMBINERS
from trueness.findings.request import Request
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

# of a table of attempts: how people call what passed, what was tried, and by whom
PASSED = ("passed", "pass", "correct", "is_correct", "resolved", "success", "solved")
ITEMS = ("item", "item_id", "question_id", "task_id", "doc_id", "problem",
         "instance_id")  # fmt: skip
SYSTEMS = ("system", "model", "run", "agent")
# what the columns are: how option and command are called in a shell, how the page
# calls it, and how it is guessed
KINDS: Mapping[str, tuple[str, str, str, Guess]] = {
    "scores": ("score", "report", "Scores, with labels", several_scores),
    "tests": ("vote", "report", "Tests or judges, without labels", guess_votes),
    "leaves": ("node", "leaves", "Leaves of a tree", guess_node),
    "judges": ("judge", "judge", "Judges, and labels of some cases", guess_judges),
    "systems": ("passed", "evals", "Attempts of systems at items",
                lambda table, _: named_like(table, PASSED)),
}  # fmt: skip
FIELDS = {
    "label": "Label", "positive": "Positive value", "score": "Scores", "vote": "Tests",
    "node": "Leaf", "judge": "Judges", "passed": "Passed",
    "labelled": "How the labelled cases were chosen",
    "rule": "Rule", "count": "Count", "weight": "Weight", "cluster": "Clusters",
    "by": "Groups", "yes": "Verdict that means positive", "verdict": "Verdicts",
    "item": "Item", "system": "System", "level": "Confidence level",
    "prevalence": "Prevalence in use", "half-width": "Half-width",
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
    "weight": "every case weighs the same",
    "cluster": "every case stands for itself",
}
NOTHING = "-"  # in an address: none of the columns, also where one would be guessed


@final
@dataclass(frozen=True, eq=False)
class Asked:
    """All that an address says, as it says it; None and () where it says nothing.

    ``chosen`` are the columns that are meant, where that is clear. Those that ask about
    the same counts are equal.
    """

    file: DataFile
    kind: str | None = None
    label: str | None = None
    positive: str | None = None
    columns: tuple[str, ...] = ()
    by: str | None = None
    count: str | None = None
    weight: str | None = None
    cluster: str | None = None
    missing_scores: str | None = None
    rule: str | None = None
    yes: str | None = None
    labelled: str | None = None
    verdict: str | None = None
    item: str | None = None
    system: str | None = None
    goal: str = "maximize"
    objective: str = ""
    subject_to: tuple[str, ...] = ()
    cost_fp: float | None = None
    cost_fn: float | None = None
    prevalence: str = ""
    level: float = 0.95
    calibrate: str = "auto"
    half_width: float | None = None
    classifier: str = ""
    combine: str = ""
    problems: dict[str, str] = field(default_factory=dict)
    chosen: Request | None = None

    def __hash__(self) -> int:
        return hash(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asked) and self.data == other.data

    def named(self, field: str) -> str | None:
        """Give the column of a field; None where none is meant."""
        name: str | None = getattr(self, field)
        return None if name == NOTHING else name

    @property
    def is_long(self) -> bool:
        """Has a table of judges a row for each verdict?"""
        return self.kind == "judges" and self.verdict is not None

    @property
    def cost(self) -> dict[str, float] | None:
        """Give the costs as the report takes them."""
        if self.cost_fp is None or self.cost_fn is None:
            return None
        return {"fp": self.cost_fp, "fn": self.cost_fn}

    @property
    def share(self) -> float | tuple[float, float] | None:
        """Give the prevalence of use, or its range."""
        return read_share(self.prevalence or None)

    @property
    def one_share(self) -> float | None:
        """Give the prevalence of use, where it is one number: part of the design."""
        share = self.share if self.kind == "scores" else None
        return None if isinstance(share, tuple) else share

    @property
    def other_level(self) -> float | None:
        """Give the level where it is not the usual one."""
        return None if self.level == 0.95 else self.level

    @property
    def score(self) -> str:
        """Name the classifier that is looked at: the chosen one, or the first."""
        return self.classifier if self.classifier in self.columns else self.columns[0]

    @property
    def request(self) -> Request:
        """The columns with what is asked of them, as the report takes it."""
        objective = self.objective or None
        share = self.share
        return replace(
            self.chosen or Request(),
            maximize=objective if self.goal == "maximize" else None,
            minimize=objective if self.goal == "minimize" else None,
            subject_to=self.subject_to,
            cost=self.cost,
            prevalences=share if isinstance(share, tuple) else None,
            calibrator=self.calibrate,
            half_width=self.half_width,
            classifier=self.classifier,
            combiner=self.combine,
            level=self.level,
        )

    @property
    def data(self) -> tuple[Any, ...]:
        """What the counts depend on."""
        return tuple(getattr(self, name) for name in DATA)


# what the counts depend on: the fields before those about the threshold
DATA = tuple(f.name for f in fields(Asked))[:16]
NAMES = {*DATA, "classifier"}


def read(query: QueryParams, file: DataFile) -> Asked:
    """Read an address; what cannot be read is a problem of its field.

    What is wrong is not asked for, so that the rest is shown.
    """
    problems: dict[str, str] = {}
    given: dict[str, Any] = {}
    readers: dict[str, Callable[[str], object]] = {
        **READERS, "subject_to": partial(_limit, by=query.get("by") or None)
    }  # fmt: skip
    for name in (f.name for f in fields(Asked)[1:-2]):
        texts = query.getlist("column" if name == "columns" else name)
        if name not in NAMES:  # a space may belong to the name of a column
            texts = [text.strip() for text in texts]
        found: list[Any] = []
        for k, text in enumerate(filter(None, texts)):
            where = f"{name}_{k}" if name == "subject_to" else name
            try:
                if text not in CHOICES.get(name, (text,)):
                    names = ", ".join(CHOICES[name])
                    raise InputError(f"{text!r} is none of {names}.")
                if name in NUMBERS:
                    found.append(NUMBERS[name](float(text), FIELDS.get(name, name)))
                    continue
                if name in readers:
                    readers[name](text)
                found.append(text)
            except InputError as err:
                problems[where] = page_text(err)
            except ValueError:
                problems[where] = f"{text!r} is not a number."
        if name == "columns":
            found = list(dict.fromkeys(found))
        if found:
            given[name] = tuple(found) if name in SEVERAL else found[-1]
    if ("cost_fp" in given) != ("cost_fn" in given):
        problems.setdefault("cost_fn", "Both costs are needed, or none.")
    return Asked(file, **given, problems=problems)


def _cost(value: float, name: str) -> float:
    if real_number(value, name) < 0:
        raise InputError(f"A cost must be 0 or more; found {value:g}.")
    return value


SEVERAL = ("columns", "subject_to")
NUMBERS: Mapping[str, Callable[[float, str], float]] = {
    "cost_fp": _cost, "cost_fn": _cost, "level": fraction, "half_width": fraction,
}  # fmt: skip
# who can read what was typed; it is kept as text
READERS: Mapping[str, Callable[[str], object]] = {
    "objective": metric,
    "prevalence": lambda text: read_prevalence(read_share(text)),
}
CHOICES: Mapping[str, Iterable[str]] = {
    "kind": KINDS, "labelled": LABELLED, "goal": ("maximize", "minimize"),
    "calibrate": CALIBRATORS, "combine": COMBINERS, "missing_scores": ("drop",),
}  # fmt: skip


def _limit(text: str, by: str | None) -> Any:
    """Read a constraint: of one cut, of two, or of groups, which must be there."""
    if asks_for_groups([text]):
        if by is None:
            raise InputError(
                "A constraint between groups needs groups.",
                option="by",
                example="COLUMN",
            )
        return read_scoped_constraints(text, GROUPS)
    two = asks_for_two_cuts([text])
    return read_scoped_constraints(text, SIDES) if two else constraint(text)


def complete(asked: Asked) -> Asked:
    """Guess what was left open; without ``chosen``, and a problem, where one cannot."""
    with asked.file.held():  # guessing reads some rows
        given = _with_guesses(asked)
        option, *_, guess = KINDS[str(given.kind)]
        try:
            _fits(given)
            chosen = _chosen(given, guess)
        except InputError as err:
            problems = {**asked.problems, field_of(err, option): page_text(err)}
            with suppress(InputError):  # the label may be clear all the same
                given = replace(given, label=_chosen(given, lambda *_: ()).label)
            return replace(given, problems=problems)
    if not given.is_long:  # in the order of the file: one choice has one address
        order = tuple(c for c in asked.file.source.types if c in chosen.scores)
        chosen = replace(chosen, scores=order)
    return replace(
        given,
        label=chosen.label or asked.label,
        columns=asked.columns if given.is_long else chosen.scores,
        count=chosen.count or NOTHING,
        system=chosen.by if given.kind in ("judges", "systems") else None,
        chosen=chosen,
    )


def _with_guesses(asked: Asked) -> Asked:
    """Guess what the columns are, and which of them count, weigh and explain."""
    source, log = asked.file.source, bool(asked.file.judges)
    kind = asked.kind or ("systems" if log else guess_kind(source))
    if kind == "systems":
        item, system = (
            in_log(source, own)
            if log
            else next(iter(named_like(source.table, like)), None)
            for own, like in ((ITEM, ITEMS), (SYSTEM, SYSTEMS))
        )
        item, system = asked.item or item, asked.system or system
        return replace(asked, kind=kind, item=item, system=system)
    used = Request(
        label=asked.label, scores=asked.columns, by=asked.by, cluster=asked.cluster
    )
    count = asked.named("count") if asked.count else looks_counted(source, used)
    weight, rule = asked.weight, NOTHING
    taken = {asked.label, *asked.columns, asked.by, count, asked.cluster}
    if kind == "scores" and weight is None:
        weight = _weights(source, taken)
    if kind == "leaves":  # which column says in words what a leaf is?
        like = [c for c in named_like(source.table, ("rule",)) if c not in taken]
        rule = asked.rule or (like[0] if like else NOTHING)
    return replace(asked, kind=kind, count=count, weight=weight or NOTHING, rule=rule)


def _chosen(asked: Asked, guess: Guess) -> Request:
    """Choose the columns as the command does that answers about such a file."""
    if asked.kind == "judges":
        return _judges(asked, guess)
    if asked.kind == "systems":
        return _attempts(asked, guess)
    chosen = choose(
        asked.file.source,
        Request(
            label=asked.label,
            scores=asked.columns,
            positive=asked.positive,
            count=asked.count,
            by=asked.by,
            weight=asked.named("weight"),
            cluster=asked.named("cluster"),
            missing_scores=asked.missing_scores if asked.kind == "scores" else None,
        ),
        option=KINDS[str(asked.kind)][0],
        guess=guess,
        needs_label=asked.kind != "tests",
    )
    if asked.kind == "scores":
        refuse_long_file(asked.file.source, chosen)
    return chosen


def _fits(asked: Asked) -> None:
    """Refuse weights where cases are counted whole, and a rule that is not there."""
    for word, instead in WITHOUT.items():
        if asked.kind != "scores" and asked.named(word):
            raise InputError(
                f"{FIELDS[word]} is for scores with labels; {asked.kind} are counted "
                f"one by one. Choose {instead!r} there.",
                option=word,
            )
    known(asked.file.source, asked.named("rule"), "--rule")


def wide_table(
    asked: Asked,
) -> tuple[Source, tuple[str, ...], str | None, str | None]:
    """Give verdicts as a table with a row per answer: judges, item and system."""
    if asked.is_long and len(asked.columns) != 1:
        raise InputError(
            "Which column holds the names of the judges?",
            option="judge",
            choices=asked.file.source.types,
        )
    if asked.is_long and asked.item is None:
        raise InputError(
            "Which column names what was judged?",
            option="item",
            choices=asked.file.source.types,
        )
    file = asked.file
    with file.held():
        return as_wide(
            file.source, file.judges, asked.columns, asked.verdict, asked.item,
            asked.system, asked.named("label"),
        )  # fmt: skip


def _judges(asked: Asked, guess: Guess) -> Request:
    """Choose as ``trueness judge`` does; labels and how they came are never guessed."""
    if asked.label is None:
        raise InputError(
            "Which column holds the labels? Where there are none, choose "
            f"{NO_LABELS!r} there.",
            option="label",
            choices=asked.file.source.types,
        )
    label = asked.named("label")
    known(asked.file.source, label, "--label")
    source, judges, item, system = wide_table(asked)
    judges = judges or guess(source.table, {label, asked.count, item, system})
    positive = asked.positive or asked.yes
    found = data_of_judges(
        source, judges, label, positive, asked.count, system, asked.level, 0,
        repeats_in_log(source, asked.file.judges),
    ).request  # fmt: skip
    if label is not None and asked.labelled is None:
        raise InputError(
            "Were the labelled cases chosen at random, by the verdicts of the judges, "
            "or by their true label? The data do not show it.",
            option="labelled",
            choices=LABELLED,
        )
    return found


def _attempts(asked: Asked, guess: Guess) -> Request:
    """Choose as ``trueness evals`` does: what was tried, whether it passed, by whom."""
    if asked.item is None:
        raise InputError(
            "Which column names what was tried?",
            option="item",
            choices=asked.file.source.types,
        )
    source, judges = asked.file.source, asked.file.judges
    found = asked.columns or judges[:1] or guess(source.table, set())
    if len(found) != 1:
        raise InputError(
            "Which column says what passed?",
            option="passed",
            choices=source.types,
        )
    system = asked.named("system")
    names = {"item": asked.item, "passed": found[0], "system": system}
    for option, name in names.items():
        known(source, name, f"--{option}")
    return Request(scores=tuple(found), by=system)


def named_like(table: DataTable, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which column is called like this?"""
    return tuple(c for c in table.kinds if c.lower() in names)[:1]


def guess_kind(source: Source) -> str:
    """Are these scores with labels, tests without, leaves of a tree, or attempts?"""
    names = {c.lower() for c in source.types}
    if names & {*PASSED} and names & {*ITEMS}:
        return "systems"
    real = [c for c, kind in source.types.items() if kind.startswith(REAL_TYPES)]
    if not real and names & set(NODE_NAMES):
        return "leaves"
    if real or names & {*LABEL_NAMES}:
        # tests with a known truth are scores of two values
        return "scores"
    counted = {c for c in source.types if c.lower() in COUNT_NAMES}
    try:
        guess_votes(source.table, {*counted})
    except InputError:
        return "scores"
    return "tests"


def _weights(source: Source, taken: set[str | None]) -> str | None:
    """Which column is called like weights, and can hold them?"""
    for c, kind in source.types.items():
        number = kind in WHOLE_TYPES or kind.startswith(REAL_TYPES)
        if c.lower() in WEIGHT_NAMES and c not in taken and number:
            low = source.rows.aggregate(f"min({quoted(c)})").fetchall()[0][0]
            return c if low is not None and low >= 0 else None
    return None


def field_of(error: InputError | NotEnoughCases, default: str) -> str:
    """Which field of the page is an error about?"""
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
