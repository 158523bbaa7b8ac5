r"""Which smooth curve turns scores into probabilities?

Calibrators with two or three parameters, fitted by maximum likelihood on counts. They
need few cases, and err where the truth has another shape.

Separated classes. When a threshold parts the classes without error, the likelihood of a
steeper curve is always higher, and a perfect step is what maximum likelihood "wants".
A finite sample never shows that. Then Platt's targets are used instead of 0 and 1 (they
are what a uniform prior on the rate of each class gives; the maximum is always finite),
and the record says so in ``targets``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.logistic import LogisticFit, fit_logistic, separated
from trueness.calibration.formulas import TRANSFORMS, Formula, Logistic
from trueness.calibration.maps import Map, of_sums, register
from trueness.counts.values import Tally
from trueness.counts.weights import sizes

_EPS = 2.0**-52
_TARGETS = ("labels", "smoothed", "auto")


@register("platt")
@final
@dataclass(frozen=True, repr=False, eq=False)
class Platt(Map):
    """A logistic curve in the score, or in its logit.

    Attributes
    ----------
    intercept, slope : float
        ``logit p = intercept + slope f(score)``.
    scale : str
        ``f``: "identity" or "logit".
    targets : str
        What was fitted: "labels" (maximum likelihood) or "smoothed" (Platt's targets).
    low, high : float
        Scores beyond these are taken as these (see :func:`open_ends`).
    """

    intercept: float
    slope: float
    scale: str = "identity"
    targets: str = "labels"
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        _options.choice(self.scale, ("identity", "logit"), "scale")

    @property
    def expression(self) -> Formula:
        """Give the logistic curve."""
        terms = ((self.slope, self.scale),)
        return Logistic(self.intercept, terms, self.low, self.high)


@register("beta")
@final
@dataclass(frozen=True, repr=False, eq=False)
class Beta(Map):
    """Ratio of two beta densities: ``logit p = c + a ln s - b ln(1 - s)``.

    Attributes
    ----------
    a, b, c : float
        The parameters; ``a`` and ``b`` are not negative, so the map never decreases.
    targets : str
        What was fitted: "labels" or "smoothed" (Platt's targets).
    low, high : float
        Scores beyond these are taken as these (see :func:`open_ends`).
    """

    a: float
    b: float
    c: float
    targets: str = "labels"
    low: float = _EPS
    high: float = 1 - _EPS

    @property
    def expression(self) -> Formula:
        """Give the logistic curve in ln s and ln(1 - s)."""
        terms = ((self.a, "log"), (-self.b, "log1m"))
        return Logistic(self.c, terms, self.low, self.high)


@register("temperature")
@final
@dataclass(frozen=True, repr=False, eq=False)
class Temperature(Map):
    """One factor on the log-odds: ``logit p = logit(s) / temperature``.

    Attributes
    ----------
    temperature : float
        Above 1 the scores were too sure of themselves. Infinite where they are of no
        use (then p = 1/2 throughout).
    scale : str
        "logit" when the scores are probabilities, "identity" when they are log-odds.
    targets : str
        What was fitted: "labels" or "smoothed" (Platt's targets).
    low, high : float
        Scores beyond these are taken as these (see :func:`open_ends`).
    """

    temperature: float
    scale: str = "logit"
    targets: str = "labels"
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        _options.choice(self.scale, ("identity", "logit"), "scale")

    @property
    def expression(self) -> Formula:
        """Give the logistic curve without an intercept."""
        terms = ((1 / self.temperature, self.scale),)
        return Logistic(0.0, terms, self.low, self.high)


@of_sums
def platt(t: Tally, *, targets: str = "auto", scale: str = "identity") -> Platt:
    r"""Which logistic curve in the score fits the labels best?

    .. math:: \mathrm{logit}\, p = a + b f(s)

    Parameters
    ----------
    t
        Labelled cases; unknowns are not used.
    targets
        "labels" is maximum likelihood; "smoothed" replaces the labels 1 and 0 by
        (n_pos + 1)/(n_pos + 2) and 1/(n_neg + 2) (Platt 1999, section 2.2; what
        scikit-learn does); "auto" is "labels" unless the classes are separated, where
        maximum likelihood does not exist.
    scale
        "identity" (Platt) or "logit": logistic recalibration of probabilities (Cox).

    Notes
    -----
    The slope is negative where high scores mean negative: nothing is turned round or
    hidden. Cost: O(rows) for each of a few Newton steps.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines, 1999.
    D. R. Cox, Two further applications of a model for binary regression, Biometrika 45
    (1958) 562, doi:10.1093/biomet/45.3-4.562.

    Examples
    --------
    Odds of 1/3 at score 1 and 3 at score 3: the log-odds rise by ln 9 over 2 steps.

    >>> c = platt(Tally([1, 2, 3], neg=[3, 2, 1], pos=[1, 2, 3]))
    >>> round(c.slope / math.log(3), 9)
    1.0
    """
    _options.choice(scale, ("identity", "logit"), "scale")
    t, columns, ends = _regressors(t, (scale,), "platt")
    apart = separated(columns[0], t.pos, t.neg)
    fit, targets = _fit(columns, t, targets, apart)
    intercept, slope = fit.coefficients.tolist()
    return Platt(intercept, slope, scale, targets, *ends)


@of_sums
def beta(t: Tally, *, targets: str = "auto") -> Beta:
    r"""Which ratio of beta densities fits the labels best?

    .. math:: \mathrm{logit}\, p = c + a \ln s - b \ln(1 - s), \qquad a, b \ge 0

    The identity is in the family (a = b = 1, c = 0), so scores that are calibrated
    already are left alone, which Platt's curve in the score cannot do.

    Parameters
    ----------
    t
        Labelled cases with scores from 0 to 1.
    targets
        See :func:`platt`.

    Notes
    -----
    Kull, Silva Filho and Flach (2017), eq. (7). Differs from their algorithm 1: where a
    coefficient comes out negative they drop it and refit; here every face of the
    constraint a, b >= 0 is fitted and the most likely one taken, which is the
    constrained maximum also when both are negative. Scores of exactly 0 and 1 are
    moved inwards, see :func:`open_ends`.

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach, Beyond sigmoids, Electronic Journal of Statistics
    11 (2017) 5052, doi:10.1214/17-EJS1338SI.

    Examples
    --------
    >>> beta(Tally([0.2, 0.8], neg=[80, 20], pos=[20, 80]))([0.2, 0.8]).round(6)
    array([0.2, 0.8])
    """
    t, (log, log1m), ends = _regressors(t, ("log", "log1m"), "beta")
    apart = separated(log, t.pos, t.neg)
    faces = []
    for use_a, use_b in product((True, False), repeat=2):
        columns = [log] * use_a + [-log1m] * use_b
        fit, kind = _fit(columns, t, targets, apart)
        values = iter(fit.coefficients)
        c = float(next(values))
        a = float(next(values)) if use_a else 0.0
        b = float(next(values)) if use_b else 0.0
        if a >= 0 and b >= 0 and fit.converged:
            faces.append((fit.log_likelihood, Beta(a, b, c, kind, *ends)))
    return max(faces, key=lambda face: face[0])[1]


@of_sums
def temperature(
    t: Tally, *, targets: str = "auto", scale: str = "logit"
) -> Temperature:
    r"""By which factor are the log-odds too large?

    .. math:: \mathrm{logit}\, p = \mathrm{logit}(s) / T, \qquad T > 0

    Parameters
    ----------
    t
        Labelled cases with scores from 0 to 1 (or log-odds, with ``scale="identity"``).
    targets
        See :func:`platt`.
    scale
        "logit" when the scores are probabilities, "identity" when they are log-odds.

    Notes
    -----
    The cut at 1/2 stays where it is: a wrong prevalence cannot be repaired by it.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, On calibration of modern neural networks,
    ICML 2017, arXiv:1706.04599.

    Examples
    --------
    Scores of 0.9 and 0.1 where 3 of 4 are right: log-odds of ln 9 should be ln 3.

    >>> t = Tally([0.9, 0.1], neg=[1, 3], pos=[3, 1])
    >>> round(temperature(t).temperature, 6)
    2.0
    """
    _options.choice(scale, ("identity", "logit"), "scale")
    t, columns, ends = _regressors(t, (scale,), "temperature")
    apart = separated(columns[0], t.pos, t.neg, at=0.0)
    fit, targets = _fit(columns, t, targets, apart, intercept=False)
    inverse = max(float(fit.coefficients[1]), 0.0)
    value = 1 / inverse if inverse else math.inf
    return Temperature(value, scale, targets, *ends)


def _regressors(
    t: Tally, names: Sequence[str], method: str
) -> tuple[Tally, list[Floats], tuple[float, float]]:
    """Give the labelled cases, the transformed scores (descending) and their ends."""
    _cases.both_classes(t, f"calibrate(method={method!r})")
    t = t.labelled()
    score, ends = t.score, (-math.inf, math.inf)
    if tuple(names) != ("identity",):
        instead = 'Type method="platt" for scores on another scale'
        if method == "temperature":
            instead += ', or scale="identity" if these are log-odds'
        _columns.unit_scores(score, f"method={method!r}", instead + ".")
        ends = open_ends(score)
        score = np.clip(score, *ends)
    return t, [TRANSFORMS[n](score) for n in names], ends


def open_ends(score: Floats) -> tuple[float, float]:
    """Between which two numbers are scores from 0 to 1 kept, so that logits exist?

    A score of exactly 0 is taken as half the smallest one above 0 (and 1 likewise): a
    forest of 100 trees that says 0 means "below 1/100", not "never", and the common
    2^-52 would give these cases log-odds of -36 and the whole leverage. Never closer to
    0 and 1 than 2^-52.

    >>> open_ends(np.array([0.0, 0.02, 0.5])) == (0.01, 1 - 2.0**-52)
    True
    """
    low = high = _EPS
    inner = score[(score > 0) & (score < 1)]
    if inner.size and score.min() == 0:
        low = max(_EPS, float(inner.min()) / 2)
    if inner.size and score.max() == 1:
        high = max(_EPS, float(1 - inner.max()) / 2)
    return low, 1 - high


def _fit(
    columns: Sequence[Floats],
    t: Tally,
    targets: str,
    apart: bool,
    intercept: bool = True,
) -> tuple[LogisticFit, str]:
    _options.choice(targets, _TARGETS, "targets")
    if targets == "labels" and apart:
        raise NotEnoughCases(
            "Maximum likelihood needs classes that overlap; here one threshold "
            'separates them perfectly. Type targets="auto" or targets="smoothed".'
        )
    if targets == "auto":
        targets = "smoothed" if apart else "labels"
    pos, neg = (t.pos, t.neg) if targets == "labels" else _smoothed(t)
    return fit_logistic(columns, pos, neg, intercept=intercept), targets


def _smoothed(t: Tally) -> tuple[Floats, Floats]:
    """Replace the labels 1 and 0 by Platt's targets (Platt 1999, section 2.2)."""
    n_pos, n_neg = (e.number for e in sizes(t))
    high, low = (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2)
    return t.pos * high + t.neg * low, t.pos * (1 - high) + t.neg * (1 - low)
