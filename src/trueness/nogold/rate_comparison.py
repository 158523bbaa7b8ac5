"""Which system has the higher true rate?

Rates of systems that answered the same items err together: their draws are put into an
order in which they correlate as the influence of the items does (docs/maths/judges.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple, final

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
PER_PAIR = (
    "first",
    "second",
    "difference",
    "low",
    "high",
    "simultaneous_low",
    "simultaneous_high",
    "probability",
    "p_value",
    "p_adjusted",
)
TINY = 1e-300  # in place of a denominator of 0
DIFFERENT_ITEMS = (
    "The systems are assumed to have answered different items. If they answered the "
    "same items, pairing by item usually makes the intervals narrower."
)


@final
@dataclass(frozen=True, repr=False)
class RateComparison(Record):
    """Differences of the true rates of systems, one entry per pair.

    Attributes
    ----------
    first, second : array of str
        The systems.
    difference, low, high, simultaneous_low, simultaneous_high : array
        First minus second, with its interval, and with a simultaneous one for all
        pairs.
    probability, p_value, p_adjusted : array
        Probability that the first is better; two-sided p-values, as they are and
        adjusted for the number of pairs (Holm).
    rates, identified : mapping from system to Estimate, bool
        The rate of each, and whether labels or verdicts determine the rates.
    notes : tuple of str
        The assumptions, and what the data say about them.
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
    p_adjusted: Floats
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
    """Differences of true rates of systems, paired by item where that is possible.

    Which system has the higher true rate, if judges make errors?

    Parameters
    ----------
    data
        A mapping from name to the panel of verdicts on the answers of that system.
    labelled : {"random", "by verdict", "by truth"}
        As for :func:`trueness.prevalence`.
    item
        The column of each panel with the number of the item; each system answers an
        item once. Systems are then compared item by item, so that the difficulty of an
        item cancels. Without it cases are assumed independent, and intervals tend to be
        too wide.
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

    level = _options.fraction(level, "level")
    rng = _options.generator(rng)
    panels = {str(name): panel_of_verdicts(panel) for name, panel in data.items()}
    items = {}

    if item is not None:
        items = {name: _read_items(name, panel, item) for name, panel in panels.items()}
        panels = {name: _without_column(panel, item) for name, panel in panels.items()}
        _check_pairs(panels, items)

    rates = {
        name: prevalence(panel, labelled=labelled, level=level, rng=rng)
        for name, panel in panels.items()
    }
    draws = {name: rate.draws for name, rate in rates.items()}
    notes = list(dict.fromkeys(note for rate in rates.values() for note in rate.notes))

    if item is None:
        notes.append(DIFFERENT_ITEMS)
    else:
        correlation = _correlation_of_rates(panels, items, draws, labelled)
        draws = _couple_draws(draws, correlation, rng)
        notes.append(_note_on_pairs(items, correlation))

    identified = all(rate.identified for rate in rates.values())
    return _compare_draws(draws, level, tuple(notes), identified=identified)


class _Items(NamedTuple):
    """Items that the rows of a panel answer, and the verdicts on them."""

    number: Floats  # (n,), the item of each row
    pattern: Array  # (n,), its row in a panel of the judges alone
    counts: Array  # (n, 3): cases without a label, positives, negatives


def _read_items(system: str, panel: Panel, item: str) -> _Items:
    """Read the column of items of one system; each may occur once."""
    if item not in panel.names:
        raise InputError(
            f"item must name a column of each panel; {system!r} has "
            f"{listing(panel.names)}, not {item!r}.{nearest(item, panel.names)}",
            option="item",
        )

    judges = [name for name in panel.names if name != item]
    if not judges:
        raise InputError(f"{system!r} has no judge besides the column {item!r}.")

    item_numbers = panel.rows[:, panel.names.index(item)]
    counts = np.column_stack([panel.unknown, panel.pos, panel.neg])
    _check_items_occur_once(system, item_numbers, counts.sum(axis=1))

    # the panel of the judges alone has each pattern of verdicts once
    place_of_pattern = {}
    for place, pattern in enumerate(panel[judges].rows):
        place_of_pattern[pattern.tobytes()] = place

    judge_columns = [panel.names.index(name) for name in judges]
    verdicts = panel.rows[:, judge_columns]
    places = np.array([place_of_pattern[row.tobytes()] for row in verdicts])
    return _Items(item_numbers, places, counts)


def _check_items_occur_once(system: str, numbers: Floats, cases: Array) -> None:
    """Refuse rows without an item, and items that were answered several times."""
    missing = np.isnan(numbers)
    if missing.any():
        raise InputError(
            f"Every case needs its item; {int(missing.sum()):,} rows of {system!r} "
            f"have none."
        )

    distinct, place = np.unique(numbers, return_inverse=True)
    cases_of_item = np.bincount(place, cases)
    if cases_of_item.max() > 1:
        most_frequent = distinct[cases_of_item.argmax()]
        raise InputError(
            f"Each item must occur once in each system; item {most_frequent:g} occurs "
            f"{cases_of_item.max():.0f} times in {system!r}. Compare one answer per "
            "item, or leave item out.",
            option="item",
        )


def _without_column(panel: Panel, name: str) -> Panel:
    """Return the panel of the other columns."""
    return panel[[other for other in panel.names if other != name]]


def _check_pairs(panels: Mapping[str, Panel], items: Mapping[str, _Items]) -> None:
    """Refuse answers that cannot be paired."""
    if any(panel.clusters is not None for panel in panels.values()):
        raise InputError(
            "item pairs answers that occur once; these are repeats, in clusters. "
            "Leave one of item and cluster out.",
            option="item",
        )

    if not _items_of_all(items):
        raise NotEnoughCases(
            "No item was answered by all systems, so the systems cannot be "
            "paired. Do all systems use the same item numbers? Otherwise leave "
            "item out.",
            option="item",
        )


def _items_of_all(items: Mapping[str, _Items]) -> set[float]:
    """Return the items that all systems answered."""
    return set.intersection(
        *(set(items_of_system.number.tolist()) for items_of_system in items.values())
    )


def _items_of_any(items: Mapping[str, _Items]) -> Floats:
    """Return the items that some system answered, in order."""
    return np.unique(
        np.concatenate([items_of_system.number for items_of_system in items.values()])
    )


def _correlation_of_rates(
    panels: Mapping[str, Panel],
    items: Mapping[str, _Items],
    draws: Mapping[str, Floats],
    labelled: str | None,
) -> Floats:
    """Return how far the errors of the rates correlate, item by item, (S, S)."""
    without_labels = any(panel.n_pos + panel.n_neg == 0 for panel in panels.values())
    if labelled is None or without_labels:
        raise InputError(
            "Pairing by item needs labels in every system. Leave item out, or label "
            "some cases.",
            option="item",
        )

    all_items = _items_of_any(items)
    by_item = np.zeros((len(panels), all_items.size))
    for row, (name, items_of_system) in enumerate(items.items()):
        rate = float(draws[name].mean())
        influence = influence_on_rate(verdicts_of(panels[name]), labelled, rate)
        # what each answer adds to the rate of its system
        of_answer = (items_of_system.counts * influence[items_of_system.pattern]).sum(
            axis=1
        )
        place = np.searchsorted(all_items, items_of_system.number)
        by_item[row] = np.bincount(place, of_answer, minlength=all_items.size)

    size = np.sqrt(np.maximum((by_item**2).sum(axis=1), TINY))
    return np.asarray(by_item @ by_item.T / np.outer(size, size))


def _note_on_pairs(items: Mapping[str, _Items], correlation: Floats) -> str:
    """Return a note on how many items were paired, and how much that helps."""
    paired = len(_items_of_all(items))
    n_items = _items_of_any(items).size
    mean = float(correlation[np.triu_indices(len(correlation), 1)].mean())
    return (
        f"Paired by item: {paired:,} of {n_items:,} items were answered by all "
        f"systems, and the errors of their rates correlate by {mean:.2f}."
    )


def _couple_draws(
    draws: Mapping[str, Floats], correlation: Floats, rng: Rng
) -> dict[str, Floats]:
    """Return the draws of each rate, reordered so that they have this correlation.

    The order is that of normal numbers with the same correlation (Iman, Conover 1982).
    """
    n_draws = min(rates.size for rates in draws.values())
    # the root by eigenvectors: equal systems make the matrix singular
    eigenvalues, eigenvectors = np.linalg.eigh(correlation)
    root = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0))
    normal = rng.standard_normal((n_draws, len(draws))) @ root.T

    coupled = {}
    for column, (name, rates) in enumerate(draws.items()):
        # the sorted draws take the ranks of the correlated normal numbers
        rank = np.argsort(np.argsort(normal[:, column]))
        coupled[name] = np.sort(rates[:n_draws])[rank]

    return coupled


def _compare_draws(
    draws: Mapping[str, Floats],
    level: float,
    notes: tuple[str, ...],
    *,
    identified: bool,
) -> RateComparison:
    """Compare all pairs of systems by the draws of their rates."""
    pairs = list(combinations(draws, 2))
    differences = np.array([draws[first] - draws[second] for first, second in pairs])
    mean = differences.mean(axis=1)
    sd = np.maximum(differences.std(axis=1, ddof=1), TINY)
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2], axis=1)

    # the largest of all standardised distances: one band for all pairs
    distance = np.abs((differences - mean[:, None]) / sd[:, None]).max(axis=0)
    half_width = np.quantile(distance, level) * sd

    # equal draws, as of two rates of 1, speak for neither
    wins = np.heaviside(differences, 0.5).sum(axis=1)
    # the sample counts as one more draw, for both alike
    probability = (wins + 0.5) / (differences.shape[1] + 1)
    p_value = 2 * np.minimum(probability, 1 - probability)

    if not identified:
        # errors that judges share may differ between systems: nothing is known
        mean = low = high = half_width = np.full(len(pairs), np.nan)
        probability = p_value = mean

    first, second = np.array(pairs).T
    return RateComparison(
        first=first,
        second=second,
        difference=mean,
        low=low,
        high=high,
        simultaneous_low=np.minimum(mean - half_width, low),
        simultaneous_high=np.maximum(mean + half_width, high),
        probability=probability,
        p_value=p_value,
        p_adjusted=np.array(holm(p_value.tolist())),
        rates=MappingProxyType(
            {
                name: summary_of_draws(rates, level, known=identified)
                for name, rates in draws.items()
            }
        ),
        identified=identified,
        notes=notes,
    )
