"""Can this leaf be trusted, and how many cases does it need?

A leaf holds n cases and predicts the majority of them; a tie is decided by a coin. Two
events are wanted: C, *confidence*: the majority of the n cases is the true majority; U,
*utility*: the next case is predicted right.

With k = ceil(n/2) and d = 2p - 1, P(C) = 1/2 + I(d^2; 1/2, k) / 2 and P(U) = 1/2 +
d I(d^2; 1/2, k) / 2, where I is the regularised incomplete beta function
(``docs/maths/trees.md``). Source: Zhang (2024), doi:10.3390/stats7040071.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import LEFT_OUT, binomial_pmf, bulk, plain_number
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Record
from trueness._core.search import smallest

# what an empty node is worth: Zhang (2024) tosses a coin in a tie (section 1, rule c),
# but eq. (9), summed from m = 1, counts an empty node as always wrong
EMPTY = {"coin": 0.5, "wrong": 0.0}
# a target typed as a decimal is met when the level reaches it to the digits we promise
_DIGITS = 1e-12


def confidence_level(n: ArrayLike, p: ArrayLike) -> Any:
    r"""How likely is the majority of n cases to be the true majority?

    .. math:: P(C) = \sum_{y > n/2} \binom ny p^y (1-p)^{n-y}
        + \tfrac12 P(Y = n/2) = \tfrac12 + \tfrac12 I_{(2p-1)^2}(\tfrac12, \lceil
        n/2 \rceil)

    Parameters
    ----------
    n
        Number of cases in the leaf, 0 or more; 0 is a coin toss.
    p
        True probability of one class; the larger of ``p`` and ``1 - p`` is used. Arrays
        broadcast.

    Notes
    -----
    Zhang (2024, doi:10.3390/stats7040071), eq. (5). A tie counts one half. P(C) is the
    same for n = 2k - 1 and n = 2k; the time does not depend on n.

    Examples
    --------
    >>> round(confidence_level(3, 0.8), 12)  # .8**3 + 3 * .8**2 * .2
    0.896
    """
    excess, _ = _excess(n, p)
    return plain_number(0.5 + 0.5 * excess)


def utility_level(n: ArrayLike, p: ArrayLike) -> Any:
    r"""How likely is the majority of n cases to predict the next case?

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
    """Give 2 P(C) - 1 and d = 2p - 1, both exact near zero."""
    n = _columns.whole_counts(_columns.as_floats(n, "n"), "n")
    d = np.abs(2 * _columns.probabilities(p, "p") - 1)
    return _excess_of_pairs((n + 1) // 2, d), d


def _excess_of_pairs(k: Array, d: Floats) -> Floats:
    """Give 2 P(C) - 1 for n = 2k - 1 and n = 2k; nothing at k = 0."""
    inner = betainc(0.5, np.maximum(k, 1), d * d)
    return np.asarray(np.where(k > 0, inner, 0.0))


@final
@dataclass(frozen=True, repr=False)
class TreeLevels(Record):
    """How often is a tree right about a leaf's majority, and about a case's class?

    Attributes
    ----------
    confidence, utility : float
        P(C) and P(U) of the whole tree of ``n`` cases.
    left_out : float
        The most that each level can differ because only the central part of the
        binomial distribution was summed.
    weights, p, node_confidence, node_utility : array (J,)
        Of each leaf: its share of the cases, larger class probability, P(C) and P(U).
    """

    confidence: float
    utility: float
    n: int
    left_out: float
    weights: Floats
    p: Floats
    node_confidence: Floats
    node_utility: Floats


def tree_levels(
    n: int, weights: ArrayLike, p: ArrayLike, empty: str | float = "coin"
) -> TreeLevels:
    r"""How likely is a tree grown on n cases to be right about the next one?

    .. math:: P(C_j) = \sum_{m=0}^n P(C \mid m, p_j) \binom nm \lambda_j^m
        (1-\lambda_j)^{n-m}, \qquad P(C) = \sum_j \lambda_j P(C_j)

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

    Notes
    -----
    Zhang (2024, doi:10.3390/stats7040071), eqs (9) to (11). Differs from eq. (9): the
    sum starts at m = 0, where by default a coin toss decides, as in any other tie.
    Only the counts within Bernstein's bound are summed.

    Examples
    --------
    >>> t = tree_levels(1, [0.5, 0.5], [0.8, 0.8])  # seen with 1/2: .8, else a coin
    >>> round(t.confidence, 12)
    0.65
    """
    n = _options.whole_number(n, "n")
    share = _columns.shares(weights, "weights")
    top = _columns.probabilities(p, "p")
    if top.ndim == 0:
        top = np.full(share.shape, top)
    _columns.same_length(weights=share, p=_columns.one_dimensional(top, "p"))
    worth = EMPTY.get(empty) if isinstance(empty, str) else empty
    if worth is None:
        _options.choice(empty, EMPTY, "empty")
    worth = _options.fraction(worth, "empty", ends="[]")
    d = np.abs(2 * top - 1)
    excess, left_out = _node_excess(n, share, d)
    node = 0.5 + 0.5 * excess + (worth - 0.5) * binomial_pmf(0, n, share)
    utility = 0.5 + d * (node - 0.5)
    whole = float(share @ node), float(share @ utility)
    top = np.maximum(top, 1 - top)
    return TreeLevels(*whole, n, left_out, share, top, node, utility)


def _node_excess(n: int, share: Floats, d: Floats) -> tuple[Floats, float]:
    """Average 2 P(C) - 1 over the cases a leaf may get, leaf by leaf."""
    low, high = bulk(n, share)
    first, last = (low + 1) // 2, (high + 1) // 2
    sizes = last - first + 1
    start = np.cumsum(sizes) - sizes
    leaf = np.repeat(np.arange(share.size), sizes)
    k = np.arange(leaf.size) - start[leaf] + first[leaf]
    # m = 2k - 1 and m = 2k are worth the same; outside 0..n the mass is zero
    mass = binomial_pmf(2 * k, n, share[leaf])
    mass += binomial_pmf(2 * k - 1, n, share[leaf])
    sums = np.add.reduceat(mass * _excess_of_pairs(k, d[leaf]), start)
    # dividing by the mass that was summed lets its rounding errors cancel
    whole = bool(((low == 0) & (high == n)).all())
    return sums / np.add.reduceat(mass, start), 0.0 if whole else 2 * LEFT_OUT


def plan_leaf(
    p: float,
    *,
    confidence: float | None = None,
    utility: float | None = None,
    decimals: int | None = None,
) -> int:
    r"""How many cases does a leaf need to be trusted?

    The smallest n with :math:`P(C) \ge` ``confidence`` and :math:`P(U) \ge`
    ``utility``.

    Parameters
    ----------
    p
        Probability of one class in the leaf, as assumed beforehand; the larger of ``p``
        and ``1 - p`` is used.
    confidence
        Wanted level of confidence.
    utility
        Wanted level of utility; it must be below the larger of ``p`` and ``1 - p``,
        which the utility does not exceed for any number of cases.
    decimals
        Compare the levels after rounding to this many decimals, as when reading a
        printed table; by default they are compared without rounding.

    Notes
    -----
    Always odd: an even number gives no higher level than one case fewer. Differs from
    Zhang (2024), section 2.3: five cases at p = 0.75 have a utility of 0.698, which
    Table 2 prints as 0.70; ``decimals=2`` gives the paper's answer.

    Examples
    --------
    >>> plan_leaf(p=0.75, confidence=0.95), plan_leaf(p=0.75, utility=0.70)
    (9, 7)
    >>> plan_leaf(p=0.75, utility=0.70, decimals=2)
    5
    """
    p = _options.fraction(p, "p", ends="[]")
    top, d = max(p, 1 - p), abs(2 * p - 1)
    slack = 0.0
    if decimals is not None:
        slack = 10.0 ** -_options.whole_number(decimals, "decimals") / 2
    wanted = _wanted_excess(top, confidence, utility, slack)
    if wanted <= _DIGITS:
        return 1
    most, wanted = 2**52, wanted - 2 * _DIGITS
    if betainc(0.5, most, d * d) < wanted:
        raise NotEnoughCases(
            f"More than {2 * most:,} cases would be needed: p is within {d / 2:g} of "
            f"1/2. Give a p that differs more from 1/2, or a lower target."
        )
    pairs = smallest(lambda k: bool(betainc(0.5, k, d * d) >= wanted), most=most)
    return 2 * pairs - 1


def _wanted_excess(
    top: float, confidence: float | None, utility: float | None, slack: float
) -> float:
    """Which 2 P(C) - 1 meets both targets? Stop when none does."""
    if confidence is None and utility is None:
        raise InputError(
            "plan_leaf needs a target. Type plan_leaf(p=0.75, confidence=0.95) or "
            "plan_leaf(p=0.75, utility=0.7)."
        )
    d = 2 * top - 1
    wanted = 0.0
    if confidence is not None:
        wanted = 2 * (_options.fraction(confidence, "confidence") - slack) - 1
    if utility is not None:
        gain = 2 * (_options.fraction(utility, "utility", ends="(]") - slack) - 1
        if gain > _DIGITS and gain >= d and d < 1:
            raise NotEnoughCases(
                f"No number of cases reaches a utility of {utility:g}: it stays below "
                f"the larger class probability, {top:g}. Ask for less than {top:g}."
            )
        wanted = max(wanted, gain / d if gain > _DIGITS else 0.0)
    if wanted > _DIGITS and d == 0:
        raise NotEnoughCases(
            "No number of cases finds the majority when p is 1/2: there is none. "
            "Give a p that differs from 1/2."
        )
    return wanted
