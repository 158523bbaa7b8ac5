r"""How sure is a metric at a given cut?

The four counts of a cut chosen beforehand are a multinomial sample (a cohort), or two
binomial ones (a case-control study). A share of counted cases gets Wilson's interval.
For every other metric of the algebra the counts are drawn from their posterior under
Jeffreys' prior, and the interval holds the middle of the values that the metric then
has. That needs no derivative, keeps inside the range of the metric, and has width where
a count is zero; its coverage is in ``docs/maths/thresholds.md``. Of weighted cases the
shares move all other metrics, see ``weighted_limits.py``.

A cut that was tuned on the same cases is another matter: ``validate_threshold``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.binomial import wilson
from trueness._core.checks import options as _options
from trueness._core.records import Estimate
from trueness.counts.cases import Cases
from trueness.counts.weights import equal_cases, fourths, heaviest, student_factor
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.weighted_limits import WeightedCut, moved_limits, share_parts

_DRAWS = 10_000
_JEFFREYS = 0.5


class Weighed(NamedTuple):
    """Sums of squares and of fourth powers of weights, in tp, fp, fn and tn.

    ``most`` is about the largest weight: a case of a kind that was not seen may weigh
    as much.
    """

    square: Floats
    fourth: Floats
    most: float

    def wider(self, some: Any, level: float) -> float:
        """Give Student's factor, by the degrees of freedom of some cells."""
        square, fourth = self.square[some].sum(), self.fourth[some].sum()
        return student_factor(square**2 / fourth - 1 if fourth > 0 else 0.0, level)

    def cases(self, c: Confusion, yes: Any, no: Any, level: float) -> float:
        """As how many equal cases does the share of some cells among others count?

        Fewer by Student's factor, which an interval from its own quantiles lacks.
        """
        cells = np.array(c.cells, dtype=np.float64)
        over, under = cells[yes].sum(), cells[[*yes, *no]].sum()
        squares = self.square[yes].sum(), self.square[no].sum()
        share = min(over / under, 1.0)
        number = float(equal_cases(share, under, *squares, self.most))
        inner = 0 < share < 1
        return number / self.wider([*yes, *no], level) ** 2 if inner else number


def weighed_cells(x: Cases, above: Any) -> Weighed | None:
    """How much do the weights of the four cells vary? None of counts.

    ``above`` says which rows are flagged.
    """
    if not x.weighted:
        return None
    neg, pos, _ = x.squares
    square, fourth = (
        np.array([c[at].sum() for at in (above, ~above) for c in both])
        for both in ((pos, neg), (fourths(x.pos, pos), fourths(x.neg, neg)))
    )
    return Weighed(square, fourth, heaviest(x))


def estimates(
    c: Confusion,
    metrics: Iterable[Metric] | None = None,
    *,
    level: float = 0.95,
    prevalence: float | None = None,
    sampling: str = "cohort",
    rng: Any = 0,
    weighed: Weighed | None = None,
) -> dict[str, Estimate]:
    """How large is each metric of one confusion matrix, and how sure are we?

    ``weighed`` says how much the weights of the four cells vary; counts need none.
    Metrics that depend on the share of positives are left out of a case-control sample
    unless ``prevalence`` says what that share is.

    Examples
    --------
    >>> estimates(Confusion(tp=9, fp=2, fn=1, tn=18), [METRICS["recall"]])
    {'recall': recall 0.900 (95 % CI 0.596 to 0.982, wilson method)}
    """
    level = _options.fraction(level, "level")
    _options.choice(sampling, ("cohort", "case-control"), "sampling")
    wanted = METRICS.values() if metrics is None else metrics
    free = prevalence is None and sampling == "case-control"
    if free:
        wanted = [m for m in wanted if not depends_on_prevalence(m)]
    words: Any = {"prevalence": prevalence, "sampling": sampling}
    seed = _options.generator(rng)
    drawn = cache(lambda: drawn_cells(c, seed, None, level, **words))  # if needed
    used = c.at_prevalence(prevalence)

    def estimate(m: Metric) -> Estimate:
        value = float(m(used))
        if weighed is not None:
            low, high, method = _weighted(m, c, prevalence, level, weighed)
        elif m.is_share and (prevalence is None or not depends_on_prevalence(m)):
            low, high, method = *_wilson(m, c, level), "wilson"
        else:
            low, high, method = *middle(m(drawn()), level), "posterior"
        # a value at the end of what is possible lies outside the middle of the draws
        ends = min(low, value), max(high, value)
        return Estimate(value, *ends, level, method, name=m.name)

    return {m.name: estimate(m) for m in wanted}


def _wilson(m: Metric, c: Confusion, level: float) -> tuple[float, float]:
    assert m.ratio is not None  # noqa: S101  # a share is a quotient of counts
    over, under = (float(c.weighed(weights or ())) for weights in m.ratio)
    if under == 0:
        return math.nan, math.nan
    low, high = wilson(over, under, level)
    return float(low), float(high)


def _weighted(
    m: Metric, c: Confusion, prevalence: float | None, level: float, weighed: Weighed
) -> tuple[float, float, str]:
    """Which values could a metric of weighted cells have?"""
    cells = np.array(c.cells, dtype=np.float64)
    if not cells.sum():
        return math.nan, math.nan, "mover"
    cut = WeightedCut.of(cells, *weighed, level)
    parts = share_parts(m)
    if parts is None or (prevalence is not None and depends_on_prevalence(m)):
        return *moved_limits(m, cut, float(cells.sum()), prevalence), "mover"
    share = cut.share(*parts)
    return (
        (share.low, share.high, "wilson") if share else (math.nan, math.nan, "wilson")
    )


def on_scale(
    value: float, half: float, ends: tuple[float, float]
) -> tuple[float, float]:
    """Carry a distance to the scale on which the ends of a range are infinitely far."""
    below, above = value - ends[0], ends[1] - value
    if not (below > 0 and above > 0 and math.isfinite(below)):
        return value - half, value + half
    # the derivative of log(below / above), where above may be infinite
    factor = math.exp(min(half * (1 / below + 1 / above), 700.0))
    if math.isinf(above):
        return ends[0] + below / factor, ends[0] + below * factor
    wide = ends[1] - ends[0]
    low, high = (wide * below / (below + above * f) for f in (factor, 1 / factor))
    return ends[0] + low, ends[0] + high


def middle(values: Floats, level: float) -> tuple[float, float]:
    """Between which draws lies their middle part?"""
    values = values[~np.isnan(values)]
    if not values.size:
        return math.nan, math.nan
    # ends that were drawn: between two draws, one of them infinite, lies no number
    ends = np.quantile(
        values, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf"
    )
    return float(ends[0]), float(ends[1])


def drawn_cells(
    c: Confusion,
    rng: np.random.Generator,
    weighed: Weighed | None,
    level: float,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    number: int = _DRAWS,
) -> Confusion:
    """Draw confusion matrices that could have given this one."""
    counts = np.array([c.tp, c.fn, c.fp, c.tn], dtype=np.float64)
    n = counts.sum()
    scale = np.ones(4) if weighed is None else _scales(counts, weighed, level)
    shape = counts[:, None] / scale[:, None] + _JEFFREYS
    # gamma variables over their sum are a Dirichlet draw
    weight = rng.standard_gamma(shape, (4, number)) * scale[:, None]
    if prevalence is not None or sampling == "case-control":
        # rates of both classes, each by itself
        pos, neg = weight[:2].sum(axis=0), weight[2:].sum(axis=0)
        share = counts[:2].sum() / n if prevalence is None else prevalence
        weight = np.concatenate(
            [weight[:2] / pos * share, weight[2:] / neg * (1 - share)]
        )
    tp, fn, fp, tn = weight / weight.sum(axis=0) * n
    return Confusion(tp=tp, fp=fp, fn=fn, tn=tn)


def _scales(counts: Floats, weighed: Weighed, level: float) -> Floats:
    """Give the weight of one equal case in tp, fn, fp and tn.

    A cell is drawn with the variance of its weights, which Student's quantile enlarges;
    an empty one with that of the weights of its class.
    """
    square = weighed.square[[0, 2, 1, 3]]
    by_class = np.repeat(
        [square[:2].sum() / max(counts[:2].sum(), 1e-300),
         square[2:].sum() / max(counts[2:].sum(), 1e-300)], 2
    )  # fmt: skip
    overall = square.sum() / counts.sum()
    by_class = np.where(by_class > 0, by_class, overall)
    own = np.divide(square, counts, out=by_class, where=counts > 0)
    # squares of weights of 1e-200 are zero: no cell has more than 10^15 cases
    own = np.maximum(own, counts.sum() * 1e-15)
    return np.asarray(own * weighed.wider(slice(None), level) ** 2)


def tidy(found: Mapping[Any, Estimate], group: Any = None) -> list[dict[str, Any]]:
    """Give one row per metric, as a table of numbers."""
    return [
        {
            "metric": str(name),
            "value": e.value,
            "low": e.low,
            "high": e.high,
            "level": e.level,
            "method": e.method,
            "group": group,
        }
        for name, e in found.items()
    ]
