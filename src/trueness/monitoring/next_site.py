"""Is a requirement met at a site that was not seen? The prediction interval decides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness.counts.values import Tally
from trueness.metrics.grammar import metric
from trueness.monitoring.measures import measure_of
from trueness.monitoring.one_sided import SITES, Counted, Interval, IntervalAt
from trueness.monitoring.requirements import Requirement
from trueness.scale.certificates import bounds
from trueness.sites.across import FEWEST_SITES, AcrossSites, across_sites
from trueness.sites.values import STATISTICS
from trueness.threshold.rule import Rule


def next_site_interval(
    requirement: Requirement, counts_by_site: Mapping[str, Counted]
) -> IntervalAt:
    """Return the one-sided prediction interval, by alpha, at the next site."""
    if isinstance(requirement.threshold, Rule):
        raise InputError(
            f"{requirement}: sites need one common threshold; found a rule. Set a "
            "number.",
            option="threshold",
        )

    threshold = requirement.threshold

    in_bins = [
        site
        for site, counts in counts_by_site.items()
        if isinstance(counts, Tally)
        and counts.binned
        and _is_inexact(requirement.metric, counts, threshold)
    ]

    def interval_at(alpha: float) -> Interval:
        if in_bins:
            return _interval_without_decision(
                len(counts_by_site),
                "the scores were counted in bins, which do not determine the values "
                f"of sites ({listing(in_bins, 3)}). Count the scores themselves.",
            )

        answer = _across(requirement.metric, counts_by_site, threshold, 1 - 2 * alpha)
        prediction = answer.prediction
        number = len(answer.weights)

        if prediction is None:
            return _interval_without_decision(
                number,
                f"predicting the next site needs at least {FEWEST_SITES} sites with a "
                "value.",
            )

        return Interval(
            prediction.value, prediction.low, prediction.high, number, SITES
        )

    return cache(interval_at)


def _interval_without_decision(sites: int, reason: str) -> Interval:
    """Return an interval that decides nothing, with the reason."""
    unknown = float("nan")
    return Interval(unknown, unknown, unknown, sites, SITES, reason)


def _is_inexact(name: str, counts: Tally, threshold: float | None) -> bool:
    """Return whether the bins of a site do not determine the value of a measure."""
    measure = measure_of(name)
    if measure is not None:
        return measure.estimate(counts, level=0.95).bounds is not None
    if threshold is None:
        return False  # verdicts of 0 and 1 have only one cut

    certain = bounds(metric(name), counts, threshold=threshold)
    return bool(certain.low < certain.high)


def _across(
    name: str,
    counts_by_site: Mapping[str, Counted],
    threshold: float | None,
    level: float,
) -> AcrossSites:
    """Return the random effects over sites of a measure."""
    measure = measure_of(name)
    answer: AcrossSites

    if name in STATISTICS or measure is None:
        answer = across_sites(counts_by_site, name, threshold=threshold, level=level)
        return answer

    # across_sites does not know this measure by name: pass the estimate of each site
    estimates = {
        site: measure.estimate(counts, level=level)
        for site, counts in counts_by_site.items()
    }
    answer = across_sites(
        estimates, measure.estimate, value_range=measure.range, level=level
    )
    return answer
