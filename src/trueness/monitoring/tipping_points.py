"""Tipping points: how far may P(label | score) move until a claim is no longer true?

A change of the probability of a label given the score cannot be seen without labels. So
the map of expected labels is moved, on purpose, until the verdict changes: all odds by
one factor, or the slope of the log odds about their mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, logit

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.records import Answer
from trueness.counts.answers import of_tally
from trueness.counts.expected_labels import ExpectedLabels
from trueness.counts.values import Tally
from trueness.inference.expected_counts import expect_labels
from trueness.monitoring.one_sided import one_sided_interval
from trueness.monitoring.requirements import Requirement, requirement

# factors are searched from 1 / 20 to 20, in steps of a tenth of their logarithm
_LARGEST_FACTOR = 20.0
_STEP = 0.1
# areas under curves hardly change with a common factor on all odds
_OF_RANKS = ("auc", "partial_auc")

Factors = tuple[float, float]


@final
@dataclass(frozen=True, repr=False, eq=False)
class TippingPoint(Answer):
    """Error of the map of expected labels at which a claim changes its verdict.

    Attributes
    ----------
    requirement : str
        The claim.
    value : float
        The value that the map implies.
    holds : bool
        Whether the claim holds for this value.
    odds : pair of float, or None
        The factors of all odds, below and above 1, at which the verdict changes; NaN
        where none from 1/20 to 20 changes it. None for an AUC, which a factor of all
        odds hardly changes.
    slope : pair of float
        The same for the slope of the log odds about their mean.
    """

    requirement: str
    value: float
    holds: bool
    odds: Factors | None
    slope: Factors

    def __repr__(self) -> str:
        """Return the claim, its verdict, and how far odds and slope may move."""
        verdict = "holds" if self.holds else "does not hold"
        lines = [f"{self.requirement}: {self.value:.3g}, which {verdict}."]
        if self.odds is not None:
            lines.append(_sentence("all odds", self.odds))
        lines.append(_sentence("the slope of the log odds", self.slope))
        return "\n  ".join(lines)


def _sentence(what: str, factors: Factors) -> str:
    """Return a sentence on the factors at which the verdict changes."""
    finite_factors = [f"{factor:.2f}" for factor in factors if not math.isnan(factor)]
    if not finite_factors:
        return f"No factor of {what} from 1/20 to 20 changes the verdict."
    return f"A factor of {' or '.join(finite_factors)} on {what} changes the verdict."


@of_tally
def tipping_point(
    data: Tally, requirement: str | Mapping[str, Any] | Requirement
) -> TippingPoint:
    """Tipping point of a claim from expected labels.

    How wrong may P(label | score) be before the claim changes its verdict? For metrics
    at a threshold, the odds of all cases are multiplied by a factor. For all measures,
    the slope of the log odds about their mean is multiplied. A factor of the odds
    hardly changes an AUC, so that only the slope is shown.

    Parameters
    ----------
    data
        Cases without labels and a map (``unlabelled=``). Known labels do not change, so
        that without a map no factor changes the verdict.
    requirement
        A claim as in :func:`trueness.check`: ``"auc >= 0.8"``,
        ``"recall >= 0.8 at 0.5"``.

    Examples
    --------
    >>> import trueness
    >>> reference = trueness.Tally([0.9, 0.1], neg=[10, 90], pos=[90, 10])
    >>> today = trueness.Tally([0.9, 0.1], unknown=[50, 50])
    >>> point = tipping_point(today, "precision >= 0.8 at 0.5", unlabelled=reference)
    >>> point.holds, round(point.odds[0], 2)
    (True, 0.45)
    """
    claim = _single_bound(requirement)
    value = _value(data, claim)
    bound = claim.at_least if claim.at_least is not None else claim.at_most
    assert bound is not None  # noqa: S101 - _single_bound saw to it
    holds = value >= bound if claim.at_least is not None else value <= bound

    if not data.labels_expected or data.design.stratified:
        never = (math.nan, math.nan)
        return TippingPoint(str(claim), value, holds, odds=never, slope=never)

    middle = _mean_log_odds(data)

    def excess_by_odds(step: float) -> float:
        return (
            _value(_with_moved_map(data, odds=math.exp(step), middle=middle), claim)
            - bound
        )

    def excess_by_slope(step: float) -> float:
        return (
            _value(_with_moved_map(data, slope=math.exp(step), middle=middle), claim)
            - bound
        )

    return TippingPoint(
        requirement=str(claim),
        value=value,
        holds=holds,
        odds=None if claim.metric in _OF_RANKS else _crossings(excess_by_odds),
        slope=_crossings(excess_by_slope),
    )


def _single_bound(sentence: str | Mapping[str, Any] | Requirement) -> Requirement:
    """Return the claim in a sentence, checked to have one bound on one number."""
    claim = requirement(sentence)
    bounds = [bound for bound in (claim.at_least, claim.at_most) if bound is not None]
    if len(bounds) != 1 or claim.by or claim.not_worse_than or claim.is_fact:
        raise InputError(
            'tipping_point needs a claim with one bound, such as "recall >= 0.8 at '
            f'0.5"; found {claim}.'
        )

    return claim


def _value(data: Tally, claim: Requirement) -> float:
    """Return the value of the metric in a claim."""
    interval_at = one_sided_interval(claim.metric, data, claim.threshold, claim.fpr)
    return interval_at(0.05).value


def _mean_log_odds(data: Tally) -> float:
    """Return the log odds of the mean probability: the centre of a change of slope."""
    expected = expect_labels(data)
    unknown = expected.observed.unknown
    return float(logit(unknown @ expected.chances / unknown.sum()))


def _with_moved_map(
    data: Tally, *, odds: float = 1.0, slope: float = 1.0, middle: float
) -> Tally:
    """Return the cases with the log odds of their label map moved."""
    labels = data.design.unlabelled
    assert isinstance(labels, ExpectedLabels)  # noqa: S101 - its caller saw to it
    moved = _MovedMap(labels.map, math.log(odds), slope, middle)
    return data.with_design(unlabelled=replace(labels, map=moved))


def _crossings(excess: Callable[[float], float]) -> Factors:
    """Return the nearest factors below and above 1 where an excess changes sign."""
    steps = np.arange(0.0, math.log(_LARGEST_FACTOR) + _STEP, _STEP)
    return _first_crossing(excess, -steps), _first_crossing(excess, steps)


def _first_crossing(excess: Callable[[float], float], steps: Floats) -> float:
    """Return the first factor at which the sign changes; NaN if it never does."""
    # the value may not be monotone in the factor, so all steps are tried in order
    before = excess(0.0)
    for start, stop in zip(steps[:-1].tolist(), steps[1:].tolist(), strict=True):
        after = excess(stop)
        if (after >= 0) != (before >= 0):
            return math.exp(brentq(excess, start, stop, xtol=1e-4))
        before = after

    return math.nan


@dataclass(frozen=True)
class _MovedMap:
    """A label map with its log odds moved: a constant, and a slope about the middle."""

    map: Any
    shift: float
    slope: float
    middle: float
    reference: None = None

    def __call__(self, score: ArrayLike) -> Floats:
        inside = np.clip(self.map(score), 1e-300, 1 - 2.0**-53)
        turned = self.middle + self.slope * (logit(inside) - self.middle)
        return np.asarray(expit(turned + self.shift))

    def error_variance(self, score: Floats, by_log_odds: Floats) -> float:
        """Return NaN: a moved map states no error."""
        return math.nan

    def error_draws(
        self, score: Floats, n_draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """Return None: a moved map states no error."""
        return None
