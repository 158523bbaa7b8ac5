"""Which combination of classifiers is best on cases that it has not seen?

Cases are dealt into folds, class by class; each combiner is fitted on the others and
scores the fold that it has not seen. Scores of different fits need not be comparable,
so the AUC is taken within each fold, and the mean over folds is reported, with paired
intervals: every combiner is judged on the same cases.

A combination has two rivals. One is the classifier that would have been chosen on the
cases that the combiner was fitted on ("best-single"): it may be another one in every
fold, and where cases are few the one that did best on the rest does worst on the fold,
so that its AUC can be below that of every classifier there is. The others are the
classifiers themselves, on the same folds. Only who beats all of them is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.special import stdtr

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_several, listing
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record, shown
from trueness.calibration.gain import deal_cases
from trueness.comparison.results import holm
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.rank_tables import rank_columns, rank_table
from trueness.ranking.auc_intervals import student_quantile

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
    single : mapping from name to Estimate
        The same out-of-sample AUC for each classifier alone.
    gain : mapping from name of a combiner to mapping from classifier to Estimate
        AUC of the combiner minus that of the classifier, paired.
    p_value : mapping from name to float
        For each combiner, the probability of so large an advantage over ``against`` and
        every classifier alone if one of them is in truth as good (one-sided; the
        largest p-value of the paired tests; Holm's correction for the number of
        combiners).
    """

    auc: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]
    against: str
    folds: int
    n_pos: int
    n_neg: int
    single: Mapping[str, Estimate] = field(default_factory=dict)
    gain: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    p_value: Mapping[str, float] = field(default_factory=dict)

    def best(self) -> str:
        """Which combiner has the highest AUC?"""
        return max(self.auc, key=lambda name: self.auc[name].value)

    def sentence(self, name: str | None = None) -> str:
        """Is this combiner (by default the best one) better than one classifier?"""
        name = self.best() if name is None else name
        if name == self.against or name not in self.gain or not self.single:
            return "No combination beats the best single classifier."
        level = self.auc[name].level
        closest = min(self.gain[name], key=lambda k: self.gain[name][k].value)
        chosen, rival = self.difference[name], self.gain[name][closest]
        both = (
            f"its AUC differs by {_signed(chosen)} from that of the single classifier "
            f"that the data would choose, and by {_signed(rival)} from that of "
            f"{shown(closest)}, the best single classifier in hindsight"
        )
        if self.p_value[name] <= (1 - level) / 2:
            return f"Together they are better ({name}): {both}."
        if rival.high < 0:
            return f"{name} ranks worse than {shown(closest)} alone: {both}."
        return f"{name} does not differ significantly from a single classifier: {both}."

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with a row for each combiner."""
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
        alone = [f"  {shown(k):{wide}}  {e!r}  alone" for k, e in self.single.items()]
        return "\n".join([head, *lines, *alone, self.sentence()])


def _signed(e: Estimate) -> str:
    return f"{e.value:+.3f} ({e.low:+.3f} to {e.high:+.3f})"


@of_panel(
    weights="Fit a combiner on cases of weight one, and compare what it gives: "
    "compare_auc takes weights."
)
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
        panel to map; by default all in ``trueness.COMBINERS``.
    against
        The combiner whose AUC is subtracted in ``difference``.
    folds
        Number of folds; every fold has positives and negatives, so each class needs as
        many cases.
    level
        Confidence level of the intervals.
    rng
        Seed or generator for dealing the cases to the folds.

    Notes
    -----
    Within a fold the variances and covariances are those of DeLong et al. (1988) for
    the fitted maps; folds are treated as independent. Quantiles are Student's, with one
    degree of freedom fewer than the rarer class has cases. The interval is for the maps
    as fitted: it does not include the variation of the fits themselves. Where a
    classifier has no output for a case, its median is used.

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
    names, k = list(chosen), len(chosen)
    judged = [*chosen.values(), *map(_alone, range(len(panel.names)))]
    areas, spread = _judge(panel, judged, _deal(panel, folds, rng))
    least = min(panel.n_pos, panel.n_neg)

    def estimate(i: int, j: int | None = None) -> Estimate:
        return _estimate(areas, spread, i, j, level, least)

    base = names.index(against)
    gain = {
        name: {s: estimate(i, k + j) for j, s in enumerate(panel.names)}
        for i, name in enumerate(names)
    }
    difference = {name: estimate(i, base) for i, name in enumerate(names)}
    tests = {
        name: max(_tail(e, least) for e in (difference[name], *gain[name].values()))
        for name in names
        if name != against
    }
    return CombinerComparison(
        {name: estimate(i) for i, name in enumerate(names)},
        difference,
        against,
        folds,
        panel.n_pos,
        panel.n_neg,
        {s: estimate(k + j) for j, s in enumerate(panel.names)},
        gain,
        {against: 1.0, **dict(zip(tests, holm(list(tests.values())), strict=True))},
    )


def _alone(k: int) -> Combiner:
    """Take the k-th output as it is; where it is missing, its median in the rest."""

    def fit(panel: Panel) -> Callable[[Floats], Any]:
        middle = rank_columns(panel.rows[:, [k]], panel.neg + panel.pos)[0].median
        return lambda rows: np.where(np.isnan(rows[:, k]), middle, rows[:, k])

    return fit


def _chosen(combiners: Any) -> dict[str, Combiner]:
    if combiners is None:
        return dict(COMBINERS)
    if isinstance(combiners, Mapping):
        return dict(combiners)
    names = [combiners] if isinstance(combiners, str) else combiners
    if not is_several(names):
        raise InputError(
            f"combiners must be names among {listing(COMBINERS, 20)}, or a mapping "
            f"from name to function; found {described(names)}."
        )
    return {n: COMBINERS[_options.choice(n, COMBINERS, "combiners")] for n in names}


def _deal(panel: Panel, folds: int, rng: Any) -> list[tuple[Ints, Ints]]:
    """Deal the cases of each class evenly over the folds: counts (neg, pos) of each."""
    generator = _options.generator(rng)
    dealt = [deal_cases(count, folds, generator) for count in (panel.neg, panel.pos)]
    return list(zip(*dealt, strict=True))


def _judge(
    panel: Panel, combiners: Sequence[Combiner], deal: list[tuple[Ints, Ints]]
) -> tuple[Floats, Floats]:
    """Give mean AUC and its covariance over the folds."""
    k = len(combiners)
    areas, spread = np.zeros(k), np.zeros((k, k))
    for neg, pos in steps(deal, "Cross-fitting", unit="folds"):
        rest = Panel(panel.names, panel.rows, panel.neg - neg, panel.pos - pos)
        here = neg + pos > 0
        scores = [np.asarray(c(rest)(panel.rows[here])) for c in combiners]
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
        n = float(count.sum())  # whose square is beyond all whole numbers
        areas = count @ placed / n
        # DeLong et al. (1988): placements of a class, less their mean, over its cases
        away = placed - areas
        under = n * max(n - 1, 1)
        var += away.T @ (away * count[:, None]) / under
    return areas, var


def _estimate(
    areas: Floats, spread: Floats, i: int, j: int | None, level: float, least: int
) -> Estimate:
    """Give an AUC, or the difference of two, with Student's interval."""
    value, var = float(areas[i]), float(spread[i, i])
    if j is not None:
        value -= float(areas[j])
        var += float(spread[j, j]) - 2 * float(spread[i, j])
    sd = math.sqrt(max(var, 0.0))
    if sd < 1e-12 and (j is None or value != 0):
        # every pair in order: the next case may not be
        sd = 1 / (least + 2)
    half = float(student_quantile(max(least - 1, 1), level)) * sd
    bottom = 0.0 if j is None else -1.0
    low, high = max(bottom, value - half), min(1.0, value + half)
    return Estimate(value, low, high, level, "cross-fitted delong", sd)


def _tail(e: Estimate, least: int) -> float:
    """How likely is a gain as large as this, if there is none?"""
    if e.sd == 0:
        return 1.0
    return float(stdtr(max(least - 1, 1), -e.value / e.sd))
