"""Does it hold in every group, and what if cases are not independent?

Groups are a mapping from name to tally (``trueness.tally(..., by="site")``). Every
analysis of ``trueness`` that takes a tally takes such a mapping too and answers for
each group; ``compare_groups`` gives the differences, ``cluster_bootstrap`` an interval
for all cases together that respects that cases of a group are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing
from trueness._core.options import renamed
from trueness._core.records import Estimate
from trueness.comparison.results import Comparison, Pair, holm
from trueness.counts.resampling import Seed, draw, percentile_interval, resample
from trueness.counts.values import Panel, Tally

F = TypeVar("F", bound=Callable[..., Any])
Statistic = Callable[..., Any]


@renamed(number="replicates")
def compare_groups(
    groups: Mapping[Any, Tally],
    statistic: Statistic,
    *,
    reference: Any = None,
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 500,
) -> Comparison:
    r"""Does a number differ between groups, and could that be chance?

    Parameters
    ----------
    groups
        A mapping from name to tally, of different cases.
    statistic
        A function from a tally to a number or an :class:`Estimate`, for example
        ``trueness.average_precision`` or ``lambda t: trueness.partial_auc(t, fpr=(0,
        0.1))``.
    reference
        Compare every other group with this one; all pairs when None.
    level
        Confidence level of the intervals.
    rng, replicates
        Seed and number of replicates of the stratified bootstrap within each group.

    Returns
    -------
    Comparison
        Values and differences with percentile intervals, p-values by the normal error
        of the bootstrap, Holm-adjusted; omnibus (Wald) test.

    Notes
    -----
    For the AUC :func:`compare_auc` gives the same without resampling.

    Examples
    --------
    >>> sites = {"A": Tally([2, 1], [1, 9], [8, 2]), "B": Tally([2, 1], [5, 5], [5, 5])}
    >>> found = compare_groups(sites, lambda t: t.pos[0] / t.n_pos, rng=1)
    >>> round(found.pairs[0].difference.value, 12)  # 8/10 - 5/10
    0.3
    """
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    _cases.at_least_two([str(n) for n in groups], "compare_groups")
    rng = _options.generator(rng)
    names = list(groups)
    value = np.array([_number(statistic(t)) for t in groups.values()])
    drawn = np.column_stack(
        [
            [_number(statistic(resample(t, rng))) for _ in range(number)]
            for t in groups.values()
        ]
    )
    chosen = _pairs(names, reference)
    found = [_difference(names, value, drawn, at, level) for at in chosen]
    adjusted = holm([p.p_value for p in found])
    pairs = tuple(
        Pair(p.first, p.second, p.difference, p.statistic, p.p_value, a)
        for p, a in zip(found, adjusted, strict=True)
    )
    values = tuple(_estimate(float(v), drawn[:, k], level) for k, v in enumerate(value))
    statistic_value, df, p = _all_equal(value, drawn)
    labels = tuple(str(n) for n in names)
    return Comparison(labels, values, pairs, statistic_value, df, p, False, "bootstrap")


def _number(answer: Any) -> float:
    return float(answer)


def _pairs(names: list[Any], reference: Any) -> list[tuple[int, int]]:
    if reference is None:
        return list(combinations(range(len(names)), 2))
    if reference not in names:
        raise InputError(
            f"reference must be one of the groups {listing(names)}; found "
            f"{reference!r}."
        )
    at = names.index(reference)
    return [(k, at) for k in range(len(names)) if k != at]


def _estimate(value: float, drawn: Floats, level: float) -> Estimate:
    low, high = percentile_interval(drawn, level)
    sd = float(drawn.std(ddof=1))
    return Estimate(value, min(low, value), max(high, value), level, "bootstrap", sd)


def _difference(
    names: list[Any], value: Floats, drawn: Floats, at: tuple[int, int], level: float
) -> Pair:
    from scipy.special import ndtr

    i, j = at
    moved = drawn[:, i] - drawn[:, j]
    estimate = _estimate(float(value[i] - value[j]), moved, level)
    score = estimate.value / estimate.sd if estimate.sd > 0 else 0.0
    p = 2 * float(ndtr(-abs(score)))
    return Pair(str(names[i]), str(names[j]), estimate, score, p, p)


def _all_equal(value: Floats, drawn: Floats) -> tuple[float, int, float]:
    """Weighted squares around the weighted mean (Cochran's Q)."""
    from scipy.special import chdtrc

    weight = 1 / np.maximum(drawn.var(axis=0, ddof=1), 1e-300)
    centre = float(weight @ value / weight.sum())
    q = float(weight @ (value - centre) ** 2)
    df = value.size - 1
    return q, df, float(chdtrc(df, q))


@renamed(number="replicates")
def cluster_bootstrap(
    clusters: Mapping[Any, Tally] | Mapping[Any, Panel],
    statistic: Statistic,
    *,
    method: str = "percentile",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Estimate:
    r"""How sure are we when the cases of a cluster are alike?

    Whole clusters (patients, sites, days) are drawn with replacement, and the cases of
    those drawn are counted together.

    Parameters
    ----------
    clusters
        A mapping from cluster to tally (``trueness.tally(..., by="patient")``), or to
        panel.
    statistic
        A function from the sum of such tallies to a number or an :class:`Estimate`, for
        example ``trueness.auc``.
    method
        ``"percentile"`` or ``"normal"`` (value and bootstrap error; the better one with
        few clusters).
    level
        Confidence level of the interval.
    rng, replicates
        Seed and number of replicates.

    Returns
    -------
    Estimate
        The number for all cases together, with its interval.

    Notes
    -----
    Draws without a positive or a negative case, where the number does not exist, are
    drawn again; when most draws are such, that is an error.

    References
    ----------
    Obuchowski (1997), Biometrics 53:567; Field, Welsh (2007), J. R. Stat. Soc. B
    69:369, doi:10.1111/j.1467-9868.2007.00593.x

    Examples
    --------
    >>> days = {d: Tally([2, 1], [1, 3], [3, 1]) for d in range(9)}
    >>> cluster_bootstrap(days, lambda t: t.prevalence)  # all days are alike
    0.5 (95% 0.5 to 0.5, cluster bootstrap)
    """
    level = _options.fraction(level, "level")
    _options.choice(method, ("percentile", "normal"), "method")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    parts = list(clusters.values())
    if len(parts) < 2:
        raise NotEnoughCases(
            f"cluster_bootstrap needs at least two clusters; found {len(parts)}. Name "
            f'the clusters when counting: trueness.tally(..., by="patient").'
        )
    value = _number(statistic(_total(parts)))
    drawn = _cluster_draws(parts, statistic, number, _options.generator(rng))
    sd = float(drawn.std(ddof=1))
    low, high = percentile_interval(drawn, level)
    if method == "normal":
        from scipy.special import ndtri

        half = float(ndtri((1 + level) / 2)) * sd
        low, high = value - half, value + half
    return Estimate(value, low, high, level, "cluster bootstrap", sd)


def _total(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0])


def _cluster_draws(
    parts: list[Any], statistic: Statistic, number: int, rng: np.random.Generator
) -> Floats:
    """Draw clusters until there are enough values."""
    whole = _total(parts)
    stack = _stacked(whole, parts)
    values: list[float] = []
    tries = 0
    while len(values) < number:
        tries += 1
        if tries > 10 * number:
            raise NotEnoughCases(
                "cluster_bootstrap drew samples of one class only in nine of ten "
                "cases: too few clusters have positives, or negatives."
            )
        weight = draw(np.ones(len(parts), dtype=np.int64), 1, rng)[0]
        neg, pos = weight @ stack[0], weight @ stack[1]
        if not neg.any() or not pos.any():
            continue
        value = _number(statistic(_like(whole, neg, pos)))
        if not math.isnan(value):
            values.append(value)
    return np.array(values)


def _stacked(whole: Any, parts: list[Any]) -> tuple[Any, Any]:
    """Give cluster-by-row tables of counts, sparse since clusters are small."""
    from scipy.sparse import csr_array

    keys = whole.score[:, None] if isinstance(whole, Tally) else whole.rows
    place = {row.tobytes(): k for k, row in enumerate(np.ascontiguousarray(keys))}
    tables = []
    for kind in ("neg", "pos"):
        data, columns, start = [], [], [0]
        for part in parts:
            rows = part.score[:, None] if isinstance(part, Tally) else part.rows
            columns += [place[row.tobytes()] for row in np.ascontiguousarray(rows)]
            data.append(getattr(part, kind))
            start.append(len(columns))
        shape = (len(parts), len(whole))
        tables.append(csr_array((np.concatenate(data), columns, start), shape=shape))
    return tables[0], tables[1]


def _like(whole: Any, neg: Any, pos: Any) -> Any:
    if isinstance(whole, Tally):
        return Tally(whole.score, neg, pos)
    return Panel(whole.names, whole.rows, neg, pos)
