"""Leaving sites out: would the other sites have predicted each of them?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described
from trueness._core.numbers import counted, level_text
from trueness._core.records import Estimate, Record, native_frame
from trueness.inference.estimates import estimate_from_interval, estimate_of_proportion
from trueness.inference.variance import VarianceEstimate
from trueness.sites.across import FEWEST_SITES, AcrossSites, model_of, scale_of
from trueness.sites.prediction import PREDICTION_INTERVALS
from trueness.sites.random_effects import RandomEffects, fit_random_effects
from trueness.sites.scales import OpenScale


@final
@dataclass(frozen=True, repr=False)
class SitesLeftOut(Record):
    """Predictions of each site from the others, and how often they cover its value.

    Attributes
    ----------
    predictions : mapping from str to Estimate
        For each site, the mean of the others with the prediction interval for its
        observed value. It includes the sampling variance of that site.
    covered : mapping from str to bool
        Whether the observed value lies within that interval.
    coverage : Estimate
        The proportion of sites that were covered; compare it with ``level``.
    """

    predictions: Mapping[str, Estimate]
    covered: Mapping[str, bool]
    coverage: Estimate
    level: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Return the number of sites that were covered, and which were not."""
        n_covered = sum(self.covered.values())
        lines = [
            f"{n_covered} of {counted(len(self.covered), 'site')} within the "
            f"{level_text(self.level)} prediction interval of the others"
        ]
        lines += [
            f"  outside: {name}" for name, inside in self.covered.items() if not inside
        ]

        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    __str__ = __repr__

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with one row per site."""
        columns = {
            "site": list(self.predictions),
            "low": [estimate.low for estimate in self.predictions.values()],
            "high": [estimate.high for estimate in self.predictions.values()],
            "covered": list(self.covered.values()),
        }
        return native_frame(columns, backend)


def leave_sites_out(
    answer: AcrossSites, *, prediction: str = "nagashima"
) -> SitesLeftOut:
    """Cross-validation of the prediction interval, one site left out at a time.

    Would the other sites have predicted each site?

    Parameters
    ----------
    answer
        What :func:`trueness.across_sites` returned for six sites or more.
    prediction
        The method of the interval, as in :func:`trueness.across_sites`.

    Notes
    -----
    The interval is for the observed value at the site, so its sampling variance is
    added to the variance between sites. The predictions of different sites use the same
    data, so the interval of ``coverage`` is approximate.

    Examples
    --------
    >>> import trueness
    >>> found = {"A": 70, "B": 75, "C": 80, "D": 80, "E": 85, "F": 90}
    >>> sites = {
    ...     name: trueness.Tally([1, 0], pos=[k, 100 - k]) for name, k in found.items()
    ... }
    >>> leave_sites_out(trueness.across_sites(sites, "recall"))
    6 of 6 sites within the 95 % prediction interval of the others
    """
    _options.choice(prediction, tuple(PREDICTION_INTERVALS), "prediction")
    if not isinstance(answer, AcrossSites):
        raise InputError(
            "leave_sites_out needs what across_sites returned; found "
            f"{described(answer)}.",
            option="answer",
        )

    model = model_of(answer)
    if model is None or model.values.size <= FEWEST_SITES:
        raise NotEnoughCases(
            f"Leaving one site out needs {FEWEST_SITES + 1} sites with a value; found "
            f"{len(answer.sites)}.",
            option="site",
        )

    scale = scale_of(answer)

    predictions = {}
    covered = {}
    for place, name in enumerate(answer.weights):
        estimate, inside = _predict_site(model, place, scale, prediction, answer.level)
        predictions[name] = estimate
        covered[name] = inside

    return SitesLeftOut(
        predictions=MappingProxyType(predictions),
        covered=MappingProxyType(covered),
        coverage=_coverage(list(covered.values()), answer.level),
        level=answer.level,
    )


def _predict_site(
    model: RandomEffects, site: int, scale: OpenScale, method: str, level: float
) -> tuple[Estimate, bool]:
    """Return the prediction of one site by the others, and whether it covered it."""
    others = np.arange(model.values.size) != site
    without = fit_random_effects(model.values[others], model.variances[others])
    # an observed value also has the sampling error of its site
    sampling_variance = float(model.variances[site])
    low, high = PREDICTION_INTERVALS[method](without, level, sampling_variance)
    estimate = estimate_from_interval(
        scale.value(without.mean),
        scale.value(low),
        scale.value(high),
        level,
        f"prediction ({method})",
    )

    return estimate, bool(low <= model.values[site] <= high)


def _coverage(covered: list[bool], level: float) -> Estimate:
    """Return the proportion of covered sites, with Wilson's interval."""
    n_sites = len(covered)
    proportion = sum(covered) / n_sites
    variance = proportion * (1 - proportion) / n_sites

    return estimate_of_proportion(
        proportion,
        VarianceEstimate(variance, n_sites - 1.0, float(n_sites), variance),
        float(n_sites),
        level=level,
        name="coverage",
    )
