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
from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described, is_one, listing
from trueness._core.options import renamed
from trueness._core.records import Estimate
from trueness.comparison.redraws import Redrawn, summary
from trueness.comparison.results import Comparison
from trueness.counts.resampling import (
    Seed,
    drawn_panel,
    drawn_tally,
    percentile_interval,
    resample,
)
from trueness.counts.values import Panel, Tally

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
    r"""Does a statistic differ between groups, and could that be chance?

    Parameters
    ----------
    groups
        A mapping from name to tally; each case is in one group only.
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
        Values and differences with percentile intervals; Holm-adjusted p-values from
        the normal distribution with the bootstrap standard error; an omnibus (Wald)
        test.

    Notes
    -----
    For the AUC :func:`compare_auc` gives the same without resampling. Where no redrawn
    sample of a group differs (a perfect classifier), the interval of the statistic
    itself is used instead, if it has one.

    Examples
    --------
    >>> sites = {"A": Tally([2, 1], [1, 9], [8, 2]), "B": Tally([2, 1], [5, 5], [5, 5])}
    >>> found = compare_groups(sites, lambda t: t.pos[0] / t.n_pos, rng=1)
    >>> round(found.pairs[0].difference.value, 12)  # 8/10 - 5/10
    0.3
    """
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    _cases.mapping_of_counts(groups, "compare_groups")
    _options.function(statistic, "compare_groups")
    _cases.at_least_two([str(n) for n in groups], "compare_groups")
    rng = _options.generator(rng)
    found = tuple(statistic(t) for t in groups.values())
    drawn = np.column_stack(
        [
            [float(statistic(resample(t, rng))) for _ in range(number)]
            for t in groups.values()
        ]
    )
    x = Redrawn(tuple(str(n) for n in groups), found, drawn, level, False)
    return summary(x, "bootstrap", pairs=_pairs(list(groups), reference))


def _pairs(names: list[Any], reference: Any) -> list[tuple[int, int]]:
    if reference is None:
        return list(combinations(range(len(names)), 2))
    if not is_one(reference) or reference not in names:
        raise InputError(
            f"reference must be one of the groups {listing(names)}; found "
            f"{described(reference)}."
        )
    at = names.index(reference)
    return [(k, at) for k in range(len(names)) if k != at]


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
    those drawn are counted together, by weight where they have one.

    Parameters
    ----------
    clusters
        A mapping from cluster to tally (``trueness.tally(..., by="patient")``), or to
        panel.
    statistic
        A function from the sum of such tallies to a number or an :class:`Estimate`, for
        example ``trueness.auc``.
    method
        ``"percentile"`` or ``"normal"`` (the value with its bootstrap standard error;
        the better one with few clusters).
    level
        Confidence level of the interval.
    rng, replicates
        Seed and number of replicates.

    Returns
    -------
    Estimate
        The statistic for all cases together, with its interval.

    Notes
    -----
    Samples without a positive or without a negative case, where the statistic is
    undefined, are drawn again; it is an error when most samples are of this kind. Where
    every sample gives the same value (all clusters separated perfectly), an average
    cluster with exchanged labels is added to those that can be drawn: with m clusters
    the 95 % interval of an AUC of 1 then reaches down to 1 - 3 / m, like that of a rate
    when none of m cases failed (rule of three).

    References
    ----------
    Obuchowski (1997), Biometrics 53:567; Field, Welsh (2007), J. R. Stat. Soc. B
    69:369, doi:10.1111/j.1467-9868.2007.00593.x

    Examples
    --------
    >>> days = {d: Tally([2, 1], [1, 3], [3, d]) for d in range(9)}
    >>> cluster_bootstrap(days, lambda t: t.prevalence).value  # 27 + 36 of 99
    0.6363636363636364
    """
    level = _options.fraction(level, "level")
    _options.choice(method, ("percentile", "normal"), "method")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    _cases.mapping_of_counts(clusters, "cluster_bootstrap")
    _options.function(statistic, "cluster_bootstrap")
    parts = list(clusters.values())
    if len(parts) < 2:
        raise NotEnoughCases(
            f"cluster_bootstrap needs at least two clusters; found {len(parts)}. Name "
            f'the clusters when counting: trueness.tally(..., by="patient").'
        )
    found = statistic(_total(parts))
    value = float(found)
    generator = _options.generator(rng)
    drawn = _cluster_draws(parts, statistic, number, generator)
    if not drawn.std():  # as good as rounding: every draw gave the same number
        drawn = _cluster_draws(parts, statistic, number, generator, doubt=1.0)
    sd = float(drawn.std(ddof=1))
    low, high = percentile_interval(drawn, level)
    if method == "normal":
        from scipy.special import ndtri

        half = float(ndtri((1 + level) / 2)) * sd
        low, high = value - half, value + half
        if isinstance(found, Estimate) and 0 <= found.low <= found.high <= 1:
            low, high = max(0.0, low), min(1.0, high)  # a share stays one
    notes = () if high > low else (_NO_SPREAD,)
    ends = min(low, value), max(high, value)
    return Estimate(value, *ends, level, "cluster bootstrap", sd, notes=notes)


_NO_SPREAD = (
    "All clusters gave the same number, so the interval has no width; that does not "
    "mean that the number is known exactly."
)


def _total(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0])


def _cluster_draws(
    parts: list[Any],
    statistic: Statistic,
    number: int,
    rng: np.random.Generator,
    doubt: float = 0.0,
) -> Floats:
    """Draw clusters until there are enough values.

    ``doubt`` is how many clusters with exchanged labels are added to those that can be
    drawn.
    """
    whole = _total(parts)
    stack = _stacked(whole, parts)
    m = len(parts)
    share = np.append(np.ones(m), doubt) / (m + doubt)
    # an average cluster has a share 1 / m of all cases: counts times m are whole again
    scale = m if doubt else 1
    values: list[float] = []
    tries = 0
    while len(values) < number:
        tries += 1
        if tries > 10 * number:
            raise NotEnoughCases(
                "cluster_bootstrap drew samples of one class only in nine of ten "
                "cases: too few clusters have positives, or negatives."
            )
        # the last entry is the cluster with exchanged labels
        weight = rng.multinomial(m, share)
        neg = scale * (weight[:m] @ stack[0]) + weight[m] * whole.pos
        pos = scale * (weight[:m] @ stack[1]) + weight[m] * whole.neg
        if not neg.any() or not pos.any():
            continue
        value = float(statistic(_like(whole, neg, pos)))
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
        return drawn_tally(whole, whole.score, neg, pos)
    return drawn_panel(whole, neg, pos)
