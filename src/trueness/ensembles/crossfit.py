"""Which combination of classifiers is best on cases that it has not seen?

Cases are dealt into folds, class by class; each combiner is fitted on the others and
scores the fold that it has not seen. Scores of different fits need not be comparable,
so the AUC is taken within each fold, and the mean over folds is reported, with paired
intervals: every combiner is judged on the same cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record
from trueness.calibration.gain import deal_cases
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.rank_tables import rank_columns, rank_table

Combiner = Callable[[Panel], Callable[[Floats], Any]]


@final
@dataclass(frozen=True, repr=False)
class CombinerComparison(Record):
    """How do combiners compare on cases that they have not seen?

    Attributes
    ----------
    auc : mapping from name to Estimate
        Mean out-of-sample AUC over the folds.
    difference : mapping from name to Estimate
        AUC minus that of ``against``, paired.
    against : str
        The combiner that the others are compared with.
    folds : int
        Number of folds.
    n_pos, n_neg : int
        Cases.
    """

    auc: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]
    against: str
    folds: int
    n_pos: int
    n_neg: int

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with a row a combiner."""
        from trueness._core.doors import door

        columns: dict[str, list[Any]] = {"combiner": list(self.auc)}
        for word, found in (("auc", self.auc), ("difference", self.difference)):
            columns[word] = [e.value for e in found.values()]
            columns[f"{word}_low"] = [e.low for e in found.values()]
            columns[f"{word}_high"] = [e.high for e in found.values()]
        return door("data.frames").native_frame(columns, backend)

    def __repr__(self) -> str:
        """One line a combiner: AUC, and difference to the one compared with."""
        wide = max(map(len, self.auc))
        lines = [
            f"  {k:{wide}}  {self.auc[k]!r}  {self.difference[k].value:+.4f} "
            f"({self.difference[k].low:+.4f} to {self.difference[k].high:+.4f})"
            for k in self.auc
        ]
        head = f"Out-of-sample AUC, {self.folds} folds; difference to {self.against}"
        return "\n".join([head, *lines])


@of_panel
def compare_combiners(
    panel: Panel,
    *,
    combiners: Mapping[str, Combiner] | Sequence[str] | None = None,
    against: str = "best-single",
    folds: int = 5,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> CombinerComparison:
    """Which combination of classifiers ranks unseen cases best, and by how much?

    Parameters
    ----------
    panel
        Outputs of classifiers on labelled cases that they were not trained on.
    combiners
        Names from ``trueness.COMBINERS``, or a mapping from name to a function from
        panel to map; by default all of the table.
    against
        The combiner whose AUC is subtracted in ``difference``.
    folds
        Number of folds; every fold has positives and negatives, so each class needs as
        many cases.
    level
        Confidence level of the intervals.
    rng
        Seed or generator of the deal.

    Notes
    -----
    Within a fold the variances and covariances are those of DeLong et al. (1988) for
    the fitted maps; folds are taken as independent. The interval is about the maps
    as fitted: it does not hold the variation of the fits themselves.

    References
    ----------
    DeLong ER, DeLong DM, Clarke-Pearson DL (1988). Biometrics 44:837,
    doi:10.2307/2531595.

    Examples
    --------
    >>> from trueness.counts.simulation import simulate_panel
    >>> p = simulate_panel(600, 200, [0.6, 0.7, 0.8], rng=0)
    >>> found = compare_combiners(p, rng=0)
    >>> found.difference["fidel"].value > 0, found.difference["best-single"].value
    (True, 0.0)
    """
    chosen = _chosen(combiners)
    against = _options.choice(against, chosen, "against")
    level = _options.fraction(level, "level")
    folds = _options.whole_number(folds, "folds", at_least=2)
    _cases.both_classes(panel, "compare_combiners")
    panel = panel.labelled()
    _cases.cases_for_folds(panel, folds)
    areas, spread = _judge(panel, chosen, _deal(panel, folds, rng))
    names = list(chosen)
    base = names.index(against)
    auc, difference = {}, {}
    for k, name in enumerate(names):
        var = spread[k, k] + spread[base, base] - 2 * spread[k, base]
        auc[name] = _estimate(areas[k], spread[k, k], level, clip=True)
        difference[name] = _estimate(areas[k] - areas[base], max(var, 0.0), level)
    return CombinerComparison(auc, difference, against, folds, panel.n_pos, panel.n_neg)


def _chosen(combiners: Any) -> dict[str, Combiner]:
    if combiners is None:
        return dict(COMBINERS)
    if isinstance(combiners, Mapping):
        return dict(combiners)
    names = [combiners] if isinstance(combiners, str) else combiners
    return {n: COMBINERS[_options.choice(n, COMBINERS, "combiners")] for n in names}


def _deal(panel: Panel, folds: int, rng: Any) -> list[tuple[Ints, Ints]]:
    """Deal the cases of each class evenly over the folds: counts (neg, pos) of each."""
    generator = _options.generator(rng)
    dealt = [deal_cases(count, folds, generator) for count in (panel.neg, panel.pos)]
    return list(zip(*dealt, strict=True))


def _judge(
    panel: Panel, combiners: dict[str, Combiner], deal: list[tuple[Ints, Ints]]
) -> tuple[Floats, Floats]:
    """Give mean AUC and its covariance over the folds."""
    k = len(combiners)
    areas, spread = np.zeros(k), np.zeros((k, k))
    for neg, pos in steps(deal, "Cross-fitting", unit="folds"):
        rest = Panel(panel.names, panel.rows, panel.neg - neg, panel.pos - pos)
        here = neg + pos > 0
        scores = [np.asarray(c(rest)(panel.rows[here])) for c in combiners.values()]
        area, var = _delong(np.column_stack(scores), neg[here], pos[here])
        areas += area / len(deal)
        spread += var / len(deal) ** 2
    return areas, spread


def _delong(scores: Floats, neg: Ints, pos: Ints) -> tuple[Floats, Floats]:
    """Give the AUCs of columns of scores and their covariance."""
    k = scores.shape[1]
    columns = rank_columns(scores, neg + pos)
    everyone = rank_table(columns)
    var, areas = np.zeros((k, k)), np.zeros(k)
    for count, other, sign in ((pos, neg, 1), (neg, pos, -1)):
        own = rank_table(columns, count)
        # cases of the other class before this one, as a share
        before = (everyone - own) / other.sum()
        placed = 1 - before if sign == 1 else before
        n = count.sum()
        areas = count @ placed / n
        away = placed - areas
        under = n * max(n - 1, 1)
        var += away.T @ (away * count[:, None]) / under
    return areas, var


def _estimate(
    value: float, var: float, level: float, *, clip: bool = False
) -> Estimate:
    sd = math.sqrt(var)
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    low, high = float(value) - half, float(value) + half
    if clip:
        low, high = max(0.0, low), min(1.0, high)
    return Estimate(float(value), low, high, level, "cross-fitted delong", sd)
