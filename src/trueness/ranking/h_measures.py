r"""What is a ranking worth when the prices of the errors are not known?

Every pair of prices has its best cut and its least loss. The H-measure averages that
loss over a law of the prices that is the same for all classifiers; the AUC, read in
the same way, averages over one that each classifier brings along (Hand 2009).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.isotonic import concave_corners
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally
from trueness.counts.placements import coarser, corners
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.counts.weights import remark, sizes
from trueness.ranking.auc_intervals import student_quantile
from trueness.ranking.resampled_intervals import (
    Resampling,
    inside,
    redrawn,
    unseen,
)

# more rows than this are joined to neighbours before resampling
_FINE = 1000


@of_tally(weights=True)
def h_measure(
    t: Tally,
    *,
    severity: tuple[float, float] | None = None,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Estimate:
    r"""Which share of the loss of an uninformative classifier does this one save?

    .. math:: H = 1 - \frac{\int_0^1 \min_\tau\,[c\,\pi_0\,\mathrm{fpr}(\tau)
              + (1 - c)\,\pi_1\,\mathrm{fnr}(\tau)]\,w(c)\,dc}
              {\int_0^1 \min(c\,\pi_0,\,(1 - c)\,\pi_1)\,w(c)\,dc}

    where c is the cost of a false positive divided by the sum of the costs of both
    errors, and w is the density of a beta distribution.

    Parameters
    ----------
    t
        The counts; cases without a label change nothing.
    severity
        The two shape parameters of w. None: (1 + pi1, 1 + pi0), whose mode is c = pi1,
        so that errors in the rarer class weigh more (Hand and Anagnostopoulos 2014);
        (2, 2) is the choice of Hand (2009).
    prevalence
        Share of positives pi1, taken as known; that of the sample when None.
    sampling
        As in :func:`precision_recall`.
    level
        Confidence level of the interval.
    rng, replicates
        Seed and number of replicates of the bootstrap.

    Returns
    -------
    Estimate
        In [0, 1]: 0 for a random classifier, 1 for an ideal one.

    Notes
    -----
    The best thresholds are the corners of the convex hull of the ROC curve; corner i is
    best for c between the values pi1 s / (pi1 s + pi0) of the slopes s on its two
    sides, and the integrals over these ranges are incomplete beta functions. The time
    is O(m) for m distinct scores. As with every measure that takes the best threshold,
    H of a sample is too high on average. The bootstrap shows about half of this bias,
    so the interval is centred after twice the bootstrap bias is subtracted, and it is
    wider since that bias is itself uncertain. Measured coverage is in
    ``docs/maths/ranking.md``.

    References
    ----------
    Hand (2009), Mach. Learn. 77:103, doi:10.1007/s10994-009-5119-5;
    Hand, Anagnostopoulos (2014), Pattern Recognit. Lett. 40:41,
    doi:10.1016/j.patrec.2013.12.011

    Examples
    --------
    >>> h_measure(Tally([2, 1], pos=[5, 0], neg=[0, 5])).value  # ideal
    1.0
    >>> round(h_measure(Tally([1], pos=[5], neg=[5])).value, 12)  # knows nothing
    0.0
    """
    _options.sampling(sampling, prevalence, "h_measure")
    t = t.labelled()
    _cases.both_classes(t, "h_measure")
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    share = None if prevalence is None else _options.fraction(prevalence, "prevalence")
    shapes = None if severity is None else _shapes(severity)

    def statistic(neg: Array, pos: Array) -> Floats:
        return np.array(
            [_h(n, p, share, shapes) for n, p in zip(neg, pos, strict=True)]
        )

    whole, stratified = corners(t), share is not None
    words = ("bootstrap", level, rng, number)
    asked = Resampling(statistic, *words, stratified=stratified)
    value, values, sd = redrawn(whole, asked, coarser(whole, _FINE))
    df = min(e.df for e in sizes(t))
    if sd > 1e-12 and df >= 0.5:
        bias = float(values.mean()) - value
        half = float(student_quantile(df, level)) * math.hypot(sd, _DOUBT * bias)
        centre = value - _SHOWN * bias
        found = inside(asked, value, centre - half, centre + half, "bootstrap", sd)
    else:
        found = unseen(t, asked, value, "bootstrap", sd)
    return replace(found, name="H-measure", notes=remark(t))


# a bootstrap sample repeats cases, so its hull bends less than that of new cases: in
# simulations (30 to 1000 cases) it showed 0.4 to 0.55 of the bias that there was
_SHOWN, _DOUBT = 2.0, 1.5


def _shapes(value: object) -> tuple[float, float]:
    pair = list(value) if isinstance(value, tuple | list | np.ndarray) else []
    if len(pair) != 2:
        raise InputError(
            "severity must be two numbers, the shapes of a beta distribution; found "
            f"{value!r}. Type severity=(2, 2)."
        )
    first, second = (_options.positive_number(v, "severity") for v in pair)
    return first, second


def _h(
    neg: Array, pos: Array, share: float | None, shapes: tuple[float, float] | None
) -> float:
    """Give H of counts from the highest score down; NaN where a class is missing."""
    n_pos, n_neg = float(pos.sum()), float(neg.sum())
    if not n_pos or not n_neg:
        return float("nan")
    pi = n_pos / (n_pos + n_neg) if share is None else share
    below = _beta(shapes or (1 + pi, 2 - pi))
    # weights of the two errors at the corners of the hull of the joint counts
    hits, alarms = _hull(pi * pos / n_pos, (1 - pi) * neg / n_neg)
    rise, run = np.diff(hits), np.diff(alarms)
    # Hand (2009): a cut is best between the prices of its two neighbours
    prices = np.concatenate([[1.0], rise / (rise + run), [0.0]])
    # the integrals of c w and (1 - c) w between these prices weigh the two errors
    mass, first = (-np.diff(part) for part in below(prices))
    loss = float(alarms @ first + (pi - hits) @ (mass - first))
    # without information all cases are flagged below c = pi, and none above
    ends, moments = below(np.array([0.0, pi, 1.0]))
    worst = (1 - pi) * moments[1] + pi * (ends[2] - ends[1] - moments[2] + moments[1])
    return max(0.0, 1 - loss / float(worst))


def _beta(shapes: tuple[float, float]) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Give the share, and the first moment, of a beta law below c."""
    from scipy.special import betainc

    a, b = shapes

    def below(c: Floats) -> tuple[Floats, Floats]:
        return betainc(a, b, c), a / (a + b) * betainc(a + 1, b, c)

    return below


def _hull(pos: Floats, neg: Floats) -> tuple[Floats, Floats]:
    """Give the corners (true, false positives) of the convex hull, from nothing up."""
    at = concave_corners(pos, neg)
    tp, fp = (np.concatenate([[0.0], np.cumsum(c)])[at] for c in (pos, neg))
    return tp, fp
