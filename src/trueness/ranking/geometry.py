r"""What do ROC, precision, accuracy and F-beta have in common?

All are functions of one curve, the leakage function

.. math:: G(u) = F_p(F_n^{-1}(u)), \qquad 0 \le u \le 1, \qquad (10)

the share of positives that is missed where a share u of the negatives is left alone:
miss rate as a function of specificity. Sameni (2025), "On the geometry of receiver
operating characteristic and precision-recall curves"; equation numbers are its own.

Steps of the data are kept: where a score is tied between classes G is straight, and
where positives stand alone it jumps. At a jump G takes the lower value (the better of
two thresholds with the same specificity), so the ideal classifier has G = 0 everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.records import Answer
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.metrics.confusion import sweep
from trueness.ranking.curves import precision_at

# 1 - fpr is rounded: a specificity this close to a step is meant to be the step
_SNAP = 1e-12


class _Curve(Protocol):
    """A leakage function and its inverse."""

    def __call__(self, u: ArrayLike) -> Any: ...
    def inverse(self, v: ArrayLike) -> Any: ...


class Through:
    """What follows from a leakage function and a prevalence.

    A second base class of records, against the house style: a curve of the data and a
    binormal one answer the same seven questions, which are written here once.
    """

    __slots__ = ()

    def miss_rate(self: _Curve, specificity: ArrayLike) -> Any:
        """Which share of the positives is missed at this specificity? Eq. (14)."""
        return self(specificity)

    def tpr(self: _Curve, fpr: ArrayLike) -> Any:
        """Which true positive rate is reached at this false positive rate? Eq. (13)."""
        return 1 - self(1 - _columns.probabilities(fpr, "fpr"))

    def fpr(self: _Curve, tpr: ArrayLike) -> Any:
        """Which false positive rate does this true positive rate cost? Eq. (15)."""
        return 1 - self.inverse(1 - _columns.probabilities(tpr, "tpr"))

    def precision(self: _Curve, recall: ArrayLike, prevalence: float) -> Any:
        r"""Which precision is left at this recall, at any prevalence? Eq. (21).

        .. math:: \frac{\mathrm{tpr}}
                  {\mathrm{tpr} + (\pi_n/\pi_p) [1 - G^{-1}(1 - \mathrm{tpr})]}

        NaN where nothing is flagged.
        """
        recall = _columns.probabilities(recall, "recall")
        share = _options.fraction(prevalence, "prevalence")
        return precision_at(1 - self.inverse(1 - recall), recall, share)

    def accuracy(self: _Curve, specificity: ArrayLike, prevalence: float) -> Any:
        r"""Which share of all cases is right at this specificity?

        .. math:: \pi_p (1 - G(u)) + \pi_n u

        Differs from the text after eq. (22), which says that accuracy is not a function
        of G: at a given specificity it is.
        """
        u = _columns.probabilities(specificity, "specificity")
        share = _options.fraction(prevalence, "prevalence")
        return share * (1 - self(u)) + (1 - share) * u

    def f_beta(
        self: _Curve, specificity: ArrayLike, prevalence: float, beta: float = 1.0
    ) -> Any:
        r"""How good are precision and recall together at this specificity?

        .. math:: F_\beta = \frac{(1+\beta^2)\,\mathrm{tpr}}
                  {\mathrm{tpr} + \beta^2 + (\pi_n/\pi_p)\,\mathrm{fpr}}

        Differs from eqs. (25) and (26): there the last term has a factor
        beta^2 / tpr that does not follow from eq. (23).
        """
        u = _columns.probabilities(specificity, "specificity")
        share = _options.fraction(prevalence, "prevalence")
        square = _options.positive_number(beta, "beta") ** 2
        tpr, odds = 1 - self(u), (1 - share) / share
        return (1 + square) * tpr / (tpr + square + odds * (1 - u))


@final
@dataclass(frozen=True, repr=False)
class Leakage(Answer, Through):
    r"""Which share of the positives is missed at specificity u?

    Made by :func:`leakage`. A call ``G(u)`` gives this share; ``G.inverse(v)`` is the
    inverse function and ``G.density(u)`` the slope.

    Attributes
    ----------
    specificity, miss_rate_at : array
        Corners of the curve, from (0, 0) to (1, 1).
    area : float
        Area under G: the chance that a negative has a higher score than a positive,
        ties counting one half; 1 - AUC, eqs. (17) and (19).

    Examples
    --------
    >>> G = leakage(Tally([3, 2, 1], pos=[2, 1, 1], neg=[0, 1, 1]))
    >>> float(G(0.5)), float(G.inverse(0.25)), G.area
    (0.25, 0.5, 0.25)
    """

    specificity: Floats
    miss_rate_at: Floats
    area: float

    def __call__(self, u: ArrayLike) -> Any:
        """Give G(u); at a jump the lower value."""
        u = _columns.probabilities(u, "u")
        x, y = self.specificity, self.miss_rate_at
        at = np.searchsorted(x, u - _SNAP, side="left")
        return _between(x, y, (np.maximum(at - 1, 0), at), at, u)

    def inverse(self, v: ArrayLike) -> Any:
        """Give the highest specificity that misses at most a share v of positives."""
        v = _columns.probabilities(v, "v")
        x, y = self.specificity, self.miss_rate_at
        at = np.searchsorted(y, v + _SNAP, side="right") - 1
        last = np.minimum(at + 1, y.size - 1)
        return _between(y, x, (at, last), at, v)

    def density(self, u: ArrayLike, bins: int = 20) -> Any:
        r"""What is the density of positives over that of negatives at this quantile?

        .. math:: g(u) = \dot G(u) = f_p(x) / f_n(x), \qquad x = F_n^{-1}(u)

        Eq. (11), as a mean over ``bins`` equal parts of [0, 1]: the rise of G over the
        part, divided by its width, so that it integrates to 1. Positives above all
        negatives count in the last part.
        """
        u = _columns.probabilities(u, "u")
        number = _options.whole_number(bins, "bins", at_least=1)
        edges = np.linspace(0, 1, number + 1)
        height = self(edges)
        height[-1] = 1.0
        at = np.minimum((u * number).astype(int), number - 1)
        return np.diff(height)[at] * number


def _between(x: Floats, y: Floats, ends: tuple[Any, Any], at: Any, u: Any) -> Any:
    """Go straight between two corners around u; where one is meant, take its height."""
    return np.where(np.abs(x[at] - u) <= _SNAP, y[at], chord(x, y, *ends, u))


def chord(x: Floats, y: Floats, i: Any, j: Any, u: Any) -> Any:
    """Go straight from corner i to corner j; where they are one above the other, i."""
    width = x[j] - x[i]
    part = np.divide(u - x[i], width, out=np.zeros(np.shape(u)), where=width > 0)
    return y[i] + np.clip(part, 0, 1) * (y[j] - y[i])


@of_tally(weights=True)
def leakage(t: Tally) -> Leakage:
    r"""Which share of positives leaks to the negative side at each specificity?

    .. math:: G(u) = F_p(F_n^{-1}(u)), \qquad \mathrm{AUC} = 1 - \int_0^1 G(u)\,du

    Parameters
    ----------
    t
        The counts; cases without a label change nothing.

    Returns
    -------
    Leakage
        A function of the specificity u, with ``inverse``, ``density``, ``area`` and,
        derived from it, ``tpr``, ``fpr``, ``miss_rate``, ``precision``, ``accuracy``
        and ``f_beta``.

    Notes
    -----
    Sameni (2025), eqs. (10)-(26), with errata: see ``docs/maths/ranking_geometry.md``.
    The time is O(m) for m distinct scores.

    Examples
    --------
    >>> G = leakage(Tally([2, 1], pos=[3, 1], neg=[1, 3]))
    >>> float(G(0.75)), float(G.tpr(0.25)), float(G.precision(0.75, prevalence=0.5))
    (0.25, 0.75, 0.75)
    """
    t = t.labelled()
    _cases.both_classes(t, "leakage")
    c = sweep(t)
    u, v = (c.tn / t.n_neg)[::-1], (c.fn / t.n_pos)[::-1]
    area = float(np.sum(np.diff(u) * (v[1:] + v[:-1])) / 2)
    return Leakage(u, v, area)
