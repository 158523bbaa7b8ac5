"""What does a score mean as a probability, and by which method?

No method is best everywhere: a curve with two parameters wins on 50 cases and loses on
5000, where any increasing curve can be fitted. ``auto`` asks the data, and takes the
simplest one that does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness.calibration.by_rank import binormal, fermi_dirac_map
from trueness.calibration.forecasts import pooled
from trueness.calibration.maps import Map, at_prevalence, of_sums
from trueness.calibration.monotone import histogram, isotonic, venn_abers
from trueness.calibration.parametric import beta, platt, temperature
from trueness.counts.answers import of_tally, refuse
from trueness.counts.values import Tally
from trueness.inference.sample import meant, needs_prevalence


@of_tally
def calibrate(data: Tally, /, *, method: str = "auto", **options: Any) -> Map:
    """Which probability does each score stand for?

    Parameters
    ----------
    data
        Labelled cases that the classifier was *not* trained on (for training cases see
        :class:`trueness.estimators.Calibrator`); unknowns are not used.
    method
        A name from ``trueness.CALIBRATORS``; "sigmoid" is "platt". Weighted cases
        cannot have "venn-abers", "binormal" and "fermi-dirac"; their "auto" is Platt's.
    **options
        Passed on to the method, for example ``bins=20`` to "histogram".

    Returns
    -------
    Map
        Called with scores it gives probabilities; ``t.map(c)`` is the calibrated tally,
        and ``c.save(path)`` saves the map.

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
    method = calibrator_name(method)
    fit = CALIBRATORS[method]
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


def calibrator_name(method: object) -> str:
    """Pass on the name of a calibrator; "sigmoid" is scikit-learn's word for Platt's.

    >>> calibrator_name("sigmoid")
    'platt'
    """
    if method == "sigmoid":
        return "platt"
    return str(_options.choice(method, CALIBRATORS, "method"))


@of_sums
def auto(t: Tally, *, folds: int = 10) -> Map:
    r"""Which is the simplest map that no other one clearly beats on held-out labels?

    In this order: Platt's curve (of scores from 0 to 1: in their log-odds, in the score
    itself, then "beta"), and any increasing curve, "venn-abers". The first one is taken
    whose cross-validated log loss is above that of the best by no more than the
    standard error of the latter (the one-standard-error rule: Breiman, Friedman, Olshen
    and Stone 1984, section 3.4.3). The folds are systematic along the score within each
    class, without randomness. Weights, and a class with one case, cannot be divided:
    then it is the first.

    >>> t = Tally([0.1, 0.9], neg=[90, 10], pos=[10, 90])
    >>> auto(t)([0.1, 0.9]).round(6)
    array([0.1, 0.9])
    """
    _cases.both_classes(t, "calibrate(method='auto')")
    folds = _options.whole_number(folds, "folds", at_least=2)
    t = t.labelled()
    fits: list[Callable[[Tally], Map]] = [platt, venn_abers]
    if t.score[-1] >= 0 and t.score[0] <= 1:
        fits = [partial(platt, scale="logit"), platt, beta, venn_abers]
    folds = min(folds, int(t.n_pos), int(t.n_neg))
    weighted = t.squares[1] is not t.pos
    if weighted or folds < 2 or len(t) < 2:
        return fits[0](t)
    losses, count = _held_out(t, fits, folds)
    n, means = count.sum(), losses @ count / count.sum()
    best = int(np.argmin(means))
    reach = math.sqrt(float((losses[best] - means[best]) ** 2 @ count)) / n
    return fits[int(np.argmax(means <= means[best] + reach))](t)


def _held_out(
    t: Tally, fits: Sequence[Callable[[Tally], Map]], folds: int
) -> tuple[Floats, Floats]:
    """Give the log loss of held-out labels by each fit, and how many they are."""
    score, pos, neg = pooled(t.score, t.pos, t.neg, 4096)
    loss, count = [], []
    for k in range(folds):
        out_pos, out_neg = _fold(pos, k, folds), _fold(neg, k + folds // 2, folds)
        rest = Tally(score, neg - out_neg, pos - out_pos)
        p = np.array([fit(rest)(score) for fit in fits])
        p = np.clip(p, 2.0**-52, 1 - 2.0**-52)
        for share, n in ((p, out_pos), (1 - p, out_neg)):
            loss.append(-np.log(share[:, n > 0]))
            count.append(n[n > 0])
    return np.concatenate(loss, axis=1), np.concatenate(count).astype(np.float64)


def _fold(count: Ints, k: int, folds: int) -> Ints:
    """How many cases of each row are in fold k, if cases are dealt out in order?

    >>> _fold(np.array([3, 0, 4]), 0, 3)  # cases 0, 3 and 6 of 0..6
    array([1, 0, 2])
    """
    upto = np.cumsum(count)
    dealt = (upto + folds - 1 - k % folds) // folds
    return np.diff(dealt, prepend=0)


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
