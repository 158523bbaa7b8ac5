"""Which classifier is better on the same cases, by a number other than the AUC?

``compare_metric`` compares any metric at chosen thresholds, ``compare_statistic`` any
number that a tally has. Both draw whole cases, with the outputs of all classifiers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.options import renamed
from trueness._core.records import Estimate
from trueness.comparison.results import Comparison, Pair, chi2_tail, holm, omnibus
from trueness.counts.answers import of_panel
from trueness.counts.resampling import Seed, percentile_interval
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Panel, Tally
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import metric as read_metric


class _Sides(NamedTuple):
    """Which cases does McNemar's test count?"""

    pos: int
    neg: int
    sign: int


@renamed(number="replicates")
@of_panel
def compare_metric(
    panel: Panel,
    metric: Metric | str = "accuracy",
    *,
    thresholds: float | Mapping[str, float] | Sequence[float] = 0.5,
    method: str = "auto",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 4000,
) -> Comparison:
    r"""Which classifier is better at its threshold, on the same cases?

    Parameters
    ----------
    panel
        The classifiers, seen on the same cases.
    metric
        Any metric, as a value or as text: ``"f1"``, ``"0.5*recall + 0.5*precision"``.
    thresholds
        One for all, a mapping from name, or a sequence in the order of the names.
    method
        ``"mcnemar"`` (exact; for accuracy, recall and specificity), ``"bootstrap"``
        (paired: whole cases are drawn) or ``"auto"``, the first where it applies.
    level
        Confidence level of the intervals.
    rng, replicates
        Seed and number of bootstrap replicates, which give the intervals (and, with
        ``"bootstrap"``, the p-values).

    Returns
    -------
    Comparison
        The metric of each, all pairs with Holm-adjusted p-values, omnibus (Wald) test.

    Notes
    -----
    Each case is first cut into votes, so the bootstrap draws at most 2^K rows, however
    many cases there are. McNemar's exact p-value is the binomial one, of the cases on
    which two classifiers differ.

    References
    ----------
    McNemar (1947), Psychometrika 12:153, doi:10.1007/BF02295996

    Examples
    --------
    >>> p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 1]], pos=[5, 6, 0], neg=[0, 0, 0])
    >>> compare_metric(p, "recall").pairs[0].p_value  # 6 to 0: 2 / 2**6
    0.03125
    """
    level = _options.fraction(level, "level")
    _options.choice(method, ("auto", "mcnemar", "bootstrap"), "method")
    panel = panel.labelled()
    _cases.at_least_two(panel.names, "compare_metric")
    _cases.complete_outputs(panel, "compare_metric")
    chosen = read_metric(metric) if isinstance(metric, str) else metric
    number = _options.whole_number(replicates, "replicates", at_least=100)
    votes = panel.vote(thresholds)
    weighed = _MCNEMAR.get(chosen.name)
    if method == "mcnemar" and weighed is None:
        raise InputError(
            f"McNemar's test compares {', '.join(_MCNEMAR)}; found {chosen.name}. Type "
            f'method="bootstrap".'
        )
    exact = weighed if method != "bootstrap" else None
    return _compare_votes(votes, chosen, exact, level, rng, number)


def _compare_votes(
    votes: Panel,
    metric: Metric,
    exact: _Sides | None,
    level: float,
    rng: Seed,
    number: int,
) -> Comparison:
    value = _metric_of(votes, metric, votes.neg[None], votes.pos[None])[0]
    drawn = np.concatenate(
        [
            _metric_of(votes, metric, neg, pos)
            for neg, pos in redraws(votes, number, rng, stratified=False)
        ]
    )
    name = f"{metric.name}, {'bootstrap' if exact is None else 'mcnemar'}"

    def tested(i: int, j: int, difference: Estimate) -> tuple[float, float]:
        if exact is None:
            return _bootstrap_p(difference, drawn[:, i] - drawn[:, j])
        return _mcnemar(votes, i, j, exact)

    return _summary(votes.names, value, drawn, level, tested, name)


def _summary(
    names: tuple[str, ...],
    value: Floats,
    drawn: Floats,
    level: float,
    tested: Callable[[int, int, Estimate], tuple[float, float]],
    method: str,
) -> Comparison:
    """Turn values and their replicates (r, K) into a comparison of all pairs."""
    values = tuple(_interval(float(v), drawn[:, k], level) for k, v in enumerate(value))
    pairs = []
    for i, j in combinations(range(len(names)), 2):
        moved = drawn[:, i] - drawn[:, j]
        difference = _interval(float(value[i] - value[j]), moved, level)
        pairs.append((names[i], names[j], difference, *tested(i, j, difference)))
    adjusted = holm([p[-1] for p in pairs])
    listed = tuple(Pair(*p, a) for p, a in zip(pairs, adjusted, strict=True))
    spread = np.atleast_2d(np.cov(drawn[_finite(drawn)].T))
    statistic, df = omnibus(value, spread)
    p_all = chi2_tail(statistic, df)
    return Comparison(names, values, listed, statistic, df, p_all, True, method)


@renamed(number="replicates")
@of_panel
def compare_statistic(
    panel: Panel,
    statistic: Callable[[Tally], Any],
    *,
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 500,
) -> Comparison:
    r"""Which classifier is better by any number, on the same cases?

    Parameters
    ----------
    panel
        The classifiers, seen on the same cases.
    statistic
        A function from a tally to a number or an :class:`Estimate`, for example
        ``trueness.average_precision`` or ``lambda t: trueness.partial_auc(t, fpr=(0,
        0.1))``.
    level
        Confidence level of the intervals.
    rng, replicates
        Seed and number of replicates of the stratified bootstrap of whole cases.

    Returns
    -------
    Comparison
        The number of each, all pairs with percentile intervals and Holm-adjusted
        bootstrap p-values, omnibus (Wald) test.

    Notes
    -----
    For the AUC :func:`compare_auc` gives the same without resampling. The smallest
    p-value is 2 / (replicates + 1).

    Examples
    --------
    >>> p = Panel(["a", "b"], [[2, 1], [1, 2]], pos=[5, 5], neg=[5, 5])
    >>> compare_statistic(p, lambda t: t.pos[0] / t.n_pos).pairs[0].difference.value
    0.0
    """
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    panel = panel.labelled()
    _cases.at_least_two(panel.names, "compare_statistic")
    _cases.both_classes(panel, "compare_statistic")
    _cases.complete_outputs(panel, "compare_statistic")

    def of(neg: Array, pos: Array) -> list[float]:
        columns = panel.rows.T
        return [float(statistic(Tally(column, neg, pos))) for column in columns]

    drawn = np.array(
        [
            of(n, p)
            for neg, pos in redraws(panel, number, rng)
            for n, p in zip(neg, pos, strict=True)
        ]
    )

    def tested(i: int, j: int, difference: Estimate) -> tuple[float, float]:
        return _bootstrap_p(difference, drawn[:, i] - drawn[:, j])

    value = np.array(of(panel.neg, panel.pos))
    return _summary(panel.names, value, drawn, level, tested, "paired bootstrap")


def _finite(drawn: Floats) -> Array:
    return np.asarray(np.isfinite(drawn).all(axis=1))


def _metric_of(votes: Panel, metric: Metric, neg: Array, pos: Array) -> Floats:
    """Give the metric of every classifier for each row of counts: (r, K)."""
    tp, fp = pos @ votes.rows, neg @ votes.rows
    fn, tn = pos.sum(1)[:, None] - tp, neg.sum(1)[:, None] - fp
    return np.asarray(metric(Confusion(tp, fp, fn, tn)), dtype=np.float64)


def _interval(value: float, drawn: Floats, level: float) -> Estimate:
    drawn = drawn[np.isfinite(drawn)]
    if drawn.size < 2:
        nan = math.nan
        return Estimate(value, nan, nan, level, "bootstrap", nan)
    low, high = percentile_interval(drawn, level)
    sd = float(drawn.std(ddof=1))
    return Estimate(value, min(low, value), max(high, value), level, "bootstrap", sd)


def _bootstrap_p(difference: Estimate, drawn: Floats) -> tuple[float, float]:
    """How often would the difference change its side? Two-sided, never zero."""
    drawn = drawn[np.isfinite(drawn)]
    if not difference.sd > 0:
        return 0.0, 1.0 if difference.value == 0 else math.nan
    over = (np.sum(drawn >= 0) + 1) / (drawn.size + 1)
    under = (np.sum(drawn <= 0) + 1) / (drawn.size + 1)
    return difference.value / difference.sd, min(1.0, 2 * float(min(over, under)))


def _mcnemar(votes: Panel, i: int, j: int, sides: _Sides) -> tuple[float, float]:
    """Compare the cases that only one of two classifiers has right, exactly."""
    from scipy.special import bdtr

    only_i = (votes.rows[:, i] > votes.rows[:, j]).astype(np.int64)
    only_j = (votes.rows[:, j] > votes.rows[:, i]).astype(np.int64)
    pos, neg = votes.pos * sides.pos, votes.neg * sides.neg
    # a flag is right for a positive, and no flag is right for a negative
    won = int(pos @ only_i + neg @ only_j)
    lost = int(pos @ only_j + neg @ only_i)
    n = won + lost
    if n == 0:
        return 0.0, 1.0
    p = min(1.0, 2 * float(bdtr(min(won, lost), n, 0.5)))
    return sides.sign * (won - lost) / math.sqrt(n), p


# which class a metric looks at, and whether being right raises it
_MCNEMAR = {
    "accuracy": _Sides(1, 1, 1),
    "recall": _Sides(1, 0, 1),
    "specificity": _Sides(0, 1, 1),
    "fnr": _Sides(1, 0, -1),
    "fpr": _Sides(0, 1, -1),
}
