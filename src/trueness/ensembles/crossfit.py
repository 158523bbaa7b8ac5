"""Which combination of classifiers is best on cases that it has not seen?

Each combiner is fitted on all folds but one and scores that one; the AUC is taken
within each fold. A combination is better when it beats the classifier that would have
been chosen on the rest ("best-single"), and every classifier by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_several, listing
from trueness._core.figures import Intervals, intervals
from trueness._core.frames import native_frame
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record, shown
from trueness.calibration.verdict import deal_cases
from trueness.comparison.results import holm
from trueness.counts.answers import of_panel
from trueness.counts.folds import Folds
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.folds import MeasuredFolds
from trueness.ensembles.rank_tables import rank_columns
from trueness.inference.differences import Contrast
from trueness.inference.limits import around
from trueness.ranking.areas import auc

Combiner = Callable[[Panel], Callable[[Floats], Any]]


@final
@dataclass(frozen=True, repr=False)
class CombinerComparison(Record):
    """How do combiners compare on cases that they have not seen?

    Attributes
    ----------
    auc, difference : mapping from name to Estimate
        Mean out-of-sample AUC over the folds; the same minus that of ``against``.
    against, folds, n_pos, n_neg
        What the others are compared with; number of folds, positives and negatives.
    single : mapping from name to Estimate
        The AUC of each classifier alone, as :func:`auc` gives it: nothing is fitted.
    gain : mapping from name of a combiner to mapping from classifier to Estimate
        AUC of the combiner minus that of the classifier, both within the folds, paired.
    p_value : mapping from name to float
        The probability of so large an advantage over ``against`` and every classifier
        alone if one of them is in truth as good (one-sided; the largest of the paired
        tests; Holm's correction for the number of combiners).
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
        """Which combination has the highest AUC? One classifier alone is none."""
        combined = [name for name in self.auc if name != self.against] or [*self.auc]
        return max(combined, key=lambda name: self.auc[name].value)

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
        columns: dict[str, list[Any]] = {"combiner": list(self.auc)}
        for word, found in (("auc", self.auc), ("difference", self.difference)):
            columns[word] = [e.value for e in found.values()]
            columns[f"{word}_low"] = [e.low for e in found.values()]
            columns[f"{word}_high"] = [e.high for e in found.values()]
        return native_frame(columns, backend)

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


def combiner_figure(found: CombinerComparison) -> Intervals:
    """How does each combiner rank cases it has not seen? The best one first."""
    order = sorted(found.auc.items(), key=lambda pair: -pair[1].value)
    keys = ("combiner", "auc")
    return intervals("Combined", "AUC on new cases", dict(order), keys=keys)


@of_panel
def compare_combiners(
    data: Panel,
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
    data
        Outputs of classifiers on labelled cases that they were not trained on.
    combiners
        Names from ``trueness.COMBINERS``, or a mapping from name to a function from
        panel to map; by default all in ``trueness.COMBINERS``.
    against
        The combiner whose AUC is subtracted in ``difference``.
    folds
        Number of folds; every fold has positives and negatives, so each class needs as
        many cases.
    rng
        Seed or generator for dealing the cases to the folds.

    Notes
    -----
    Limits and p-values are those of :func:`auc` and :func:`compare_auc` within the
    folds, which are treated as independent. The interval is for the maps as fitted: it
    does not include the variation of the fits themselves. Where a classifier has no
    output for a case, its median is used within the folds.

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
    _cases.both_classes(data, "compare_combiners")
    data = data.labelled()
    _cases.cases_for_folds(data, folds)
    names, k = list(chosen), len(chosen)
    judged = [*chosen.values(), *map(_alone, range(len(data.names)))]
    scored = _scored(data, judged, _deal(data, folds, rng))
    found, base = MeasuredFolds(scored, auc, "AUC", level), names.index(against)
    gain = {
        name: [found.contrast(i, k + j) for j in range(len(data.names))]
        for i, name in enumerate(names)
    }
    difference = {name: found.contrast(i, base) for i, name in enumerate(names)}
    tests = {
        name: max(c.above(0.0) for c in (difference[name], *gain[name]))
        for name in names
        if name != against
    }
    return CombinerComparison(
        {name: found.estimate(i) for i, name in enumerate(names)},
        {name: _estimate(c, level) for name, c in difference.items()},
        against,
        folds,
        data.n_pos,
        data.n_neg,
        {s: auc(data.observed(s)[s], level=level) for s in data.names},
        {
            name: dict(zip(data.names, (_estimate(c, level) for c in row), strict=True))
            for name, row in gain.items()
        },
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


def _estimate(c: Contrast, level: float) -> Estimate:
    return around(c.value, *c.limits(level), level, c.method, c.sd)


def _scored(
    panel: Panel, combiners: Sequence[Combiner], deal: list[tuple[Ints, Ints]]
) -> Folds:
    """Fit on all folds but one, and score the cases of that one."""
    parts, names = [], [str(k) for k in range(len(combiners))]
    for neg, pos in steps(deal, "Cross-fitting", unit="folds"):
        rest = Panel(panel.names, panel.rows, panel.neg - neg, panel.pos - pos)
        here = neg + pos > 0
        scores = [np.asarray(c(rest)(panel.rows[here])) for c in combiners]
        parts.append(Panel(names, np.column_stack(scores), neg[here], pos[here]))
    return Folds(tuple(parts))
