r"""What is the most likely answer, without a prior?

Maximum likelihood by EM on patterns (Dawid, Skene 1979, doi:10.2307/2346806), from many
starts, finished by a quasi-Newton search, with standard errors from the observed
information and intervals from the profile likelihood (``profile``), which exist also
where the maximum lies on the edge or is not unique. For those who want it, and as a
check of the posterior.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import chdtrc, expit

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotConverged
from trueness._core.numbers import p_is
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_panel
from trueness.nogold.identifiability import degrees_of_freedom
from trueness.nogold.model import (
    Independent,
    LatentRates,
    Patterns,
    by_name,
    read_patterns,
    read_prior,
)
from trueness.nogold.profile import LIMIT, climb, gradient, intervals

STARTS, STEPS = 40, 200
TINY = 1e-9  # of a case, added to each side of a share that may have none
# logits at which a parameter is said to lie on the edge, where there is no error
EDGE = 12.0
SIZE = 0.05  # of the test of the fit


@final
@dataclass(frozen=True, repr=False)
class LatentMaximum(Record):
    """The parameters under which the votes are most likely.

    Attributes
    ----------
    prevalence : Estimate, or mapping from population to Estimate
        With profile likelihood intervals; sd is the standard error, NaN at 0, 1 or
        where the model is not identified.
    sensitivity, specificity : mapping from name to Estimate
        Sensitivity and specificity of each classifier.
    log_likelihood : float
        Log-likelihood at the maximum (without the multinomial constant).
    deviance : float
        G^2: twice the difference in log-likelihood from the saturated model.
    degrees_of_freedom : int
        Of the deviance.
    identified : bool
        Whether the data can determine all parameters.
    converged : bool
        Whether the maximum was reached.
    notes : tuple of str
        What has no standard error, and how to read its interval.
    """

    prevalence: Any
    sensitivity: Mapping[str, Estimate]
    specificity: Mapping[str, Estimate]
    log_likelihood: float
    deviance: float
    degrees_of_freedom: int
    identified: bool
    converged: bool
    notes: tuple[str, ...] = ()


@of_panel(weights="Its likelihood is that of independent cases.")
def latent_maximum(
    panel: Any, *, level: float = 0.95, rng: int | np.random.Generator | None = 0
) -> LatentMaximum:
    """Which sensitivities, specificities and prevalence make the votes most likely?

    Parameters
    ----------
    panel
        As for :func:`trueness.latent_class`.
    level
        Confidence level of the intervals.
    rng
        Seed or generator for the starting points.

    Returns
    -------
    LatentMaximum
        With standard errors, deviance and degrees of freedom. Of the two mirrored
        maxima the one is given whose classifiers are, taken together, better than
        chance.

    References
    ----------
    Dawid, Skene 1979, J. R. Stat. Soc. C 28:20, doi:10.2307/2346806.
    Hui, Walter 1980, Biometrics 36:167, doi:10.2307/2530508.
    Venzon, Moolgavkar 1988, Appl. Stat. 37:87, doi:10.2307/2347496.
    """
    patterns = read_patterns(panel)
    level = _options.fraction(level, "level")
    model = Independent(patterns, read_prior(None, patterns, ordered=False))
    theta, converged = highest(model, _options.generator(rng))
    if not converged:
        warnings.warn("latent_maximum did not converge.", NotConverged, stacklevel=2)
    free, parameters, rank = degrees_of_freedom(patterns)
    identified = rank >= parameters
    error = _errors(model, theta) if identified else np.full(theta.size, np.nan)
    value = float(model.log_likelihood(theta[None])[0])
    ends = intervals(model, theta, error, level)
    # of a model that fits any table only rounding is left, on either side of 0
    deviance = max(2 * (_saturated(patterns) - value), 0.0)
    notes = _remarks(model, theta, error, identified) + _fit(
        deviance, free - parameters
    )
    return LatentMaximum(
        *_estimates(patterns, theta, error, ends, level),
        value,
        deviance,
        max(free - parameters, 0),
        identified,
        converged,
        notes,
    )


def _remarks(
    model: Independent, theta: Floats, error: Floats, identified: bool
) -> tuple[str, ...]:
    """Say how to read the intervals where there are no standard errors."""
    if not identified:
        return (
            "The data cannot determine all parameters: other values are equally "
            "likely, and the one given is any of them. The intervals hold all values "
            "that these votes allow. More tests or another population would help.",
        )
    edge = np.abs(theta) >= EDGE
    out = []
    if edge.any():
        names = ", ".join(n for n, e in zip(model.labels, edge, strict=True) if e)
        out.append(
            f"The most likely value of {names} is 0 or 1, where there is no standard "
            "error; the interval is one-sided."
        )
    if (np.isnan(error) & ~edge).any():
        out.append(
            "The likelihood is flat at its maximum, so there are no standard errors; "
            "the intervals hold all values that these votes allow."
        )
    return tuple(out)


def _fit(deviance: float, free: int) -> tuple[str, ...]:
    """Say whether the votes agree with independent errors, where they can tell."""
    instead = "latent_class fits models with shared errors"
    if free <= 0:
        return (
            "Errors are assumed to be independent, and these votes cannot show whether "
            f"they are; {instead}.",
        )
    p = float(chdtrc(free, deviance))
    if p > SIZE:
        return ()
    return (
        f"The votes contradict independent errors (deviance {deviance:.1f} on {free} "
        f"degrees of freedom, {p_is(p)}), on which these estimates rest; {instead}.",
    )


def highest(model: Independent, rng: np.random.Generator) -> tuple[Floats, bool]:
    """Search the maximum from many starts; give its logits, and whether it is one."""
    theta = _climb(model, model.prior_draws(STARTS, rng))
    return _polish(model, _upright(theta, model))


def _climb(model: Independent, theta: Floats) -> Floats:
    """Take EM steps from all starts at once; give the highest end."""
    for _ in range(STEPS):
        theta = em_step(model, theta, 1e-7)
    return np.asarray(theta[model.log_likelihood(theta).argmax()])


def em_step(model: Independent, theta: Floats, edge: float) -> Floats:
    """Share out the cases by their expected class, and take the shares of votes.

    No rate is nearer to 0 or 1 than ``edge``.
    """
    hidden = model.patterns.unknown * model.latent_share(theta)
    yes, no = model.patterns.completed(hidden)
    share = ((y + TINY) / (y + n + 2 * TINY) for y, n in zip(yes, no, strict=True))
    return model.coordinates(LatentRates(*(np.clip(s, edge, 1 - edge) for s in share)))


def _upright(theta: Floats, model: Independent) -> Floats:
    """Swap the classes when the classifiers are worse than chance together."""
    f, u, w = (part[0] for part in model.split(theta[None]))
    labels = model.patterns.pos.any() or model.patterns.neg.any()
    if labels or (expit(u) - expit(w)).sum() >= 0:
        return theta
    return np.concatenate([-f, w, u])


def _polish(model: Independent, theta: Floats) -> tuple[Floats, bool]:
    """Finish by a quasi-Newton search; say whether the slope vanishes there."""
    theta = climb(model, theta)
    inside = np.abs(theta) < LIMIT  # at the limit of the search the slope may be any
    slope = np.abs(gradient(model, theta[None])[0][inside]).max(initial=0.0)
    return theta, bool(slope < 1e-6 * model.patterns.total.sum())


def _errors(model: Independent, theta: Floats) -> Floats:
    """Give standard errors on the logit scale; NaN on the edge."""
    inside = np.abs(theta) < EDGE
    step = 1e-4 * np.eye(theta.size)
    slopes = gradient(model, theta + step) - gradient(model, theta - step)
    information = -(slopes + slopes.T) / 4e-4
    part = information[np.ix_(inside, inside)]
    out = np.full(theta.size, np.nan)
    if inside.any() and np.linalg.eigvalsh(part).min() > 0:
        out[inside] = np.sqrt(np.diag(np.linalg.inv(part)))
    return out


def _saturated(patterns: Patterns) -> float:
    """Give the log likelihood of the table itself, by population and tests run."""
    total = 0.0
    for s in range(len(patterns.populations)):
        for design in np.unique(patterns.design):
            at = patterns.design == design
            labelled = [patterns.pos[s, at], patterns.neg[s, at]]
            for count in (patterns.unknown[s, at], np.concatenate(labelled)):
                some = count[count > 0]
                total += float((some * np.log(some / some.sum())).sum())
    return total


def _estimates(
    patterns: Patterns,
    theta: Floats,
    error: Floats,
    ends: tuple[Floats, Floats],
    level: float,
) -> tuple[Any, Mapping[str, Estimate], Mapping[str, Estimate]]:
    turn = np.ones(theta.size)
    turn[-len(patterns.names) :] = -1  # specificity is 1 - beta
    value = expit(turn * theta)
    low, high = np.sort([expit(turn * end) for end in ends], axis=0)
    sd = value * (1 - value) * error
    each = [
        Estimate(float(v), float(lo), float(hi), level, "profile likelihood", float(e))
        for v, lo, hi, e in zip(value, low, high, sd, strict=True)
    ]
    return by_name(patterns, each)
