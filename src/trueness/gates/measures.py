"""Between which numbers does a measure lie, when only one side may be wrong?

Each measure gives an :class:`Interval` whose lower limit is too high with probability
at most ``alpha``, and whose upper limit is too low with at most ``alpha``. Shares of
cases (recall, precision, accuracy, ...) have Clopper and Pearson's exact limits. A
quotient such as F1 compares two kinds of cases only once its bound is fixed, so it is
exact as well. Other metrics go by Efron's tilted laws, everything else by the interval
of its own analysis at level ``1 - 2 alpha``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from trueness._core.arrays import Floats
from trueness._core.binomial import exact_end
from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.search import edge
from trueness.calibration.errors import calibration_error
from trueness.calibration.proper_scores import brier, log_loss
from trueness.calibration.slope import calibration_line
from trueness.comparison.aucs import placement_columns
from trueness.counts.values import Panel, Tally
from trueness.metrics.algebra import Metric, Ratio
from trueness.metrics.confusion import Confusion
from trueness.ranking.auc_intervals import auc
from trueness.ranking.clusters import clusters
from trueness.ranking.mean_precision import average_precision
from trueness.ranking.partial_areas import partial_auc
from trueness.threshold.at_cut import at_threshold

_FEW = 20  # replicates where no bootstrap is looked at
_HALVINGS = 30
_DOUBLINGS = 20


class Interval(NamedTuple):
    """A value with its two one-sided limits, and the cases that tell."""

    value: float
    low: float
    high: float
    n: int
    what: str  # which cases tell


_Measure = Callable[..., Interval]  # of a tally, at an alpha


def share_limits(k: int, n: int, alpha: float) -> tuple[float, float]:
    r"""Which shares are compatible with ``k`` of ``n`` cases?

    .. math:: P(K \ge k \mid p_\mathrm{low}) = \alpha = P(K \le k \mid p_\mathrm{high})

    Clopper and Pearson (1934): each limit errs with probability at most ``alpha``,
    whatever the share and the number of cases.

    Examples
    --------
    >>> low, high = share_limits(0, 10, 0.05)
    >>> low, round(high, 6) == round(1 - 0.05 ** (1 / 10), 6)
    (0.0, True)
    """
    low, high = (float(exact_end(k, n, alpha, low=side)) for side in (True, False))
    return low, high


def metric_limits(metric: Metric, c: Confusion, alpha: float) -> Interval:
    """Between which numbers does a metric lie at a threshold?"""
    counts = np.array([int(x) for x in (c.tp, c.fp, c.fn, c.tn)])
    ratio = metric.ratio
    if ratio is not None and ratio.under is not None:
        under = np.array(ratio.under)
        n = int(counts[under != 0].sum())
        told = _cells(under != 0)
        if n == 0 or not float(under @ counts):
            raise NotEnoughCases(
                f"{metric.name} needs at least one case that is {told}; found none."
            )
        if metric.is_share:
            k = int(np.array(ratio.over) @ counts)
            return Interval(k / n, *share_limits(k, n, alpha), n, told)
        value = float(np.array(ratio.over) @ counts / (under @ counts))
        if _two_kinds(ratio, 0.5 * sum(metric.range)):
            low, high = _two_kinds_limits(ratio, counts, alpha, metric.range)
            return Interval(value, low, high, n, told)
    return _tilted_limits(metric, counts, alpha)


_KINDS: dict[tuple[bool, ...], str] = {
    (True, True, True, True): "labelled",
    (True, True, False, False): "flagged",
    (True, False, True, False): "positive",
    (False, True, False, True): "negative",
    (False, False, True, True): "not flagged",
    (True, True, True, False): "flagged or positive",
}


def _cells(which: Any) -> str:
    """Name the cases that a metric is a share of."""
    return _KINDS.get(tuple(bool(w) for w in which), "relevant")


def _weights(ratio: Ratio, bound: float) -> Floats:
    """Give what each kind of case adds to ``over - bound * under``."""
    return np.array(ratio.over) - bound * np.array(ratio.under, np.float64)


def _two_kinds(ratio: Ratio, bound: float) -> bool:
    """Do cases only pull up by one amount and down by another?"""
    w = _weights(ratio, bound)
    up, down = set(w[w > 0].round(12)), set(w[w < 0].round(12))
    return len(up) == 1 and len(down) == 1


def _two_kinds_limits(
    ratio: Ratio, counts: Any, alpha: float, span: tuple[float, float]
) -> tuple[float, float]:
    # over/under >= c  <=>  the sum of over - c*under is >= 0  <=>  the share of cases
    # that pull up, among those that pull at all, is at least down / (up + down): given
    # their number it is binomial, so its exact limits carry over (F1: the cases are
    # true positives against false ones, and c becomes c / (2 - c))
    w = _weights(ratio, 0.5 * (span[0] + span[1]))
    k, n = int(counts[w > 0].sum()), int(counts[w != 0].sum())
    low, high = (_solve(ratio, end, span) for end in share_limits(k, n, alpha))
    return low, high


def _solve(ratio: Ratio, share: float, span: tuple[float, float]) -> float:
    def below(c: float) -> bool:
        w = _weights(ratio, c)
        up, down = max(w.max(), 0.0), max(-w.min(), 0.0)
        return bool((down / (up + down) if up + down else 0.5) < share)

    return float(edge(below, *span))


def _tilted_limits(metric: Metric, counts: Any, alpha: float) -> Interval:
    r"""Limits of any metric: which laws of the four counts could have given this value?

    .. math:: p_i(\lambda) \propto \hat p_i e^{\lambda g_i}, \qquad
        \frac{f(\hat p) - f(p(\lambda))}{s(p(\lambda))} = \pm q

    with the slopes :math:`g_i = \partial f / \partial p_i` and their spread :math:`s`
    under the tilted law: the least favourable family of Efron (1981). The spread is
    taken at the limit and not at the estimate, as Wilson's interval does for a share.
    Half a case is added to each count, so that an empty one can be tilted; the quantile
    is Student's with as many degrees of freedom as the rarer class has cases, less one.
    """
    n = int(counts.sum())
    rare = int(min(counts[0] + counts[2], counts[1] + counts[3]))
    if rare < 2:
        raise NotEnoughCases(
            f"{metric.name} needs at least two positive and two negative cases; the "
            f"rarer class has {rare}."
        )
    value = float(metric(Confusion(*map(float, counts))))
    if not np.isfinite(value):
        raise NotEnoughCases(f"{metric.name} is not defined at this threshold.")
    start = (counts + 0.5) / (n + 2)
    slope = _slopes(metric, start, n)[1]
    slope = slope - slope @ start
    q = _student(1 - alpha, rare - 1)
    ends = [_tilted(metric, value, start, slope, n, way, q) for way in (-1.0, 1.0)]
    # the delta method errs on the other side of small samples: the wider of both
    half = q * float(np.sqrt(slope**2 @ start / n))
    low = max(metric.range[0], min(ends[0], value - half))
    high = min(metric.range[1], max(ends[1], value + half))
    return Interval(value, low, high, n, "labelled")


def _slopes(metric: Metric, p: Floats, n: int) -> tuple[float, Floats]:
    """Give the metric and its slope in each share, by differences, in one call."""
    step = 1e-5 * p
    points = n * np.vstack([p, p + np.diag(step), p - np.diag(step)])
    found = np.asarray(metric(Confusion(*points.T)), np.float64)
    return float(found[0]), (found[1:5] - found[5:]) / (2 * step)


def _tilted(
    metric: Metric,
    value: float,
    start: Floats,
    slope: Floats,
    n: int,
    way: float,
    q: float,
) -> float:
    """Go along the tilted laws until the value is ``q`` standard errors away."""

    def at(tilt: float) -> tuple[float, float]:
        weights = start * np.exp(way * tilt * (slope - (way * slope).max() * way))
        p = weights / weights.sum()
        found, g = _slopes(metric, p, n)
        return found, float(np.sqrt(max(g**2 @ p - (g @ p) ** 2, 0.0) / n))

    def beyond(tilt: float) -> bool:
        found, spread = at(tilt)
        return way * (found - value) >= q * spread

    # the first crossing: far out a class dies away and its spread grows without end
    spread = float(np.sqrt(slope**2 @ start)) or 1.0
    low, high = 0.0, 0.25 * q / (np.sqrt(n) * spread)
    for _ in range(_DOUBLINGS):
        if beyond(high):
            break
        low, high = high, 1.5 * high
    return at(edge(lambda tilt: not beyond(tilt), low, high, _HALVINGS))[0]


def _student(level: float, df: int) -> float:
    return float(stdtrit(df, level)) if df < 1000 else NormalDist().inv_cdf(level)


def _estimate(e: Any, n: int, what: str = "labelled") -> Interval:
    return Interval(float(e.value), float(e.low), float(e.high), n, what)


def _labelled(t: Tally) -> int:
    return t.n_pos + t.n_neg


def _of_analysis(ask: Callable[..., Any], probabilities: str = "") -> _Measure:
    """Take the interval of an analysis, at the level at which one side may err.

    ``probabilities`` names a measure that needs scores from 0 to 1.
    """

    def limits(t: Tally, alpha: float, **options: Any) -> Interval:
        if probabilities and t.score.size and (t.score[-1] < 0 or t.score[0] > 1):
            raise InputError(
                f"{probabilities} needs probabilities; the scores run from "
                f"{t.score[-1]:.4g} to {t.score[0]:.4g}. Calibrate them first."
            )
        return _estimate(ask(t, level=1 - 2 * alpha, **options), _labelled(t))

    return limits


def _partial(t: Tally, *, level: float, fpr: Any = (0.0, 0.1)) -> Any:
    return partial_auc(t, fpr=tuple(fpr), corrected=True, level=level)


def paired_auc_limits(two: Panel, alpha: float) -> Interval:
    r"""Between which numbers does the difference of two AUCs on the same cases lie?

    .. math:: \hat d + \frac{\pm M/2 - \bar v / 2}{n + 1/2} \pm
        t_{n-1} \sqrt{s_+^2 + s^2_{\mathrm{other}}}

    DeLong's variance, from the differences v of the placement values of each case.
    Where AUCs are high, nearly all v are 0, and a few large ones decide. A sample that
    happens to have few of those that speak against the candidate has a high mean and a
    small variance, and DeLong's test would call a difference on the margin harmless in
    8 to 9 of 100 samples. So half a case with the most extreme v of the rarer class, M,
    is added on the side of each limit, to its mean and to its variance.
    """
    _cases.both_classes(two, "a comparison of AUCs")
    _cases.complete_outputs(two, "a comparison of AUCs")
    below, above = placement_columns(two)
    pos, neg = (c[c > 0].astype(np.float64) for c in (two.pos, two.neg))
    # twice the cases below or above, for both classifiers: shares of the other class
    parts = [
        ((columns[0] - columns[1]) / (2 * of), weight)
        for columns, weight, of in ((below, pos, neg.sum()), (above, neg, pos.sum()))
    ]
    parts.sort(key=lambda part: float(part[1].sum()))
    (rare, few), (common, many) = parts
    n = few.sum()
    if n < 2:
        raise NotEnoughCases(
            f"A comparison of AUCs needs two cases of each class; the rarer class has "
            f"{n:.0f}."
        )
    d = float(rare @ few / n)
    most = float(np.abs(rare).max())
    other = many @ (common - d) ** 2 / (many.sum() - 1) / many.sum()
    q = _student(1 - alpha, int(n) - 1)
    ends = []
    for way in (-1.0, 1.0):
        mean = (rare @ few + 0.5 * way * most) / (n + 0.5)
        square = few @ (rare - mean) ** 2 + 0.5 * (way * most - mean) ** 2
        spread = square / (n - 0.5) / (n + 0.5)
        ends.append(mean + way * q * float(np.sqrt(spread + other)))
    low, high = max(-1.0, float(ends[0])), min(1.0, float(ends[1]))
    return Interval(d, low, high, int(two.n_pos + two.n_neg), "labelled")


def clustered_limits(
    name: str, cluster: Any, threshold: float | None, alpha: float
) -> Interval:
    """Between which numbers does a measure lie, when cases of a cluster are alike?"""
    c = clusters(cluster, f"a requirement on {name}")
    asked: dict[str, Any] = {"cluster": cluster, "level": 1 - 2 * alpha}
    found = _of_own_interval(name, c.tally(0), threshold, "clusters of cases", asked)
    return _estimate(found, c.m, "clustered")


def weighted_limits(
    name: str, t: Tally, threshold: float | None, alpha: float
) -> Interval:
    """Between which numbers does a measure of weighted cases lie?"""
    found = _of_own_interval(
        name, t, threshold, "weighted cases", {"level": 1 - 2 * alpha}
    )
    return _estimate(found, equal_cases(t), "equally weighted")


def equal_cases(x: Tally | Panel) -> int:
    """How many cases of equal weight tell as much (Kish 1965)?"""
    square = float(sum(part.sum() for part in x.squares[:2]))
    return max(1, round(float(x.n_pos + x.n_neg) ** 2 / square)) if square else 1


def _of_own_interval(
    name: str, t: Tally, threshold: float | None, of: str, asked: dict[str, Any]
) -> Any:
    """Ask the analysis that knows clusters, or weights; both know the same measures."""
    if name == "auc":
        return auc(t, **asked)
    if name == "average_precision" and t.weighted:
        return average_precision(t, **asked)
    if name in MEASURES or threshold is None:
        raise InputError(
            f"{name} has no confidence limits for {of} yet; auc and metrics at a "
            "threshold have. Leave the requirement out, or count every case once and "
            "as independent."
        )
    return next(
        iter(at_threshold(t, threshold, metrics=[name], **asked).metrics.values())
    )


def _prevalence(t: Tally, alpha: float, **options: Any) -> Interval:
    n = _labelled(t)
    if not n:
        raise NotEnoughCases("prevalence needs labelled cases; found none.")
    return Interval(t.n_pos / n, *share_limits(t.n_pos, n, alpha), n, "labelled")


# a measure of a whole tally: its limits, and which way is better
MEASURES: dict[str, tuple[_Measure, str]] = {
    "auc": (_of_analysis(auc), "higher"),
    "partial_auc": (_of_analysis(_partial), "higher"),
    "average_precision": (_of_analysis(average_precision), "higher"),
    # the bootstrap is for their parts, which no requirement speaks of
    "brier": (_of_analysis(partial(brier, replicates=_FEW), "brier"), "lower"),
    "log_loss": (_of_analysis(partial(log_loss, replicates=_FEW), "log_loss"), "lower"),
    "calibration_error": (
        _of_analysis(
            lambda t, **o: calibration_error(t, **o).debiased, "calibration_error"
        ),
        "lower",
    ),
    "calibration_slope": (
        _of_analysis(lambda t, **o: calibration_line(t, **o).slope),
        "none",
    ),
    "prevalence": (_prevalence, "none"),
}

# between which numbers a measure lies; those without an entry are shares
RANGES = {"log_loss": (0.0, np.inf), "calibration_slope": (-np.inf, np.inf)}

# facts about the file itself: counted, and so without an interval
FACTS: dict[str, Callable[[Tally], float]] = {
    "cases": lambda t: t.n,
    "labelled": _labelled,
    "positives": lambda t: t.n_pos,
    "negatives": lambda t: t.n_neg,
    "unlabelled_share": lambda t: t.n_unknown / t.n if t.n else float("nan"),
    "lowest_score": lambda t: float(t.score[-1]) if t.score.size else float("nan"),
    "highest_score": lambda t: float(t.score[0]) if t.score.size else float("nan"),
    "distinct_scores": lambda t: t.score.size,
}
