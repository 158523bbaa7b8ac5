"""What explains the differences between sites, and which sites stand out?

Meta-regression on one covariate of the sites, with Knapp and Hartung's tests, and
residuals of each site from a model that was fitted without it.

References
----------
Knapp, Hartung (2003), doi:10.1002/sim.1482; Viechtbauer, Cheung (2010),
doi:10.1002/jrsm.11 (deleted residuals); Raudenbush (2009), The Handbook of Research
Synthesis, ch. 16 (explained variance); Holm (1979), Scand. J. Stat. 6:65
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.words import described, listing
from trueness._core.numbers import p_is, percent
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record
from trueness.comparison.results import holm
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import student_quantile
from trueness.sites.random_effects import RandomEffects, fit_random_effects


@final
@dataclass(frozen=True, repr=False)
class CovariateEffect(Record):
    """Effect of a covariate of the sites, and how much of their differences it
    explains.

    Attributes
    ----------
    covariate : str
        Its name.
    coefficients : mapping from str to Estimate
        On the scale of the model: the slope of a number, or the difference of each
        group from the first.
    p_value : float
        Test of no effect (Knapp and Hartung).
    explained : float
        The proportion of the variance between sites that it explains.
    residual_sd : float
        The standard deviation between sites that it leaves.
    """

    covariate: str
    coefficients: Mapping[str, Estimate]
    p_value: float
    explained: float
    residual_sd: float

    def __repr__(self) -> str:
        """Return the effect in one line, then its coefficients."""
        head = (
            f"{self.covariate}: {p_is(self.p_value)}, explains "
            f"{percent(self.explained)} of the variance between sites"
        )
        return "\n".join(
            [head, *(f"  {estimate}" for estimate in self.coefficients.values())]
        )

    __str__ = __repr__


def covariate_effect(
    model: RandomEffects, name: str, entries: Sequence[object], level: float
) -> CovariateEffect:
    """Return the effect of one covariate, which has an entry for each site."""
    columns = _design_columns(name, entries)
    design = np.column_stack([np.ones(model.values.size), *columns.values()])
    _check_estimable(name, design)
    regression = fit_random_effects(model.values, model.variances, design)

    coefficients = {
        column: _coefficient(regression, place, column, level)
        for place, column in enumerate(columns, start=1)
    }

    return CovariateEffect(
        covariate=name,
        coefficients=coefficients,
        p_value=_p_value_of_covariate(regression),
        explained=_explained_proportion(model, regression),
        residual_sd=math.sqrt(regression.between_variance),
    )


def _design_columns(name: str, entries: Sequence[object]) -> dict[str, Floats]:
    """Return the columns of a covariate: its numbers, or an indicator for each group.

    The first group is the reference and has no column.
    """
    if all(_is_number(entry) for entry in entries):
        return {name: np.array(entries, dtype=np.float64)}

    group_of_site = [str(entry) for entry in entries]
    reference, *others = sorted(set(group_of_site))

    return {
        f"{group} (against {reference})": np.array(
            [float(own_group == group) for own_group in group_of_site]
        )
        for group in others
    }


def _is_number(entry: object) -> bool:
    is_number = isinstance(entry, (int, float, np.integer, np.floating))
    return is_number and not isinstance(entry, bool)


def _check_estimable(name: str, design: Floats) -> None:
    """Raise an error if a covariate is constant, missing, or has too many groups."""
    sites, columns = design.shape

    if not np.isfinite(design).all():
        missing = int((~np.isfinite(design)).any(axis=1).sum())
        raise InputError(
            f"{name} must be known for every site; it is missing for {missing}.",
            option="covariate",
        )

    # a column that others explain, such as a constant one, has no slope
    if columns < 2 or np.linalg.matrix_rank(design) < columns:
        raise InputError(
            f"{name} must differ between sites; it is the same for all.",
            option="covariate",
        )

    if sites - columns < 2:
        raise NotEnoughCases(
            f"{name} takes {columns} coefficients, too many for {sites} sites.",
            option="covariate",
        )


def _coefficient(
    regression: RandomEffects, place: int, name: str, level: float
) -> Estimate:
    """Return a coefficient with its interval by Knapp and Hartung (2003)."""
    value = float(regression.fit.coefficients[place])
    standard_error = math.sqrt(float(regression.covariance[place, place]))
    quantile = student_quantile(regression.degrees_of_freedom, level)
    half_width = quantile * standard_error

    return estimate_from_interval(
        value,
        value - half_width,
        value + half_width,
        level,
        "knapp-hartung",
        standard_error,
        name=name,
    )


def _p_value_of_covariate(regression: RandomEffects) -> float:
    """Return the p-value of Knapp and Hartung's F test of all slopes together."""
    from scipy.special import fdtrc

    slopes = regression.fit.coefficients[1:]
    covariance = regression.covariance[1:, 1:]
    statistic = float(slopes @ np.linalg.solve(covariance, slopes)) / slopes.size
    return float(fdtrc(slopes.size, regression.degrees_of_freedom, statistic))


def _explained_proportion(model: RandomEffects, regression: RandomEffects) -> float:
    """Return the proportion of the variance between sites that a covariate explains."""
    if not model.between_variance > 0:
        return math.nan
    remaining = regression.between_variance / model.between_variance
    return max(0.0, 1 - remaining)


def read_covariate(
    covariate: Mapping[Any, Any] | None, sites: Sequence[str]
) -> tuple[str, list[object]] | None:
    """Return the name of a covariate, and its entries in the order of the sites."""
    if covariate is None:
        return None

    if not isinstance(covariate, Mapping) or not covariate:
        raise InputError(
            "covariate must be a mapping from site to a number or a group; found "
            f"{described(covariate)}.",
            option="covariate",
            example=PythonCode('{"A": 2019, "B": 2021}'),
        )

    name = "covariate"
    by_site: Mapping[object, object] = covariate
    (first_key, first_entry), *others = covariate.items()
    if isinstance(first_entry, Mapping):
        if others:
            raise InputError(
                "Only one covariate is possible; found "
                f"{listing([str(key) for key in covariate])}.",
                option="covariate",
            )
        name = str(first_key)
        by_site = first_entry

    entries = {str(site): entry for site, entry in by_site.items()}
    missing = [site for site in sites if site not in entries]
    if missing:
        raise InputError(
            f"{name} must be known for every site; it is missing for "
            f"{listing(missing)}.",
            option="covariate",
        )

    return name, [entries[site] for site in sites]


@dataclass(frozen=True)
class DeletedResidual:
    """Distance of a site from the prediction of the others.

    Attributes
    ----------
    statistic
        The distance in standard errors.
    p_value
        Of this site, by Student's distribution.
    mean
        Of the other sites.
    """

    statistic: float
    p_value: float
    mean: float


def deleted_residuals(model: RandomEffects) -> list[DeletedResidual]:
    """Return the residual of each site from a model without it.

    Viechtbauer and Cheung (2010), eq. (9), as ``rstudent`` of metafor.
    """
    sites = np.arange(model.values.size)
    return [
        _deleted_residual(model, int(site), sites != site)
        for site in steps(sites, "Leaving out each site", len(sites), "sites")
    ]


def _deleted_residual(
    model: RandomEffects, site: int, others: Array
) -> DeletedResidual:
    """Return the standardised distance of a site from the mean of the others."""
    from scipy.special import stdtr

    without = fit_random_effects(model.values[others], model.variances[others])
    # the error of the site, that between sites, and that of the mean without it
    variance = float(model.variances[site]) + without.between_variance
    variance += float(without.fit.covariance[0, 0])
    statistic = (float(model.values[site]) - without.mean) / math.sqrt(variance)
    p_value = 2 * float(stdtr(without.degrees_of_freedom, -abs(statistic)))

    return DeletedResidual(statistic, p_value, without.mean)


def sites_that_stand_out(
    names: Sequence[str], residuals: Sequence[DeletedResidual], level: float
) -> tuple[str, ...]:
    """Return the outlying sites, adjusted for multiple comparisons (Holm)."""
    adjusted = holm([residual.p_value for residual in residuals])
    return tuple(
        name
        for name, p_value in zip(names, adjusted, strict=True)
        if p_value < 1 - level
    )
