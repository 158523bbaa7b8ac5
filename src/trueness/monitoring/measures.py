"""Between which numbers does a measure lie, when only one side may be wrong?

A gate asks the same analyses as everybody: a one-sided limit that errs with probability
``alpha`` is that of the interval at level ``1 - 2 alpha``. Each question gives a
function from alpha to its limits, so that a family of claims can be tried at whichever
alpha Holm's method leaves for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache, partial
from math import hypot
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate
from trueness.calibration.errors import calibration_error
from trueness.calibration.proper_scores import brier, log_loss
from trueness.calibration.slope import calibration_line
from trueness.comparison.paired import compare, compare_metric
from trueness.counts.cases import cases_that_tell, rows_kept
from trueness.counts.values import Panel, Tally
from trueness.evals.attempts import Attempts
from trueness.evals.rates import pass_at_k, pass_hat_k, pass_rate
from trueness.evals.runs import compare_runs
from trueness.inference.limits import infer
from trueness.inference.limits import limits as spread_limits
from trueness.inference.sample import Measured
from trueness.inference.spread import Spread
from trueness.metrics.grammar import metric
from trueness.metrics.intervals import estimates
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.partial_areas import partial_auc
from trueness.threshold.rule import DEFERRED, FLAGGED, Rule


class Interval(NamedTuple):
    """A value with its two one-sided limits, and the cases that tell."""

    value: float
    low: float
    high: float
    n: int
    what: str  # which cases tell
    undecided: str = ""  # why nothing can be decided, where that is so


Limits = Callable[[float], Interval]  # of an alpha

_KINDS: dict[tuple[bool, ...], str] = {
    (True, True, False, False): "flagged",
    (True, False, True, False): "positive",
    (False, True, False, True): "negative",
    (False, False, True, True): "not flagged",
    (True, True, True, False): "flagged or positive",
}


def limits_of(
    name: str, t: Any, threshold: float | Rule | None, fpr: Any = None
) -> Limits:
    """Give the function from alpha to the one-sided limits of what is required."""
    if isinstance(threshold, Rule):  # metrics are those of the cases it decides
        t = threshold.verdicts(t)
        t, threshold = rows_kept(t, t.score != DEFERRED), FLAGGED

    def limits(alpha: float) -> Interval:
        level = 1 - 2 * alpha
        _fits(name, t)
        if name not in MEASURES:
            return _of_metric(name, t, threshold or 0.0, level)
        ask = MEASURES[name].ask
        e = ask(t, level=level) if fpr is None else ask(t, level=level, fpr=fpr)
        if isinstance(t, Attempts) and e.method == "wilson" and t.cluster is None:
            n = len(t)  # one attempt per item: a counted share
            share = round(e.value * n) / n
            return Interval(e.value, *_exact(share, n, alpha), n, "tried")
        found = _interval(e, t)
        return _wider(name, found, t, alpha) if name in _AREAS else found

    return cache(limits)


def _fits(name: str, x: Any) -> None:
    """Stop where attempts, scores or probabilities are asked of something else."""
    if isinstance(x, Attempts) and not of_attempts(name):
        raise InputError(
            f"{name} needs labels and scores; these are attempts at items, of which "
            "pass_rate, pass_at_k(k=5) and pass_hat_k(k=3) may be required."
        )
    if of_attempts(name) and not isinstance(x, Attempts):
        raise InputError(
            f"{name} needs attempts at items, as the log of an evaluation has them; "
            "these are labels and scores."
        )
    likely = name in MEASURES and MEASURES[name].of_probabilities
    if likely and x.score.size and (x.score[-1] < 0 or x.score[0] > 1):
        raise InputError(
            f"{name} needs probabilities; the scores run from {x.score[-1]:.4g} to "
            f"{x.score[0]:.4g}. Calibrate them first."
        )


def _of_metric(name: str, t: Tally, threshold: float, level: float) -> Interval:
    m = metric(name)
    found = estimates(t, threshold, [m], level=level)
    if m.name not in found:
        raise InputError(
            f"{name} depends on the prevalence, which a case-control sample does not "
            "show. Say which one is meant: prevalence=0.01."
        )
    cells: Any = m.ratio.under if m.ratio and m.ratio.under else (1, 1, 1, 1)
    told = _KINDS.get(tuple(bool(k) for k in cells), "labelled")
    e = found[m.name]
    if math.isnan(e.value):
        raise NotEnoughCases(
            f"{name} needs at least one case that is {told}; found none."
        )
    if not t.single_cases:
        return _interval(e, t)
    flags = t.score >= threshold
    sides = ((t.pos, flags), (t.neg, flags), (t.pos, ~flags), (t.neg, ~flags))
    n = sum(int(c[at].sum()) for k, (c, at) in zip(cells, sides, strict=True) if k)
    if m.is_share and e.method == "wilson":
        return Interval(
            e.value, *_exact(round(e.value * n) / n, n, (1 - level) / 2), n, told
        )
    return Interval(e.value, e.low, e.high, n, told)


def _exact(share: float, n: float, alpha: float) -> tuple[float, float]:
    """Give the one-sided limits of Clopper and Pearson (1934), a limit for each side.

    Wilson's interval is right on both sides together, and on one side may err in 8 %
    of samples where 5 % are meant (Cai 2005, J. Stat. Plan. Inference 131:63). These
    never err more often, which a gate promises.
    """
    k = share * n
    low = float(betaincinv(k, n - k + 1, alpha)) if k > 0 else 0.0
    return low, float(betaincinv(k + 1, n - k, 1 - alpha)) if k < n else 1.0


_AREAS = ("auc", "average_precision")


def _wider(name: str, i: Interval, t: Tally, alpha: float) -> Interval:
    """Widen the limits of an area where those of the engine err on one side.

    With fewer than five cases' worth of errors no normal limit is right. The variance
    of an area is at most that of a share of the rarer class (Birnbaum, Klose 1957, Ann.
    Math. Stat. 28:933), which has exact limits. Average precision is too high in
    samples; the jackknife removes most of that (Quenouille 1956, Biometrika 43:353).
    """
    if not t.single_cases or not 0 < t.n_pos < t.n or not 0 <= i.value <= 1:
        return i
    ends = [(i.low, i.high)]
    rarer = min(t.n_pos, t.n_neg) if name == "auc" else t.n_pos
    if rarer * min(i.value, 1 - i.value) < 5:
        ends.append(_exact(i.value, rarer, alpha))
    if name == "average_precision":
        value, variance, n = _jackknifed(t.labelled(), i.value)
        ends.append(
            spread_limits(value, Spread(variance, n - 1, n), (0.0, 1.0), 1 - 2 * alpha)[
                0
            ]
        )
    low, high = zip(*ends, strict=True)
    return i._replace(low=min(low), high=max(high))


def _jackknifed(t: Tally, value: float) -> tuple[float, float, float]:
    """Give average precision less its bias, its variance, and the number of cases."""
    pos, neg, n = t.pos * 1.0, t.neg * 1.0, float(t.n)
    found, flagged = np.cumsum(pos), np.cumsum(pos + neg)
    before = np.concatenate([[0.0], np.cumsum(pos * found / flagged)[:-1]])

    def after(x: Any) -> Any:
        return np.concatenate([np.cumsum(x[::-1])[::-1], [0.0]])

    one_less = np.maximum(flagged - 1, 1.0)
    lower = after(pos * (found - 1) / one_less)[1:]
    own = np.maximum(pos - 1, 0.0) * (found - 1) / one_less
    # average precision without one of the positives, or of the negatives, of each row
    left = (before + own + lower) / max(found[-1] - 1, 1.0)
    right = (before + after(pos * found / one_less)[:-1]) / found[-1]
    mean = float(pos @ left + neg @ right) / n
    square = float(pos @ (left - mean) ** 2 + neg @ (right - mean) ** 2)
    value = min(max(value - (n - 1) * (mean - value), 0.0), 1.0)
    return value, (n - 1) / n * square, n


def _interval(e: Estimate, x: Tally | Panel | Attempts) -> Interval:
    told = cases_that_tell(x) if not isinstance(x, Attempts) else x.units
    return Interval(float(e.value), float(e.low), float(e.high), *told)


def paired_limits(name: str, a: Any, b: Any, threshold: float | None) -> Limits:
    """Limits of a difference on the same cases, or items: first less second.

    ``a`` is a panel of both, without ``b``, or attempts at the items of ``b``.
    """

    def limits(alpha: float) -> Interval:
        level = 1 - 2 * alpha
        found: Any
        if isinstance(a, Attempts):
            if name != "pass_rate":
                raise InputError(f"{name} is not compared item by item; use pass_rate.")
            found = compare_runs({"first": a, "second": b}, level=level)
        elif name not in MEASURES:
            cut = 0.5 if threshold is None else threshold
            found = compare_metric(a, name, thresholds=cut, level=level)
        elif hasattr(MEASURES[name].ask, "measure"):
            found = compare(a, MEASURES[name].ask, level=level)
        else:
            raise InputError(
                f"{name} is not compared case by case; use auc, brier or a metric at a "
                "threshold, or pass the baseline as a file of its own (unpaired)."
            )
        return _interval(found.pairs[0].difference, a)

    return cache(limits)


def difference_limits(a: Limits, b: Limits) -> Limits:
    """Limits of a difference of two independent measures, from their own.

    Zou and Donner (2008): each limit is as far from the difference as the square root
    of the sum of squares of the two distances that point the same way.
    """

    def limits(alpha: float) -> Interval:
        x, y = a(alpha), b(alpha)
        d = x.value - y.value
        low = d - hypot(x.value - x.low, y.high - y.value)
        high = d + hypot(x.high - x.value, y.value - y.low)
        return Interval(d, low, high, x.n + y.n, x.what)

    return limits


def size_limits(signed: Limits) -> Limits:
    """Limits of the size of a difference, whichever way it points."""

    def limits(alpha: float) -> Interval:
        # either end may be the one that matters: half of the error to each
        d = signed(alpha / 2)
        away = max(d.low, -d.high, 0.0)
        return d._replace(value=abs(d.value), low=away, high=max(-d.low, d.high))

    return limits


def _partial(t: Tally, *, level: float, fpr: Any = (0.0, 0.1)) -> Estimate:
    return partial_auc(t, fpr=tuple(fpr), corrected=True, level=level)


def _share_of_positives(t: Tally, *, level: float) -> Estimate:
    if not t.n_pos + t.n_neg:
        raise NotEnoughCases("prevalence needs labelled cases; found none.")
    if t.design.fixed_classes:
        raise InputError(
            "prevalence is what these cases show of the share of positives; a "
            "case-control sample, or another prevalence, says it beforehand. Leave "
            "this requirement out."
        )

    def measure(x: Tally) -> Measured:
        n, p = x.n_pos + x.n_neg, x.prevalence
        return Measured(p, np.full(len(x), -p / n), np.full(len(x), (1 - p) / n))

    return infer(t, measure, level=level, name="prevalence")


class Measure(NamedTuple):
    """What may be required beside the metrics of a confusion matrix.

    ``ask(data, level=...)`` gives an estimate with limits; with an attribute
    ``measure`` it is compared with a baseline on the same cases, otherwise on others
    only. ``better`` is "higher", "lower" or "none". An entry in ``MEASURES`` is all
    that a new measure needs.
    """

    ask: Callable[..., Any]
    better: str
    ends: tuple[float, float] = (0.0, 1.0)
    of_probabilities: bool = False


# measures of attempts, not of labels and scores; two of them with a number
_OF_K = {"pass_at_k": pass_at_k, "pass_hat_k": pass_hat_k}
_NAMED_K = re.compile(r"(pass_at_k|pass_hat_k)\((?:k *= *)?([1-9]\d*)\)")


def of_attempts(name: str) -> bool:
    """Is this a measure of attempts?"""
    return name == "pass_rate" or _NAMED_K.fullmatch(name) is not None


class _Measures(dict[str, Measure]):
    """Measures by name, and those that have a number in theirs."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or of_attempts(str(name))

    def __missing__(self, name: str) -> Measure:
        found = _NAMED_K.fullmatch(name)
        if found is None:
            raise KeyError(name)
        return Measure(partial(_OF_K[found[1]], k=int(found[2])), "higher")


MEASURES: dict[str, Measure] = _Measures(
    {
        "auc": Measure(auc, "higher"),
        "partial_auc": Measure(_partial, "higher"),
        "average_precision": Measure(average_precision, "higher"),
        "brier": Measure(brier, "lower", of_probabilities=True),
        "log_loss": Measure(log_loss, "lower", (0.0, np.inf), of_probabilities=True),
        "calibration_error": Measure(
            lambda t, **o: calibration_error(t, **o).debiased,
            "lower",
            of_probabilities=True,
        ),
        "calibration_slope": Measure(
            lambda t, **o: calibration_line(t, **o).slope, "none", (-np.inf, np.inf)
        ),
        "prevalence": Measure(_share_of_positives, "none"),
        "pass_rate": Measure(pass_rate, "higher"),
    }
)

# facts about the file itself: counted, and so without an interval
FACTS: dict[str, Callable[[Tally], float]] = {
    "cases": lambda t: t.n,
    "labelled": lambda t: t.n_pos + t.n_neg,
    "positives": lambda t: t.n_pos,
    "negatives": lambda t: t.n_neg,
    "unlabelled_share": lambda t: t.n_unknown / t.n if t.n else float("nan"),
    "lowest_score": lambda t: float(t.score[-1]) if t.score.size else float("nan"),
    "highest_score": lambda t: float(t.score[0]) if t.score.size else float("nan"),
    "distinct_scores": lambda t: t.score.size,
}
