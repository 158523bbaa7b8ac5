"""Which system has the higher true rate?

Rates of systems that answered the same items err together: their draws are put into an
order in which they correlate as the influence of the items does (docs/maths/judges.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.words import described, listing, nearest
from trueness._core.records import Estimate, Record
from trueness.comparison.results import holm
from trueness.counts.answers import whole_cases
from trueness.counts.values import Panel
from trueness.nogold.posterior import summary_of_draws
from trueness.nogold.rate import prevalence
from trueness.nogold.verdict_regression import influence_on_rate
from trueness.nogold.verdicts import panel_of_verdicts, verdicts_of

Rng = np.random.Generator
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
    difference, low, high, simultaneous_low, simultaneous_high : array
        First minus second, with its interval, and with one that holds for all pairs.
    probability, p_value, adjusted_p_value : array
        Probability that the first is better; two-sided p-values, as they are and
        adjusted for the number of pairs (Holm).
    rates, identified : mapping from system to Estimate, bool
        The rate of each, and whether labels or verdicts determine the rates.
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
    identified: bool
    notes: tuple[str, ...]


@whole_cases
def compare_prevalence(
    data: Mapping[str, Any],
    *,
    labelled: str | None = None,
    item: str | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> RateComparison:
    """Which system has the higher true rate, if judges make errors?

    Parameters
    ----------
    data
        A mapping from name to the panel of verdicts on the answers of that system.
    labelled : {"random", "by verdict", "by truth"}
        As for :func:`trueness.prevalence`.
    item
        The column of each panel that holds the number of the item which was answered,
        once by a system. Systems are then compared in pairs: what makes an item hard
        for both drops out of the difference. Without it their cases are taken as
        independent, and intervals are too wide rather than too narrow.
    level, rng
        Level of the intervals; a seed or a NumPy generator.

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
    if not isinstance(data, Mapping) or len(data) < 2:
        raise InputError(
            "compare_prevalence needs a mapping of at least two systems; found "
            f"{described(data)}.",
            example=PythonCode('{"system A": panel_a, "system B": panel_b}'),
        )
    level, rng = _options.fraction(level, "level"), _options.generator(rng)
    panels = {str(n): panel_of_verdicts(p) for n, p in data.items()}
    items = {}
    if item is not None:
        items = {n: _items(n, p, item) for n, p in panels.items()}
        panels = {n: p[[k for k in p.names if k != item]] for n, p in panels.items()}
        if any(p.clusters is not None for p in panels.values()):
            raise InputError(
                "item pairs answers that occur once; these are repeats, in clusters. "
                "Leave one of item and cluster out.",
                option="item",
            )
        together = set.intersection(*(set(i.tolist()) for i, _, _ in items.values()))
        if not together:
            raise NotEnoughCases(
                "No item was answered by all systems, so the systems cannot be "
                "paired. Do all systems use the same item numbers? Otherwise leave "
                "item out.",
                option="item",
            )
    each = {
        n: prevalence(p, labelled=labelled, level=level, rng=rng)
        for n, p in panels.items()
    }
    draws = {n: r.draws for n, r in each.items()}
    notes = tuple(dict.fromkeys(note for r in each.values() for note in r.notes))
    if item is None:
        notes = (*notes, APART)
    else:
        r, number = _correlation(panels, items, draws, labelled)
        draws = _coupled(draws, r, rng)
        mean = float(r[np.triu_indices(len(r), 1)].mean())
        paired = (
            f"Paired by item: {len(together):,} of {number:,} items were answered by "
            f"all systems, and the errors of their rates correlate by {mean:.2f}."
        )
        notes = (*notes, paired)
    known = all(r.identified for r in each.values())
    return _compared(draws, level, notes, identified=known)


APART = (
    "The systems are assumed to have answered different items. If they answered the "
    "same items, pairing by item usually makes the intervals narrower."
)


def _correlation(
    panels: Mapping[str, Panel],
    items: Mapping[str, tuple[Floats, Array, Array]],
    draws: Mapping[str, Floats],
    labelled: str | None,
) -> tuple[Floats, int]:
    """How far do the rates go together, item by item, and how many items are there?"""
    if labelled is None or any(p.n_pos + p.n_neg == 0 for p in panels.values()):
        raise InputError(
            "Pairing by item needs labels in every system; without labels it is not "
            "known which answers are right. Leave item out, or label some cases.",
            option="item",
        )
    ids = np.unique(np.concatenate([i for i, _, _ in items.values()]))
    each = np.zeros((len(panels), ids.size))
    for s, (name, (own, pattern, counts)) in enumerate(items.items()):
        x, theta = verdicts_of(panels[name]), float(draws[name].mean())
        add = (counts * influence_on_rate(x, labelled, theta)[pattern]).sum(axis=1)
        each[s] = np.bincount(np.searchsorted(ids, own), add, minlength=ids.size)
    size = np.sqrt(np.maximum((each**2).sum(axis=1), 1e-300))
    return np.asarray(each @ each.T / np.outer(size, size)), ids.size


def _compared(
    draws: Mapping[str, Floats],
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
    if not identified:  # errors that judges share may differ between systems
        mean, better, p = (np.full(len(pairs), np.nan) for _ in range(3))
        low, high, reach = np.full((3, len(pairs)), np.nan)
    first, second = np.array(pairs).T
    return RateComparison(
        *(first, second, mean, low, high),
        *(np.minimum(mean - reach, low), np.maximum(mean + reach, high)),
        *(better, p, np.array(holm(p.tolist()))),
        MappingProxyType(
            {n: summary_of_draws(d, level, known=identified) for n, d in draws.items()}
        ),
        identified,
        notes,
    )


def _items(name: str, panel: Panel, item: str) -> tuple[Floats, Array, Array]:
    """Give the item of each row, its row in a panel of the judges, and its counts."""
    if item not in panel.names:
        raise InputError(
            "item names the column of each panel that says which item a case is "
            f"about; {name!r} has only {listing(panel.names)}, not "
            f"{item!r}.{nearest(item, panel.names)}",
            option="item",
        )
    judges = [n for n in panel.names if n != item]
    if not judges:
        raise InputError(f"{name!r} has no judge besides the column {item!r}.")
    ids = panel.rows[:, panel.names.index(item)]
    if np.isnan(ids).any():
        raise InputError(
            f"Every case needs its item; {int(np.isnan(ids).sum()):,} rows of {name!r} "
            f"have none."
        )
    counts = np.column_stack([panel.unknown, panel.pos, panel.neg])
    number, at = np.unique(ids, return_inverse=True)
    cases = np.bincount(at, counts.sum(axis=1))
    if cases.max() > 1:
        raise InputError(
            "Each item must occur once in each system; item "
            f"{number[cases.argmax()]:g} occurs {cases.max():.0f} times in {name!r}. "
            "Compare one answer per item, or leave item out.",
            option="item",
        )
    rows = panel.rows[:, [panel.names.index(n) for n in judges]]
    place = {row.tobytes(): j for j, row in enumerate(panel[judges].rows)}
    return ids, np.array([place[row.tobytes()] for row in rows]), counts


def _coupled(
    draws: Mapping[str, Floats], correlation: Floats, rng: Rng
) -> dict[str, Floats]:
    """Put the draws of each rate into an order in which they correlate by this much."""
    n = min(d.size for d in draws.values())
    # the root by eigenvectors: equal systems make the matrix singular
    value, axes = np.linalg.eigh(correlation)
    root = axes * np.sqrt(np.maximum(value, 0))
    z = rng.standard_normal((n, len(draws))) @ root.T
    return {
        name: np.sort(d[:n])[np.argsort(np.argsort(z[:, s]))]
        for s, (name, d) in enumerate(draws.items())
    }
