r"""How far do raters agree, beyond what chance would give?

With :math:`p_a` the share of pairs of ratings of an item that agree, and :math:`p_e`
that expected by chance, each coefficient is :math:`\kappa = (p_a - p_e)/(1 - p_e)`.
They differ in what chance means. The item is the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Estimate
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.inference.estimates import estimate_from_variance, interval_notes
from trueness.inference.sample import center_influence
from trueness.inference.variance import Influence, estimate_variance

# a coefficient, and how far one more item would move it
Coefficient = tuple[float, Floats]
ONE_CATEGORY = (
    "All ratings are of one category, so that nothing shows what chance would give. "
    'Type method="gwet", which is 1 then.'
)


@of_panel
def rater_agreement(
    data: Panel, *, method: str = "gwet", level: float = 0.95
) -> Estimate:
    r"""How far do raters agree, beyond chance?

    Parameters
    ----------
    data
        A panel with a column per rater; its values are categories. Ratings may be
        missing. Labels play no part.
    method
        ``"gwet"``: AC1, which stays high where raters agree on a rare category.
        ``"krippendorff"``: alpha, with its correction for few items. ``"fleiss"``:
        kappa of any number of raters. ``"cohen"``: kappa of two raters, each with their
        own shares of categories.

    Notes
    -----
    1 is full agreement, 0 what chance gives; what that is, by docs/maths/evals.md.
    Items with one rating count for the shares of categories, but not for the agreement.
    Categories are unordered.

    Examples
    --------
    >>> p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 0]], unknown=[4, 2, 4])
    >>> rater_agreement(p, method="cohen").value  # (0.8 - 0.48 - 0.02) / 0.5
    0.6...
    """
    level = _options.fraction(level, "level")
    coefficient, name = METHODS[_options.choice(method, METHODS, "method")]
    _cases.at_least_two(data.names, "rater_agreement")
    if method == "cohen" and len(data.names) != 2:
        raise NotEnoughCases(
            f"Cohen's kappa is of two raters; found {len(data.names)}. Type "
            'method="fleiss" or method="gwet", or type panel[["a", "b"]].'
        )
    panel = data.without_labels().without_design()
    known, items = ~np.isnan(panel.rows), np.asarray(panel.unknown, float)
    categories = np.unique(panel.rows[known])
    votes = np.where(known, np.searchsorted(categories, panel.rows), -1)
    n = float(items[known.sum(axis=1) >= 2].sum())
    if n < 2:
        raise NotEnoughCases(
            "rater_agreement needs two or more items that two raters have rated; found "
            f"{n:.0f}."
        )
    # how often each item got each category; a missing rating counts for none
    number = np.stack([(votes == q).sum(axis=1) for q in range(categories.size)], 1)
    value, influence = coefficient(votes, number.astype(float), items)
    u = center_influence(influence, items)
    s = estimate_variance(panel, Influence(u, u, u))
    s = replace(s, units=n if panel.clusters is None else panel.clusters.number)
    e = estimate_from_variance(value, s, (-1.0, 1.0), level, name=name)
    return replace(e, notes=interval_notes(panel, s))


def _chance_corrected(
    number: Floats, items: Floats, chance: float, chance_influence: Floats
) -> Coefficient:
    """Put agreement and chance together, with the influence of both."""
    raters = number.sum(axis=1)
    rated, seen = raters >= 2, raters > 0
    many = np.where(rated, raters, 2.0)
    pairs = (number * (number - 1)).sum(axis=1) / (many * (many - 1))
    n = float(items[rated].sum())
    agreed = float(items[rated] @ pairs[rated]) / n
    if not chance < 1:
        raise NotEnoughCases(ONE_CATEGORY)
    value = (agreed - chance) / (1 - chance)
    every = float(items[seen].sum())
    # Gwet (2021), Handbook of Inter-Rater Reliability: one rating agrees with none
    own = np.where(rated, (pairs - chance) / (1 - chance) * every / n, 0.0) - value
    u = np.where(seen, own, 0.0) / every
    return value, u - (1 - value) / (1 - chance) * chance_influence


def _shares(number: Floats, items: Floats) -> tuple[Floats, Floats]:
    """Give the mean share of each category, and the influence of items on it."""
    raters = number.sum(axis=1)
    seen = raters > 0
    each = number / np.where(seen, raters, 1.0)[:, None]
    n = float(items[seen].sum())
    mean = items @ each / n
    return mean, np.where(seen[:, None], each - mean, 0.0) / n


def _gwet(votes: Ints, number: Floats, items: Floats) -> Coefficient:
    mean, u = _shares(number, items)
    ways = max(mean.size - 1, 1)  # where one category was seen there is another
    chance = float((mean * (1 - mean)).sum()) / ways
    return _chance_corrected(number, items, chance, u @ (1 - 2 * mean) / ways)


def _fleiss(votes: Ints, number: Floats, items: Floats) -> Coefficient:
    mean, u = _shares(number, items)
    return _chance_corrected(number, items, float(mean @ mean), 2 * u @ mean)


def _cohen(votes: Ints, number: Floats, items: Floats) -> Coefficient:
    both = np.asarray((votes >= 0).all(axis=1))
    number = number * both[:, None]
    n = float(items[both].sum())
    if n < 2:
        raise NotEnoughCases("Cohen's kappa needs two items that both raters rated.")
    ways = np.arange(number.shape[1])
    each = [((votes[:, [k]] == ways) * both[:, None]).astype(float) for k in (0, 1)]
    first, second = (items @ x / n for x in each)
    u, v = (
        (x - p) * both[:, None] / n for x, p in zip(each, (first, second), strict=True)
    )
    return _chance_corrected(
        number, items, float(first @ second), u @ second + v @ first
    )


def _krippendorff(votes: Ints, number: Floats, items: Floats) -> Coefficient:
    """Krippendorff's alpha: one minus observed over expected disagreement.

    With a_i the agreeing pairs of an item over its ratings but one, N_q ratings of
    category q, N in all: Do = 1 - sum a_i / N, De = 1 - sum N_q (N_q - 1)/(N (N - 1)).
    """
    number = np.where(number.sum(axis=1, keepdims=True) >= 2, number, 0.0)
    many = number.sum(axis=1)
    a = (number * (number - 1)).sum(axis=1) / np.maximum(many - 1, 1.0)
    each, total, agreed = items @ number, float(items @ many), float(items @ a)
    pairs, squares = total * (total - 1), float(each @ each) - total
    seen, expected = 1 - agreed / total, 1 - squares / pairs
    if not expected > 0:
        raise NotEnoughCases(ONE_CATEGORY)
    by_seen = -(a - agreed / total * many) / total
    by_expected = -(
        (2 * number @ each - many) / pairs - squares * (2 * total - 1) * many / pairs**2
    )
    u = -by_seen / expected + seen * by_expected / expected**2
    return 1 - seen / expected, u


METHODS: dict[str, tuple[Callable[[Ints, Floats, Floats], Coefficient], str]] = {
    "gwet": (_gwet, "Gwet's AC1"),
    "krippendorff": (_krippendorff, "Krippendorff's alpha"),
    "fleiss": (_fleiss, "Fleiss' kappa"),
    "cohen": (_cohen, "Cohen's kappa"),
}
