"""Can this leaf be trusted, and how large is its larger class probability?

A leaf holds n cases and predicts the majority of them; a tie is decided by a coin. Two
events are wanted: C, *confidence*: the majority of the n cases is the true majority; U,
*utility*: the next case is predicted right. The proportion of the majority overstates
p, the likelihood of max(Y, n - Y) alone, the *entropic* binomial, errs the other way; a
blend lies between. Zhang (2024), doi:10.3390/stats7040071; ``docs/maths/trees.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.binomial import (
    LEFT_OUT,
    at_least,
    binomial_pmf,
    bulk,
    clopper_pearson,
    plain_number,
)
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness._core.solvers import bisect, smallest
from trueness.counts.resampling import Seed
from trueness.inference.estimates import estimate_from_interval

# what an empty node is worth: Zhang (2024) tosses a coin in a tie (section 1, rule c),
# but eq. (9), summed from m = 1, counts an empty node as always wrong
EMPTY = {"coin": 0.5, "wrong": 0.0}
# a target typed as a decimal is met when the level reaches it to the digits we promise
_DIGITS = 1e-12
MAX_PAIRS = 2**52  # of cases that a leaf is planned for


def confidence_level(n: ArrayLike, p: ArrayLike) -> Any:
    r"""Level of confidence P(C) of a leaf.

    How likely is the majority of n cases to be the true majority?

    .. math:: P(C) = \sum_{y > n/2} \binom ny p^y (1-p)^{n-y}
        + \tfrac12 P(Y = n/2) = \tfrac12 + \tfrac12 I_{(2p-1)^2}(\tfrac12, \lceil
        n/2 \rceil)

    (Zhang 2024, doi:10.3390/stats7040071, eq. 5). P(C) is the same for n = 2k - 1 and
    n = 2k; the time does not depend on n.

    Parameters
    ----------
    n
        Number of cases in the leaf, 0 or more; 0 is a coin toss.
    p
        True probability of one class; the larger of ``p`` and ``1 - p`` is used. Arrays
        broadcast.

    Examples
    --------
    >>> round(confidence_level(3, 0.8), 12)  # .8**3 + 3 * .8**2 * .2
    0.896
    """
    excess, _ = _excess(n, p)
    return plain_number(0.5 + 0.5 * excess)


def utility_level(n: ArrayLike, p: ArrayLike) -> Any:
    r"""Level of utility P(U) of a leaf.

    How likely is the majority of n cases to predict the next case?

    .. math:: P(U) = p\,P(C) + (1-p)(1-P(C))

    (Zhang 2024, eq. 6), with ``n`` and ``p`` as in :func:`confidence_level`. It
    approaches the larger of ``p`` and ``1 - p`` as n grows.

    Examples
    --------
    >>> round(utility_level(3, 0.8), 12)  # .8 * .896 + .2 * .104
    0.7376
    """
    excess, d = _excess(n, p)
    return plain_number(0.5 + 0.5 * d * excess)


def _excess(n: ArrayLike, p: ArrayLike) -> tuple[Floats, Floats]:
    """Return 2 P(C) - 1 and d = 2p - 1, both exact near zero."""
    n = _columns.whole_counts(_columns.as_floats(n, "n"), "n")
    d = np.abs(2 * _columns.probabilities(p, "p") - 1)
    return _excess_of_pairs((n + 1) // 2, d), d


def _excess_of_pairs(k: Array, d: Floats) -> Floats:
    """Return 2 P(C) - 1, the same for n = 2k - 1 and n = 2k; zero at k = 0."""
    return np.where(k > 0, betainc(0.5, np.maximum(k, 1), d * d), 0.0)


@final
@dataclass(frozen=True, repr=False)
class TreeLevels(Record):
    """Levels of a tree: how often it is right about the majority of a leaf, and about
    the class of a case.

    Attributes
    ----------
    confidence, utility : float
        P(C) and P(U) of the whole tree of ``n`` cases.
    truncation_error : float
        The most that each level can differ because only the central part of the
        binomial distribution was summed.
    weights, p, node_confidence, node_utility : array (J,)
        Proportion of the cases, larger class probability, P(C) and P(U) of each leaf.
    """

    confidence: float
    utility: float
    n: int
    truncation_error: float
    weights: Floats
    p: Floats
    node_confidence: Floats
    node_utility: Floats


def tree_levels(
    n: int, weights: ArrayLike, p: ArrayLike, empty: str | float = "coin"
) -> TreeLevels:
    r"""Levels of confidence and utility of a whole tree.

    How likely is a tree grown on n cases to be right about the next one?

    .. math:: P(C_j) = \sum_{m=0}^n P(C \mid m, p_j) \binom nm \lambda_j^m
        (1-\lambda_j)^{n-m}, \qquad P(C) = \sum_j \lambda_j P(C_j)

    (Zhang 2024, doi:10.3390/stats7040071, eqs 9 to 11). Differs from eq. (9): the sum
    starts at m = 0, where by default a coin toss decides, as in any other tie. Only the
    counts within Bernstein's bound are summed.

    Parameters
    ----------
    n
        Cases that the tree is grown on, in all leaves together.
    weights
        Probability that a case falls into each leaf, summing to 1.
    p
        Probability of one class in each leaf; the larger of ``p`` and ``1 - p`` is
        used.
    empty
        How a leaf without a case counts: "coin" (right half of the time), "wrong"
        (never right, eq. (9) as printed), or its probability of being right.

    Examples
    --------
    >>> t = tree_levels(1, [0.5, 0.5], [0.8, 0.8])  # seen with 1/2: .8, else a coin
    >>> round(t.confidence, 12)
    0.65
    """
    n = _options.whole_number(n, "n")
    weights = _columns.shares(weights, "weights")
    probability = _columns.probabilities(p, "p")
    if probability.ndim == 0:
        probability = np.full(weights.shape, probability)

    _columns.same_length(weights=weights, p=_columns.one_dimensional(probability, "p"))
    right_if_empty = _probability_right_if_empty(empty)

    d = np.abs(2 * probability - 1)
    excess, truncation_error = _mean_excess(n, weights, d)
    # an empty leaf was counted as a coin, 1/2
    empty_leaf = binomial_pmf(0, n, weights)
    node_confidence = 0.5 + 0.5 * excess + (right_if_empty - 0.5) * empty_leaf
    # eq. (6): P(U) - 1/2 = (2p - 1) (P(C) - 1/2)
    node_utility = 0.5 + d * (node_confidence - 0.5)

    return TreeLevels(
        confidence=float(weights @ node_confidence),
        utility=float(weights @ node_utility),
        n=n,
        truncation_error=truncation_error,
        weights=weights,
        p=np.maximum(probability, 1 - probability),
        node_confidence=node_confidence,
        node_utility=node_utility,
    )


def _probability_right_if_empty(empty: str | float) -> float:
    """Return how often an empty leaf is right: a number, or a name in ``EMPTY``."""
    if isinstance(empty, str):
        _options.choice(empty, EMPTY, "empty")
        return EMPTY[empty]
    return _options.fraction(empty, "empty", ends="[]")


def _mean_excess(n: int, weights: Floats, d: Floats) -> tuple[Floats, float]:
    """Return the mean of 2 P(C) - 1 over the numbers of cases in each leaf, (J,).

    Also return the largest error of the means from the tails that are left out.
    """
    low, high = bulk(n, weights)
    # m = 2k - 1 and m = 2k cases yield the same level, so that pairs k are summed
    first_pair = (low + 1) // 2
    last_pair = (high + 1) // 2
    number_of_pairs = last_pair - first_pair + 1

    # all leaves in one array, one after the other
    start = np.cumsum(number_of_pairs) - number_of_pairs
    leaf = np.repeat(np.arange(weights.size), number_of_pairs)
    pair = np.arange(leaf.size) - start[leaf] + first_pair[leaf]
    # outside 0..n the mass is zero
    # the probability that a leaf gets so many of the n cases
    mass = binomial_pmf(2 * pair, n, weights[leaf])
    mass += binomial_pmf(2 * pair - 1, n, weights[leaf])
    sums = np.add.reduceat(mass * _excess_of_pairs(pair, d[leaf]), start)
    # division by the summed mass lets its rounding errors cancel
    excess = sums / np.add.reduceat(mass, start)

    nothing_left_out = ((low == 0) & (high == n)).all()
    return excess, 0.0 if nothing_left_out else 2 * LEFT_OUT


def plan_leaf(
    p: float,
    *,
    confidence: float | None = None,
    utility: float | None = None,
    decimals: int | None = None,
) -> int:
    r"""Number of cases that a leaf needs for a level of confidence or utility.

    The smallest n with :math:`P(C) \ge` ``confidence`` and :math:`P(U) \ge`
    ``utility``. It is odd: an even number has no higher level than one case fewer.
    Differs from Zhang (2024), section 2.3: five cases at p = 0.75 have a utility of
    0.698, which Table 2 prints as 0.70; ``decimals=2`` gives the paper's answer.

    Parameters
    ----------
    p
        Probability of one class in the leaf, as assumed beforehand; the larger of ``p``
        and ``1 - p`` is used.
    confidence, utility
        Wanted levels. The utility does not exceed the larger of ``p`` and ``1 - p`` for
        any number of cases.
    decimals
        Compare the levels after rounding to this many decimals, as when reading a
        printed table; by default they are compared without rounding.

    Examples
    --------
    >>> plan_leaf(p=0.75, confidence=0.95), plan_leaf(p=0.75, utility=0.70)
    (9, 7)
    >>> plan_leaf(p=0.75, utility=0.70, decimals=2)
    5
    """
    if confidence is None and utility is None:
        raise InputError(
            "plan_leaf needs a target, a level of confidence or of utility.",
            option="confidence",
            example=0.95,
        )

    p = _options.fraction(p, "p", ends="[]")
    rounding = 0.0
    if decimals is not None:
        rounding = 10.0 ** -_options.whole_number(decimals, "decimals") / 2

    # 2 P(C) - 1 that meets both targets
    excess = 0.0
    if confidence is not None:
        excess = 2 * (_options.fraction(confidence, "confidence") - rounding) - 1
    if utility is not None:
        excess = max(excess, _excess_for_utility(p, utility, rounding))
    if excess <= _DIGITS:
        return 1
    # a target that is met up to rounding is met
    return _cases_for_excess(abs(2 * p - 1), excess - 2 * _DIGITS)


def _excess_for_utility(p: float, utility: float, rounding: float) -> float:
    """Return the 2 P(C) - 1 of a utility: P(U) - 1/2 = (2p - 1) (P(C) - 1/2)."""
    # 2 P(U) - 1, which stays below |2p - 1|
    gain = 2 * (_options.fraction(utility, "utility", ends="(]") - rounding) - 1
    d = abs(2 * p - 1)

    if gain <= _DIGITS:
        return 0.0

    if gain >= d and d < 1:
        top = max(p, 1 - p)
        raise NotEnoughCases(
            f"No number of cases reaches a utility of {utility:g}: it stays below the "
            f"larger class probability, {top:g}. Choose less than {top:g}.",
            option="utility",
        )

    return gain / d


def _cases_for_excess(d: float, excess: float) -> int:
    """Return the smallest odd number of cases that reaches this 2 P(C) - 1."""
    if d == 0:
        raise NotEnoughCases(
            "With p = 1/2 there is no majority to find. Choose a p that differs from "
            "1/2.",
            option="p",
        )

    if betainc(0.5, MAX_PAIRS, d * d) < excess:
        raise NotEnoughCases(
            f"More than {2 * MAX_PAIRS:,} cases would be needed: p is within "
            f"{d / 2:g} of 1/2. Choose a p that differs more from 1/2, or a lower "
            "target."
        )

    # 2 P(C) - 1 of 2k - 1 cases is the incomplete beta function I(d^2; 1/2, k)
    pairs = smallest(
        lambda n_pairs: bool(betainc(0.5, n_pairs, d * d) >= excess), largest=MAX_PAIRS
    )
    return 2 * pairs - 1


@final
@dataclass(frozen=True, repr=False)
class EntropicBinomial(Record):
    """Distribution of the majority among ``n`` cases, if its true proportion is
    ``p``.
    """

    n: int
    p: float

    def pmf(self, y: ArrayLike) -> Any:
        """Return the probability of a majority of ``y``: Zhang (2024), eq. (2)."""
        return plain_number(_majority_pmf(np.asarray(y, np.float64), self.n, self.p))

    def cdf(self, y: ArrayLike) -> Any:
        """Return the probability of a majority of ``y`` or fewer."""
        y = np.floor(np.asarray(y, dtype=np.float64))
        above = at_least(y + 1, self.n, self.p) + at_least(y + 1, self.n, 1 - self.p)
        return plain_number(np.where(2 * y < self.n, 0.0, np.maximum(1 - above, 0.0)))

    def mean(self) -> float:
        """Return the mean size of the majority."""
        if self.n == 0:
            return 0.0

        # n [P(U; n-1) + P(tie) / 2], with the tie of n - 1 or of n cases, whichever is
        # even
        even = self.n - self.n % 2
        tie = binomial_pmf(even // 2, even, self.p).item()
        return float(self.n * (utility_level(self.n - 1, self.p) + tie / 2))

    def var(self) -> float:
        """Return the variance of the size of the majority."""
        # (2Y - n)^2 is the same for both classes, so its mean is the binomial one
        d = 2 * self.p - 1
        square = self.n * (1 - d * d) + (self.n * d) ** 2
        return max(0.0, square / 4 - (self.mean() - self.n / 2) ** 2)

    def rvs(self, size: int | None = None, *, rng: Seed = 0) -> Any:
        """Return random majorities; ``rng`` is a seed or a NumPy generator."""
        y = _options.generator(rng).binomial(self.n, self.p, size)
        return np.maximum(y, self.n - y)


def _majority_pmf(y: Floats, n: ArrayLike, p: ArrayLike) -> Floats:
    """Return the probability of a majority of y among n: Zhang (2024), eq. (2)."""
    n = np.asarray(n, np.float64)
    # either class may be the majority; a tie is one outcome, not two
    two_sided = binomial_pmf(y, n, p) + binomial_pmf(n - y, n, p)
    return np.where(2 * y < n, 0.0, np.where(2 * y == n, two_sided / 2, two_sided))


def entropic_binomial(n: int, p: float) -> EntropicBinomial:
    r"""Entropic binomial distribution: the size of the majority among n cases.

    .. math:: P(Y_\vee = y) = \binom ny \left[p^y (1-p)^{n-y} + p^{n-y} (1-p)^y\right],
        \quad y > n/2

    and half of that at a tie, y = n/2 (Zhang 2024, eq. 2). The larger of ``p`` and
    ``1 - p`` is used; the record has ``pmf``, ``cdf``, ``mean``, ``var`` and ``rvs``.

    Examples
    --------
    >>> entropic_binomial(2, 0.5).pmf([1, 2])  # HT, TH against HH, TT
    array([0.5, 0.5])
    """
    p = _options.fraction(p, "p", ends="[]")
    return EntropicBinomial(_options.whole_number(n, "n"), max(p, 1 - p))


@final
@dataclass(frozen=True, repr=False)
class EntropicTree(Record):
    """Distribution of the cases and majorities of the leaves of a tree."""

    n: int
    weights: Floats
    p: Floats

    def pmf(self, cases: ArrayLike, majority: ArrayLike) -> Any:
        """Return the probability of these numbers; their last axis runs over leaves."""
        cases, majority = np.broadcast_arrays(
            np.asarray(cases, np.float64), np.asarray(majority, np.float64)
        )
        if cases.shape[-1:] != self.weights.shape:
            raise InputError(
                "Cases and majorities need one entry per leaf in their last axis, "
                f"{self.weights.size}; found shape {cases.shape}."
            )

        # the multinomial: for each leaf a binomial among the cases left by earlier ones
        cases_before = np.cumsum(cases, axis=-1) - cases
        weight_left = np.cumsum(self.weights[::-1])[::-1]
        proportion = self.weights / np.where(weight_left > 0, weight_left, 1.0)
        cases_left = np.maximum(self.n - cases_before, 0)

        of_each_leaf = binomial_pmf(cases, cases_left, proportion)
        is_complete = cases.sum(axis=-1) == self.n
        of_cases = np.where(is_complete, of_each_leaf.prod(axis=-1), 0.0)

        of_majorities = _majority_pmf(majority, cases, self.p).prod(axis=-1)
        return plain_number(np.asarray(of_cases * of_majorities))

    def mean(self) -> tuple[Floats, Floats]:
        """Return the mean number of cases and the mean majority of each leaf."""
        majority = np.zeros(self.weights.size)
        for j, (weight, p) in enumerate(zip(self.weights, self.p, strict=True)):
            lowest, highest = bulk(self.n, np.array([weight]))
            possible_cases = np.arange(lowest[0], highest[0] + 1)
            # the mean majority for each number of cases of the leaf
            means = [
                EntropicBinomial(int(cases), float(p)).mean()
                for cases in possible_cases
            ]
            majority[j] = binomial_pmf(possible_cases, self.n, weight) @ means

        return self.n * self.weights, majority

    def rvs(self, size: int | None = None, *, rng: Seed = 0) -> tuple[Ints, Ints]:
        """Return random cases and majorities of all leaves."""
        generator = _options.generator(rng)
        cases = generator.multinomial(self.n, self.weights, size)
        of_one_class = generator.binomial(cases, self.p)
        return cases, np.maximum(of_one_class, cases - of_one_class)


def entropic_tree(n: int, weights: ArrayLike, p: ArrayLike) -> EntropicTree:
    r"""Entropic tree distribution: the cases and majorities of the leaves of a tree.

    .. math:: P(\mathbf N, \mathbf Y_\vee) = \binom{n}{n_1 \dots n_J} \prod_j
        \lambda_j^{n_j} P(Y_\vee = y_j \mid n_j, p_j)

    (Zhang 2024, eqs 3 and 4), with arguments as in :func:`trueness.trees.tree_levels`.
    The record has ``pmf``, ``mean`` and ``rvs``.

    Examples
    --------
    >>> tree = entropic_tree(2, [0.5, 0.5], [1.0, 1.0])
    >>> round(tree.pmf([1, 1], [1, 1]), 12)  # one case each: 2 * 1/2 * 1/2
    0.5
    """
    weights = _columns.shares(weights, "weights")
    probability = np.broadcast_to(_columns.probabilities(p, "p"), weights.shape)
    larger = np.maximum(probability, 1 - probability)
    return EntropicTree(_options.whole_number(n, "n"), weights, larger)


def _majority_mle(y: Array, n: Array) -> Floats:
    """Return the proportion of the majority: Zhang (2024), eq. (14); NaN for n = 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.maximum(y, n - y) / n)


def _majority_emle(y: Array, n: Array) -> Floats:
    r"""Return the p of maximum likelihood under eq. (2), without the classes.

    With :math:`d = |2y - n|` and :math:`x = 2p - 1` it solves :math:`n x = d \tanh(d
    \operatorname{artanh} x)`: 1/2 if and only if :math:`d^2 \le n`, and 1 if and only
    if :math:`d = n \ge 2`. NaN for n = 1, where every p is equally likely, and for
    n = 0.
    """
    y, n = np.broadcast_arrays(np.asarray(y, np.float64), np.asarray(n, np.float64))
    d = np.abs(2 * y - n)
    # x = 2p - 1 is 1 where all cases agree, and 0 inside d^2 <= n
    x = np.where(d == n, 1.0, 0.0)
    inner = (d * d > n) & (d < n)
    inner_d = d[inner]
    inner_n = n[inner]

    def below_root(x: Floats) -> Array:
        # the root is the only one between 0 and d/n; below it the right side is larger
        return np.asarray(inner_d * np.tanh(inner_d * np.arctanh(x)) > inner_n * x)

    x[inner] = bisect(below_root, 0.0, inner_d / inner_n)
    return np.where(n < 2, np.nan, 0.5 + 0.5 * x)


def _majority_blend(y: Array, n: Array) -> Floats:
    """Return mle and emle averaged by the weight mle: Zhang (2024), eqs (20), (21)."""
    mle = _majority_mle(y, n)
    emle = _majority_emle(y, n)
    # the weight of the emle is 1 - mle; where that is 0 the emle may be NaN
    return np.where(mle == 1, 1.0, emle + mle * (mle - emle))


def top_or_half(pos: Ints, n: Ints, method: str) -> Floats:
    """Return the estimated probability of the majority; 1/2 for an empty leaf."""
    top = TOP_METHODS[_options.choice(method, TOP_METHODS, "method")](pos, n)
    return np.where(np.isnan(top), 0.5, top)


def majority_interval(y: Array, n: Array, level: float) -> tuple[Floats, Floats]:
    """Return the interval of Clopper and Pearson for max(p, 1 - p)."""
    low, high = clopper_pearson(np.maximum(y, n - y), n, level)
    return np.maximum(low, 0.5), high


def top_probability(
    y: int, n: int, method: str = "blend", *, level: float = 0.95
) -> Estimate:
    r"""Larger of two class probabilities, with a confidence interval.

    How large is it, if y of n cases are in one class?

    .. math:: \hat p = \max(y, n - y)/n, \qquad \hat p^b = \tilde p + \hat p(\hat p -
        \tilde p)

    with the entropic estimate :math:`\tilde p` that maximises the likelihood of the
    size of the majority (Zhang 2024, eqs 14, 2, 20 and 21). The emle of a single case
    is NaN: every value explains it equally well. The interval is that of Clopper and
    Pearson, widened where it would not contain the estimate, at this ``level``.

    Parameters
    ----------
    y, n
        Cases of one class; cases in all, at least one.
    method
        "mle" (biased upwards), "emle" (downwards) or "blend".

    Examples
    --------
    >>> estimates = [top_probability(5, 7, m).value for m in ("mle", "emle", "blend")]
    >>> [round(e, 12) for e in estimates] == [round(5 / 7, 12), round(2 / 3, 12),
    ...     round(103 / 147, 12)]
    True
    """
    n = _options.whole_number(n, "n")
    y = _options.whole_number(y, "y")
    _options.choice(method, TOP_METHODS, "method")
    level = _options.fraction(level, "level")
    _options.part_of(y, n)

    if n == 0:
        raise NotEnoughCases(
            "top_probability needs at least one case; found none. Leave this leaf out."
        )

    value = TOP_METHODS[method](np.asarray(y), np.asarray(n))
    low, high = majority_interval(np.asarray(y), np.asarray(n), level)
    # fmin and fmax pass over the NaN of a single case
    lower_end = float(np.fmin(low, value))
    upper_end = float(np.fmax(high, value))

    return estimate_from_interval(float(value), lower_end, upper_end, level, method)


TOP_METHODS: dict[str, Callable[[Array, Array], Floats]] = {
    "mle": _majority_mle,
    "emle": _majority_emle,
    "blend": _majority_blend,
}
