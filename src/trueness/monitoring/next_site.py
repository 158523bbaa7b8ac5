"""Is a requirement met at a site that was not seen? The prediction interval decides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from trueness._core.checks.errors import InputError
from trueness.monitoring.requirements import Requirement
from trueness.monitoring.verdicts import SITES, Counted, Interval, Limits, measure_of
from trueness.sites.across import FEWEST_SITES, AcrossSites, across_sites
from trueness.sites.values import STATISTICS
from trueness.threshold.rule import Rule


def next_site_limits(
    requirement: Requirement, counts_by_site: Mapping[str, Counted]
) -> Limits:
    """Return the function from alpha to the one-sided limits at the next site."""
    if isinstance(requirement.threshold, Rule):
        raise InputError(
            f"{requirement}: sites are cut at one threshold; found a rule. Give a "
            "number.",
            option="threshold",
        )
    threshold = requirement.threshold

    def limits(alpha: float) -> Interval:
        answer = _across(requirement.metric, counts_by_site, threshold, 1 - 2 * alpha)
        prediction = answer.prediction
        number = len(answer.weights)
        if prediction is None:
            why = (
                f"the next site cannot be known from fewer than {FEWEST_SITES} sites "
                "with a value."
            )
            return Interval(
                float("nan"), float("nan"), float("nan"), number, SITES, why
            )
        return Interval(
            prediction.value, prediction.low, prediction.high, number, SITES
        )

    return cache(limits)


def _across(
    name: str,
    counts_by_site: Mapping[str, Counted],
    threshold: float | None,
    level: float,
) -> AcrossSites:
    """Return the random effects over sites of a measure that may be required."""
    measure = measure_of(name)
    answer: AcrossSites
    if name in STATISTICS or measure is None:
        answer = across_sites(counts_by_site, name, threshold=threshold, level=level)
        return answer

    # a measure of gates only: each site by its own estimate
    estimates = {
        site: measure.ask(counts, level=level)
        for site, counts in counts_by_site.items()
    }
    answer = across_sites(estimates, measure.ask, ends=measure.range, level=level)
    return answer
