"""How large is the larger class probability of a leaf?

The share of the majority overstates it, the likelihood of max(Y, n - Y) alone, the
*entropic* binomial, errs the other way; a blend lies between (Zhang 2024, sections 2.2
and 2.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.binomial import (
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
from trueness._core.search import bisect
from trueness.inference.limits import around
from trueness.trees.levels import utility_level


@final
@dataclass(frozen=True, repr=False)
class EntropicBinomial(Record):
    """How many of ``n`` cases are in the majority, of true share ``p``?"""

    n: int
    p: float

    def pmf(self, y: ArrayLike) -> Any:
        """How likely is a majority of exactly ``y``? Zhang (2024), eq. (2)."""
        return plain_number(_majority_pmf(np.asarray(y, np.float64), self.n, self.p))

    def cdf(self, y: ArrayLike) -> Any:
        """How likely is a majority of ``y`` or fewer?"""
        y = np.floor(np.asarray(y, dtype=np.float64))
        above = at_least(y + 1, self.n, self.p) + at_least(y + 1, self.n, 1 - self.p)
        return plain_number(np.where(2 * y < self.n, 0.0, np.maximum(1 - above, 0.0)))

    def mean(self) -> float:
        r"""How large is the majority on average? O(1).

        :math:`E\,Y_\vee = n\,[P(U; n-1) + \tfrac12 P(\text{tie})]`, where the tie is
        that of whichever of n - 1 and n is even.
        """
        if self.n == 0:
            return 0.0
        even = self.n - self.n % 2
        tie = binomial_pmf(even // 2, even, self.p).item()
        return float(self.n * (utility_level(self.n - 1, self.p) + tie / 2))

    def var(self) -> float:
        """How much does the majority vary?"""
        # (2Y - n)^2 forgets the classes already: its mean is the binomial one
        d = 2 * self.p - 1
        square = self.n * (1 - d * d) + (self.n * d) ** 2
        return max(0.0, square / 4 - (self.mean() - self.n / 2) ** 2)

    def rvs(self, size: Any = None, *, rng: Any = 0) -> Any:
        """Draw majorities; ``rng`` is a seed or a NumPy generator."""
        y = _options.generator(rng).binomial(self.n, self.p, size)
        return np.maximum(y, self.n - y)


def _majority_pmf(y: Floats, n: ArrayLike, p: ArrayLike) -> Floats:
    """Zhang (2024), eq. (2)."""
    n = np.asarray(n, np.float64)
    # either class may be the majority; a tie is one outcome, not two
    both = binomial_pmf(y, n, p) + binomial_pmf(n - y, n, p)
    return np.where(2 * y < n, 0.0, np.where(2 * y == n, both / 2, both))


def entropic_binomial(n: int, p: float) -> EntropicBinomial:
    r"""How is the size of the majority among n cases distributed?

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
    """How many cases, and how large a majority, has each leaf of a tree?"""

    n: int
    weights: Floats
    p: Floats

    def pmf(self, cases: ArrayLike, majority: ArrayLike) -> Any:
        """How likely are these cases and majorities? The last axis runs over leaves."""
        cases, majority = np.broadcast_arrays(
            np.asarray(cases, np.float64), np.asarray(majority, np.float64)
        )
        if cases.shape[-1:] != self.weights.shape:
            raise InputError(
                "Cases and majorities need one entry per leaf in their last axis, "
                f"{self.weights.size}; found shape {cases.shape}."
            )
        # the multinomial, one leaf after the other from what the earlier ones left
        taken = np.cumsum(cases, axis=-1) - cases
        rest = np.cumsum(self.weights[::-1])[::-1]
        share = self.weights / np.where(rest > 0, rest, 1.0)
        mass = binomial_pmf(cases, np.maximum(self.n - taken, 0), share)
        mass = np.where(cases.sum(axis=-1) == self.n, mass.prod(axis=-1), 0.0)
        leaf = _majority_pmf(majority, cases, self.p)
        return plain_number(np.asarray(mass * leaf.prod(axis=-1)))

    def mean(self) -> tuple[Floats, Floats]:
        """How many cases, and how large a majority, has each leaf on average?"""
        top = np.zeros(self.weights.size)
        for j, (share, p) in enumerate(zip(self.weights, self.p, strict=True)):
            (low,), (high,) = bulk(self.n, np.array([share]))
            m = np.arange(low, high + 1)  # the cases that the leaf may get
            means = [EntropicBinomial(int(k), float(p)).mean() for k in m]
            top[j] = binomial_pmf(m, self.n, share) @ means
        return self.n * self.weights, top

    def rvs(self, size: Any = None, *, rng: Any = 0) -> tuple[Ints, Ints]:
        """Draw the cases and the majorities of all leaves."""
        generator = _options.generator(rng)
        cases = generator.multinomial(self.n, self.weights, size)
        y = generator.binomial(cases, self.p)
        return cases, np.maximum(y, cases - y)


def entropic_tree(n: int, weights: ArrayLike, p: ArrayLike) -> EntropicTree:
    r"""How are the cases and the majorities of the leaves of a tree distributed?

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
    share = _columns.shares(weights, "weights")
    top = np.broadcast_to(_columns.probabilities(p, "p"), share.shape)
    return EntropicTree(_options.whole_number(n, "n"), share, np.maximum(top, 1 - top))


def majority_mle(y: Array, n: Array) -> Floats:
    """Give the share of the majority, Zhang (2024), eq. (14); NaN without a case."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.maximum(y, n - y) / n)


def majority_emle(y: Array, n: Array) -> Floats:
    r"""Give the most likely p under eq. (2), the law that forgets the classes.

    With :math:`d = |2y - n|` and :math:`x = 2p - 1` it solves :math:`n x = d \tanh(d
    \operatorname{artanh} x)`: 1/2 if and only if :math:`d^2 \le n`, and 1 if and only
    if :math:`d = n \ge 2`. NaN for n = 1, where every p is equally likely, and for
    n = 0.
    """
    y, n = np.broadcast_arrays(np.asarray(y, np.float64), np.asarray(n, np.float64))
    d = np.abs(2 * y - n)
    x = np.where(d == n, 1.0, 0.0)
    inner = (d * d > n) & (d < n)
    d, n_in = d[inner], n[inner]
    # the root is the only one between 0 and d/n, and below it the right side is larger
    x[inner] = bisect(
        lambda x: d * np.tanh(d * np.arctanh(x)) > n_in * x, 0.0, d / n_in
    )
    return np.where(n < 2, np.nan, 0.5 + 0.5 * x)


def majority_blend(y: Array, n: Array) -> Floats:
    """Give mle and emle, weighted by the mle itself: Zhang (2024), eqs (20), (21)."""
    mle = majority_mle(y, n)
    emle = majority_emle(y, n)
    # with w = 1 the emle, which n = 1 does not identify, has no weight
    return np.where(mle == 1, 1.0, emle + mle * (mle - emle))


def majority_interval(y: Array, n: Array, level: float) -> tuple[Floats, Floats]:
    """Carry Clopper and Pearson's interval for p over to max(p, 1 - p)."""
    low, high = clopper_pearson(np.maximum(y, n - y), n, level)
    return np.maximum(low, 0.5), high


def top_probability(
    y: int, n: int, method: str = "blend", *, level: float = 0.95
) -> Estimate:
    r"""How large is the larger of two class probabilities, given y cases of n?

    .. math:: \hat p = \max(y, n - y)/n, \qquad \hat p^b = \tilde p + \hat p(\hat p -
        \tilde p)

    with the entropic estimate :math:`\tilde p` that maximises the likelihood of the
    size of the majority (Zhang 2024, eqs 14, 2, 20 and 21). The emle of a single case
    is NaN: every value explains it equally well. The interval is that of Clopper and
    Pearson, widened where it would not contain the estimate.

    Parameters
    ----------
    y
        Cases of one class.
    n
        Cases in all, at least one.
    method
        "mle" (biased upwards), "emle" (downwards) or "blend".
    level
        Confidence level of the interval.

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
            "top_probability needs at least one case; found n=0. Leave this leaf out."
        )
    value = TOP_METHODS[method](np.asarray(y), np.asarray(n))
    low, high = majority_interval(np.asarray(y), np.asarray(n), level)
    # fmin and fmax pass over the NaN of a single case
    ends = float(np.fmin(low, value)), float(np.fmax(high, value))
    return around(float(value), *ends, level, method)


TOP_METHODS: dict[str, Callable[[Array, Array], Floats]] = {
    "mle": majority_mle,
    "emle": majority_emle,
    "blend": majority_blend,
}
