r"""What would calibrated scores show in other samples of as many of each class?

Positives and negatives are drawn apart, as many as the design wanted. Their scores have
the densities :math:`f_1` and :math:`f_0`, and where the share of positives is
:math:`\pi`, calibrated scores are those with

.. math:: \frac{f_1(s)}{f_0(s)} = \frac{s}{1-s} \cdot \frac{1-\pi}{\pi}.

This says two things, which a sample tests apart.

*Labels.* Given the scores of all cases, and that :math:`N_1` of them are positive, a
choice of positives is as likely as the product of their odds :math:`s/(1-s)` says. The
share cancels, and nothing has to be known about the scores: draws are exact
(``allotted``).

*Scores.* The chance of a case of the sample is
:math:`q = \mathrm{expit}(\mathrm{logit}\,s + a)`, with
:math:`a = \mathrm{logit}(N_1/N) - \mathrm{logit}\,\pi`, and the q must add up to
:math:`N_1`, but for chance. The shift :math:`\hat a` at which they do has the variance

.. math:: \frac1{\sum q(1-q)} - \frac1{N_1} - \frac1{N_0}

(Prentice and Pyke 1979: what a cohort would have, less what is known of its share). It
depends on the scores alone, so that it is independent of what the labels show.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints

_PASSES = 100
# beyond so many standard deviations (and cases) a binomial count is not looked for,
# nor a sum that is rarer than this
_BEYOND, _NOTHING = 8, 1e-16
# where the number of positives varies by more than this (its standard deviation is 32),
# a row of a thousand gives or takes a thirtieth of a case
_MANY = 1000
# a probability of 0 or 1 has no odds
_SURE = 1e-9


class Shift(NamedTuple):
    """By how much do log-odds move to those of the sample, and how sure is that?"""

    value: Floats
    sd: Floats


class LabelDraws(NamedTuple):
    """What other samples of calibrated scores show.

    ``up`` (replicates, m) are the positives of each row; ``away`` (replicates,) is how
    many standard errors the shift lies from the truth, and ``share`` the share of
    positives at which such a sample would be calibrated.
    """

    up: Array
    away: Floats
    share: Floats


def redrawn(
    number: Ints, chance: Floats, n_pos: int, replicates: int, rng: np.random.Generator
) -> LabelDraws:
    """Draw what samples show whose scores have these chances of a positive.

    The scores stay; how their shift varies is seen where scores are drawn, each class
    by its own law, in units of the standard error of each sample.
    """
    from scipy.special import expit, logit

    n_neg, odds = int(number.sum()) - n_pos, logit(np.clip(chance, _SURE, 1 - _SURE))
    shift = balance(odds, number, n_pos)
    q = expit(odds + shift.value)
    classes = ((n_pos, number * q), (n_neg, number * (1 - q)))
    other = sum(rng.multinomial(n, w / w.sum(), replicates) for n, w in classes)
    again = balance(odds, np.asarray(other), n_pos)
    away = (again.value - shift.value) / again.sd
    share = expit(math.log(n_pos / n_neg) - shift.value + away * shift.sd)
    return LabelDraws(allotted(number, q, n_pos, replicates, rng), away, share)


def balance(odds: Floats, number: Ints, n_pos: int) -> Shift:
    """At which shift of the log-odds do the chances of cases add up to the positives?

    ``number`` (..., m) are the cases of each row. Newton's method; the sum rises with
    the shift, so there is one solution.
    """
    from scipy.special import expit

    n = number.sum(axis=-1)
    value = np.log(n_pos / (n - n_pos)) - number @ odds / n
    for _ in range(_PASSES):
        q = expit(odds + value[..., None])
        slope = (number * q * (1 - q)).sum(axis=-1)
        step = (n_pos - (number * q).sum(axis=-1)) / np.maximum(slope, 1e-12)
        value = value + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-10:
            break
    spread = 1 / np.maximum(slope, 1e-12) - 1 / n_pos - 1 / (n - n_pos)
    return Shift(value, np.sqrt(np.maximum(spread, 1e-12)))


class _Law(NamedTuple):
    """How likely are the counts ``first``, ``first + 1``, ...?"""

    first: int
    chance: Floats


def allotted(
    number: Ints, chance: Floats, total: int, replicates: int, rng: np.random.Generator
) -> Array:
    r"""How many positives has each row, given their ``total``? (replicates, m)

    Independent binomial counts given their sum (Fisher's noncentral hypergeometric law
    of many rows), drawn exactly: the law of the sum of two neighbours is found for
    pairs, pairs of pairs, and so on up to all rows; then the total is shared out on the
    way down. Of very many cases the surplus of a free draw is taken off in proportion
    to the variance v of each row, which has the mean and the covariance
    :math:`\mathrm{diag}(v) - v v' / \sum v` of the exact law; counts are then not
    whole. ``chance`` must expect the total.

    Examples
    --------
    Two rows of one case, odds 3 and 1, and one positive: it is the first in 3 of 4.

    >>> rng = np.random.default_rng(0)
    >>> up = allotted(np.array([1, 1]), np.array([0.75, 0.5]), 1, 200_000, rng)
    >>> bool((up.sum(axis=1) == 1).all()), round(float(up[:, 0].mean()), 2)
    (True, 0.75)
    """
    varies = number * chance * (1 - chance)
    if varies.sum() > _MANY:
        free = rng.binomial(number, chance, (replicates, number.size))
        surplus = free.sum(axis=1, keepdims=True) - total
        return np.asarray(np.clip(free - surplus * varies / varies.sum(), 0, number))
    levels = [[_row_law(int(n), p) for n, p in zip(number, chance, strict=True)]]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([_sum_law(*below[k : k + 2]) for k in range(0, len(below), 2)])
    counts: list[Ints] = [np.full(replicates, total)]
    for level in reversed(levels[:-1]):
        counts = [
            part
            for k, both in enumerate(counts)
            for part in _shared_out(both, level[2 * k : 2 * k + 2], rng)
        ]
    return np.stack(counts, axis=1)


def _row_law(n: int, p: float) -> _Law:
    """Give the binomial law of a row."""
    from scipy.special import gammaln

    p = min(max(float(p), 1e-300), 1 - 2.0**-53)
    half = _BEYOND * (1 + math.sqrt(n * p * (1 - p)))
    k = np.arange(max(math.floor(n * p - half), 0), min(math.ceil(n * p + half), n) + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return _Law(int(k[0]), np.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p)))


def _sum_law(first: _Law, second: _Law | None = None) -> _Law:
    """Give the law of the sum, where it is more than nothing."""
    if second is None:
        return first
    together = np.convolve(first.chance, second.chance)
    some = np.flatnonzero(together > _NOTHING)
    start = first.first + second.first + int(some[0])
    return _Law(start, together[some[0] : some[-1] + 1])


def _shared_out(total: Ints, laws: list[_Law], rng: np.random.Generator) -> list[Ints]:
    """Give the counts of two neighbours that add up to each total."""
    if len(laws) == 1:
        return [total]
    (start, left), (other, right) = laws
    sums, which = np.unique(total, return_inverse=True)
    rest = sums[:, None] - (start + np.arange(left.size)) - other
    inside = (rest >= 0) & (rest < right.size)
    likely = np.where(inside, left * right[np.where(inside, rest, 0)], 0.0)
    up_to = np.cumsum(likely, axis=1)
    up_to /= up_to[:, -1:]
    # one search in all laws at once: each runs from its own number to the next
    stairs = (up_to + np.arange(sums.size)[:, None]).ravel()
    found = np.searchsorted(stairs, which + rng.random(total.size), side="right")
    mine = start + found - which * left.size
    return [mine, total - mine]
