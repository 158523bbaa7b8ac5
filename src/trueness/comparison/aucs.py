"""Which classifier is better, and could the difference be chance?

``compare_auc`` compares areas: paired (a panel, any number of classifiers) or not (a
mapping of tallies). Other numbers are compared in ``paired.py`` and ``groups.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, begins_run, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.doors import door
from trueness._core.records import Estimate
from trueness.comparison.contrasts import (
    ContrastPart,
    Equality,
    all_equal,
    freedom,
    mover_test,
    student_test,
    variance,
)
from trueness.comparison.results import Comparison, Pair, compared, judged
from trueness.counts.answers import of_panel
from trueness.counts.placements import Placements
from trueness.counts.values import Panel, Tally
from trueness.counts.weights import effective, remark
from trueness.ranking.auc_intervals import AucQuestion, answer, delong_sd


class _AreasFound(NamedTuple):
    """What is known of the areas: how each varies, and how their differences do."""

    questions: tuple[AucQuestion, ...]
    parts: tuple[ContrastPart, ...]  # none where different cases are compared
    panel: Panel | None

    @property
    def auc(self) -> Floats:
        return np.array([q.place.auc for q in self.questions])


@of_panel(weights=True)
def compare_auc(
    x: Panel | Tally | Mapping[Any, Tally],
    other: Tally | None = None,
    *,
    margin: float | None = None,
    level: float = 0.95,
    cluster: Any = None,
) -> Comparison:
    r"""Which classifier ranks better, and could the difference be chance?

    .. math:: t = \frac{A_i - A_j}{\sqrt{\mathrm{var}(A_i - A_j)}}

    Parameters
    ----------
    x
        A panel (paired: the same cases), a mapping from name to tally (unpaired:
        different cases), or a tally.
    other
        A second tally, unpaired, when ``x`` is a tally.
    margin
        How much less an AUC may be and still count as no worse, for example 0.05; adds
        tests of non-inferiority and of equivalence to every pair.
    level
        Confidence level of the intervals.
    cluster
        Which cases belong together (patients, sites): a column of the data, or a
        mapping from cluster to panel. Variances are then Obuchowski's (1997).

    Returns
    -------
    Comparison
        The AUCs, all pairs with intervals and Holm-adjusted p-values, and an omnibus
        test.

    Notes
    -----
    Paired comparisons use DeLong's covariance of the placement values, with Student's
    distribution and Satterthwaite's degrees of freedom; without these, a 5 % test
    rejects up to 28 % of true null hypotheses when there are two positives. The
    variance of a difference is that of the differences of placement values, so that a
    copy, or a monotone re-scoring, has a difference of exactly 0 and p = 1. The two
    score intervals are combined (MOVER) in unpaired comparisons, and where a variance
    is unknown (one positive) or is zero though the classifiers are not copies (both
    perfect). The test that all AUCs are equal uses Hotelling's statistic, or Brunner's
    where cases are few; ``docs/maths/comparison.md`` has their measured error rates.
    Cases without a label change nothing; cases for which a classifier gave no output
    must be left out first (``panel.observed()``). The time is O(K m log m + K^2 m) for
    K classifiers and m distinct rows.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44:837, doi:10.2307/2531595;
    Satterthwaite (1946), Biometrics Bull. 2:110, doi:10.2307/3002019;
    Nel, van der Merwe (1986), Comm. Stat. Theory Meth. 15:3719;
    Brunner, Dette, Munk (1997), J. Am. Stat. Assoc. 92:1494;
    Holm (1979), Scand. J. Stat. 6:65;
    Zou, Donner (2008), Stat. Med. 27:1693, doi:10.1002/sim.3095

    Examples
    --------
    >>> p = Panel(["a", "b"], [[3, 6], [2, 4], [1, 2]], pos=[2, 1, 1], neg=[0, 1, 2])
    >>> pair = compare_auc(p).pairs[0]  # b is twice a
    >>> pair.difference.value, pair.p_value
    (0.0, 1.0)
    """
    level = _options.fraction(level, "level")
    margin = asked_margin(margin)
    if cluster is not None:
        twin = door("comparison.clusters").compare_clustered_auc
        clustered: Comparison = twin(cluster, margin, level)
        return clustered
    if isinstance(x, Panel):
        if other is not None:
            raise InputError("compare_auc takes a panel alone; leave the rest out.")
        panel = x.labelled()
        _cases.at_least_two(panel.names, "compare_auc")
        _cases.both_classes(panel, "compare_auc")
        _cases.complete_outputs(panel, "compare_auc")
        found = (_weighted if panel.weighted else _paired)(panel, level)
        return _compare(panel.names, found, margin, remark(panel))
    tallies = _unpaired_tallies(x, other)
    questions = tuple(AucQuestion.of(t, level, 0, 0) for t in tallies.values())
    notes = remark(sum(tallies.values(), Tally()))
    return _compare(tuple(tallies), _AreasFound(questions, (), None), margin, notes)


def asked_margin(margin: float | None) -> float:
    """Pass on a margin between 0 and 1, or NaN when none was asked for."""
    return math.nan if margin is None else _options.fraction(margin, "margin")


def _unpaired_tallies(x: Any, other: Any) -> dict[str, Tally]:
    if isinstance(x, Tally) and isinstance(other, Tally):
        tallies = {"first": x, "second": other}
    elif isinstance(x, Mapping) and other is None:
        tallies = {str(name): t for name, t in x.items()}
    else:
        raise InputError(
            "compare_auc needs a panel (the same cases), a mapping of tallies or two "
            "tallies (different cases). Type trueness.compare_auc(panel)."
        )
    _cases.at_least_two(tuple(tallies), "compare_auc")
    for t in tallies.values():
        _cases.both_classes(t, "compare_auc")
    return {name: t.labelled() for name, t in tallies.items()}


def _paired(panel: Panel, level: float) -> _AreasFound:
    below, above = placement_columns(panel)
    n_pos, n_neg = panel.n_pos, panel.n_neg
    pos, neg = panel.pos[panel.pos > 0], panel.neg[panel.neg > 0]
    wins = [_whole_sum(pos, row, n_pos * n_neg) for row in below]
    up = _pair_moments(below, pos.astype(np.float64)) / (2 * n_neg) ** 2
    down = _pair_moments(above, neg.astype(np.float64)) / (2 * n_pos) ** 2
    pos_var, neg_var = (_own_variances(c, w) for c, w in ((below, pos), (above, neg)))
    questions = []
    for k, won in enumerate(wins):
        spread = pos_var[k] / (2 * n_neg) ** 2, neg_var[k] / (2 * n_pos) ** 2
        place = Placements(won, won / (2 * n_pos * n_neg), *spread)
        questions.append(AucQuestion(panel, place, level, 0, 0))
    # a single case of a class has no spread: then the score intervals decide (MOVER)
    known = min(n_pos, n_neg) > 1
    parts = (ContrastPart(up, n_pos), ContrastPart(down, n_neg)) if known else ()
    return _AreasFound(tuple(questions), parts, panel)


def _weighted(panel: Panel, level: float) -> _AreasFound:
    r"""Weigh the placement values: variances of areas and of differences.

    With d the difference of the placement values of a case of weight w, of W in its
    class, and D that of the areas, the variance of D is, class by class,

    .. math:: \sum_i \frac{w_i^2 (d_i - D)^2}{W (W - w_i)}

    (MacKinnon and White 1985: a heavy case draws D to itself), which for n equal cases
    is the sample variance by n. Kish's number of equal cases gives the degrees of
    freedom. A heavy case moves a difference as much as its error, so that fewer, as
    the fourth powers of weights have it, are too careful.

    References
    ----------
    MacKinnon, White (1985), J. Econom. 29:305, doi:10.1016/0304-4076(85)90158-7
    """
    below, above = placement_columns(panel)
    columns = below / (2 * panel.n_neg), above / (2 * panel.n_pos)
    parts = []
    for place, k in zip(columns, (1, 0), strict=True):
        weight = (panel.neg, panel.pos)[k]
        some = weight > 0
        w, square = weight[some], panel.squares[k][some]
        n, total = effective(w, square).number, w.sum()
        each = square / np.maximum(total - square / w, _ROUNDING * total) / total
        centred = place - (place @ w / total)[:, None]
        spread = np.array([(a - centred) ** 2 @ each for a in centred])
        # of copies rounding alone is left
        spread = np.where(spread > _ROUNDING, spread, 0.0)
        parts.append(ContrastPart(spread * n, n))
    questions = tuple(AucQuestion.of(panel[n], level, 0, 0) for n in panel.names)
    known = min(p.n for p in parts) > 1.5
    return _AreasFound(questions, tuple(parts) if known else (), panel)


# placement values lie between 0 and 1: a smaller variance is none
_ROUNDING = 1e-28


def placement_columns(panel: Panel) -> tuple[Floats, Floats]:
    """Count twice the negatives below, and the positives above, for every classifier.

    Row k of the first has an entry for each row of the panel with positives, of the
    second for each with negatives. Ties count once; whole numbers are exact as floats.
    """
    names = len(panel.names)
    has_pos, has_neg = panel.pos > 0, panel.neg > 0
    below = np.empty((names, int(has_pos.sum())))
    above = np.empty((names, int(has_neg.sum())))
    full = np.empty(len(panel))
    for k in range(names):
        column = np.ascontiguousarray(panel.rows[:, k])
        order = np.argsort(column)
        ordered = column[order]
        start = np.flatnonzero(begins_run(ordered))
        size = np.diff(np.append(start, ordered.size))
        full[order] = np.repeat(_twice_below(panel.neg[order], start), size)
        below[k] = full[has_pos]
        full[order] = np.repeat(_twice_below(panel.pos[order], start), size)
        above[k] = 2 * panel.n_pos - full[has_neg]
    return below, above


def _twice_below(count: Array, start: Array) -> Array:
    """Count twice the cases of lower levels and once those of the own level."""
    total = np.add.reduceat(count, start)
    return np.asarray(2 * np.cumsum(total) - total)


def _whole_sum(count: Array, twice: Floats, pairs: int) -> int:
    """Add whole numbers exactly, in Python's integers beyond int64."""
    exact: Any = np.int64 if 2 * pairs < 2**62 else object
    return int(count.astype(exact) @ twice.astype(np.int64).astype(exact))


def _pair_moments(columns: Floats, weight: Floats) -> Floats:
    """Give the sample variance of every difference of two rows; zero for copies.

    Differences are taken before squares, so that nothing large cancels.
    """
    k, n = len(columns), float(weight.sum())
    total, square = np.zeros((k, k)), np.zeros((k, k))
    if n < 2:
        return square
    for s in blocks(weight.size):
        block, w = columns[:, s], weight[s]
        for i in range(k - 1):
            part = block[i] - block[i + 1 :]
            total[i, i + 1 :] += part @ w
            np.square(part, out=part)
            square[i, i + 1 :] += part @ w
    variance = np.maximum(0.0, (square - total**2 / n) / (n - 1))
    return np.asarray(variance + variance.T)


def _own_variances(columns: Floats, weight: Array) -> Floats:
    n = float(weight.sum())
    if n < 2:
        return np.full(len(columns), np.nan)
    centre = (columns @ weight) / n
    parts = [
        np.square(columns[:, s] - centre[:, None]) @ weight[s]
        for s in blocks(weight.size)
    ]
    return np.asarray(np.sum(parts, axis=0) / (n - 1))


def compare_areas(
    names: tuple[str, ...],
    questions: tuple[AucQuestion, ...],
    parts: tuple[ContrastPart, ...],
    panel: Any,
    margin: float,
) -> Comparison:
    """Compare areas of the same cases whose spread is known from elsewhere."""
    return _compare(names, _AreasFound(questions, parts, panel), margin)


def _compare(
    names: tuple[str, ...],
    found: _AreasFound,
    margin: float,
    said: tuple[str, ...] = (),
) -> Comparison:
    size = len(names)
    values = tuple(answer(q, "score") for q in found.questions)
    spread = variance(found.parts) if found.parts else np.zeros((size, size))
    df = freedom(found.parts) if found.parts else spread
    pairs = [
        _pair(names, found, (i, j), math.sqrt(spread[i, j]), df[i, j], margin)
        for i, j in combinations(range(size), 2)
    ]
    same = all_equal(found.auc, found.parts) if found.parts else _by_widths(values)
    if size == 2:  # one pair says it all
        same = same._replace(p_value=None)
    paired, notes = found.panel is not None, few_cases(found.questions) + said
    return compared(
        names, values, pairs, same, paired=paired, method="delong", notes=notes
    )


def _by_widths(values: tuple[Estimate, ...]) -> Equality:
    """Test that independent areas are equal, each with the error its interval has.

    Cochran's Q. Standard errors come from the widths of the score intervals, which are
    never zero and allow for few cases.
    """
    from scipy.special import chdtrc

    area = np.array([v.value for v in values])
    z = NormalDist().inv_cdf((1 + values[0].level) / 2)
    # of 10^30 pairs an interval may have no width that a float can hold
    widths = [max(v.high - v.low, 1e-15) for v in values]
    weight = np.array([(2 * z / width) ** 2 for width in widths])
    # Cochran (1954): squared distances from the mean, each by its precision
    statistic = float(weight @ (area - weight @ area / weight.sum()) ** 2)
    return Equality(statistic, area.size - 1, float(chdtrc(area.size - 1, statistic)))


_FEW = 10  # with fewer cases of a class even large differences are missed


def few_cases(questions: Sequence[AucQuestion]) -> tuple[str, ...]:
    """Say when a class has so few cases that hardly any difference can be seen."""
    pos = min(q.n_pos for q in questions)
    neg = min(q.n_neg for q in questions)
    n, name = min((pos, "positive"), (neg, "negative"))
    if n >= _FEW:
        return ()
    return (
        f"With {n:.3g} {name} case{'s' if n > 1 else ''} only a very large difference "
        f"can be distinguished from chance; collect more {name} cases.",
    )


def copies(first: Floats, second: Floats) -> bool:
    """Do two classifiers order all cases alike?"""
    a, b = (np.unique(c, return_inverse=True)[1] for c in (first, second))
    return bool(np.array_equal(a, b))


def _pair(
    names: tuple[str, ...],
    found: _AreasFound,
    at: tuple[int, int],
    sd: float,
    df: float,
    margin: float,
) -> Pair:
    a, b = (found.questions[k] for k in at)
    first, second = (names[k] for k in at)
    if sd == 0 and found.panel is not None and copies(*found.panel.rows.T[list(at)]):
        same = Estimate(0.0, 0.0, 0.0, a.level, "copies", 0.0)
        return judged(first, second, same, None, margin)
    # whole numbers of pairs, so equal areas differ by exactly nothing
    pairs_a, pairs_b = (q.tally.n_pos * q.tally.n_neg for q in (a, b))
    gap = a.place.twice_wins * pairs_b - b.place.twice_wins * pairs_a
    value = gap / (2 * pairs_a * pairs_b)
    if a.pos is not None:
        value = a.place.auc - b.place.auc
    test = student_test(value, sd, df, a.level) if sd > 0 else mover_test(a, b)
    if found.panel is None:
        sd = math.hypot(delong_sd(a), delong_sd(b))
        if sd > 0:  # what pROC calls D; the p-value is that of the intervals
            test = test._replace(score=value / sd)
    method = "delong" if found.panel and sd > 0 else "score (MOVER)"
    ends = max(-1.0, test.low), min(1.0, test.high)
    estimate = Estimate(value, *ends, a.level, method, sd)
    return judged(first, second, estimate, test, margin)
