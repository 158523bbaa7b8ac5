r"""Which calibrator, when nobody knows the shape?

None is best everywhere: a curve with two parameters wins on 50 cases and loses on
5000, "no change at all" wins when the model is calibrated already, and ranks win when
the scores are odd. ``auto`` asks the data: every candidate is fitted on parts of the
cases and judged on the rest, and the answer is the mixture of candidates that predicts
the held-out labels best (stacking).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.calibration.by_rank import binormal, fermi_dirac_map
from trueness.calibration.forecasts import Forecasts
from trueness.calibration.formulas import Formula, Linear, Mean
from trueness.calibration.maps import Map, freeze, register
from trueness.calibration.monotone import venn_abers
from trueness.calibration.parametric import beta, open_ends, platt, temperature
from trueness.counts.values import Tally

_MOST_ROWS = 4096
_TINY = 2.0**-52
# cases that each candidate is given for a start: see benchmarks/study_calibration.py
_GIVEN = 0.3


@register("as-is")
@final
@dataclass(frozen=True, repr=False, eq=False)
class AsIs(Map):
    """Scores that are probabilities already.

    Attributes
    ----------
    low, high : float
        Scores beyond these are taken as these.
    """

    low: float
    high: float

    @property
    def expression(self) -> Formula:
        """Give the straight line."""
        ends = np.array([self.low, self.high])
        return Linear(ends, ends)


@register("blend")
@final
@dataclass(frozen=True, repr=False, eq=False)
class Blend(Map):
    """A weighted mean of maps of the same score.

    Attributes
    ----------
    names : tuple of str
        Which methods.
    weights : array
        Their weights, adding up to 1, the largest first.
    maps : tuple of Map
        The maps.
    """

    names: tuple[str, ...]
    weights: Floats
    maps: tuple[Map, ...]

    def __post_init__(self) -> None:
        freeze(self, "weights")
        if not len(self.names) == self.weights.size == len(self.maps) > 0:
            raise InputError("A blend must have one name and one weight for each map.")

    def __repr__(self) -> str:
        """Write each method with its weight."""
        shares = zip(self.names, self.weights.tolist(), strict=True)
        return "Blend: " + ", ".join(f"{name} {w:.2f}" for name, w in shares)

    @property
    def expression(self) -> Formula:
        """Give the weighted mean."""
        parts = tuple(m.expression for m in self.maps)
        return Mean(parts, tuple(self.weights.tolist()))


def _as_is(t: Tally) -> AsIs:
    return AsIs(*open_ends(t.score))


# candidates for any scores, and those that need scores from 0 to 1
_ANY: dict[str, Callable[[Tally], Map]] = {
    "platt": lambda t: platt(t, targets="smoothed"),
    "binormal": binormal,
    "fermi-dirac": fermi_dirac_map,
    "venn-abers": venn_abers,
}
_UNIT: dict[str, Callable[[Tally], Map]] = {
    "as is": _as_is,
    "temperature": temperature,
    "logistic": lambda t: platt(t, scale="logit"),
    "beta": beta,
}


def auto(t: Tally, *, folds: int = 10) -> Map:
    r"""Which mixture of calibrators predicts held-out labels best?

    With the probability :math:`p_j` of each candidate, fitted on the other folds, the
    weights maximise

    .. math:: \sum_i \ln \sum_j w_j\, p_j(y_i) + 0.3 \sum_j \ln w_j,
              \qquad \sum_j w_j = 1

    Parameters
    ----------
    t
        Labelled cases; unknowns are not used.
    folds
        Parts that the cases are divided into. The division is systematic along the
        score within each class, so there is no randomness.

    Notes
    -----
    Candidates: Platt (smoothed), binormal, fermi-dirac and venn-abers; for scores from
    0 to 1 also the scores as they are, temperature, logistic recalibration and beta.
    The second sum keeps a few cases from choosing one candidate alone. A class with one
    case cannot be divided: Platt (smoothed) is fitted then. For the
    weights, more than 4,096 distinct scores are pooled to that number.

    Examples
    --------
    >>> t = Tally([0.1, 0.9], neg=[90, 10], pos=[10, 90])
    >>> auto(t)([0.1, 0.9]).round(1)
    array([0.1, 0.9])
    """
    _cases.both_classes(t, "calibrate(method='auto')")
    folds = _options.whole_number(folds, "folds", at_least=2)
    t = t.labelled()
    fits = _ANY
    if t.score[-1] >= 0 and t.score[0] <= 1:
        fits = {**_UNIT, **_ANY}
    folds = min(folds, t.n_pos, t.n_neg)
    if folds < 2 or len(t) < 2:
        return platt(t, targets="smoothed")
    weights = _stack(*_held_out(t, fits, folds))
    order = [k for k in np.argsort(-weights, kind="stable") if weights[k] >= 1e-3]
    names = list(fits)
    share = weights[order] / weights[order].sum()
    maps = tuple(fits[names[k]](t) for k in order)
    return Blend(tuple(names[k] for k in order), share, maps)


def _held_out(
    t: Tally, fits: dict[str, Callable[[Tally], Map]], folds: int
) -> tuple[Floats, Floats]:
    """Give each candidate's probability of held-out labels, and how many they are."""
    score, pos, neg = Forecasts(t.score, t.pos, t.neg).pooled(_MOST_ROWS)[:3]
    likelihood, count = [], []
    for k in range(folds):
        out_pos, out_neg = _fold(pos, k, folds), _fold(neg, k + folds // 2, folds)
        rest = Tally(score, neg - out_neg, pos - out_pos)
        p = np.array([fit(rest)(score) for fit in fits.values()])
        p = np.clip(p, _TINY, 1 - _TINY)
        for cell, n in ((p, out_pos), (1 - p, out_neg)):
            likelihood.append(cell[:, n > 0])
            count.append(n[n > 0])
    return np.concatenate(likelihood, axis=1), np.concatenate(count).astype(np.float64)


def _fold(count: Ints, k: int, folds: int) -> Ints:
    """How many cases of each row are in fold k, if cases are dealt out in order?

    >>> _fold(np.array([3, 0, 4]), 0, 3)  # cases 0, 3 and 6 of 0..6
    array([1, 0, 2])
    """
    upto = np.cumsum(count)
    dealt = (upto + folds - 1 - k % folds) // folds
    return np.diff(dealt, prepend=0)


def _stack(likelihood: Floats, count: Floats) -> Floats:
    """Maximise the held-out likelihood over the weights by EM (it never decreases)."""
    weights = np.full(len(likelihood), 1 / len(likelihood))
    for _ in range(200):
        part = weights[:, None] * likelihood
        part *= count / part.sum(axis=0)
        weights = part.sum(axis=1) + _GIVEN
        weights /= weights.sum()
    return weights
