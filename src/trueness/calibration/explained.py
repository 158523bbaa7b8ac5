"""Nagelkerke's R²: which part of the uncertainty do probabilities explain?"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.records import Estimate
from trueness.calibration.forecasts import check_probabilities
from trueness.calibration.proper_scores import log_loss, notes_on_infinity
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_measure
from trueness.inference.sample import MeasuredValue
from trueness.inference.variance import Influence
from trueness.inference.verification import unlabelled_notes

# fourth powers of influence values, of the size exp(8 x), are below the largest float
_LARGEST_LOSS = 80.0


def nagelkerke_measure(counts: Tally) -> MeasuredValue:
    r"""Return Nagelkerke's R² and its influence values.

    A case moves the log loss by :math:`(l_i - S)/N` and the prevalence by
    :math:`(y_i - \pi)/N`; R² follows by the chain rule, with
    :math:`dS_0/d\pi = \ln((1 - \pi)/\pi)`.
    """
    loss: MeasuredValue = log_loss.measure(counts)
    prevalence = counts.n_pos / (counts.n_pos + counts.n_neg)
    entropy = -prevalence * math.log(prevalence)
    entropy -= (1 - prevalence) * math.log1p(-prevalence)
    if loss.value - entropy > _LARGEST_LOSS:
        # a probability of 0 or 1 was wrong, or nearly so: the value is infinite, or its
        # variance is larger than any float
        zeros = np.zeros(len(counts))
        return MeasuredValue(-math.inf, Influence(zeros, zeros), (-math.inf, 1.0))

    # Cox and Snell's R², and the largest value that it can have
    explained = -math.expm1(-2 * (entropy - loss.value))
    explainable = -math.expm1(-2 * entropy)
    value = explained / explainable

    # the entropy is in numerator and denominator: two terms of the quotient rule
    slope_by_loss = -2 * (1 - explained) / explainable
    slope_by_entropy = 2 * (1 - explained) / explainable
    slope_by_entropy -= value * 2 * (1 - explainable) / explainable
    slope_by_prevalence = slope_by_entropy * math.log((1 - prevalence) / prevalence)
    cases = counts.n_pos + counts.n_neg
    return MeasuredValue(
        value=value,
        influence=Influence(
            by_negative=slope_by_loss * np.asarray(loss.influence.by_negative)
            - slope_by_prevalence * prevalence / cases,
            by_positive=slope_by_loss * np.asarray(loss.influence.by_positive)
            + slope_by_prevalence * (1 - prevalence) / cases,
        ),
        ends=(-math.inf, 1.0),
    )


@of_tally(measure=nagelkerke_measure)
def nagelkerke_r2(data: Tally, *, level: float = 0.95) -> Estimate:
    r"""Nagelkerke's R², with a confidence interval.

    How much of the uncertainty do the probabilities explain, from 0 (none) to 1 (all)?

    .. math:: R^2 = \frac{1 - e^{-2 (S_0 - S)}}{1 - e^{-2 S_0}}

    S is the log loss of the probabilities, :math:`S_0` that of predicting the
    prevalence for every case. R² is negative where that prediction would be better.

    Notes
    -----
    The probabilities are taken as they are, as in ``val.prob`` of R's rms. For a model
    fitted on the same cases it is optimistic.

    References
    ----------
    Nagelkerke (1991), Biometrika 78:691, doi:10.1093/biomet/78.3.691

    Examples
    --------
    >>> nagelkerke_r2(Tally([0.5], neg=[3], pos=[3])).value  # the prevalence: nothing
    0.0
    """
    check_probabilities(data, "nagelkerke_r2")
    _cases.both_classes(data, "nagelkerke_r2")
    estimate = estimate_measure(
        data,
        nagelkerke_measure,
        level=level,
        name="Nagelkerke R²",
        measure_name="nagelkerke_r2",
    )
    notes = estimate.notes
    if math.isinf(estimate.value):
        notes = notes_on_infinity(data)
    return replace(estimate, notes=(*unlabelled_notes(data), *notes))
