"""Which classifier is better on the same cases, by a number other than the AUC?

``compare_metric`` compares any metric at chosen thresholds, ``compare_statistic`` any
number that a tally has. Both draw whole cases, with the outputs of all classifiers;
``weights.py`` and ``clusters.py`` have the twins for weighted and clustered cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.doors import door
from trueness._core.options import renamed
from trueness._core.records import Estimate
from trueness.comparison.aucs import asked_margin
from trueness.comparison.contrasts import Equality
from trueness.comparison.redraws import (
    Redrawn,
    drawn_estimate,
    redrawn_equal,
    sided_p,
    summary,
)
from trueness.comparison.results import Comparison, Pair, compared, with_margin
from trueness.comparison.weights import compare_weighted_metric
from trueness.counts.answers import of_panel, refuse_weights
from trueness.counts.resampling import Seed, drawn_tally
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Panel, Tally
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import metric as read_metric


class _PairedQuestion(NamedTuple):
    """What was asked of a comparison of votes."""

    level: float
    margin: float
    rng: Seed
    number: int
    fixed: bool  # is the number of positives fixed, by design or by a prevalence?
    share: float | None  # of positives, where another one than that of the cases


class _DrawnGaps(NamedTuple):
    """Differences drawn from what the population may be, by what was added."""

    even: Floats  # a whole case to each count of cases where the two votes differ
    low: Floats  # only half a case to those that speak for the first
    high: Floats  # only half a case to those that speak for the second


class _Sides(NamedTuple):
    """Which cases does McNemar's test count?"""

    pos: int
    neg: int
    sign: int


@renamed(number="replicates")
@of_panel(weights=True)
def compare_metric(
    panel: Panel,
    metric: Metric | str = "accuracy",
    *,
    thresholds: float | Mapping[str, float] | Sequence[float] = 0.5,
    method: str = "auto",
    margin: float | None = None,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 20_000,
    cluster: Any = None,
) -> Comparison:
    r"""Which classifier is better at its threshold, on the same cases?

    Parameters
    ----------
    panel
        The classifiers, seen on the same cases.
    metric
        Any metric, as a value or as text: ``"f1"``, ``"0.5*recall + 0.5*precision"``.
    thresholds
        One for all, a mapping from name to threshold, or a sequence in the order of the
        names.
    method
        ``"mcnemar"`` (exact; for accuracy, recall and specificity), ``"bootstrap"``
        (paired: whole cases are drawn) or ``"auto"``, the first where it applies.
        Weighted cases are left out one by one in place of being drawn.
    margin
        How much less the metric may be and still count as no worse, for example 0.05;
        adds tests of non-inferiority and of equivalence to every pair.
    prevalence
        The share of positives where the classifiers are used, for metrics that depend
        on it; that of the cases when None.
    sampling
        ``"cohort"``: the cases as they came. ``"case-control"``: a fixed number of each
        class by design; a metric that depends on the share of positives then needs
        ``prevalence``.
    level
        Confidence level of the intervals.
    rng, replicates
        Seed and number of bootstrap replicates, which give the intervals (and, with
        ``"bootstrap"``, the p-values).
    cluster
        Which cases belong together (patients, sites): a column of the data, or a
        mapping from cluster to panel. Clusters are then left out one by one (jackknife)
        and Student's distribution is used.

    Returns
    -------
    Comparison
        The metric of each classifier, all pairs with Holm-adjusted p-values, and an
        omnibus (Wald) test.

    Notes
    -----
    The scores of each case are first turned into votes (flagged or not), so the
    bootstrap draws at most eight counts for a pair, however many cases there are. It is
    the Bayesian bootstrap of Rubin (1981) with half a case added to each count
    (Jeffreys): a recall of five in five is 1 (0.62 to 1), not 1 (1 to 1), and for a
    single share the result is Jeffreys' interval. The counts of cases on which two
    classifiers differ get a whole case instead (Bonett and Price 2012). With half a
    case, four such cases against none would be significant, although two equal
    classifiers give that result in one of eight samples with four such cases. An end of
    the interval on the other side of 0, and a margin, ask about a loss: there the cases
    in which the first is right alone get half a case only. McNemar's
    exact p-value is that of the binomial test on the cases on which two classifiers
    differ. Weighted cases are left out one by one (jackknife), with Student's quantile,
    see ``docs/maths/weights.md``. Measured error rates are in
    ``docs/maths/comparison.md``. A larger value counts as better when a margin is
    tested. For a metric that is better when lower, such as a cost, the two p-values of
    non-inferiority are therefore interchanged:
    ``p_noninferior_second`` is that of the first.

    References
    ----------
    Rubin (1981), Ann. Stat. 9:130, doi:10.1214/aos/1176345338;
    Bonett, Price (2012), J. Educ. Behav. Stat. 37:479, doi:10.3102/1076998611411915;
    McNemar (1947), Psychometrika 12:153, doi:10.1007/BF02295996

    Examples
    --------
    >>> p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 1]], pos=[5, 6, 0], neg=[0, 0, 0])
    >>> compare_metric(p, "recall").pairs[0].p_value  # 6 to 0: 2 / 2**6
    0.03125
    """
    level = _options.fraction(level, "level")
    _options.choice(method, ("auto", "mcnemar", "bootstrap"), "method")
    chosen = read_metric(metric)
    _options.choice(sampling, ("cohort", "case-control"), "sampling")
    if depends_on_prevalence(chosen):
        _options.sampling(sampling, prevalence, f"compare_metric of {chosen.name}")
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence", ends="[]")
    if cluster is not None:
        if prevalence is not None:
            raise InputError("compare_metric takes cluster= or prevalence=, not both.")
        twin = door("comparison.clusters").compare_clustered_metric
        found: Comparison = twin(
            cluster, chosen, thresholds, asked_margin(margin), level
        )
        return found
    _cases.some_labels(panel, "compare_metric")
    panel = panel.labelled()
    _cases.at_least_two(panel.names, "compare_metric")
    _cases.complete_outputs(panel, "compare_metric")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    votes = panel.vote(thresholds)
    weighed = _MCNEMAR.get(chosen.name)
    if prevalence is not None and depends_on_prevalence(chosen):
        weighed = None  # cases of the two classes no longer count alike
    if method == "mcnemar" and weighed is None:
        raise InputError(
            f"McNemar's test compares {', '.join(_MCNEMAR)} of the cases as they are; "
            f'found {chosen.name}. Type method="bootstrap".'
        )
    if method == "mcnemar":
        why = 'It counts single cases on which two differ. Type method="bootstrap".'
        refuse_weights(panel, "McNemar's test", why)
    if panel.weighted:
        flags = flagged(panel.names, panel.rows, thresholds)
        words: Any = {"prevalence": prevalence, "level": level}
        words["margin"] = asked_margin(margin)
        return compare_weighted_metric(panel, chosen, flags, **words)
    exact = weighed if method != "bootstrap" else None
    fixed = sampling == "case-control" or prevalence is not None
    asked = _PairedQuestion(level, asked_margin(margin), rng, number, fixed, prevalence)
    return _compare_votes(votes, chosen, exact, asked)


def flagged(names: Sequence[str], rows: Floats, thresholds: Any) -> Array:
    """Cut every row: what ``Panel.vote`` does, but kept row by row."""
    if isinstance(thresholds, Mapping):
        thresholds = [thresholds[n] for n in names]
    cut = np.broadcast_to(np.asarray(thresholds, dtype=np.float64), len(names))
    return np.asarray(rows >= cut)


def _compare_votes(
    votes: Panel, metric: Metric, exact: _Sides | None, x: _PairedQuestion
) -> Comparison:
    rng = _options.generator(x.rng)
    value = _metric_at(votes.rows, metric, votes.neg[None], votes.pos[None], x.share)[0]
    values, pairs = [], []
    for k in range(value.size):
        own = _drawn_values(votes, k, metric, x, rng)
        values.append(drawn_estimate(float(value[k]), own, x.level, "bootstrap"))
    for i, j in combinations(range(value.size), 2):
        drawn = _drawn_gaps(votes, (i, j), metric, x, rng)
        difference = _sided_estimate(float(value[i] - value[j]), drawn, x.level)
        alike = bool(np.array_equal(votes.rows[:, i], votes.rows[:, j]))
        if exact is not None:
            score, p = _mcnemar(votes, i, j, exact)
        else:
            score, p = (0.0, 1.0) if alike else sided_p(difference, drawn.even)
        names = votes.names[i], votes.names[j]
        pairs.append(_with_margin(Pair(*names, difference, score, p, p), drawn, x))
    same = _omnibus(votes, metric, value, x, rng)
    method = f"{metric.name}, {'bootstrap' if exact is None else 'mcnemar'}"
    return compared(votes.names, tuple(values), pairs, same, paired=True, method=method)


def _drawn_values(
    votes: Panel, k: int, metric: Metric, x: _PairedQuestion, rng: Any
) -> Floats:
    """Draw the metric of one classifier from what the population may be."""
    count = _combinations(votes, [k])
    drawn = rng.standard_gamma(count + 0.5, (x.number, count.size))
    return _of_drawn(votes, drawn, metric, x)[:, 0]


def _drawn_gaps(
    votes: Panel, chosen: tuple[int, int], metric: Metric, x: _PairedQuestion, rng: Any
) -> _DrawnGaps:
    """Draw the difference of two, with what was added to cases where they differ.

    A case more for either side draws the difference towards 0. That is caution where no
    difference is in question, but not where a loss of more than a margin is: there a
    case for the first would make 5 % tests reject up to 7.5 % of true hypotheses.
    """
    count = _combinations(votes, list(chosen))
    drawn = rng.standard_gamma(count + 0.5, (x.number, 8))
    more = np.zeros_like(drawn)
    more[:, _DIFFER] = rng.standard_gamma(0.5, (x.number, 4))
    one_more = count + np.eye(8) + 0.5
    effect = _of_drawn(votes, np.vstack([count + 0.5, one_more]), metric, x)
    gap = effect[:, 0] - effect[:, 1]
    for_first = gap[1:] > gap[0]
    added = drawn + more, drawn + more * ~for_first, drawn + more * for_first
    each = (_of_drawn(votes, cells, metric, x) for cells in added)
    return _DrawnGaps(*(v[:, 0] - v[:, 1] for v in each))


# of two classifiers, cells in the order of _combinations that only one has flagged
_DIFFER = np.array([1, 2, 5, 6])


def _combinations(votes: Panel, chosen: list[int]) -> Floats:
    """Count the combinations of label and votes.

    Negatives first; bit k of a combination is the vote of classifier k. Rubin's
    Bayesian bootstrap draws them as gamma variables with half a case added to each
    (Jeffreys' prior): a share has width at 0 and 1, and no draw is undefined.
    """
    code = (votes.rows[:, chosen] @ [2**k for k in range(len(chosen))]).astype(int)
    size = 2 ** len(chosen)
    return np.concatenate([np.bincount(code, w, size) for w in (votes.neg, votes.pos)])


def _of_drawn(
    votes: Panel, drawn: Floats, metric: Metric, x: _PairedQuestion
) -> Floats:
    """Give the metric of each classifier for drawn combinations."""
    size = drawn.shape[1] // 2
    flags = np.arange(size)[:, None] >> np.arange(size.bit_length() - 1) & 1
    neg, pos = drawn[:, :size], drawn[:, size:]
    if x.fixed:
        neg = neg * (votes.n_neg / neg.sum(axis=1, keepdims=True))
        pos = pos * (votes.n_pos / pos.sum(axis=1, keepdims=True))
    else:
        whole = (votes.n_neg + votes.n_pos) / drawn.sum(axis=1, keepdims=True)
        neg, pos = neg * whole, pos * whole
    return _metric_at(flags, metric, neg, pos, x.share)


def _sided_estimate(value: float, drawn: _DrawnGaps, level: float) -> Estimate:
    """Give the difference with its interval; it excludes 0 where the test of 0 does."""
    even, low, high = (drawn_estimate(value, d, level, "bootstrap") for d in drawn)
    return replace(
        even,
        low=even.low if even.low > 0 else min(even.low, low.low),
        high=even.high if even.high < 0 else max(even.high, high.high),
    )


def _with_margin(pair: Pair, drawn: _DrawnGaps, x: _PairedQuestion) -> Pair:
    """Could one be worse by more than the margin? As the interval's ends say."""
    if math.isnan(x.margin) or math.isnan(pair.difference.value):
        return pair

    def p(beyond: Array) -> float:
        return (float(np.sum(beyond)) + 1) / (beyond.size + 1)

    worse = min(p(drawn.low <= -x.margin), p(drawn.even <= 0))
    better = min(p(drawn.high >= x.margin), p(drawn.even >= 0))
    return with_margin(pair, x.margin, worse, better)


def _omnibus(
    votes: Panel, metric: Metric, value: Floats, x: _PairedQuestion, rng: Any
) -> Equality:
    number = min(x.number, 4000)
    drawn = np.concatenate(
        [
            _metric_at(votes.rows, metric, neg, pos, x.share)
            for neg, pos in redraws(votes, number, rng, stratified=x.fixed)
        ]
    )
    known = [n for n in (votes.n_pos, votes.n_neg) if n]
    return redrawn_equal(value, drawn, lambda _: max(2.0, min(known)))


@renamed(number="replicates")
@of_panel(weights=True)
def compare_statistic(
    panel: Panel,
    statistic: Callable[[Tally], Any],
    *,
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 500,
) -> Comparison:
    r"""Which classifier is better by any statistic, on the same cases?

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
        The statistic of each classifier, all pairs with percentile intervals and
        Holm-adjusted bootstrap p-values, and an omnibus (Wald) test.

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

    def of(neg: Array, pos: Array) -> list[Any]:
        return [statistic(drawn_tally(panel, c, neg, pos)) for c in panel.rows.T]

    drawn = np.array(
        [
            [float(v) for v in of(n, p)]
            for neg, pos in redraws(panel, number, rng)
            for n, p in zip(neg, pos, strict=True)
        ]
    )

    def tested(i: int, j: int, difference: Estimate) -> tuple[float, float]:
        return sided_p(difference, drawn[:, i] - drawn[:, j])

    found = tuple(of(panel.neg, panel.pos))
    x = Redrawn(panel.names, found, drawn, level, True)
    return summary(x, "paired bootstrap", tested=tested)


def _metric_at(
    flags: Array, metric: Metric, neg: Array, pos: Array, share: float | None
) -> Floats:
    """Give the metric of every classifier for each row of counts: (r, K)."""
    tp, fp = pos @ flags, neg @ flags
    fn, tn = pos.sum(1)[:, None] - tp, neg.sum(1)[:, None] - fp
    # sums of drawn shares can miss zero by rounding
    cells = (np.maximum(c, 0) for c in (tp, fp, fn, tn))
    used = Confusion(*cells).at_prevalence(share)
    return np.asarray(metric(used), dtype=np.float64)


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
