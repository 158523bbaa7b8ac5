"""Which increasing curve turns scores into probabilities, whatever its shape?

Calibrators that only assume that a higher score never means a lower probability. They
follow any shape, and need more cases for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.calibration.formulas import Formula, Linear, Steps, evaluate
from trueness.calibration.isotonic_bounds import bounds
from trueness.calibration.maps import Map, freeze, register
from trueness.counts.values import Tally


@register("isotonic")
@final
@dataclass(frozen=True, repr=False, eq=False)
class Isotonic(Map):
    """Straight lines between the ends of the blocks of isotonic regression.

    Attributes
    ----------
    score : array (k,)
        Ends of the blocks, ascending.
    probability : array (k,)
        Share of positives in the block; between blocks straight lines, beyond the ends
        constant.
    """

    score: Floats
    probability: Floats

    def __post_init__(self) -> None:
        freeze(self, "score", "probability")
        _ascending(self.score)
        _same_size(self.score, self.probability)

    @property
    def expression(self) -> Formula:
        """Give the points that straight lines connect."""
        return Linear(self.score, self.probability)


@register("histogram")
@final
@dataclass(frozen=True, repr=False, eq=False)
class Histogram(Map):
    """The share of positives in each bin of scores.

    Attributes
    ----------
    edges : array (bins - 1,)
        Inner edges, ascending; a score equal to an edge is in the upper bin.
    probability : array (bins,)
        Share of positives in the bin, lowest scores first.
    """

    edges: Floats
    probability: Floats

    def __post_init__(self) -> None:
        freeze(self, "edges", "probability")
        _ascending(self.edges)
        _same_size(self.edges, self.probability[1:])

    @property
    def expression(self) -> Formula:
        """Give the table of steps."""
        return Steps(self.edges, self.probability)


@register("venn-abers")
@final
@dataclass(frozen=True, repr=False, eq=False)
class VennAbers(Map):
    """Two probabilities a score, one of which is perfectly calibrated.

    Called with scores it gives the one probability between both that loses least,
    ``high / (1 - low + high)``; ``interval`` gives both.

    Attributes
    ----------
    low_edges, low : array
        Steps of p0: ``low[number of low_edges <= score]``.
    high_edges, high : array
        Steps of p1: ``high[number of high_edges < score]``.
    """

    low_edges: Floats
    low: Floats
    high_edges: Floats
    high: Floats

    def __post_init__(self) -> None:
        freeze(self, "low_edges", "low", "high_edges", "high")
        for edges, values in ((self.low_edges, self.low), (self.high_edges, self.high)):
            _ascending(edges)
            _same_size(edges, values[1:])

    def interval(self, score: ArrayLike) -> tuple[Floats, Floats]:
        """Give p0 and p1 for each score: isotonic fits with the case as 0 and as 1."""
        return evaluate(self._low, score), evaluate(self._high, score)

    @property
    def _low(self) -> Steps:
        return Steps(self.low_edges, self.low)

    @property
    def _high(self) -> Steps:
        # "edge < score" is "next float above the edge <= score"
        return Steps(np.nextafter(self.high_edges, np.inf), self.high)

    @property
    def expression(self) -> Formula:
        """Give the table of steps of the probability between the two."""
        low, high = self._low, self._high
        edges = np.union1d(low.edges, high.edges)
        at = np.concatenate([[-np.inf], edges])
        p0, p1 = evaluate(low, at), evaluate(high, at)
        return Steps(edges, p1 / (1 - p0 + p1))  # Vovk et al. (2015), section 4


def isotonic(t: Tally) -> Isotonic:
    r"""Which increasing function of the score fits the labels best?

    The weighted least-squares (and maximum likelihood) fit among all non-decreasing
    functions, by pooling adjacent violators on the counts:

    .. math:: p(s_i) = \max_{a \le i} \min_{b \ge i}
              \frac{\sum_{a..b} pos}{\sum_{a..b} (pos + neg)}

    Parameters
    ----------
    t
        Labelled cases; unknowns are not used.

    Notes
    -----
    Its values at the ends are often exactly 0 or 1, and one case there that turns out
    otherwise has an infinite log loss: "venn-abers" has not that fault. Between the
    scores that were seen: straight lines, as in scikit-learn.

    References
    ----------
    B. Zadrozny, C. Elkan, Transforming classifier scores into accurate multiclass
    probability estimates, KDD 2002, doi:10.1145/775047.775151.

    Examples
    --------
    Rows 2 and 3 are out of order and share (1 + 1)/(2 + 2) = 1/2.

    >>> t = Tally([1, 2, 3, 4], neg=[2, 0, 2, 0], pos=[0, 1, 1, 2])
    >>> isotonic(t)([1, 2, 3, 4])
    array([0. , 0.5, 0.5, 1. ])
    """
    _cases.both_classes(t, "calibrate(method='isotonic')")
    t = t.labelled()
    value, start = pool_violators(t.pos[::-1], t.neg[::-1])
    score = t.score[::-1]
    ends = np.unique(np.concatenate([start[:-1], start[1:] - 1]))
    return Isotonic(score[ends], value[np.searchsorted(start, ends, side="right") - 1])


def pool_violators(pos: Array, neg: Array) -> tuple[Floats, Array]:
    """Give the value of each block of isotonic regression, and where blocks start.

    Rows in ascending order of score; ``start`` has the number of rows as last entry.
    The shares come from whole counts, so equal shares are equal to the last bit.
    """
    from scipy.optimize import isotonic_regression

    cases = pos + neg
    start = isotonic_regression(pos / cases, weights=cases.astype(np.float64)).blocks
    share = _share(pos, cases, start)
    level = np.concatenate([[True], share[1:] > share[:-1]])
    if not level.all():  # rounding kept apart what is equal
        start = np.append(start[:-1][level], start[-1])
        share = _share(pos, cases, start)
    return share, start


def _share(pos: Array, cases: Array, start: Array) -> Floats:
    return np.add.reduceat(pos, start[:-1]) / np.add.reduceat(cases, start[:-1])


def venn_abers(t: Tally) -> VennAbers:
    r"""Between which two probabilities lies a case, one of them perfectly calibrated?

    p0 is the isotonic fit at the score when the case itself is added as a negative, p1
    when it is added as a positive. As one number:

    .. math:: p = \frac{p_1}{1 - p_0 + p_1}

    Parameters
    ----------
    t
        Labelled cases; unknowns are not used.

    Notes
    -----
    The inductive Venn-Abers predictor of Vovk, Petej and Fedorova (2015). It is never 0
    or 1, and p1 - p0 says how much the calibration cases leave open at that score: it
    is wide where they are few. The interval is not a confidence interval.

    References
    ----------
    arXiv:1511.00213.

    Examples
    --------
    One case of each class at one score: (1 + 0)/3 and (1 + 1)/3.

    >>> c = venn_abers(Tally([5], neg=[1], pos=[1]))
    >>> [p.round(4) for p in c.interval([5.0])], c([5.0])
    ([array([0.3333]), array([0.6667])], array([0.5]))
    """
    _cases.both_classes(t, "calibrate(method='venn-abers')")
    t = t.labelled()
    low, high = bounds(t.pos[::-1], t.neg[::-1])
    score = t.score[::-1]
    # between two scores p0 is that of the lower one, p1 that of the upper one
    low, high = np.concatenate([[0.0], low]), np.concatenate([high, [1.0]])
    rise_low, rise_high = np.diff(low) > 0, np.diff(high) > 0
    return VennAbers(
        score[rise_low],
        low[np.append(True, rise_low)],
        score[rise_high],
        high[np.append(rise_high, True)],
    )


def histogram(t: Tally, *, bins: int = 10) -> Histogram:
    r"""What share of each bin of scores is positive?

    Parameters
    ----------
    t
        Labelled cases; unknowns are not used.
    bins
        How many bins of about equally many cases. Cases with equal scores stay
        together, so heavy ties make fewer bins.

    Notes
    -----
    Edges lie half-way between neighbouring scores. The shares need not increase.

    References
    ----------
    B. Zadrozny, C. Elkan, Obtaining calibrated probability estimates from decision
    trees and naive Bayesian classifiers, ICML 2001.

    Examples
    --------
    >>> t = Tally([1, 2, 3, 4], neg=[3, 2, 2, 0], pos=[1, 2, 2, 4])
    >>> histogram(t, bins=2)
    Histogram
      edges: [2.5]
      probability: [0.375, 0.75]
    """
    _cases.both_classes(t, "calibrate(method='histogram')")
    bins = _options.whole_number(bins, "bins", at_least=1)
    t = t.labelled()
    pos, cases = t.pos[::-1], (t.neg + t.pos)[::-1]
    start = equal_mass(cases, bins)
    score = t.score[::-1]
    below, above = score[start[1:] - 1], score[start[1:]]
    middle = below / 2 + above / 2
    # between neighbouring floats there is no middle
    edges = np.where((middle > below) & (middle <= above), middle, above)
    share = np.add.reduceat(pos, start) / np.add.reduceat(cases, start)
    return Histogram(edges, share)


def equal_mass(cases: Array, bins: int) -> Array:
    """Where do bins of about equally many cases start? Rows are never split.

    >>> equal_mass(np.array([1, 1, 1, 1, 1, 1]), 3), equal_mass(np.array([9, 1]), 3)
    (array([0, 2, 4]), array([0, 1]))
    """
    middle = np.cumsum(cases) - cases / 2
    number = np.floor(middle * (bins / cases.sum()))
    return np.flatnonzero(np.diff(number, prepend=-1))


def _ascending(values: Floats) -> None:
    if values.ndim != 1 or not (np.diff(values) > 0).all():
        raise InputError("The scores of a map must be one ascending array.")


def _same_size(a: Floats, b: Floats) -> None:
    if a.shape != b.shape:
        raise InputError(
            f"The table of a map must have one value a score; found {a.size} scores "
            f"and {b.size} values."
        )
