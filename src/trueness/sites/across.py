"""Random effects over sites: does a measure hold everywhere, and at the next site?

``across_sites`` returns the value of each site, their mean, how far they differ, and
the prediction interval for a site that was not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described, listing
from trueness._core.imports import HigherFunction
from trueness._core.numbers import counted, p_is, percent
from trueness._core.records import Estimate, Record, native_frame
from trueness.counts.answers import of_counts, with_remarks
from trueness.counts.values import Panel, Tally
from trueness.evals.attempts import Attempts
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import Ends, Interval, normal_quantile
from trueness.sites.covariates import (
    CovariateEffect,
    covariate_effect,
    deleted_residuals,
    read_covariate,
    sites_that_stand_out,
)
from trueness.sites.prediction import PREDICTION_INTERVALS
from trueness.sites.random_effects import (
    RandomEffects,
    fit_random_effects,
    q_profile_interval,
)
from trueness.sites.scales import UNBOUNDED, OpenScale
from trueness.sites.values import (
    SiteData,
    SiteMeasure,
    SiteValue,
    read_measure,
    site_value,
)

# of the room of data: the column of the sites, by its name
SITE_COLUMN: HigherFunction[Callable[[Any], str | None]] = HigherFunction("site_column")

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# with fewer sites the variance between them cannot be estimated
FEWEST_SITES = 5
# a class of fewer cases is said to be small
FEW_CASES = 10

_KINDS = (Tally, Panel, Attempts, Estimate)


@final
@dataclass(frozen=True, repr=False)
class AcrossSites(Record):
    """Mean of a measure over sites, its differences between them, and the next site.

    Attributes
    ----------
    measure : str
        What was measured.
    sites : mapping from str to Estimate
        The value of each site, with its own confidence interval.
    mean : Estimate or None
        The mean over sites, with Hartung and Knapp's interval. With fewer than five
        sites this field and those below are None.
    tau : Estimate or None
        The standard deviation between sites on ``scale``, with its Q-profile interval.
    i_squared : Estimate or None
        The proportion of the variance of the values that is between sites.
    prediction : Estimate or None
        The mean, with the prediction interval for a new site.
    p_value : float
        Test of no difference between sites (Cochran's Q).
    weights : mapping from str to float
        The weight of each site in the mean; weights add up to 1.
    outliers : tuple of str
        Sites that differ from the others, adjusted for the number of sites (Holm).
    covariate : CovariateEffect or None
        The effect of a covariate of the sites.
    scale : str
        "log odds", "logarithm" or "identity": the scale on which values are normal.
    level : float
        Of all intervals.
    """

    measure: str
    sites: Mapping[str, Estimate]
    mean: Estimate | None
    tau: Estimate | None
    i_squared: Estimate | None
    prediction: Estimate | None
    p_value: float
    weights: Mapping[str, float]
    outliers: tuple[str, ...]
    covariate: CovariateEffect | None
    scale: str
    level: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    _model: RandomEffects | None = field(default=None, kw_only=True)
    _ends: Ends = field(default=UNBOUNDED, kw_only=True)

    def __repr__(self) -> str:
        """Return the answer, then each site, then the notes, as text."""
        lines = [f"{self.measure} at {counted(len(self.sites), 'site')}"]
        if self.mean is not None and self.prediction is not None:
            lines.append(f"  mean: {_line(self.mean)}")
            lines.append(f"  next site: {_line(self.prediction)}")

        if self.tau is not None:
            lines.append(
                f"  between sites: standard deviation {_line(self.tau)} on the "
                f"scale {self.scale!r}, {p_is(self.p_value)}"
            )

        if self.i_squared is not None:
            lines.append(f"  I²: {percent(self.i_squared.value)} of the variance")

        lines += [f"  {name}: {_line(value)}" for name, value in self.sites.items()]
        if self.covariate is not None:
            lines.append(f"  {self.covariate}".replace("\n", "\n  "))

        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    __str__ = __repr__

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with one row per site."""
        names = list(self.sites)
        columns = {
            "site": names,
            "value": [estimate.value for estimate in self.sites.values()],
            "low": [estimate.low for estimate in self.sites.values()],
            "high": [estimate.high for estimate in self.sites.values()],
            "weight": [self.weights.get(name, math.nan) for name in names],
            "outlier": [name in self.outliers for name in names],
        }

        return native_frame(columns, backend)


def model_of(answer: AcrossSites) -> RandomEffects | None:
    """Return the model behind an answer; None if there were too few sites."""
    return answer._model


def scale_of(answer: AcrossSites) -> OpenScale:
    """Return the scale on which the model of an answer was fitted."""
    return OpenScale(answer._ends)


def _line(estimate: Estimate) -> str:
    """Return an estimate as one line of text, without its name and notes."""
    text = repr(estimate).partition("\n")[0]
    return text.removeprefix(f"{estimate.name} ")


class OfSites(Protocol[R_co]):
    """An analysis of sites: of a mapping from site to counts, or of data."""

    def __call__(self, data: Any, /, *arguments: Any, **options: Any) -> R_co:
        """Return the answer over all sites."""
        ...


def of_sites(analysis: Callable[..., R]) -> OfSites[R]:
    """Return an analysis of a mapping from site to counts that also takes ``site=``."""
    of_groups: Any = of_counts(analysis)

    @wraps(of_groups)
    def call(*args: Any, site: Any = None, **options: Any) -> Any:
        remarks: tuple[str, ...] = ()
        if site is None and options.get("by") is None and args:
            site = SITE_COLUMN.load()(args[0])
            remarks = (f"Using site {site!r}: by name.",) if site else ()
        if site is not None:
            # sites are groups, whose word everywhere else is "by"
            options["by"] = site
        return with_remarks(of_groups(*args, **options), remarks)

    public: Any = call
    public.takes = of_groups.takes
    public.__signature__ = _signature_with_site(of_groups)

    return cast("OfSites[R]", public)


def _signature_with_site(of_groups: Callable[..., Any]) -> Any:
    """Return the signature of an analysis with ``site`` in place of ``by``."""
    own_signature = signature(of_groups)
    parameters = [
        Parameter("site", Parameter.KEYWORD_ONLY, default=None)
        if parameter.name == "by"
        else parameter
        for parameter in own_signature.parameters.values()
    ]
    return own_signature.replace(parameters=parameters)


@of_sites
def across_sites(
    data: Mapping[Any, Any],
    measure: Any = None,
    *,
    threshold: float | None = None,
    value_range: tuple[float, float] | None = None,
    covariate: Mapping[Any, Any] | None = None,
    prediction: str = "nagashima",
    level: float = 0.95,
) -> AcrossSites:
    r"""Random effects over sites, with the prediction interval for a new site.

    Does a measure hold at every site, and what will it be at the next one?

    .. math:: y_i \sim N(\mu,\; \tau^2 + v_i), \qquad y_{new} \sim N(\mu, \tau^2)

    where y is the measure on an unbounded scale: the log odds of an AUC or a rate,
    the logarithm of a ratio.

    Parameters
    ----------
    data
        A mapping from site to counts, or data with ``site=`` and the column of sites.
        A site may also be a panel of two classifiers (their difference), attempts at
        items, or an :class:`Estimate` from a paper.
    measure
        ``"auc"``, ``"average_precision"``, ``"brier"``, ``"log_loss"``,
        ``"calibration_slope"``, ``"calibration_intercept"``, ``"pass_rate"``; a metric
        such as ``"recall"``; or a function of counts.
    threshold
        The threshold of a metric. Verdicts of 0 and 1 need none.
    value_range
        The smallest and largest possible value of your own function.
    covariate
        A mapping from site to a number or a group, or ``{"year": {...}}`` with its
        name.
    prediction
        ``"nagashima"``: Nagashima, Noma and Furukawa (2019). ``"knapp-hartung"``:
        Student's quantile, as ``predict`` of metafor 3.8.1 with ``test="knha"``.
        ``"higgins"``: Higgins, Thompson and Spiegelhalter (2009).

    Notes
    -----
    The variance between sites is estimated by restricted maximum likelihood. Its
    interval is the Q-profile (Viechtbauer 2007), that of the mean Hartung and Knapp's
    (2001). A value at an end, such as an AUC of 1, counts with half a case added on
    both sides. A site whose cases do not define the measure is left out, with a note.
    Formulas: docs/maths/sites.md.

    References
    ----------
    Nagashima, Noma, Furukawa (2019), doi:10.1177/0962280218773520; Hartung, Knapp
    (2001), doi:10.1002/sim.791; Viechtbauer (2007), doi:10.1002/sim.2514; Higgins,
    Thompson, Spiegelhalter (2009), doi:10.1111/j.1467-985X.2008.00552.x

    Examples
    --------
    Verdicts of 0 and 1 at six sites of 100 positives each.

    >>> found = {"A": 70, "B": 75, "C": 80, "D": 80, "E": 85, "F": 90}
    >>> sites = {name: Tally([1, 0], pos=[k, 100 - k]) for name, k in found.items()}
    >>> answer = across_sites(sites, "recall")
    >>> answer.mean
    mean recall 0.802 (95 % CI 0.714 to 0.868)
    >>> round(answer.prediction.low, 2), round(answer.prediction.high, 2)
    (0.57, 0.93)
    """
    level = _options.fraction(level, "level")
    _options.choice(prediction, tuple(PREDICTION_INTERVALS), "prediction")
    by_site = _read_sites(data)
    if measure is None:
        measure = _usual_measure(by_site)
    site_measure = read_measure(measure, threshold, value_range)

    values = {
        name: site_value(counts, site_measure, level)
        for name, counts in by_site.items()
    }
    usable = {name: value for name, value in values.items() if value.usable}
    notes = _notes_on_sites(values)

    if len(usable) < FEWEST_SITES:
        return _without_variation(site_measure, values, len(usable), level, notes)

    # a difference of two classifiers has no ends
    is_difference = isinstance(next(iter(by_site.values())), Panel)
    scale = OpenScale(UNBOUNDED if is_difference else site_measure.ends)
    # sites are normal on the unbounded scale
    model = fit_random_effects(
        np.array([value.position for value in usable.values()]),
        np.array([value.variance for value in usable.values()]),
    )
    residuals = deleted_residuals(model)
    outliers = sites_that_stand_out(list(usable), residuals, level)
    effect = _effect(model, covariate, list(usable), level)

    return AcrossSites(
        measure=site_measure.name,
        sites=_estimates(values),
        mean=_mean_estimate(model, scale, site_measure.name, level),
        tau=_between_estimate(model, level),
        i_squared=_i_squared_estimate(model, level),
        prediction=predicted_estimate(
            model, scale, name=site_measure.name, method=prediction, level=level
        ),
        p_value=model.cochran_p_value,
        weights=_weights(model, list(usable)),
        outliers=outliers,
        covariate=effect,
        scale=scale.name,
        level=level,
        notes=(*notes, *_notes_on_outliers(outliers), *_notes_on_mean(model, level)),
        _model=model,
        _ends=scale.ends,
    )


def _usual_measure(by_site: Mapping[str, SiteData]) -> str:
    """Return the AUC for sites with scores; of tests and attempts there is a choice."""
    have_scores = all(
        isinstance(counts, Tally) and not set(counts.score.tolist()) <= {0.0, 1.0}
        for counts in by_site.values()
    )
    if have_scores:
        return "auc"

    raise InputError(
        "What is measured at each site? Sites with scores have the AUC by default.",
        option="measure",
        example="sensitivity",
    )


def _read_sites(data: Mapping[Any, SiteData]) -> dict[str, Any]:
    """Return the sites by name, all of one kind."""
    if not isinstance(data, Mapping) or not data:
        raise InputError(
            "A mapping from site to counts, or data with the column of the sites, is "
            f"needed; found {described(data)}.",
            option="site",
            example="COLUMN",
        )

    by_site = {str(name): counts for name, counts in data.items()}
    for name, counts in by_site.items():
        if not isinstance(counts, _KINDS):
            raise InputError(
                "A site must be counts, a panel, attempts or an estimate; found "
                f"{described(counts)} at {name!r}.",
                option="site",
            )

    kinds = {type(counts) for counts in by_site.values()}
    if len(kinds) > 1:
        names = sorted(kind.__name__ for kind in kinds)
        raise InputError(
            f"All sites must be of one kind; found {listing(names)}.", option="site"
        )

    return by_site


def _effect(
    model: RandomEffects,
    covariate: Mapping[Any, Any] | None,
    sites: Sequence[str],
    level: float,
) -> CovariateEffect | None:
    """Return the effect of the covariate; None without one."""
    name_and_entries = read_covariate(covariate, sites)
    if name_and_entries is None:
        return None

    name, entries = name_and_entries
    return covariate_effect(model, name, entries, level)


def _estimates(values: Mapping[str, SiteValue]) -> Mapping[str, Estimate]:
    """Return the estimate of each site."""
    return MappingProxyType({name: value.estimate for name, value in values.items()})


def _weights(model: RandomEffects, names: Sequence[str]) -> Mapping[str, float]:
    """Return the weight of each site in the mean, as a fraction of all weights."""
    fractions: Floats = model.fit.weights / model.fit.weights.sum()
    return MappingProxyType(dict(zip(names, fractions.tolist(), strict=True)))


def _mean_estimate(
    model: RandomEffects, scale: OpenScale, name: str, level: float
) -> Estimate:
    """Return the mean over sites with its interval, on the scale of the measure."""
    low, high = model.mean_interval(level)
    value = scale.value(model.mean)

    return estimate_from_interval(
        value,
        scale.value(low),
        scale.value(high),
        level,
        "hartung-knapp",
        # delta method: from the scale back to the measure
        model.standard_error / scale.slope(value),
        name=f"mean {name}",
    )


def predicted_estimate(
    model: RandomEffects, scale: OpenScale, *, name: str, method: str, level: float
) -> Estimate:
    """Return the mean with the prediction interval for a new site."""
    # for the true value of the new site, which has no sampling error
    sampling_variance = 0.0
    low, high = PREDICTION_INTERVALS[method](model, level, sampling_variance)

    return estimate_from_interval(
        scale.value(model.mean),
        scale.value(low),
        scale.value(high),
        level,
        f"prediction ({method})",
        name=f"{name} at the next site",
    )


def _between_estimate(model: RandomEffects, level: float) -> Estimate:
    """Return the standard deviation between sites with its Q-profile interval."""
    low, high = _root(q_profile_interval(model, level))
    return estimate_from_interval(
        math.sqrt(model.between_variance),
        low,
        high,
        level,
        "q-profile",
        name="standard deviation between sites",
    )


def _root(interval: Interval) -> Interval:
    """Return the square roots of both ends."""
    low, high = interval
    return math.sqrt(low), math.sqrt(high)


def _i_squared_estimate(model: RandomEffects, level: float) -> Estimate:
    """Return I² with the interval that follows from that of the variance."""
    low, high = q_profile_interval(model, level)
    return estimate_from_interval(
        model.heterogeneity(model.between_variance),
        model.heterogeneity(low),
        model.heterogeneity(high),
        level,
        "q-profile",
        name="I²",
    )


def _without_variation(
    measure: SiteMeasure,
    values: Mapping[str, SiteValue],
    usable: int,
    level: float,
    notes: Sequence[str],
) -> AcrossSites:
    """Return the values of sites that are too few for a model."""
    if not usable:
        raise NotEnoughCases(
            f"No site has a value of {measure.name} with a variance; found "
            f"{counted(len(values), 'site')}.",
            option="site",
        )

    note = (
        f"Only {counted(usable, 'site')} with a value: at least {FEWEST_SITES} are "
        "needed to estimate the variance between sites and to predict the next site."
    )

    return AcrossSites(
        measure=measure.name,
        sites=_estimates(values),
        mean=None,
        tau=None,
        i_squared=None,
        prediction=None,
        p_value=math.nan,
        weights=MappingProxyType({}),
        outliers=(),
        covariate=None,
        scale=OpenScale(measure.ends).name,
        level=level,
        notes=(note, *notes),
        _ends=measure.ends,
    )


def _notes_on_sites(values: Mapping[str, SiteValue]) -> list[str]:
    """Return notes on sites that were left out, corrected, or are small."""
    notes = []
    left_out = [name for name, value in values.items() if not value.usable]
    if left_out:
        notes.append(
            "Left out, because the measure or its variance is undefined: "
            f"{listing(left_out)}."
        )

    corrected = [name for name, value in values.items() if value.corrected]
    if corrected:
        notes.append(
            "Half a case was added to each outcome where the sample variance is 0: "
            f"{listing(corrected)}."
        )

    small = [name for name, value in values.items() if value.cases < FEW_CASES]
    if small:
        notes.append(
            f"Small sites, with fewer than {FEW_CASES} cases: {listing(small)}. Their "
            "standard errors are uncertain."
        )

    return notes


def _notes_on_mean(model: RandomEffects, level: float) -> list[str]:
    """Return a note if the interval of Hartung and Knapp is too narrow.

    It is, where it is narrower than that of a common value of all sites: see

    Roever, Knapp, Friede (2015), doi:10.1186/s12874-015-0091-1.
    """
    low, high = model.mean_interval(level)
    # the standard error of a common value of all sites
    common_error = math.sqrt(1 / float((1 / model.variances).sum()))
    if high - low >= 2 * normal_quantile(level) * common_error:
        return []

    return [
        "The sites differ less than expected by chance, so Hartung and Knapp's "
        "interval of the mean is too narrow."
    ]


def _notes_on_outliers(outliers: Sequence[str]) -> list[str]:
    """Return a note that names the outlying sites, if there are any."""
    if not outliers:
        return []
    return [f"Outlying sites, adjusted for multiple comparisons: {listing(outliers)}."]
