r"""Agreement of raters: how far do they agree, beyond what chance would give?

With :math:`p_a` the proportion of pairs of ratings of an item that agree, and
:math:`p_e` that expected by chance, each coefficient is
:math:`\kappa = (p_a - p_e)/(1 - p_e)`. They differ in what chance means. The item is
the unit: each coefficient comes with its influence values, from which ``inference``
makes the interval. Below: the ratings, the coefficients, the agreement by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.inference.estimates import estimate_from_variance, interval_notes
from trueness.inference.intervals import PROPORTION, Ends
from trueness.inference.sample import center_influence
from trueness.inference.variance import Influence, estimate_variance

CHANCE_CORRECTED: Ends = (-1.0, 1.0)

ONE_CATEGORY = (
    "All ratings are in one category, so agreement by chance cannot be estimated. "
    "Gwet's coefficient (method gwet) is then 1."
)

# how far apart two categories are, by the difference of their places in the order
DISTANCES: dict[str, Callable[[Array], Array]] = {
    "linear": np.abs,
    "quadratic": np.square,
}


@of_panel
def rater_agreement(
    data: Panel,
    *,
    method: str = "gwet",
    weights: str | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Agreement of raters (kappa, AC1, alpha), with a confidence interval.

    How far do raters agree, beyond chance?

    Parameters
    ----------
    data
        A panel with a column per rater, a frame, a mapping, or the arrays of two
        raters; values are categories. Ratings may be missing. Labels are not used.
    method
        ``"gwet"``: AC1, which stays high where raters agree on a rare category.
        ``"krippendorff"``: alpha, with its correction for few items. ``"fleiss"``:
        kappa of any number of raters. ``"cohen"``: kappa of two raters, each with their
        own proportions of categories; ``"conger"``: the same for any number of raters.
        ``"brennan-prediger"``: by chance all categories are equally likely.
        ``"percent"``: the proportion of pairs of ratings that agree, without correction
        for chance.
    weights
        For Cohen's kappa of ordered categories: ``"linear"`` or ``"quadratic"`` in the
        difference of their positions, as in scikit-learn. None: categories are
        unordered.

    Notes
    -----
    1 is full agreement and 0 agreement by chance, as defined in docs/maths/evals.md.
    Items with a single rating count in the proportions of categories, but not in the
    agreement.

    References
    ----------
    Gwet (2008), doi:10.1348/000711006X126600; Cohen (1968), doi:10.1037/h0026256;
    Conger (1980), doi:10.1037/0033-2909.88.2.322; Brennan, Prediger (1981),
    doi:10.1177/001316448104100307; Fleiss (1971), doi:10.1037/h0031619

    Examples
    --------
    >>> p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 0]], unknown=[4, 2, 4])
    >>> rater_agreement(p, method="cohen").value  # (0.8 - 0.48 - 0.02) / 0.5
    0.6...
    """
    level = _options.fraction(level, "level")
    coefficient_method = METHODS[_options.choice(method, METHODS, "method")]
    _cases.at_least_two(data.names, "rater_agreement", "raters")

    if method == "cohen":
        _check_two_raters(data)

    distance = _read_weights(weights, method)

    panel = data.without_labels().without_design()
    ratings = _read_ratings(panel)
    if distance is None:
        coefficient = coefficient_method.coefficient(ratings)
        name = coefficient_method.name
    else:
        coefficient = _weighted_cohen(ratings, distance)
        name = f"{coefficient_method.name}, {weights} weights"

    influence = center_influence(coefficient.influence, ratings.items)
    variance_estimate = estimate_variance(
        panel, Influence(influence, influence, influence)
    )
    # items that were rated twice are what could have shown a disagreement
    units = ratings.n_rated_twice

    if panel.clusters is not None:
        units = panel.clusters.number

    variance_estimate = replace(variance_estimate, units=units)
    estimate = estimate_from_variance(
        coefficient.value, variance_estimate, coefficient_method.ends, level, name=name
    )

    return replace(estimate, notes=interval_notes(panel, variance_estimate))


def _check_two_raters(data: Panel) -> None:
    """Raise an error where there are not two raters, as Cohen's kappa needs."""
    if len(data.names) == 2:
        return

    raise NotEnoughCases(
        f"Cohen's kappa needs two raters; found {len(data.names)}. Choose two of "
        "them, or another method.",
        option="method",
        choices=("conger", "gwet"),
    )


def _read_weights(weights: str | None, method: str) -> Callable[[Array], Array] | None:
    """Return the distance function of these weights; None for unordered categories."""
    if weights is None:
        return None

    _options.choice(weights, DISTANCES, "weights")
    if method != "cohen":
        raise InputError(
            f"Weighted agreement needs the method cohen; found the method {method!r}.",
            option="method",
            example="cohen",
        )

    return DISTANCES[weights]


@dataclass(frozen=True)
class RatedItems:
    """Items with their ratings; items that were rated alike share a row.

    Attributes
    ----------
    category_of : array (m, K)
        Category that each rater gave; -1 for a missing rating.
    number_of : array (m, q)
        How many raters gave each category.
    items : array (m,)
        How many items were rated so.
    """

    category_of: Ints
    number_of: Floats
    items: Floats

    @property
    def n_categories(self) -> int:
        """Return the number of categories."""
        return int(self.number_of.shape[1])

    @property
    def n_raters(self) -> Floats:
        """Return the number of raters of each item."""
        return np.asarray(self.number_of.sum(axis=1))

    @property
    def n_rated_twice(self) -> float:
        """Return the number of items with two or more ratings."""
        return float(self.items[self.n_raters >= 2].sum())

    def indicators(self, rater: int) -> Floats:
        """Return 1 in the column of the category that a rater gave, (m, q)."""
        categories = np.arange(self.n_categories)
        return np.asarray(self.category_of[:, [rater]] == categories, np.float64)

    def only(self, rows: Array) -> RatedItems:
        """Return the ratings of some items; the others count as not rated."""
        return RatedItems(
            category_of=np.where(rows[:, None], self.category_of, -1),
            number_of=self.number_of * rows[:, None],
            items=self.items,
        )


def _read_ratings(panel: Panel) -> RatedItems:
    """Return the ratings of a panel; at least two items must have two ratings."""
    is_rated = ~np.isnan(panel.rows)
    categories = np.unique(panel.rows[is_rated])
    places = np.searchsorted(categories, panel.rows)
    # -1 where a rater has not rated an item
    category_of = np.where(is_rated, places, -1)
    # for each category, how many raters of an item chose it
    number_of = [
        (category_of == category).sum(axis=1) for category in range(categories.size)
    ]
    ratings = RatedItems(
        category_of=category_of,
        number_of=np.stack(number_of, axis=1).astype(np.float64),
        items=np.asarray(panel.unknown, np.float64),
    )

    if ratings.n_rated_twice < 2:
        raise NotEnoughCases(
            "rater_agreement needs two or more items that two raters have rated; found "
            f"{ratings.n_rated_twice:.0f}."
        )

    return ratings


class AgreementCoefficient(NamedTuple):
    """A coefficient of agreement, with the influence of each item."""

    value: float
    influence: Floats


class ExpectedAgreement(NamedTuple):
    """The agreement expected by chance, with the influence of each item."""

    value: float
    influence: Floats


def _correct_for_chance(
    ratings: RatedItems, expected: ExpectedAgreement
) -> AgreementCoefficient:
    """Return (agreement - chance) / (1 - chance), with the influence of both."""
    raters = ratings.n_raters
    agreeing_pairs = (ratings.number_of * (ratings.number_of - 1)).sum(axis=1)
    # an item with one rating has no pair; 1 only avoids a division by zero
    pairs = np.where(raters >= 2, raters * (raters - 1), 1.0)
    return _correct_observed_for_chance(ratings, agreeing_pairs / pairs, expected)


def _correct_observed_for_chance(
    ratings: RatedItems, agreement_of_item: Floats, expected: ExpectedAgreement
) -> AgreementCoefficient:
    """Return the coefficient for the observed agreement of each item."""
    if not expected.value < 1:
        raise NotEnoughCases(ONE_CATEGORY)

    room_above_chance = 1 - expected.value
    rated_twice = ratings.n_raters >= 2
    rated = ratings.n_raters > 0
    n_rated_twice = ratings.n_rated_twice
    n_rated = float(ratings.items[rated].sum())

    observed = ratings.items[rated_twice] @ agreement_of_item[rated_twice]
    value = (float(observed) / n_rated_twice - expected.value) / room_above_chance

    # Gwet (2021), Handbook of Inter-Rater Reliability: an item with one rating agrees
    # with none
    above_chance = (agreement_of_item - expected.value) / room_above_chance
    own_coefficient = np.where(rated_twice, above_chance * n_rated / n_rated_twice, 0.0)
    by_agreement = np.where(rated, own_coefficient - value, 0.0) / n_rated
    # the derivative of (a - e) / (1 - e) by e is -(1 - value) / (1 - e)
    by_chance = (1 - value) / room_above_chance * expected.influence

    return AgreementCoefficient(value, by_agreement - by_chance)


def _percent(ratings: RatedItems) -> AgreementCoefficient:
    """Return the proportion of pairs of ratings that agree."""
    no_chance = ExpectedAgreement(0.0, np.zeros(ratings.items.size))
    return _correct_for_chance(ratings, no_chance)


def _brennan_prediger(ratings: RatedItems) -> AgreementCoefficient:
    """Return the coefficient whose chance takes each category equally often."""
    equal = ExpectedAgreement(1 / ratings.n_categories, np.zeros(ratings.items.size))
    return _correct_for_chance(ratings, equal)


def _gwet(ratings: RatedItems) -> AgreementCoefficient:
    """Return Gwet's AC1, with chance agreement on items that are hard to rate only."""
    mean, influence = _mean_proportions(ratings)
    # Gwet (2008): the sum of p (1 - p) over q - 1; one category is taken for two
    others = max(ratings.n_categories - 1, 1)
    expected = ExpectedAgreement(
        value=float((mean * (1 - mean)).sum()) / others,
        influence=influence @ (1 - 2 * mean) / others,
    )

    return _correct_for_chance(ratings, expected)


def _fleiss(ratings: RatedItems) -> AgreementCoefficient:
    """Return Fleiss' kappa: chance draws both ratings from the mean proportions."""
    mean, influence = _mean_proportions(ratings)
    # the square of the mean proportions: two independent draws
    expected = ExpectedAgreement(float(mean @ mean), 2 * influence @ mean)
    return _correct_for_chance(ratings, expected)


def _mean_proportions(ratings: RatedItems) -> tuple[Floats, Floats]:
    """Return the mean proportion of each category, and the influence of items."""
    raters = ratings.n_raters
    rated = raters > 0
    # (items, categories): each item counts once, however many raters it had
    proportions = ratings.number_of / np.where(rated, raters, 1.0)[:, None]
    n_rated = float(ratings.items[rated].sum())

    mean = ratings.items @ proportions / n_rated
    influence = np.where(rated[:, None], proportions - mean, 0.0) / n_rated
    return mean, influence


def _conger(ratings: RatedItems) -> AgreementCoefficient:
    r"""Return Conger's kappa: chance draws from the proportions of each rater.

    Agreement by chance is the mean over pairs of raters g, h of
    :math:`\sum_q p_{gq} p_{hq}` (Conger 1980).
    """
    raters = range(ratings.category_of.shape[1])
    by_rater = [_proportions_of_rater(ratings, rater) for rater in raters]
    total = np.sum([proportions for proportions, _ in by_rater], axis=0)
    n_pairs = len(by_rater) * (len(by_rater) - 1)

    value = 0.0
    influence = np.zeros(ratings.items.size)
    for proportions, influence_of_rater in by_rater:
        others = total - proportions
        value += float(proportions @ others) / n_pairs
        # each pair of raters occurs twice, once from either side
        influence += 2 * influence_of_rater @ others / n_pairs

    return _correct_for_chance(ratings, ExpectedAgreement(value, influence))


def _proportions_of_rater(ratings: RatedItems, rater: int) -> tuple[Floats, Floats]:
    """Return how often a rater gives each category, and the influence of items."""
    rated = ratings.category_of[:, rater] >= 0
    n_rated = float(ratings.items[rated].sum())
    if not n_rated:
        raise NotEnoughCases("Each rater must have rated an item; one rated none.")

    indicators = ratings.indicators(rater)
    proportions = ratings.items @ indicators / n_rated
    # the influence on a mean: the deviation over the number of rated items
    influence = np.where(rated[:, None], indicators - proportions, 0.0) / n_rated

    return proportions, influence


def _cohen(ratings: RatedItems) -> AgreementCoefficient:
    """Return Cohen's kappa: Conger's, of two raters on items that both rated."""
    return _conger(_rated_by_both(ratings))


def _rated_by_both(ratings: RatedItems) -> RatedItems:
    """Return the ratings of items that both raters rated."""
    rated_by_both = np.asarray((ratings.category_of >= 0).all(axis=1))
    if float(ratings.items[rated_by_both].sum()) < 2:
        raise NotEnoughCases("Cohen's kappa needs two items that both raters rated.")
    return ratings.only(rated_by_both)


def _weighted_cohen(
    ratings: RatedItems, distance: Callable[[Array], Array]
) -> AgreementCoefficient:
    """Return Cohen's weighted kappa (1968), by places in the order of categories."""
    ratings = _rated_by_both(ratings)
    categories = np.arange(ratings.n_categories)
    distances = distance(categories[:, None] - categories).astype(np.float64)
    # the most distant categories agree by 0, equal ones by 1
    agreement = 1 - distances / max(float(distances.max()), 1.0)

    first, influence_of_first = _proportions_of_rater(ratings, 0)
    second, influence_of_second = _proportions_of_rater(ratings, 1)
    # the product rule: each rater's proportions move the chance
    by_first = influence_of_first @ (agreement @ second)
    by_second = influence_of_second @ (agreement @ first)
    expected = ExpectedAgreement(
        value=float(first @ agreement @ second), influence=by_first + by_second
    )
    # a missing rating has place -1, and its item is not counted
    agreement_of_item = agreement[ratings.category_of[:, 0], ratings.category_of[:, 1]]

    return _correct_observed_for_chance(ratings, agreement_of_item, expected)


def _krippendorff(ratings: RatedItems) -> AgreementCoefficient:
    r"""Return Krippendorff's alpha: one minus observed over expected disagreement.

    With :math:`a_i` the agreeing pairs of an item over its ratings but one,
    :math:`N_q` ratings of category q and N in all:

    .. math:: D_o = 1 - \frac{\sum_i a_i}{N}, \qquad
              D_e = 1 - \frac{\sum_q N_q (N_q - 1)}{N (N - 1)}
    """
    # an item with one rating has no pair and does not count
    rated_twice = ratings.n_raters[:, None] >= 2
    number_of = np.where(rated_twice, ratings.number_of, 0.0)
    raters = number_of.sum(axis=1)
    agreeing_pairs = (number_of * (number_of - 1)).sum(axis=1)
    agreement = agreeing_pairs / np.maximum(raters - 1, 1.0)  # a_i

    ratings_of_category = ratings.items @ number_of  # N_q
    total = float(ratings.items @ raters)  # N
    all_pairs = total * (total - 1)
    equal_pairs = float(ratings_of_category @ ratings_of_category) - total

    mean_agreement = float(ratings.items @ agreement) / total
    observed = 1 - mean_agreement
    expected = 1 - equal_pairs / all_pairs
    if not expected > 0:
        raise NotEnoughCases(ONE_CATEGORY)

    # derivatives of both disagreements by the number of items
    by_observed = -(agreement - mean_agreement * raters) / total
    more_equal_pairs = 2 * number_of @ ratings_of_category - raters
    more_pairs = (2 * total - 1) * raters
    by_expected = -(more_equal_pairs - equal_pairs / all_pairs * more_pairs) / all_pairs

    # the derivative of alpha = 1 - observed / expected
    influence = -by_observed / expected + observed * by_expected / expected**2

    return AgreementCoefficient(1 - observed / expected, influence)


class CoefficientMethod(NamedTuple):
    """A coefficient by its name, and the values that it can have."""

    coefficient: Callable[[RatedItems], AgreementCoefficient]
    name: str
    ends: Ends = CHANCE_CORRECTED


METHODS = {
    "gwet": CoefficientMethod(_gwet, "Gwet's AC1"),
    "krippendorff": CoefficientMethod(_krippendorff, "Krippendorff's alpha"),
    "fleiss": CoefficientMethod(_fleiss, "Fleiss' kappa"),
    "cohen": CoefficientMethod(_cohen, "Cohen's kappa"),
    "conger": CoefficientMethod(_conger, "Conger's kappa"),
    "brennan-prediger": CoefficientMethod(
        _brennan_prediger, "Brennan-Prediger coefficient"
    ),
    "percent": CoefficientMethod(_percent, "percent agreement", PROPORTION),
}
