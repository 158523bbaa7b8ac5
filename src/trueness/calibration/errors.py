r"""How far from calibrated are the probabilities, on average?

The expected calibration error, which is popular and not worth much (see
:func:`calibration_error`), and the smooth one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.records import Answer, Estimate
from trueness._core.search import edge
from trueness.calibration.error_intervals import ErrorKind, Sides, error_estimates
from trueness.calibration.forecasts import DrawRequest, Forecasts
from trueness.calibration.monotone import equal_mass
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally

# halvings and cells of the smooth error, of the value and of draws
_FINE, _COARSE = (40, 4096), (12, 512)


@final
@dataclass(frozen=True, repr=False)
class CalibrationError(Answer):
    """The expected calibration error in four versions, and what calibrated scores get.

    Attributes
    ----------
    plain : Estimate
        Mean absolute difference of score and share of positives over the bins.
    debiased : Estimate
        The same less the part that noise in the bins adds on average.
    rms : Estimate
        Root mean square difference over the bins, its square being unbiased.
    smooth : Estimate
        Smooth calibration error: no bins, a kernel that chooses its own width.
    bins : int
        How many bins hold cases.
    binning : str
        "equal mass" (equally many cases in each; ties stay together) or "equal width".
    chance : float
        The plain error that perfectly calibrated scores would have on average here.
    warning : str
        What the number is worth.
    notes : tuple of str
        Whether cases were weighed to another share of positives.
    """

    plain: Estimate
    debiased: Estimate
    rms: Estimate
    smooth: Estimate
    bins: int
    chance: float
    warning: str
    binning: str = "equal mass"
    notes: tuple[str, ...] = ()


@of_tally(
    weights="The error that chance gives is known for cases of equal weight. "
    "calibration_line, calibration_test, brier and reliability take weights."
)
def calibration_error(
    t: Tally,
    *,
    bins: int = 15,
    binning: str = "equal mass",
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    replicates: int = 500,
    rng: Any = 0,
) -> CalibrationError:
    r"""How far is the share of positives from the score, on average (ECE)?

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    bins
        Number of bins.
    binning
        "equal mass": equally many cases in each bin, so that no bin is nearly empty.
        "equal width": (0, 1/bins], (1/bins, 2/bins], ... as in Guo et al. (2017), to
        reproduce published numbers.
    prevalence, sampling
        As in :func:`trueness.brier`.
    level
        Confidence level of the intervals: of a mean over cases for the plain and the
        debiased error, of likely curves for the others. An interval starts at 0 unless
        the observed error is larger than calibrated scores would give.
    replicates
        Samples drawn for the intervals.
    rng
        Seed or NumPy generator.

    Notes
    -----
    How to interpret it: the plain error is not 0 even for calibrated scores, which on
    average have the value given as ``chance``, which grows with the number of bins and
    falls with the number of cases, so two errors can be compared only at the same n,
    prevalence and bins. A classifier that gives every case the prevalence has no
    calibration error and no use. Prefer :func:`trueness.brier` with its parts,
    :func:`trueness.reliability` and :func:`calibration_test`.

    ``debiased`` subtracts :math:`E|N(d_b, s_b^2)| - |d_b|` in each bin, the bias of an
    absolute value under normal noise (Kumar, Liang and Ma 2019, section 4.2, for the
    absolute error). ``rms`` is the root of
    :math:`\sum_b \frac{n_b}{n} [(\bar y_b-\bar p_b)^2 - \bar y_b(1-\bar y_b)/(n_b-1)]`,
    which is unbiased (Bröcker 2012; Kumar et al., eq. 5), or 0 where that is negative.
    ``smooth`` is the smooth calibration error of Błasiok and Nakkiran (2023): with the
    residuals smoothed by a Gaussian of width sigma, reflected at 0 and 1, the sigma at
    which the mean absolute residual equals sigma (their section 4).

    References
    ----------
    A. Kumar, P. Liang, T. Ma, Verified uncertainty calibration, NeurIPS 2019,
    arXiv:1909.10155. J. Błasiok, P. Nakkiran, Smooth ECE, ICLR 2024, arXiv:2309.12236.

    Examples
    --------
    At score 0.2 the share of positives is 0.3, at score 0.8 it is 0.9: each is off by
    0.1.

    >>> e = calibration_error(Tally([0.2, 0.8], neg=[7, 1], pos=[3, 9]))
    >>> round(e.plain.value, 12), e.bins
    (0.1, 2)
    """
    s = Forecasts.of(t, "calibration_error", sampling, prevalence)
    bins = _options.whole_number(bins, "bins", at_least=1)
    ask = DrawRequest.of(level, replicates, rng)
    place = partial(BINNINGS[_options.choice(binning, BINNINGS, "binning")], bins=bins)
    start = place(s.score, s.cases)
    values = _errors(*s[:3], start=start, fine=_FINE)
    chance = _chance(s.score, s.cases, start)
    few = s.pooled()
    at = place(few.score, few.cases)
    kind = ErrorKind(
        partial(_errors, start=at, fine=_COARSE),  # draws need fewer digits
        partial(_true_errors, start=at),
        partial(_signs, start=at),
    )
    found, bent = error_estimates(values.tolist(), few, kind, ask)
    plain, debiased, rms, smooth = found
    warning = (
        "By chance, even perfectly calibrated scores would have a plain error of "
        f"{chance:.3g} here. The error depends on the number of cases and on the "
        f"{start.size} bins, and says nothing about discrimination."
    )
    return CalibrationError(
        *(plain, debiased, rms, smooth, int(start.size), chance, warning, binning),
        notes=bent + s.notes,
    )


def _errors(
    score: Floats, pos: Array, neg: Array, *, start: Array, fine: tuple[int, int]
) -> Floats:
    """Give plain, debiased, root mean square and smooth error (..., 4) of samples."""
    cases = pos + neg
    total = np.add.reduceat(cases, start, axis=-1)
    weight = total / total.sum(axis=-1, keepdims=True)
    some = np.maximum(total, 1e-300)
    share = np.add.reduceat(pos, start, axis=-1) / some
    gap = share - np.add.reduceat(score * cases, start, axis=-1) / some
    plain = (weight * np.abs(gap)).sum(axis=-1)
    # a bin of one case has no variance of its own: its share says nothing
    noise = share * (1 - share) / np.maximum(total - 1, 1)
    bias = (weight * (folded_mean(gap, noise) - np.abs(gap))).sum(axis=-1)
    square = (weight * (gap**2 - noise)).sum(axis=-1)
    smooth = smooth_error(score, pos, neg, *fine)
    found = plain, np.maximum(plain - bias, 0.0), np.sqrt(np.maximum(square, 0.0))
    return np.stack([*found, smooth], axis=-1)


def _true_errors(
    score: Floats, cases: Array, shares: Floats, *, start: Array
) -> Floats:
    """Give the errors of known shares, of the bins and of single scores (2, ..., 4).

    Without noise there is no bias to take off.
    """
    smooth = smooth_error(score, cases * shares, cases * (1 - shares), *_COARSE)
    n, found = cases.sum(axis=-1), []
    for at in (start, np.arange(score.size)):
        total = np.add.reduceat(cases, at, axis=-1)
        gap = np.add.reduceat(cases * (shares - score), at, axis=-1)
        plain = np.abs(gap).sum(axis=-1) / n
        square = (gap**2 / np.maximum(total, 1e-300)).sum(axis=-1) / n
        found.append(np.stack([plain, plain, np.sqrt(square), smooth], axis=-1))
    return np.stack(found)


def _signs(
    score: Floats, cases: Array, shares: Floats, *, start: Array
) -> tuple[Sides, ...]:
    """On which side of the scores is the true share: in the row's bin, and in the row?

    A bin in which the curve crosses the scores hides a part of the error. An interval
    from the bins' lower end to the rows' upper end holds the error either way. The
    smooth error is at most the mean distance, so what is not known of that is not known
    of it.
    """
    gap = np.add.reduceat(cases * (shares - score), start)
    sign = np.where(gap < 0, -1.0, 1.0)
    binned = np.repeat(sign, np.diff(start, append=score.size))
    both = binned, np.where(shares < score, -1.0, 1.0)
    return both, both, None, (binned, None)


def _by_mass(score: Floats, cases: Array, *, bins: int) -> Array:
    return equal_mass(cases, bins)


def _by_width(score: Floats, cases: Array, *, bins: int) -> Array:
    """Where do the rows of each bin (k/bins, (k+1)/bins] start? Empty ones are none."""
    number = np.searchsorted(np.arange(1, bins) / bins, score, side="left")
    return np.flatnonzero(np.diff(number, prepend=-1))


# how cases are put into bins: a function from rows to where the bins start
BINNINGS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {"equal mass": _by_mass, "equal width": _by_width}
)


def folded_mean(mean: Floats, variance: Floats) -> Floats:
    """Give E|X| of normal X.

    >>> folded_mean(np.array([0.0, 3.0]), np.array([1.0, 0.0])).round(6)
    array([0.797885, 3.      ])
    """
    from scipy.special import ndtr

    sd = np.sqrt(variance)
    x = np.divide(mean, sd, out=np.full_like(mean, np.inf), where=sd > 0)
    x = np.where(sd > 0, x, np.copysign(np.inf, mean))
    density = math.sqrt(2 / math.pi) * sd * np.exp(-x * x / 2)
    return np.asarray(density + mean * (1 - 2 * ndtr(-x)))


def _chance(score: Floats, cases: Array, start: Array) -> float:
    """Give the expected plain error of calibrated scores, by the normal law."""
    total = np.add.reduceat(cases, start).astype(np.float64)  # squares overflow int64
    variance = np.add.reduceat(cases * score * (1 - score), start) / total**2
    return float(total @ folded_mean(np.zeros(start.size), variance) / total.sum())


def smooth_error(
    score: Floats, pos: Array, neg: Array, halvings: int = 40, cells: int = 4096
) -> Any:
    """Give the smooth calibration error (Błasiok and Nakkiran 2023) of each sample.

    Scores are in order, ``pos`` and ``neg`` (..., m). The Gaussian reflected at 0 and 1
    is the heat kernel there, so smoothing damps each term of a cosine series on its
    own.
    """
    from scipy.fft import dct

    cases = pos + neg
    place = np.clip((score * cells).astype(int), 0, cells - 1)
    start = np.flatnonzero(np.diff(place, prepend=-1))
    residual = np.zeros((*cases.shape[:-1], cells))
    sums = np.add.reduceat(pos - cases * score, start, axis=-1)
    residual[..., place[start]] = sums / cases.sum(axis=-1, keepdims=True)
    series = dct(residual, type=2, norm="ortho")
    narrowest = np.full(cases.shape[:-1], np.log(1e-4))
    least = _smoothed(series, np.exp(narrowest))

    def below(width: Floats) -> Array:  # on the scale of logarithms
        return _smoothed(series, np.exp(width)) <= np.exp(width)

    # the error falls as the width grows: coming from a width of 1, where do they meet?
    meet = edge(below, 0.0, narrowest, halvings)
    return np.where(least <= 1e-4, least, np.exp(meet))[()]


def _smoothed(series: Floats, width: Floats) -> Floats:
    from scipy.fft import idct

    damping = np.exp(
        -((np.pi * width[..., None] * np.arange(series.shape[-1])) ** 2) / 2
    )
    smooth = np.abs(idct(series * damping, type=2, norm="ortho"))
    return np.asarray(smooth.sum(axis=-1))
