"""What does a score mean as a probability, and by which method?

No method is best everywhere: a curve with two parameters wins on 50 cases and loses on
5000, "no change at all" wins when the model is calibrated already, and ranks win when
the scores are odd. ``auto`` asks the data: the answer is the mixture of candidates that
predicts held-out labels best (stacking).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.calibration.by_rank import binormal, fermi_dirac_map
from trueness.calibration.forecasts import pooled
from trueness.calibration.formulas import Formula, Linear, Mean
from trueness.calibration.maps import Map, at_prevalence, freeze, of_sums, register
from trueness.calibration.monotone import histogram, isotonic, venn_abers
from trueness.calibration.parametric import beta, open_ends, platt, temperature
from trueness.counts.answers import of_tally, refuse
from trueness.counts.values import Tally
from trueness.inference.sample import meant, needs_prevalence


@of_tally
def calibrate(data: Tally, *, method: str = "auto", **options: Any) -> Map:
    """Which probability does each score stand for?

    Parameters
    ----------
    data
        Labelled cases that the classifier was *not* trained on (for training cases see
        :class:`trueness.estimators.Calibrator`); unknowns are not used.
    method
        A name from ``trueness.CALIBRATORS``. Weighted cases cannot have "venn-abers",
        "binormal" and "fermi-dirac"; their "auto" is "beta" for scores from 0 to 1, and
        "platt" for others.
    **options
        Passed on to the method, for example ``bins=20`` to "histogram".

    Returns
    -------
    Map
        Called with scores it gives probabilities; ``t.map(c)`` is the calibrated tally,
        and ``c.save_map(path)`` saves the map.

    Notes
    -----
    With a prevalence, that of the population where the map will be used, the map is
    fitted to the cases as they are and then carried there
    (:func:`trueness.at_prevalence`); a case-control sample needs one.

    Examples
    --------
    >>> t = Tally([1, 2, 3], neg=[3, 2, 1], pos=[1, 2, 3])
    >>> calibrate(t, method="isotonic")([1, 2, 3])
    array([0.25, 0.5 , 0.75])
    """
    fit = CALIBRATORS[_options.choice(method, CALIBRATORS, "method")]
    able = [name for name, f in CALIBRATORS.items() if hasattr(f, "of_sums")]
    if method not in able:
        why = f"It is fitted case by case; {', '.join(able)} take weights."
        refuse(data, f"calibrate(method={method!r})", {"weight": why})
    known = [name for name in signature(fit).parameters if name != "t"]
    _options.options(options, known, f"method={method!r}")
    needs_prevalence(data, "calibrate")
    fitted = fit(data.without_design().without_clusters(), **options)
    new = data.design.prevalence
    if new is None:
        return fitted
    # the share of the population that the labelled cases show
    d = data.design
    came = data.without_design()
    drawn = meant(came.with_design(sampling=d.sampling, unlabelled=d.unlabelled)).counts
    return at_prevalence(fitted, drawn.prevalence, new)


@register("as-is")
@final
@dataclass(frozen=True, repr=False, eq=False)
class AsIs(Map):
    """Scores that are probabilities already, kept between ``low`` and ``high``."""

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
    """A weighted mean of maps of the same score, the largest weight first."""

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


# candidates for any scores, and those that need scores from 0 to 1
_ANY: dict[str, Callable[[Tally], Map]] = {
    "platt": lambda t: platt(t, targets="smoothed"),
    "binormal": binormal,
    "fermi-dirac": fermi_dirac_map,
    "venn-abers": venn_abers,
}
_UNIT: dict[str, Callable[[Tally], Map]] = {
    "as is": lambda t: AsIs(*open_ends(t.score)),
    "temperature": temperature,
    "logistic": lambda t: platt(t, scale="logit"),
    "beta": beta,
}


@of_sums
def auto(t: Tally, *, folds: int = 10) -> Map:
    r"""Which mixture of calibrators predicts held-out labels best?

    With the probability :math:`p_j` of each candidate, fitted on the other folds, the
    weights maximise :math:`\sum_i \ln \sum_j w_j\, p_j(y_i) + 0.3 \sum_j \ln w_j`. The
    folds are systematic along the score within each class, without randomness. The
    second sum keeps a few cases from choosing one candidate alone. A class with one
    case cannot be divided: Platt (smoothed) is fitted then; weights cannot be dealt at
    all: then "beta", or "platt" where scores are not from 0 to 1.

    >>> t = Tally([0.1, 0.9], neg=[90, 10], pos=[10, 90])
    >>> auto(t)([0.1, 0.9]).round(1)
    array([0.1, 0.9])
    """
    _cases.both_classes(t, "calibrate(method='auto')")
    folds = _options.whole_number(folds, "folds", at_least=2)
    t = t.labelled()
    unit = bool(t.score[-1] >= 0 and t.score[0] <= 1)
    if t.squares[1] is not t.pos:  # not whole cases
        return beta(t) if unit else platt(t)
    fits = {**_UNIT, **_ANY} if unit else _ANY
    folds = min(folds, t.n_pos, t.n_neg)
    if folds < 2 or len(t) < 2:
        return platt(t, targets="smoothed")
    weights = _stack(*_held_out(t, fits, folds))
    order = [k for k in np.argsort(-weights, kind="stable") if weights[k] >= 1e-3]
    names = tuple(list(fits)[k] for k in order)
    share = weights[order] / weights[order].sum()
    return Blend(names, share, tuple(fits[name](t) for name in names))


def _held_out(
    t: Tally, fits: dict[str, Callable[[Tally], Map]], folds: int
) -> tuple[Floats, Floats]:
    """Give each candidate's probability of held-out labels, and how many they are."""
    score, pos, neg = pooled(t.score, t.pos, t.neg, 4096)
    likelihood, count = [], []
    for k in range(folds):
        out_pos, out_neg = _fold(pos, k, folds), _fold(neg, k + folds // 2, folds)
        rest = Tally(score, neg - out_neg, pos - out_pos)
        p = np.array([fit(rest)(score) for fit in fits.values()])
        p = np.clip(p, 2.0**-52, 1 - 2.0**-52)
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
        # 0.3 cases for each candidate: see benchmarks/study_calibration.py
        weights = part.sum(axis=1) + 0.3
        weights /= weights.sum()
    return weights


# a function from a tally to a map; it says by ``of_sums`` that it takes weights
CALIBRATORS: Mapping[str, Callable[..., Map]] = MappingProxyType(
    {
        "auto": auto,
        "fermi-dirac": fermi_dirac_map,
        "platt": platt,
        "isotonic": isotonic,
        "beta": beta,
        "temperature": temperature,
        "venn-abers": venn_abers,
        "binormal": binormal,
        "histogram": histogram,
    }
)
