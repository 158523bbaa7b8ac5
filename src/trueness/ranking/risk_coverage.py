"""Risk-coverage curve: how often is a classifier wrong where it is sure of itself?

Cases are decided at a threshold. A case far from it is decided with more confidence.
The curve shows the error rate (risk) of the most confident cases against their
proportion (coverage): selective prediction, or classification with a reject option.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.records import Answer, Estimate
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    estimate_measure,
    estimate_within_rows,
    interval_notes,
)
from trueness.inference.sample import MeasuredValue, apply_design
from trueness.inference.variance import Influence
from trueness.inference.verification import unlabelled_notes


@final
@dataclass(frozen=True, repr=False)
class RiskCoverage(Answer):
    """Error rate of the most confident cases, against their proportion.

    Attributes
    ----------
    coverage : array (n,)
        Proportion of the cases that are decided, the most confident first.
    risk, low, high : array (n,)
        Error rate among these, with its confidence interval.
    confidence : array (n,)
        Distance from the threshold that a score needs for its case to be decided.
    aurc : Estimate
        Area under the curve: the mean risk over all coverages, 0 at best.
    threshold, level : float
        The threshold, and the confidence level.
    """

    coverage: Floats
    risk: Floats
    low: Floats
    high: Floats
    confidence: Floats
    aurc: Estimate
    threshold: float
    level: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)


@of_tally
def risk_coverage(
    data: Tally,
    *,
    threshold: float = 0.5,
    coverage: ArrayLike | None = None,
    level: float = 0.95,
) -> RiskCoverage:
    r"""Risk-coverage curve and the area under it (AURC), with confidence intervals.

    How often is the classifier wrong if it decides only its most confident cases?

    .. math:: r(c) = P\big(\hat y \ne y \mid |s - \tau| \ge q_c\big), \qquad
              \mathrm{AURC} = \int_0^1 r(c)\,dc

    Parameters
    ----------
    threshold
        The threshold; the distance of a score from it is its confidence.
    coverage
        Proportions of the cases to decide; by default 0.05, 0.1, ..., 1. Cases with
        equal confidence are decided together, so that the proportion may be larger.

    Notes
    -----
    Each case counts the risk at its own confidence, so ties share one risk. A risk has
    Wilson's interval of the decided cases. For thresholds with a cost of deferring, see
    :func:`trueness.best_thresholds`.

    References
    ----------
    Chow (1970), IEEE Trans. Inf. Theory 16:41, doi:10.1109/TIT.1970.1054406; El-Yaniv,
    Wiener (2010), J. Mach. Learn. Res. 11:1605

    Examples
    --------
    >>> t = Tally([0.9, 0.6, 0.2], pos=[4, 1, 1], neg=[0, 1, 3])
    >>> curve = risk_coverage(t, coverage=[0.4, 1.0])
    >>> curve.coverage, curve.risk  # no error of 4, then 2 errors of 10
    (array([0.4, 1. ]), array([0. , 0.2]))
    """
    _cases.both_classes(data, "risk_coverage")
    cut = _options.real_number(threshold, "threshold")
    level = _options.fraction(level, "level")
    if coverage is None:
        coverage = np.arange(1, 21) / 20
    requested = _options.grid(coverage, "coverage")

    counts = apply_design(data, "risk_coverage").target_counts
    ordered = _order_by_confidence(counts, cut)
    decided = np.cumsum(ordered.cases) / ordered.cases.sum()
    # the first row at which enough cases are decided; the sum may round to below 1
    rows = np.minimum(np.searchsorted(decided, requested - 1e-12), decided.size - 1)
    risks = [
        _risk_of_decided(
            data, counts, cut, least_confidence=float(confidence), level=level
        )
        for confidence in ordered.confidence[rows]
    ]
    return RiskCoverage(
        coverage=decided[rows],
        risk=np.array([risk.value for risk in risks]),
        low=np.array([risk.low for risk in risks]),
        high=np.array([risk.high for risk in risks]),
        confidence=ordered.confidence[rows],
        aurc=estimate_measure(
            data,
            partial(aurc_measure, threshold=cut),
            level=level,
            name="AURC",
            measure_name="risk_coverage",
        ),
        threshold=cut,
        level=level,
        notes=(*unlabelled_notes(data), *interval_notes(data)),
    )


class _Ordered(NamedTuple):
    """Cases by confidence, highest first.

    ``position`` is the index of the confidence of each row of the tally.
    """

    confidence: Floats
    cases: Floats
    errors: Floats
    position: Ints


def _order_by_confidence(counts: Tally, threshold: float) -> _Ordered:
    """Return the numbers of cases and errors at each distinct confidence."""
    confidence = _confidence_by_row(counts, threshold)
    ascending, inverse = np.unique(confidence, return_inverse=True)
    # np.unique sorts upwards, and the highest confidence comes first
    position = np.asarray(ascending.size - 1 - inverse.ravel())

    cases = np.bincount(position, weights=counts.pos + counts.neg)
    errors = np.bincount(position, weights=_errors_by_row(counts, threshold))
    return _Ordered(
        confidence=ascending[::-1],
        cases=np.asarray(cases, dtype=np.float64),
        errors=np.asarray(errors, dtype=np.float64),
        position=position,
    )


def _confidence_by_row(counts: Tally, threshold: float) -> Floats:
    """Return the distance of each score from the threshold."""
    # of scores near the largest float it is infinite
    with np.errstate(over="ignore"):
        return np.abs(counts.score - threshold)


def _errors_by_row(counts: Tally, threshold: float) -> Array:
    """Return how many cases of each row are decided wrongly."""
    return np.where(counts.score >= threshold, counts.neg, counts.pos)


def _risk_of_decided(
    data: Tally,
    counts: Tally,
    threshold: float,
    *,
    least_confidence: float,
    level: float,
) -> Estimate:
    """Return the error rate of the most confident cases, with its interval."""
    is_decided = _confidence_by_row(counts, threshold) >= least_confidence
    measure = partial(_risk_measure, threshold=threshold, is_decided=is_decided)
    return estimate_within_rows(
        data, measure, is_decided, level=level, measure_name="risk_coverage"
    )


def _risk_measure(
    counts: Tally, *, threshold: float, is_decided: Array
) -> MeasuredValue:
    r"""Return the error rate of the decided cases, and its influence values.

    The influence of a decided case is :math:`(e_i - r) / n`, with 1 for an error.
    """
    decided = float((counts.pos + counts.neg)[is_decided].sum())
    risk = float(_errors_by_row(counts, threshold)[is_decided].sum()) / decided
    # a negative is an error where it is flagged, a positive where it is not
    is_flagged = counts.score >= threshold
    return MeasuredValue(
        value=risk,
        influence=Influence(
            by_negative=is_decided * (is_flagged - risk) / decided,
            by_positive=is_decided * (~is_flagged - risk) / decided,
        ),
    )


def aurc_measure(counts: Tally, *, threshold: float = 0.5) -> MeasuredValue:
    r"""Return the area under the risk-coverage curve, and its influence values.

    With :math:`a_k` cases and :math:`E_k` errors among the :math:`A_k` most confident,

    .. math:: \mathrm{AURC} = \frac1N \sum_k a_k \frac{E_k}{A_k}, \qquad
        u_i = \frac1N \Big(\frac{E_i}{A_i} - \mathrm{AURC} +
        \sum_{k \ge i} a_k \frac{e_i - E_k / A_k}{A_k}\Big)
    """
    ordered = _order_by_confidence(counts, threshold)
    total = float(ordered.cases.sum())
    accepted = np.cumsum(ordered.cases)
    # rows at the top may hold unlabelled cases only
    by_accepted = np.divide(
        1.0, accepted, out=np.zeros(accepted.size), where=accepted > 0
    )
    risk = np.cumsum(ordered.errors) * by_accepted
    value = float(ordered.cases @ risk) / total

    # what an error adds, and any case subtracts, at its own and all lower confidences
    added = np.cumsum((ordered.cases * by_accepted)[::-1])[::-1]
    diluted = np.cumsum((ordered.cases * risk * by_accepted)[::-1])[::-1]
    # the formula above with e = 0, then with e = 1, from confidences to rows
    by_correct = ((risk - value - diluted) / total)[ordered.position]
    by_error = by_correct + (added / total)[ordered.position]

    is_flagged = counts.score >= threshold
    return MeasuredValue(
        value=value,
        influence=Influence(
            by_negative=np.where(is_flagged, by_error, by_correct),
            by_positive=np.where(is_flagged, by_correct, by_error),
        ),
    )
