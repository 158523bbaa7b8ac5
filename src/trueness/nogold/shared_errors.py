r"""Do the errors go together, and what would change if they did?

``check`` runs after every fit that assumes independent errors: one overall test of all
pairs (``pair_tests``), or the words that no table could show it. ``sensitivity`` fits
again with a random effect whose spread is given, so that the errors of two classifiers
correlate by as much as is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from trueness._core.arrays import Floats
from trueness._core.numbers import p_is
from trueness._core.records import Record
from trueness.nogold import pair_tests as _pairs
from trueness.nogold.dependent import Dependent, log_normal
from trueness.nogold.identifiability import degrees_of_freedom
from trueness.nogold.model import Independent
from trueness.nogold.random_effect import RandomEffect, spread_of

Rng = np.random.Generator
# tables drawn first, and more of them where those leave a doubt
FIRST, MORE = 59, 240
DOUBT, SIZE = 0.25, 0.05
# correlations of errors that would matter, in positives and in negatives, and the log
# likelihood by which the votes must be less likely for them to be ruled out: half the
# 95 % point of chi-square with one degree of freedom
TRIED = {
    "by 0.2": (0.2, 0.2),
    "by 0.4": (0.4, 0.4),
    "by 0.4 in positives": (0.4, 0.0),
    "by 0.4 in negatives": (0.0, 0.4),
}
LOST = 1.92


class SharedErrors(NamedTuple):
    """What the check says."""

    seen: bool  # whether it could see anything
    p_value: float
    note: str


def check(model: Independent, flat: Mapping[str, Floats], rng: Rng) -> SharedErrors:
    """Do the votes contradict independent errors? One overall test."""
    patterns = model.patterns
    names = len(patterns.names)
    free, parameters, _ = degrees_of_freedom(patterns)
    if free <= parameters:
        return SharedErrors(
            False, np.nan, UNSEEN.format(parameters=parameters, free=free)
        )
    if names > _pairs.MOST_SCORED:
        return SharedErrors(False, np.nan, TOO_MANY.format(names=names))
    fit, table, p = _pairs.most_likely(patterns), _pairs.complete(patterns), np.nan
    for replicates in (FIRST, MORE):
        draws = _pairs.from_posterior(flat, replicates, rng)
        p = _pairs.p_values(fit, draws, table, rng).overall
        if not p <= DOUBT:
            break
    if np.isnan(p):
        return SharedErrors(False, p, UNSEEN.format(parameters=parameters, free=free))
    return SharedErrors(True, p, TOGETHER.format(p=p_is(p)) if p <= SIZE else "")


UNSEEN = (
    "Errors are assumed to be independent, and these votes cannot show whether they "
    "are ({parameters} parameters, {free} degrees of freedom). If classifiers share "
    "errors, rate and accuracies are wrong; sensitivity_to_dependence() of "
    "trueness.latent_class(votes) shows by how much."
)
TOO_MANY = (
    "Errors are assumed to be independent; that is not checked for {names} classifiers."
)
TOGETHER = (
    "The classifiers make the same errors ({p}): the votes contradict "
    "independent errors. "
)
NO_LABELS = (
    "These votes alone do not determine prevalence and accuracies: models of shared "
    "errors fit them about equally well and differ in their answers. Label some "
    "cases: then trueness.prevalence and latent_class learn the errors from them."
)


def undecided(model: Any, flat: Mapping[str, Floats], p_value: float) -> str:
    """Say that shared errors explain the votes as well, where they do.

    A test that does not reject shows little with few cases. Here correlations of the
    errors are tried that would matter: one is possible where the votes are not less
    likely by more than a likelihood ratio test of level 0.05 allows.
    """
    if not model.patterns.unknown.any():  # with all labels nothing rests on it
        return ""
    found = _given(model, flat, ((0.0, 0.0), *TRIED.values()))
    best = 1 + int(found.log_posterior[1:].argmax())
    if found.log_posterior[0] - found.log_posterior[best] >= LOST:
        return ""
    name = model.patterns.names[0]
    return UNDECIDED.format(
        p=p_is(p_value),
        correlation=list(TRIED)[best - 1],
        phi=found.prevalence[best],
        phi_0=found.prevalence[0],
        name=name,
        sens=found.sensitivity[name][best],
        sens_0=found.sensitivity[name][0],
    )


UNDECIDED = (
    "Errors are assumed to be independent. The votes do not contradict that "
    "({p}), but they agree as well with errors that correlate {correlation}, "
    "where the prevalence would be {phi:.2f} instead of {phi_0:.2f} and the "
    "sensitivity of {name} {sens:.2f} instead of {sens_0:.2f}: these votes cannot "
    "tell. Label some cases; sensitivity_to_dependence() of latent_class shows all "
    "parameters."
)


def chosen_note(
    found: SharedErrors,
    best: str,
    gain: float,
    error: float,
    tried: Mapping[str, Any],
    chosen: Any,
) -> str:
    """Say which model was chosen and what it changed."""
    name = next(iter(chosen.sensitivity))
    before, after = (_intervals(p, name) for p in (tried["none"], chosen))
    others = ", ".join(
        f"{word} {_intervals(post, name, 2)[0]}"
        for word, post in tried.items()
        if word != "none"
    )
    what = (
        "None of three models of shared errors predicts the votes better, so the one "
        "with independent errors is reported. "
        if best == "none"
        else f'Reported is the model with dependence="{best}", which predicts them '
        f"best: expected log density {gain:.1f} above that of independent errors "
        f"(standard error {error:.1f}). It moves the prevalence from {before[0]} to "
        f"{after[0]}, and the sensitivity of {name} from {before[1]} to {after[1]}. "
    )
    return (
        TOGETHER.format(p=p_is(found.p_value))
        + what
        + f"Prevalence by each of them: {others}. "
        + NO_LABELS
    )


def by_labels_note(found: SharedErrors, before: Any, after: Any) -> str:
    """Say that the labels were asked, why, and what it changed."""
    name = next(iter(after.sensitivity))
    a, b = _intervals(before, name), _intervals(after, name)
    doubt = "cast doubt on" if found.p_value <= DOUBT else "hardly tell shared from"
    why = (
        f"The votes {doubt} independent errors ({p_is(found.p_value)})"
        if np.isfinite(found.p_value)
        else "Nothing can show here whether errors are independent"
    )
    return (
        f"{why}, so rate and accuracies come from the labels, which are assumed to be "
        "of cases chosen at random or by their votes; nothing is assumed about the "
        "errors of the classifiers. Independent errors would give a prevalence of "
        f"{a[0]} instead of {b[0]}, and {name} a sensitivity of {a[1]} instead of "
        f"{b[1]}."
    )


def _intervals(post: Any, name: str, digits: int = 3) -> list[str]:
    """Write the prevalence, of the first population, and a sensitivity."""
    phi = post.prevalence
    first = phi if hasattr(phi, "low") else next(iter(phi.values()))
    return [
        f"{e.value:.{digits}f} ({e.low:.{digits}f} to {e.high:.{digits}f})"
        for e in (first, post.sensitivity[name])
    ]


@final
@dataclass(frozen=True, repr=False)
class DependenceSensitivity(Record):
    """What would be found if errors were correlated? One entry per correlation.

    Attributes
    ----------
    correlation : array
        Of the errors of two classifiers.
    prevalence : array
        The most probable rate; of the first population, if there are several.
    sensitivity, specificity : mapping from name to array
        Of each classifier.
    log_posterior : array
        How well that agrees with the votes: a difference of 3 is much.
    """

    correlation: Floats
    prevalence: Floats
    sensitivity: Mapping[str, Floats]
    specificity: Mapping[str, Floats]
    log_posterior: Floats


def sensitivity(
    model: Any, flat: Mapping[str, Floats], correlations: Sequence[float]
) -> DependenceSensitivity:
    """Find the most probable answer for each correlation of the errors."""
    return _given(model, flat, [(r, r) for r in correlations])


def _given(
    model: Any, flat: Mapping[str, Floats], pairs: Sequence[tuple[float, float]]
) -> DependenceSensitivity:
    """Find the most probable answer for correlations in positives and negatives.

    Each search starts where the one before ended: answers move on as errors correlate.
    """
    wide = Dependent(model.patterns, model.prior, RandomEffect())
    accuracy = flat["sensitivity"].mean(), flat["specificity"].mean()
    start = _start(wide, flat)
    rows, height = [], []
    for pair in pairs:
        spread = [spread_of(float(a), r) for a, r in zip(accuracy, pair, strict=True)]
        start, value = _most_probable(wide, start, np.array(spread))
        rows.append(start)
        height.append(value)
    found = wide.base.natural(wide.logits(np.array(rows)))
    names = model.patterns.names
    return DependenceSensitivity(
        np.max(np.asarray(pairs, np.float64), axis=1),
        found["prevalence"][:, 0],
        {n: found["sensitivity"][:, k] for k, n in enumerate(names)},
        {n: found["specificity"][:, k] for k, n in enumerate(names)},
        np.array(height),
    )


def _start(wide: Dependent, flat: Mapping[str, Floats]) -> Floats:
    """Begin at the posterior means, in the coordinates of the model."""
    alpha, beta = flat["sensitivity"].mean(axis=0), 1 - flat["specificity"].mean(axis=0)
    last = beta / alpha if wide.prior.ordered else beta
    value = np.concatenate([flat["prevalence"].mean(axis=0), alpha, last])
    return np.asarray(ndtri(np.clip(value, 0.001, 0.999)))


def _most_probable(
    wide: Dependent, start: Floats, spread: Floats
) -> tuple[Floats, float]:
    """Climb the posterior in all but the spread; many points at once for the slope."""
    extra = wide.kind.coordinates(spread)  # type: ignore[attr-defined]
    step = 1e-5 * np.eye(start.size)

    def down(v: Floats) -> tuple[float, Floats]:
        # central differences in one call: the model takes many points at once
        points = np.vstack([v, v + step, v - step])
        theta = np.hstack([points, np.tile(extra, (len(points), 1))])
        prior, likelihood = wide.log_densities(theta)
        # the spread is given, so its own prior says nothing about how well it fits
        value = likelihood + prior - log_normal(theta[:, start.size :])
        half = 1 + start.size
        return -float(value[0]), -(value[1:half] - value[half:]) / 2e-5

    bounds = [(-6.0, 6.0)] * start.size
    found: Any = minimize(down, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x), -float(found.fun)
