"""How many cases do I need, and which leaves of a tree have enough?"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.progress import progress
from trueness.cli._app import Careful
from trueness.cli._columns import Request
from trueness.cli._command import Columns, command
from trueness.cli._shell import CommandAnswer, answered, each_group
from trueness.cli._source import groups_of, known
from trueness.data.column_roles import Table, not_found
from trueness.data.engines import quoted
from trueness.findings.trust import planned, planned_labels, planned_leaf, which_leaves
from trueness.nogold.label_plans import plan_labels
from trueness.ranking.models import MODELS
from trueness.ranking.planning import plan_auc, plan_auc_difference, plan_rate
from trueness.trees.leaf_reports import LeafReport
from trueness.trees.leaves import Leaves
from trueness.trees.levels import plan_leaf

labels_for: Any = inspect.unwrap(plan_labels)  # before there are any data
NODE_NAMES = ("leaf", "node", "segment")
plan_command = typer.Typer(
    help="How many cases do I need? Sample sizes.", no_args_is_help=True
)


@plan_command.command(name="auc", cls=Careful)
@command(like=plan_auc, models=MODELS)
def plan_for_auc(**asked: Any) -> CommandAnswer:
    """How many cases are needed to know an AUC well enough?

    --auc: The AUC that you expect.
    --prevalence SHARE: Share of positives.
    --model NAME: Model of the scores: {models}.
    --sampling: case-control: the number of positives is fixed; cohort: random.

    Example: trueness plan auc --auc 0.8 --prevalence 0.1 --half-width 0.03
    """
    if (asked["half_width"] is None) == (asked["null"] is None):
        raise InputError(
            "A plan needs a goal. Type --half-width 0.03 for a narrow interval, or "
            "--null 0.75 --power 0.9 for a test."
        )
    found = plan_auc(**asked)
    made = planned(found, f"an AUC of {asked['auc']:g}")
    return answered(made, chart=lambda: trueness.plots.sample_size(found))


@plan_command.command(name="difference", cls=Careful)
@command(like=plan_auc_difference, without=("plot",))
def plan_for_difference(**asked: Any) -> CommandAnswer:
    """How many cases are needed to show that two AUCs on the same cases differ?

    --first: One AUC that you expect.
    --second: The other, on the same cases.
    --correlation: Correlation of the two scores within a class.
    --prevalence SHARE: Share of positives.
    --half-width WIDTH: Wanted half-width of the interval of the difference.

    Example: trueness plan difference --first 0.85 --second 0.8 --power 0.8
    """
    return answered(planned(plan_auc_difference(**asked), "the difference"))


@plan_command.command(name="rate", cls=Careful)
@command(like=plan_rate, without=("sampling", "plot"))
def plan_for_rate(**asked: Any) -> CommandAnswer:
    """How many cases are needed to know recall, specificity or precision well enough?

    --rate: Which rate: recall, specificity or precision.
    --value: The rate that you expect.
    --prevalence SHARE: Share of positives.
    --recall: For precision: the recall that you expect.
    --half-width WIDTH: Wanted half-width of the interval of the rate.

    Example: trueness plan rate --rate recall --value 0.9 --prevalence 0.1 --null 0.8
    """
    what = f"a {asked['rate']} of {asked['value']:g}"
    return answered(planned(plan_rate(**asked), what))


@plan_command.command(name="labels", cls=Careful)
@command(like=labels_for, without=("plot",))
def plan_for_labels(**asked: Any) -> CommandAnswer:
    """How many labels does a pass rate need that judges with errors give?

    --half-width WIDTH: Wanted half-width of the interval.
    --prevalence SHARE: The pass rate that you expect.
    --judges NUMBER: How many judges there are.
    --sensitivity: How often a judge passes what is right.
    --specificity: How often a judge fails what is wrong.
    --correlation: Correlation of the errors of two judges.
    --cases NUMBER: How many cases there will be.

    Example: trueness plan labels --half-width 0.05 --prevalence 0.7 --judges 3
    """
    return answered(planned_labels(labels_for(**asked)))


@plan_command.command(name="leaf", cls=Careful)
@command(like=plan_leaf)
def plan_for_leaf(**asked: Any) -> CommandAnswer:
    """How many cases does a leaf need to be trusted?

    --p: Share of the larger class in the leaf.
    --confidence: Wanted level of confidence P(C).
    --utility: Wanted level of utility P(U).

    Example: trueness plan leaf --p 0.75 --confidence 0.95
    """
    if asked["confidence"] is None and asked["utility"] is None:
        raise InputError(
            "A plan needs a goal. Type --confidence 0.95, or --utility 0.7."
        )
    n, p = plan_leaf(**asked), asked["p"]
    level = "utility" if asked["confidence"] is None else "confidence"
    sizes = range(1, min(2 * n, 400) + 1) if n <= 200 else range(1, 2 * n, n // 100)
    named = {f"p = {p:g}": ([1], [p])}
    return answered(
        planned_leaf(n, **asked),
        chart=lambda: trueness.plots.levels_by_n(named, sizes, level=level),
    )


def guess_node(table: Table, taken: set[str | None]) -> tuple[str, ...]:
    """Take the column of the leaves when there is no doubt."""
    free = [c for c in table.kinds if c not in taken]
    by_name = [c for c in free if c.lower() in NODE_NAMES]
    if len(by_name) == 1 or len(free) == 1:
        return tuple(by_name or free)
    raise not_found("Which column holds the leaves?", table, "node")


NODE = Columns("node", guess_node, several=False)


@command(NODE, without=("seed",), cannot="leaves")
def leaves_command(
    request: Request,
    rule: str | None = None,
    confidence: float = 0.95,
    grown: bool = False,
) -> CommandAnswer:
    """Can this leaf be trusted? Confidence and utility of every leaf of a tree.

    --rule COLUMN: Column with the rule of each leaf, in words.
    --confidence: Probability P(C) from which a leaf is trusted.
    --grown: The tree was grown on these cases. No leaf is then called trusted.

    Example: trueness leaves sample:leaves --node leaf --label virus --count n
    """

    def judged(held: Leaves) -> LeafReport:
        found = held.report(confidence=confidence, level=request.level, fresh=not grown)
        return with_rules(found, request, rule)

    with progress("Counting", unit=""):
        held, by = _count(request, request.rows), request.chosen.by
        parted = groups_of(request.rows, by) if by else ()
        groups = {g: _count(request, rows) for g, rows in parted}
        found = judged(held)
    return answered(
        which_leaves(found, each_group(groups, judged), str(by)),
        counted=held,
        chart=lambda: trueness.plots.leaf_shares(found),
    )


def _count(request: Request, rows: object) -> Leaves:
    chosen = request.chosen
    return trueness.leaves(rows, node=chosen.scores[0], **chosen.words)


def with_rules(found: LeafReport, request: Request, rule: str | None) -> LeafReport:
    """Add the rule that the file has for each leaf, the same in all of its rows."""
    if rule is None:
        return found
    source, node = request.source, request.chosen.scores[0]
    known(source, rule, "--rule")
    of_leaf, text = quoted(node), f"CAST({quoted(rule)} AS VARCHAR)"
    counts = f"min({text}), count(DISTINCT {text})"
    rows = source.rows.aggregate(f"{of_leaf}, {counts}", of_leaf).fetchall()
    for name, _, many in rows:
        if many > 1:
            raise InputError(
                f"--rule must say the same in all rows of a leaf; column {rule!r} has "
                f"{many:,} rules for leaf {str(name)!r}."
            )
    rules = {name: said for name, said, _ in rows}
    said = [rules.get(n) for n in found.node.tolist()]
    texts = np.array(["" if r is None else str(r) for r in said], dtype=object)
    return replace(found, rule=texts)
