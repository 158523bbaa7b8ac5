r"""Which of several classifiers should decide, and at which cut?

``best_decision`` takes the best cut of all classifiers on the same cases. The best of
many looks better than it is, more so than the best cut of one: the whole choice is
repeated on resampled cases. A mixture of two cuts, thrown by a coin, can be better than
any single one under constraints: the best point of the common convex hull.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_panel
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel
from trueness.inference.notes import notes_of
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion, swept
from trueness.metrics.grammar import constraints as read_constraints
from trueness.threshold.cuts import (
    Cuts,
    make_cuts,
    most_balanced,
    weight_unit,
    whole_cuts,
)
from trueness.threshold.forms import LinearForm, rows_of
from trueness.threshold.milp import linear_fraction
from trueness.threshold.operating_point import (
    ConstraintLike,
    OperatingPoint,
    best_threshold,
    read_objective,
)
from trueness.threshold.prevalence import (
    best_of,
    share_in_use,
    stop_unknown_share,
)
from trueness.threshold.repetition import (
    Again,
    cells_at,
    chosen_sides,
    rehearse,
    scaled,
    trusted,
)


class Part(NamedTuple):
    """One rule of a mixture: a classifier, its threshold, and how often it decides."""

    classifier: str
    threshold: float
    probability: float


@final
@dataclass(frozen=True, repr=False)
class Decision(Record):
    """Which classifier should decide, at which threshold, and what follows from it?

    Attributes
    ----------
    classifier : str
        The classifier whose best threshold gives the best objective.
    point : OperatingPoint
        Its threshold.
    value : float
        The objective in the sample.
    corrected : Estimate
        What to expect on new cases: both choices, of classifier and threshold, are
        repeated on resampled cases.
    optimism : float
        ``value - corrected.value``.
    values : dict of str to float
        The objective at the best threshold of each classifier; NaN where none meets the
        constraints.
    chosen : dict of str to float
        How often each classifier was chosen in the bootstrap samples.
    mixture : tuple of Part
        The best point of the common convex hull: for each case one of these rules is
        drawn at random. It has one part when no mixture is better than a single
        threshold.
    mixture_value : float
        The objective of the mixture, in expectation; NaN when it was not asked for.
    notes : tuple of str
        What to keep in mind.
    """

    classifier: str
    point: OperatingPoint
    value: float
    corrected: Estimate
    optimism: float
    values: dict[str, float]
    chosen: dict[str, float]
    mixture: tuple[Part, ...] = ()
    mixture_value: float = math.nan
    notes: tuple[str, ...] = ()


@of_panel
def best_decision(
    data: Panel,
    maximize: str | Metric = "accuracy",
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
    mixture: bool = False,
    replicates: int = 200,
    level: float = 0.95,
    rng: Seed = 0,
) -> Decision:
    r"""Which of several classifiers should decide, and at which threshold?

    Parameters
    ----------
    data
        Outputs of several classifiers for the same labelled cases, none missing.
    maximize, minimize, subject_to
        As in :func:`best_threshold`.
    mixture
        Find the best point of the common convex hull, too: a mixture of thresholds. It
        needs metrics that are sums or quotients of counts.
    replicates, level, rng
        As in :func:`validate_threshold`.

    Notes
    -----
    The optimism is estimated as in :func:`validate_threshold`, with the choice of the
    classifier repeated as well. The mixture is a linear program over the corners of the
    convex hull of all thresholds (Provost and Fawcett 2001); because it draws at
    random, it may decide the same case differently at different times, which may not be
    acceptable.

    References
    ----------
    Provost, Fawcett 2001, Mach. Learn. 42:203, doi:10.1023/A:1007601015854.

    Examples
    --------
    >>> p = Panel(["a", "b"], [[2, 1], [1, 2]], pos=[9, 1], neg=[2, 8])
    >>> best_decision(p).classifier
    'a'
    """
    panel = data
    _cases.complete_outputs(panel, "best_decision")
    replicates = _options.whole_number(replicates, "replicates", at_least=2)
    level = _options.fraction(level, "level")
    generator = _options.generator(rng)
    shown, objective = read_objective(maximize, minimize)
    bounds = read_constraints(subject_to)
    asked = (shown, *(c.metric for c in bounds))
    stop_unknown_share(panel, share_in_use(panel), asked, "best_decision")
    points, stopped = _points(panel, maximize, subject_to, minimize)
    if not points:
        raise stopped[0]
    sign = 1 if objective is shown else -1
    name = max(points, key=lambda n: sign * points[n].value)
    point = points[name]
    task = _DecisionTask(panel, shown, objective, bounds, panel.design.prevalence)
    lacking = "no threshold met the constraints"
    choose = partial(_choose, task, _columns(panel))
    runs = rehearse(panel, choose, replicates, generator, "best_decision", lacking)
    pooled = float(task.measure(runs.left.sum(axis=0)))
    rule = chosen_sides(panel[name].labelled(), [point.threshold])
    mixed, worth = _mixed(task) if mixture else ((), math.nan)
    return Decision(
        classifier=name,
        point=point,
        value=point.value,
        corrected=trusted(rule, runs, task.measure, shown.range, pooled, level),
        optimism=point.value - pooled,
        values={n: points[n].value if n in points else math.nan for n in panel.names},
        chosen={n: float(np.mean(runs.chosen == n)) for n in panel.names},
        mixture=mixed,
        mixture_value=worth,
        notes=(
            "The best of several classifiers looks better than it is; corrected "
            "allows for the choice of classifier and threshold.",
            *notes_of(panel),
        ),
    )


def _points(
    p: Panel, maximize: Any, subject_to: Any, minimize: Any
) -> tuple[dict[str, OperatingPoint], list[Exception]]:
    """Cut every classifier at its best; those that cannot be are left out."""
    points: dict[str, OperatingPoint] = {}
    stopped: list[Exception] = []
    for name in p.names:
        try:
            points[name] = best_threshold(
                p[name], maximize, subject_to, minimize=minimize
            )
        except (Infeasible, NotEnoughCases) as err:
            stopped.append(type(err)(f"{name}: {err}"))
    return points, stopped


class _DecisionTask(NamedTuple):
    panel: Panel
    shown: Metric
    objective: Metric
    bounds: tuple[Constraint, ...]
    prevalence: float | None

    def measure(self, counts: Array) -> Any:
        """Give the objective for counts (..., 4), scaled to all cases, as in use."""
        n = self.panel.n_pos + self.panel.n_neg
        c = Confusion(*np.moveaxis(scaled(counts, n), -1, 0))
        return self.shown(c.at_prevalence(self.prevalence))


class _Column(NamedTuple):
    """One classifier: the distinct scores, and in which of them each row falls."""

    name: str
    score: Floats
    place: Ints

    def swept(self, pos: Array, neg: Array) -> Confusion:
        """Count positives and negatives of the rows at every cut."""
        counts = (
            np.bincount(self.place, weights=cases, minlength=self.score.size)
            for cases in (pos, neg)
        )
        whole = pos.dtype.kind != "f"  # counts, also those of a small type
        return swept(*(n.astype(np.int64) if whole else n for n in counts))


def _columns(p: Panel) -> list[_Column]:
    found = []
    for k, name in enumerate(p.names):
        score, place = np.unique(-p.rows[:, k], return_inverse=True)
        found.append(_Column(name, -score, place))
    return found


def _choose(
    task: _DecisionTask,
    columns: list[_Column],
    pos: Array,
    neg: Array,
    pos_out: Array,
    neg_out: Array,
) -> Again | None:
    if not (pos.any() and neg.any()):
        return None
    best, top = None, -math.inf
    for column in columns:
        cuts = make_cuts(column.score, column.swept(pos, neg), task.prevalence)
        found = best_of([cuts], task.objective, task.bounds)
        if found.size:
            at = most_balanced(cuts, found)
            value = float(task.objective(cuts.used[at]))
            if best is None or value > top:
                best, top = (column, at, cells_at(cuts.seen, [at])), value
    if best is None:
        return None
    column, at, bag = best
    left, whole = (
        cells_at(column.swept(*cases), [at])
        for cases in ((pos_out, neg_out), (task.panel.pos, task.panel.neg))
    )
    return Again(column.name, left, bag, whole)


def _mixed(task: _DecisionTask) -> tuple[tuple[Part, ...], float]:
    """Find the best mixture of cuts: a linear program over corners of the hull."""
    from scipy.optimize import linprog

    each = {n: task.panel[n] for n in task.panel.names}
    unit = weight_unit(each.values()) if task.panel.weighted else None
    cuts = {
        n: whole_cuts(t, task.prevalence, "best_decision", unit)
        for n, t in each.items()
    }
    first = next(iter(cuts.values()))
    corners = _corners(cuts)
    tp, fp = (np.array([c[k] for c in corners], dtype=np.float64) for k in (2, 3))
    read = partial(linear_fraction, cuts=first, refusal=_REFUSAL)
    over, under = read(task.objective)
    rows = [r for c in task.bounds for r in rows_of(c, read(c.metric))]

    def at(f: LinearForm) -> Floats:
        return np.asarray(f.at(tp, fp), dtype=np.float64)

    # Charnes and Cooper 1962: weights are scaled so that the denominator is one
    scale = np.abs(at(under)).max()
    kept: dict[str, Any] = {}
    if rows:
        sums = [-at(r) / max(1.0, np.abs(at(r)).max()) for r in rows]
        kept = {"A_ub": np.array(sums), "b_ub": np.zeros(len(rows))}
    equal = {"A_eq": at(under)[None] / scale, "b_eq": [1.0]}
    found = linprog(-at(over) / scale, **kept, **equal)
    if found.x is None:
        return (), math.nan
    weight = found.x / found.x.sum()
    parts = tuple(
        Part(corners[i][0], corners[i][1], float(weight[i]))
        for i in np.argsort(-weight)
        if weight[i] > 1e-9
    )
    sign = 1 if task.objective is task.shown else -1
    return parts, -sign * float(found.fun or 0.0)


_REFUSAL = (
    "A mixture of thresholds needs metrics that are linear in the counts, or one "
    "quotient of linear functions (precision, f1, kappa); {} is not. Leave mixture= "
    "out, or choose another metric."
)


def _corners(cuts: dict[str, Cuts]) -> list[tuple[str, float, int, int]]:
    """Give the corners of the convex hull of all cuts of all classifiers."""
    points: dict[tuple[int, int], tuple[str, float]] = {}
    for name, c in cuts.items():
        thresholds = np.concatenate([[np.inf], c.score])
        for x, y, s in zip(
            c.seen.fp.tolist(), c.seen.tp.tolist(), thresholds.tolist(), strict=True
        ):
            points.setdefault((x, y), (name, s))
    order = sorted(points)
    hull = {*_half(order), *_half(order[::-1])}
    return [(*points[xy], xy[1], xy[0]) for xy in sorted(hull)]


def _half(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """One side of the convex hull: Andrew 1979, doi:10.1016/0020-0190(79)90072-3."""
    side: list[tuple[int, int]] = []
    for x, y in points:
        while len(side) > 1:
            (a, b), (c, d) = side[-2:]
            if (c - a) * (y - b) - (d - b) * (x - a) > 0:
                break
            side.pop()
        side.append((x, y))
    return side
