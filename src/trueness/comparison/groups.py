"""Does it hold in every group of cases?

Groups are a mapping from name to tally (``trueness.tally(..., by="site")``). Every
analysis that takes a tally takes such a mapping too and answers for each group; here
are the differences. Groups have no case in common: variances of values are added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_one, listing
from trueness.comparison.results import Comparison, together
from trueness.counts.answers import of_counts
from trueness.counts.cases import Cases
from trueness.counts.values import Tally
from trueness.inference.differences import Contrast, apart
from trueness.inference.limits import notes_of
from trueness.inference.statistics import Statistic, Valued, valued


@of_counts
def compare_groups(
    data: Mapping[Any, Tally],
    statistic: Statistic,
    *,
    reference: Any = None,
    ends: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> Comparison:
    r"""Does a statistic differ between groups, and could that be chance?

    Parameters
    ----------
    data
        A mapping from name to tally, or data with ``by=``; each case is in one group
        only.
    statistic
        A function from a tally to a number or an :class:`Estimate`, for example
        ``trueness.average_precision`` or ``lambda t: trueness.partial_auc(t, fpr=(0,
        0.1))``.
    reference
        Compare every other group with this one; all pairs when None.
    ends
        The smallest and the largest value that the statistic can have.

    Returns
    -------
    Comparison
        Values and differences with intervals, Holm-adjusted p-values, and a test that
        all groups are equal.

    Notes
    -----
    The variance of a value is that of :func:`estimate`; those of two groups are added,
    with Satterthwaite's degrees of freedom. Cases of a cluster that lie in two groups
    count as if they were independent.

    References
    ----------
    Satterthwaite (1946), Biometrics Bull. 2:110, doi:10.2307/3002019

    Examples
    --------
    >>> sites = {"A": Tally([2, 1], [1, 9], [8, 2]), "B": Tally([2, 1], [5, 5], [5, 5])}
    >>> found = compare_groups(sites, lambda t: t.pos[0] / t.n_pos)
    >>> round(found.pairs[0].difference.value, 12)  # 8/10 - 5/10
    0.3
    """
    level = _options.fraction(level, "level")
    _cases.mapping_of_counts(data, "compare_groups")
    _options.function(statistic, "compare_groups")
    _cases.at_least_two([str(n) for n in data], "compare_groups")
    pairs = _pairs(list(data), reference)
    named = {str(name): t for name, t in data.items()}
    name = name_of(statistic)
    parts = {k: valued(t, statistic, ends, level, name) for k, t in named.items()}
    return compare_apart(named, parts, name, pairs=pairs)


def name_of(statistic: Callable[..., Any]) -> str:
    """Name a statistic as its author did."""
    name = getattr(statistic, "__name__", "statistic")
    return "statistic" if name == "<lambda>" else str(name)


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


def compare_apart(
    tallies: Mapping[str, Tally],
    parts: Mapping[str, Valued],
    method: str,
    *,
    margin: float | None = None,
    pairs: list[tuple[int, int]] | None = None,
) -> Comparison:
    """Compare the values of different cases."""
    sides = [part.side for part in parts.values()]

    def contrast(i: int, j: int) -> Contrast:
        a, b = sides[i], sides[j]
        return Contrast.of(a, b, apart(a.spread, b.spread))

    values = {k: part.estimate for k, part in parts.items()}
    cases = [t.labelled() for t in tallies.values()]
    notes = few_cases(*cases) + next(filter(None, map(notes_of, cases)), ())
    return together(
        values, contrast, margin=margin, pairs=pairs, paired=False, method=method,
        notes=notes,
    )  # fmt: skip


_FEW = 10  # with fewer cases of a class even large differences are missed


def few_cases(*parts: Cases) -> tuple[str, ...]:
    """Say when a class has so few cases that hardly any difference can be seen."""
    words = "negative", "positive"
    numbers = [pair for x in parts for pair in zip(x.equal_cases, words, strict=True)]
    n, name = min((pair for pair in numbers if pair[0] > 0), default=(_FEW, ""))
    if n >= _FEW:
        return ()
    return (
        f"With {n:.3g} {name} case{'s' if n > 1 else ''} only a very large difference "
        f"can be distinguished from chance; collect more {name} cases.",
    )
