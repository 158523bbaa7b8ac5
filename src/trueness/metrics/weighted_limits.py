r"""Which values could a metric at a cut have, when cases are weighted?

The four cells hold sums of weights w and of their squares. A share p of the weight of
some cells has, at a supposed value x, the variance

.. math:: V(x) = x (1-x) \frac{(1-x)\, q_{yes} + x\, q_{no}}{W}, \qquad
          q = \frac{\sum w^2}{\sum w}

with q the typical weight of a case on either side. The limits are the values x from
which p is as far as Student's quantile times the root of V(x) (Wilson 1927). Of equal
weights they are Wilson's.

Any other metric is a function of such shares: of recall and specificity, of the share
flagged, precision and negative predictive value, or a sum of shares with prices. Each
share is moved to its limits by itself, and the changes of the metric are squared and
added, with the correlations that the weights of the cells imply (MOVER).

References
----------
Newcombe (1998), Stat. Med. 17:873; Zou, Donner (2008), Stat. Med. 27:1693,
doi:10.1002/sim.3095; Korn, Graubard (1998), Surv. Methodol. 24:193
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness.counts.weights import student_factor
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion

# as many equal cases a wider set is trusted for, against a cell or side in it
_TRUST = 1.0
_MANY = 1e9  # degrees of freedom: Student's quantile is the normal one
_FAR = 700.0  # beyond, an exponential is no float
# halvings until a limit is as exact as a float
_HALVINGS = 60

Cells = Any  # four coefficients, of tp, fp, fn and tn
_EVERY = (1, 1, 1, 1)
_BY_CLASS: tuple[tuple[Cells, Cells], ...] = (
    ((1, 0, 1, 0), (0, 1, 0, 1)),
    ((1, 0, 0, 0), (0, 0, 1, 0)),
    ((0, 0, 0, 1), (0, 1, 0, 0)),
)
_BY_FLAG: tuple[tuple[Cells, Cells], ...] = (
    ((1, 1, 0, 0), (0, 0, 1, 1)),
    ((1, 0, 0, 0), (0, 1, 0, 0)),
    ((0, 0, 0, 1), (0, 0, 1, 0)),
)


class WeightedShare(NamedTuple):
    """A share of weight, its limits, and how weight in each cell moves it."""

    value: float
    low: float
    high: float
    influence: Floats


class WeightedCut(NamedTuple):
    """The four cells of a cut, as parts of all weight: tp, fp, fn and tn."""

    weight: Floats
    typical: Floats
    fourth: Floats
    level: float

    @classmethod
    def of(
        cls, cells: Floats, square: Floats, fourth: Floats, most: float, level: float
    ) -> WeightedCut:
        """How much do cases of each cell weigh, on average over their weight?

        A thin cell hardly shows it. It leans on its class and on its side of the cut,
        whichever is heavier, since weights may go with either; and these lean on the
        heaviest case of all (``most``), as heavy as one of an empty cell may be.
        """
        total = cells.sum()
        w, w2 = (cells / total).reshape(2, 2), (square / total / total).reshape(2, 2)
        most = most / total
        sides = [
            _leaning(w.sum(axis=k, keepdims=True), w2.sum(axis=k, keepdims=True), most)
            for k in (0, 1)
        ]
        typical, trust = _leaning(w, w2, np.maximum(sides[0][0], sides[1][0]))
        typical = np.where(w > 0, typical, most)
        # squares of weights of 1e-200 are zero: no cell has more than 10^15 cases
        typical = np.maximum(typical, 1e-15)
        doubt = (fourth / total / total / total / total) * trust.ravel()
        return cls(w.ravel(), typical.ravel(), doubt, level)

    def share(self, over: Cells, rest: Cells) -> WeightedShare | None:
        """Which values could the share of some cells have? None of no weight."""
        most = max(*over, *rest)
        yes, no = np.array(over) / most, np.array(rest) / most
        total = float((yes + no) @ self.weight)
        if not total:
            return None
        value = min(float(yes @ self.weight) / total, 1.0)
        influence = (yes * (1 - value) - no * value) / total
        variance = float(self.weight * self.typical @ influence**2)
        doubt = float(self.fourth @ influence**4)
        inner = 0 < value < 1 and doubt > 0
        # Satterthwaite (1946), as drawn cases are as many as Poisson's law has them
        df = 2 * variance**2 / doubt if inner else math.inf
        one = self._heavy(yes) / total, self._heavy(no) / total
        low, high = (_limit(value, end, one, df, self.level) for end in (0.0, 1.0))
        return WeightedShare(value, low, high, influence)

    def _heavy(self, side: Floats) -> float:
        """How much does a case of one side of a share weigh?"""
        weight, typical = side * self.weight, side * self.typical
        if weight.sum() > 0:
            return float(weight @ typical / weight.sum())
        return float(typical[side > 0].mean())


def _leaning(w: Floats, w2: Floats, wider: Any) -> tuple[Floats, Floats]:
    """Give the typical weight, and how far cases show it themselves."""
    trust = 1 / (1 + _TRUST * _ratio(w2, w**2, np.inf))
    return trust * _ratio(w2, w, 0.0) + (1 - trust) * wider, trust


def _ratio(over: Floats, under: Floats, empty: float) -> Floats:
    out: Floats = np.full(over.shape, empty)
    np.divide(over, under, out=out, where=under > 0)
    return out


def _limit(
    value: float, end: float, one: tuple[float, float], df: float, level: float
) -> float:
    """Which share towards an end is just as far from the one found as chance goes?"""
    if value == end:
        return end
    normal = NormalDist().inv_cdf((1 + level) / 2)
    t2 = (normal * student_factor(min(df, _MANY), level)) ** 2
    far, near = end, value
    for _ in range(_HALVINGS):
        x = (far + near) / 2
        variance = x * (1 - x) * ((1 - x) * one[0] + x * one[1])
        if (x - value) ** 2 > t2 * variance:
            far = x
        else:
            near = x
    return (far + near) / 2


def share_parts(m: Metric) -> tuple[Cells, Cells] | None:
    """Of which cells is a metric the share, and among which others?

    F1 is one, too: of twice the true positives among these and the errors. None of a
    metric that is no such share.
    """
    if m.ratio is None or m.ratio.under is None:
        return None
    rest = tuple(u - o for o, u in zip(m.ratio.over, m.ratio.under, strict=True))
    return (m.ratio.over, rest) if min(*m.ratio.over, *rest) >= 0 else None


def moved_limits(
    m: Metric, cut: WeightedCut, total: float, prevalence: float | None
) -> tuple[float, float]:
    """Which values could a metric have when the shares it is made of have theirs?"""
    shares, value = _view(m, cut, total, prevalence)
    many = len(shares)
    at = np.repeat([[s.value] for s in shares], 2 * many + 1, axis=1)
    for k, s in enumerate(shares):
        at[k, 1 + k], at[k, 1 + many + k] = s.low, s.high
    values = np.asarray(value(at), dtype=np.float64)
    unknown = any(s.low == 0 and s.high == 1 for s in shares)
    if unknown or math.isnan(values[0]) or np.all(values == values[0]):
        ends = _corners(shares, value)
    else:
        ends = _squared_and_added(values, cut, shares, m.range)
    return max(min(ends), m.range[0]), min(max(ends), m.range[1])


def _squared_and_added(
    values: Floats,
    cut: WeightedCut,
    shares: list[WeightedShare],
    ends: tuple[float, float],
) -> list[float]:
    there, back = _scale(values[0], ends)
    with np.errstate(divide="ignore"):
        centre, *moved = there(values)
    moves = np.reshape(moved, (2, len(shares))) - centre
    moves = np.where(np.isnan(moves), 0.0, moves)
    signs = np.where(moves[1] >= moves[0], 1.0, -1.0)
    together, found = _correlations(cut, shares), []
    for side in (-1, 1):
        step = signs * np.maximum(side * moves, 0).max(axis=0)
        length = math.sqrt(max(float(step @ together @ step), 0.0))
        found.append(back(centre + side * length))
    return found


def _corners(
    shares: list[WeightedShare], value: Callable[[Floats], Any]
) -> list[float]:
    """Move all shares at once, where one is not known or moves nothing by itself."""
    at = np.array(list(product(*((s.low, s.high) for s in shares)))).T
    values = np.asarray(value(at), dtype=np.float64)
    known = values[~np.isnan(values)].tolist()
    return known or [math.nan]


_View = tuple[list[WeightedShare], Callable[[Floats], Any]]


def _view(m: Metric, cut: WeightedCut, total: float, prevalence: float | None) -> _View:
    """Of which shares is a metric made, and how?

    A sum with prices (net benefit) is made of the shares of cells of one price. Metrics
    of recall and specificity alone are made of these, all others of the share of
    flagged cases and of what the flagged and the others hold.
    """
    none = np.zeros(4)

    def found(parts: Iterable[tuple[Cells, Cells]]) -> list[WeightedShare]:
        # of no cases a share may have any value
        return [cut.share(*x) or WeightedShare(0.5, 0.0, 1.0, none) for x in parts]

    if prevalence is None and m.ratio and m.ratio.under in (None, _EVERY):
        over = np.array(m.ratio.over)
        prices = np.unique(over[over != 0])
        unit = total if m.ratio.under is None else 1.0
        cells = [((over == x) * 1.0, (over != x) * 1.0) for x in prices]
        return found(cells), lambda at: unit * prices @ at
    if prevalence is None and depends_on_prevalence(m):
        return found(_BY_FLAG), lambda at: m(_flagged(at, total))
    shares = found(_BY_CLASS)
    if prevalence is not None:
        shares[0] = WeightedShare(prevalence, prevalence, prevalence, none)
    return shares, lambda at: m(Confusion.of_rates(at[1], 1 - at[2], at[0], total))


def _flagged(at: Floats, total: float) -> Confusion:
    part, ppv, npv = at
    yes, no = part * total, (1 - part) * total
    return Confusion(yes * ppv, yes * (1 - ppv), no * (1 - npv), no * npv)


def _scale(value: float, ends: tuple[float, float]) -> tuple[Any, Any]:
    """Ratios are moved on the log scale, or from 0 and infinity as far as it goes."""
    if ends != (0.0, np.inf) or value == 0:
        return (lambda x: x), float
    if math.isinf(value):
        return (lambda x: 1 / x), lambda x: 1 / x if x > 0 else math.inf
    # a moved ratio may be infinite, which no sum of squares can hold
    return (lambda x: np.clip(np.log(x), -_FAR, _FAR)), lambda x: math.exp(min(x, _FAR))


def _correlations(cut: WeightedCut, shares: list[WeightedShare]) -> Floats:
    """How do shares vary together? To first order."""
    influence = np.array([s.influence for s in shares])
    together = (influence * cut.weight * cut.typical) @ influence.T
    sd, own = np.sqrt(np.diag(together)), np.eye(len(shares))
    return _ratio(together, np.outer(sd, sd), 0.0) * (1 - own) + own
