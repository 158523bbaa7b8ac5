"""Summary of sensitivity and specificity over sites or studies, as a point and a curve.

``summary_roc`` fits the bivariate model to the 2x2 table of each site, and returns the
summary point, its confidence region, the prediction region of a new site, and the
summary ROC curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described, listing
from trueness._core.numbers import counted
from trueness._core.records import Estimate, Record, native_frame
from trueness.counts.answers import refuse
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import normal_quantile
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import Cut, estimate_at
from trueness.sites.across import FEWEST_SITES, of_sites
from trueness.sites.bivariate import FITS, BivariateFit, StudyCounts
from trueness.sites.scales import OpenScale
from trueness.sites.values import verdict_threshold

# points of a region's outline, and of the curve
_OUTLINE_POINTS = 200
_CURVE_POINTS = 200
# with fewer studies the normal interval of the summary point is too narrow
_FEW_STUDIES = 10
# beyond it, a correlation is at its boundary
_BOUNDARY = 0.999

_LOG_ODDS = OpenScale((0.0, 1.0))


@final
@dataclass(frozen=True, repr=False)
class SummaryROC(Record):
    """Summary sensitivity and specificity over all sites, and the prediction for the
    next one.

    Attributes
    ----------
    sensitivity, specificity : Estimate
        The summary point.
    lr_positive, lr_negative, odds_ratio : Estimate
        Likelihood ratios and diagnostic odds ratio at the summary point.
    tau_sensitivity, tau_specificity, correlation : float
        Standard deviations between sites on the log odds scale, and their correlation;
        negative where sites trade sensitivity for specificity.
    fpr, tpr : array
        The summary ROC curve, over the false positive rates of the sites.
    confidence_region, prediction_region : array (n, 2)
        Outlines, as false positive rate and sensitivity: of the summary point, and of a
        new site.
    sites : mapping from str to pair of Estimate
        Sensitivity and specificity of each site.
    method, level : str, float
    """

    sensitivity: Estimate
    specificity: Estimate
    lr_positive: Estimate
    lr_negative: Estimate
    odds_ratio: Estimate
    tau_sensitivity: float
    tau_specificity: float
    correlation: float
    fpr: Floats
    tpr: Floats
    confidence_region: Floats
    prediction_region: Floats
    sites: Mapping[str, tuple[Estimate, Estimate]]
    method: str
    level: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Return the summary point, how far sites differ, and the notes, as text."""
        lines = [
            f"SummaryROC of {counted(len(self.sites), 'site')} ({self.method} model)",
            f"  {self.sensitivity}",
            f"  {self.specificity}",
            f"  {self.lr_positive}",
            f"  {self.lr_negative}",
            f"  {self.odds_ratio}",
            "  between sites, on the log odds scale: standard deviation "
            f"{self.tau_sensitivity:.3g} of sensitivity, "
            f"{self.tau_specificity:.3g} of specificity, correlation "
            f"{self.correlation:.2f}",
        ]

        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    __str__ = __repr__

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with one row per site."""
        columns: dict[str, Any] = {"site": list(self.sites)}
        for place, name in enumerate(("sensitivity", "specificity")):
            estimates = [pair[place] for pair in self.sites.values()]
            columns[name] = [estimate.value for estimate in estimates]
            columns[f"{name}_low"] = [estimate.low for estimate in estimates]
            columns[f"{name}_high"] = [estimate.high for estimate in estimates]

        return native_frame(columns, backend)


@of_sites
def summary_roc(
    data: Mapping[Any, Tally],
    *,
    threshold: float | None = None,
    method: str = "binomial",
    level: float = 0.95,
) -> SummaryROC:
    r"""Summary sensitivity, specificity and ROC curve over sites or studies.

    How accurate is a test over all studies, and at the next site?

    .. math:: (\mathrm{logit}\,Se_i,\; \mathrm{logit}\,Sp_i) \sim N(\mu, \Sigma)

    Parameters
    ----------
    data
        A mapping from site to counts, as :func:`read_studies` reads them from the 2x2
        tables of papers; or data with ``site=``.
    threshold
        The thresholds. Verdicts of 0 and 1 need none.
    method
        ``"binomial"``: counts are binomial (Chu and Cole 2006), also with few cases or
        empty cells. ``"normal"``: observed log odds are normal (Reitsma et al. 2005),
        with half a case in each cell if any cell is empty.

    Notes
    -----
    Intervals of the summary point are normal on the log odds scale, as in R's mada,
    metafor and lme4. The regions are those of Harbord et al. (2007), with the quantile
    of an F distribution. The curve is that of Rutter and Gatsonis (2001) by the
    formulas of Harbord et al.

    References
    ----------
    Reitsma et al. (2005), doi:10.1016/j.jclinepi.2005.02.022; Chu, Cole (2006),
    doi:10.1016/j.jclinepi.2006.06.011; Harbord et al. (2007),
    doi:10.1093/biostatistics/kxl004; Rutter, Gatsonis (2001), doi:10.1002/sim.942

    Examples
    --------
    Five studies with the same table differ no more than chance makes them differ.

    >>> study = Tally([1, 0], neg=[10, 90], pos=[80, 20])
    >>> answer = summary_roc({name: study for name in "ABCDE"})
    >>> round(answer.sensitivity.value, 4), round(answer.specificity.value, 4)
    (0.8, 0.9)
    """
    level = _options.fraction(level, "level")
    _options.choice(method, tuple(FITS), "method")
    cuts = _read_tables(data, threshold)
    tables = {name: cut.confusion for name, cut in cuts.items()}
    usable = [name for name, table in tables.items() if _has_both_classes(table)]

    if len(usable) < FEWEST_SITES:
        raise NotEnoughCases(
            f"A summary of sensitivity and specificity needs {FEWEST_SITES} sites with "
            f"cases of both classes; found {len(usable)}.",
            option="site",
        )

    counts = _study_counts([tables[name] for name in usable])
    if method == "binomial" and counts.lacks_a_kind:
        raise NotEnoughCases(
            "The binomial model needs wrong and correct verdicts of each class; in "
            "all studies together one kind is missing.",
            option="method",
            example="normal",
        )

    fit = FITS[method](counts)
    curve_fpr, curve_tpr = _summary_curve(fit, counts)

    return SummaryROC(
        sensitivity=_proportion(fit, 0, "sensitivity", level),
        specificity=_proportion(fit, 1, "specificity", level),
        lr_positive=_log_ratio(fit, _positive_ratio, "LR+", level),
        lr_negative=_log_ratio(fit, _negative_ratio, "LR-", level),
        odds_ratio=_log_ratio(fit, _odds_ratio, "odds ratio", level),
        tau_sensitivity=float(fit.deviations[0]),
        tau_specificity=float(fit.deviations[1]),
        correlation=fit.correlation,
        fpr=curve_fpr,
        tpr=curve_tpr,
        confidence_region=_region(fit.mean, fit.covariance, len(usable), level),
        prediction_region=_region(
            fit.mean, fit.covariance + fit.between, len(usable), level
        ),
        sites=_site_estimates(cuts, level),
        method=method,
        level=level,
        notes=_notes(fit, counts, usable, list(tables), method),
    )


def _read_tables(data: Mapping[Any, Tally], threshold: float | None) -> dict[str, Cut]:
    """Return the cut of each site at the threshold."""
    if not isinstance(data, Mapping) or not data:
        raise InputError(
            "A mapping from site to counts, or data with the column of the sites, is "
            f"needed; found {described(data)}.",
            option="site",
            example="COLUMN",
        )

    cuts = {}
    for name, tally in data.items():
        if not isinstance(tally, Tally):
            raise InputError(
                f"A site must be counts of one classifier; found {described(tally)} "
                f"at {str(name)!r}.",
                option="site",
            )

        refuse(tally, "summary_roc")
        where = verdict_threshold(tally, "sensitivity", threshold)
        cuts[str(name)] = Cut.of(tally, where)

    return cuts


def _has_both_classes(table: Confusion) -> bool:
    """Return whether a 2x2 table has positives and negatives."""
    return bool(table.tp + table.fn > 0 and table.fp + table.tn > 0)


def _study_counts(tables: Sequence[Confusion]) -> StudyCounts:
    """Return the cells of all studies as arrays."""
    return StudyCounts(
        true_positives=np.array([float(table.tp) for table in tables]),
        false_positives=np.array([float(table.fp) for table in tables]),
        false_negatives=np.array([float(table.fn) for table in tables]),
        true_negatives=np.array([float(table.tn) for table in tables]),
    )


def _site_estimates(
    cuts: Mapping[str, Cut], level: float
) -> Mapping[str, tuple[Estimate, Estimate]]:
    """Return sensitivity and specificity of each site, with Wilson's interval."""
    return MappingProxyType(
        {
            name: (
                estimate_at(cut, METRICS["recall"], level),
                estimate_at(cut, METRICS["specificity"], level),
            )
            for name, cut in cuts.items()
        }
    )


def _proportion(fit: BivariateFit, place: int, name: str, level: float) -> Estimate:
    """Return a coordinate of the summary point with its normal interval."""
    position = float(fit.mean[place])
    standard_error = math.sqrt(float(fit.covariance[place, place]))
    # normal on the log odds scale, then back
    half_width = normal_quantile(level) * standard_error
    value = _LOG_ODDS.value(position)

    return estimate_from_interval(
        value,
        _LOG_ODDS.value(position - half_width),
        _LOG_ODDS.value(position + half_width),
        level,
        "wald",
        standard_error / _LOG_ODDS.slope(value),
        name=name,
    )


def _positive_ratio(sensitivity: float, specificity: float) -> tuple[float, Floats]:
    """Return log LR+ and its slopes by the log odds of both."""
    log_ratio = math.log(sensitivity) - math.log(1 - specificity)
    return log_ratio, np.array([1 - sensitivity, specificity])


def _negative_ratio(sensitivity: float, specificity: float) -> tuple[float, Floats]:
    """Return log LR- and its slopes by the log odds of both."""
    log_ratio = math.log(1 - sensitivity) - math.log(specificity)
    return log_ratio, np.array([-sensitivity, specificity - 1])


def _odds_ratio(sensitivity: float, specificity: float) -> tuple[float, Floats]:
    """Return the log odds ratio and its slopes by the log odds of both."""
    log_ratio = _LOG_ODDS.position(sensitivity) + _LOG_ODDS.position(specificity)
    return log_ratio, np.ones(2)


def _log_ratio(fit: BivariateFit, ratio: Any, name: str, level: float) -> Estimate:
    """Return a ratio at the summary point, by the delta method on its logarithm."""
    sensitivity, specificity = _LOG_ODDS.values(fit.mean)
    log_value, slopes = ratio(float(sensitivity), float(specificity))
    standard_error = math.sqrt(float(slopes @ fit.covariance @ slopes))
    half_width = normal_quantile(level) * standard_error
    value = math.exp(log_value)

    return estimate_from_interval(
        value,
        math.exp(log_value - half_width),
        math.exp(log_value + half_width),
        level,
        "wald",
        value * standard_error,
        name=name,
    )


def _region(centre: Floats, covariance: Floats, studies: int, level: float) -> Floats:
    """Return the outline of a region, as false positive rate and sensitivity.

    Harbord et al. (2007), sec. 3.3: an ellipse on the log odds scale, whose radius is
    the root of 2 F with 2 and k - 2 degrees of freedom.
    """
    from scipy.special import fdtri

    radius = math.sqrt(2 * float(fdtri(2, studies - 2, level)))
    angles = np.linspace(0, 2 * math.pi, _OUTLINE_POINTS)
    # the unit circle, stretched by the root of the covariance
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    eigenvalues, eigenvectors = np.linalg.eigh(covariance)
    root = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    outline = _LOG_ODDS.values(centre + radius * circle @ root.T)

    return np.column_stack([1 - outline[:, 1], outline[:, 0]])


def _summary_curve(fit: BivariateFit, counts: StudyCounts) -> tuple[Floats, Floats]:
    """Return the summary ROC curve over the false positive rates of the studies."""
    wrong = counts.wrong[:, 1]
    # over the range of the studies only: beyond, the curve is extrapolated
    rates = wrong / (wrong + counts.correct[:, 1])
    lowest = max(float(rates.min()), 1e-3)
    highest = min(max(float(rates.max()), lowest + 1e-3), 1 - 1e-3)
    fpr = np.linspace(lowest, highest, _CURVE_POINTS)
    return fpr, summary_sensitivity(fit, fpr)


def summary_sensitivity(fit: BivariateFit, fpr: Floats) -> Floats:
    r"""Return the sensitivity of the summary ROC curve at false positive rates.

    Harbord et al. (2007), eqs. (6) to (9), with standard deviations :math:`\sigma_A`
    of logit sensitivity and :math:`\sigma_B` of logit specificity between sites:

    .. math:: \mathrm{logit}\,Se = \Lambda e^{-\beta/2}
              + e^{-\beta}\,\mathrm{logit}\,fpr,
              \quad \beta = \log\frac{\sigma_B}{\sigma_A}
    """
    from scipy.special import logit

    deviation_of_sensitivity, deviation_of_specificity = fit.deviations
    if math.isnan(fit.correlation):
        # where one of both does not vary, the curve has a constant odds ratio
        deviation_of_sensitivity = deviation_of_specificity = 1.0

    ratio = deviation_of_specificity / deviation_of_sensitivity
    accuracy = math.sqrt(ratio) * fit.mean[0] + fit.mean[1] / math.sqrt(ratio)
    return _LOG_ODDS.values(accuracy / math.sqrt(ratio) + logit(fpr) / ratio)


def _notes(
    fit: BivariateFit,
    counts: StudyCounts,
    usable: Sequence[str],
    names: Sequence[str],
    method: str,
) -> tuple[str, ...]:
    """Return notes on what the summary assumes, and where it is uncertain."""
    notes = []
    left_out = [name for name in names if name not in usable]
    if left_out:
        notes.append(f"Left out, because a class has no cases: {listing(left_out)}.")
    if method == "normal" and counts.has_zero_cell:
        notes.append("A cell is empty, so half a case was added to each cell.")
    if not fit.converged:
        notes.append("The likelihood did not converge: do not use these results.")

    if not abs(fit.correlation) < _BOUNDARY:
        notes.append(
            "The estimated correlation between sites is at its boundary: these sites "
            "do not show how sensitivity and specificity vary together."
        )

    if len(usable) < _FEW_STUDIES:
        notes.append(
            f"Fewer than {_FEW_STUDIES} sites: normal intervals of the summary point "
            "may contain the true value less often than their level says."
        )

    return tuple(notes)
