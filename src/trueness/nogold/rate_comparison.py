"""Which system has the higher true rate?

``compare_prevalence`` compares the rates of several systems whose answers were judged,
each by judges of its own accuracy or all by the same, in pairs where they answered the
same items (``paired_rates``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, final

import numpy as np
from scipy.special import chdtrc

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.numbers import p_is
from trueness._core.records import Estimate, Record
from trueness.comparison.results import holm
from trueness.counts.answers import whole_cases
from trueness.counts.values import Panel
from trueness.nogold import paired_rates as _paired
from trueness.nogold import truth_given_votes as _truth
from trueness.nogold.posterior import estimate
from trueness.nogold.rate import design, prevalence
from trueness.nogold.sampling.ordered_betas import log_sigmoids
from trueness.nogold.verdicts import (
    INDEPENDENT_CASES,
    Votes,
    read_verdicts,
    read_votes,
    shares,
)

JUDGES = ("per system", "shared")
# the fields of a comparison that have one entry per pair of systems
PER_PAIR = ("first", "second", "difference", "low", "high", "simultaneous_low",
            "simultaneous_high", "probability", "p_value",
            "adjusted_p_value")  # fmt: skip


@final
@dataclass(frozen=True, repr=False)
class RateComparison(Record):
    """Which system has the higher true rate? One entry per pair.

    Attributes
    ----------
    first, second : array of str
        The systems.
    difference, low, high : array
        First minus second, with its interval.
    simultaneous_low, simultaneous_high : array
        Intervals that hold for all pairs at once.
    probability : array
        Probability that the first is better.
    p_value, adjusted_p_value : array
        Two-sided p-values, as they are and adjusted for the number of pairs (Holm).
    rates : mapping from system to Estimate
        The rate of each.
    judges : str
        "shared" or "per system".
    identified : bool
        Whether labels or verdicts determine the rates; as for ``prevalence``.
    notes : tuple of str
        What is assumed, and what the data say about it.
    """

    first: Array
    second: Array
    difference: Floats
    low: Floats
    high: Floats
    simultaneous_low: Floats
    simultaneous_high: Floats
    probability: Floats
    p_value: Floats
    adjusted_p_value: Floats
    rates: Mapping[str, Estimate]
    judges: str
    identified: bool
    notes: tuple[str, ...]


@whole_cases(INDEPENDENT_CASES)
def compare_prevalence(
    systems: Mapping[str, Any],
    *,
    labelled: str | None = None,
    judges: str = "per system",
    item: str | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> RateComparison:
    r"""Which system has the higher true rate, if judges make errors?

    Parameters
    ----------
    systems
        A mapping from name to the panel of verdicts on the answers of that system.
    labelled : {"random", "by verdict", "by truth"}
        As for :func:`trueness.prevalence`.
    judges : {"per system", "shared"}
        Whether judges may be of different accuracy on each system, or are assumed to be
        the same everywhere (then all labels serve all systems; for labels at random or
        by verdict). A judge that favours systems like itself is not the same
        everywhere: where both are possible this is tested, and ``notes`` say what was
        found.
    item
        The column of each panel that holds the number of the item which was answered.
        Systems that answered the same items are then compared in pairs: what makes an
        item hard for both of them drops out of the difference. Each item occurs once in
        a system; items of one system alone may be there too.
    level
        Level of the intervals.
    rng
        A seed or a NumPy generator.

    Returns
    -------
    RateComparison
        With differences, intervals, P(first is better) and adjusted p-values.

    Notes
    -----
    Without ``item`` the cases of different systems are assumed to be independent. The
    qualities of two systems' answers to the same question are mostly positively
    correlated, so that the intervals are then too wide rather than too narrow.
    Simultaneous intervals come from the distribution of the largest standardised
    difference.

    Examples
    --------
    Both systems answered items 0 to 99; system B fails where A fails, and on 10 more.

    >>> import numpy as np, trueness
    >>> item = np.arange(100)
    >>> a, b = (item < 80).astype(float), (item < 70).astype(float)
    >>> panels = {
    ...     name: trueness.panel(good, {"judge": good, "item": item})
    ...     for name, good in (("A", a), ("B", b))
    ... }
    >>> apart = trueness.compare_prevalence(panels, labelled="random", item="item")
    >>> bool(0 < apart.low[0] < 0.1 < apart.high[0])
    True
    """
    if not isinstance(systems, Mapping) or len(systems) < 2:
        raise InputError(
            f"compare_prevalence needs a mapping of at least two systems; found "
            f'{described(systems)}. Type {{"system A": panel_a, "system B": panel_b}}.'
        )
    _options.choice(judges, JUDGES, "judges")
    level, rng = _options.fraction(level, "level"), _options.generator(rng)
    panels = {str(n): read_verdicts(p) for n, p in systems.items()}
    by_item: list[Any] = []
    if item is not None:
        both = _paired.split_item(panels, item)
        panels, by_item = (
            {n: p for n, (p, _) in both.items()},
            [rows for _, rows in both.values()],
        )
    identified = True
    if judges == "shared":
        draws, notes = _shared(panels, labelled, rng)
    else:
        each = {
            n: prevalence(p, labelled=labelled, level=level, rng=rng)
            for n, p in panels.items()
        }
        draws = {n: r.draws for n, r in each.items()}
        identified = all(r.identified for r in each.values())
        notes = tuple(dict.fromkeys(note for r in each.values() for note in r.notes))
    if item is None:
        notes = (*notes, APART)
    else:
        r = _correlation(panels, by_item, draws, labelled, judges)
        draws = _paired.coupled(draws, r, rng)
        notes = (*notes, _together(by_item, r))
    p_same = _same_judges(panels, labelled)
    notes = (*notes, *_said(p_same, judges))
    return _compared(draws, judges, level, notes, identified=identified)


APART = (
    "The systems are assumed to have answered different items. If they answered the "
    "same items, pass item=, which usually makes the intervals narrower."
)


def _correlation(
    panels: Mapping[str, Panel],
    by_item: list[Any],
    draws: Mapping[str, Floats],
    labelled: str | None,
    judges: str,
) -> Floats:
    """How far do the rates go together, item by item?"""
    if labelled is None or any(p.n_pos + p.n_neg == 0 for p in panels.values()):
        raise InputError(
            "Pairing by item needs labels in every system; without labels it is not "
            "known which answers are right. Leave item= out, or label some cases."
        )
    if judges == "shared":
        every = _paired.by_votes(*_stacked(panels, labelled))
        return _paired.correlation(by_item, every)  # type: ignore[arg-type]
    own = [
        _own_influence(p, labelled, float(draws[n].mean())) for n, p in panels.items()
    ]
    table = [
        [u if s == t else None for t, u in enumerate(own)] for s in range(len(own))
    ]
    return _paired.correlation(by_item, table)


def _own_influence(panel: Panel, labelled: str, theta: float) -> Floats:
    """Give the influence of cases on the rate of their own system."""
    if labelled == "by truth":
        return _paired.by_truth(panel, theta)
    v = read_votes(panel)
    alone = np.zeros(len(v.x), dtype=int)
    return _paired.by_votes([v], design(v, labelled), alone)[0][0]


def _together(by_item: list[Any], r: Floats) -> str:
    items = [set(part[0].tolist()) for part in by_item]
    mean = float(r[np.triu_indices(len(r), 1)].mean())
    return (
        f"Paired by item: {len(set.intersection(*items)):,} of "
        f"{len(set.union(*items)):,} items were answered by all systems, and the "
        f"errors of their rates correlate by {mean:.2f}."
    )


def _shared(
    panels: Mapping[str, Panel], labelled: str | None, rng: np.random.Generator
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Fit one set of slopes, with an intercept for each system."""
    if labelled not in ("random", "by verdict"):
        raise InputError(
            f'judges="shared" needs labels at random or by verdict; found labelled='
            f'{labelled!r}. Type judges="per system".'
        )
    votes, data, at = _stacked(panels, labelled)
    b = _truth.coefficients(data, rng)
    p = _truth.probabilities(b, data.x)
    draws = {
        n: (shares(v.total, len(p), rng) * p[:, at == s]).sum(axis=1)
        for s, (n, v) in enumerate(zip(panels, votes, strict=True))
    }
    note = "The judges are assumed to be equally good on all systems."
    return draws, (note,)


def _stacked(
    panels: Mapping[str, Panel], labelled: str
) -> tuple[list[Votes], _truth.Labelled, Array]:
    """Put the patterns of all systems below each other, with columns for systems."""
    first = next(iter(panels.values()))
    for name, p in panels.items():
        if set(p.names) != set(first.names):
            raise InputError(
                f"All systems must have the same judges; {name!r} has "
                f"{', '.join(p.names)}, and not {', '.join(first.names)}."
            )
    whole: Any = sum(p[list(first.names)] for p in panels.values())
    votes = [read_votes(p[list(first.names)], like=whole) for p in panels.values()]
    at = np.repeat(np.arange(len(votes)), [len(v.x) for v in votes])
    system = (at[:, None] == np.arange(1, len(votes))).astype(float)
    data = design(Votes(*map(np.concatenate, zip(*votes, strict=True))), labelled)
    more = system - system.mean(axis=0)
    data = data._replace(x=np.column_stack([data.x, more]))
    if data.groups is not None and data.spread is not None:
        none = np.zeros((len(data.groups), more.shape[1]))
        wide = np.full(more.shape[1], _truth.SLOPE)
        data = data._replace(
            groups=np.hstack([data.groups, none]), spread=np.r_[data.spread, wide]
        )
    return votes, data, at


def _same_judges(panels: Mapping[str, Panel], labelled: str | None) -> float:
    """Test by the likelihood ratio whether the judges are the same everywhere."""
    if labelled == "by truth" or any(p.n_pos + p.n_neg == 0 for p in panels.values()):
        return np.nan
    if len({frozenset(p.names) for p in panels.values()}) > 1:
        return np.nan
    votes, data, at = _stacked(panels, "random")
    k = votes[0].x.shape[1]
    own = [data.x[:, :k] * (at == s)[:, None] for s in range(1, len(votes))]
    wide = data._replace(x=np.column_stack([data.x, *own]))
    values = [_highest(d) for d in (data, wide)]
    return float(chdtrc(k * (len(votes) - 1), max(2 * (values[1] - values[0]), 0.0)))


def _highest(data: _truth.Labelled) -> float:
    b = _truth.mode(data)
    yes, no = log_sigmoids(b[0] + data.x @ b[1:])
    return float(yes @ data.pos + no @ data.neg)


def _said(p: float, judges: str) -> tuple[str, ...]:
    if not np.isfinite(p):
        return ()
    if p < 0.05:
        what = (
            'pass judges="per system"'
            if judges == "shared"
            else "this comparison does not assume it"
        )
        return (f"The judges are not equally good on all systems ({p_is(p)}): {what}.",)
    return (
        "No evidence was found that the judges differ between the systems "
        f"({p_is(p)}).",
    )


def _compared(
    draws: Mapping[str, Floats],
    judges: str,
    level: float,
    notes: tuple[str, ...],
    *,
    identified: bool,
) -> RateComparison:
    pairs = list(combinations(draws, 2))
    gap = np.array([draws[a] - draws[b] for a, b in pairs])
    mean, sd = gap.mean(axis=1), np.maximum(gap.std(axis=1, ddof=1), 1e-300)
    low, high = np.quantile(gap, [(1 - level) / 2, (1 + level) / 2], axis=1)
    # the largest of all standardised distances: one band for all pairs
    most = np.abs((gap - mean[:, None]) / sd[:, None]).max(axis=0)
    reach = np.quantile(most, level) * sd
    # equal draws, as of two rates of 1, speak for neither
    better = (np.heaviside(gap, 0.5).sum(axis=1) + 0.5) / (gap.shape[1] + 1)
    p = 2 * np.minimum(better, 1 - better)
    return RateComparison(
        np.array([a for a, _ in pairs]),
        np.array([b for _, b in pairs]),
        mean,
        low,
        high,
        np.minimum(mean - reach, low),
        np.maximum(mean + reach, high),
        better,
        p,
        np.array(holm(p.tolist())),
        MappingProxyType({n: estimate(d, level) for n, d in draws.items()}),
        judges,
        identified,
        notes,
    )
