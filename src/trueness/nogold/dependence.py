"""Do classifiers err together?

``conditional_dependence`` asks it of each pair, in two ways: whether their votes are
as correlated as the fitted model says (a posterior predictive check), and whether the
fit would improve if the pair could err together (a score test). A model in which
classifiers may err together is ``latent_class(panel, dependence="random effect")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.records import Record
from trueness.comparison.results import holm
from trueness.nogold import _checks as _votes
from trueness.nogold import pair_tests as _pair_tests
from trueness.nogold.copies import Copied
from trueness.nogold.identifiability import degrees_of_freedom
from trueness.nogold.model import Independent
from trueness.nogold.posterior import LatentPosterior

Rng = np.random.Generator
DRAWS = 4000  # of the posterior, for the predictive check
FOUR = np.array([(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])  # votes of a pair


@final
@dataclass(frozen=True, repr=False)
class Dependence(Record):
    """Do classifiers agree more than the model explains? One entry per pair.

    Attributes
    ----------
    first, second : array of str
        The pair.
    observed : array
        Correlation of their votes.
    expected : array
        The correlation that the model predicts, as a posterior mean.
    residual : array
        The difference: above 0 they agree more than the model can explain.
    p_value : array
        p-value of the posterior predictive check of the residual, two-sided.
    score_p_value : array
        p-value of the score test for a covariance of the pair in either class. NaN
        where no table could show a covariance, after a fit with dependence, and for
        more than ten classifiers.
    note : str
        Whether the check can detect dependence at all.
    adjusted_p_value : array
        p-value of each pair, adjusted for the number of pairs: by the largest score of
        all pairs, or by Holm's method where there is no score.
    overall_p_value : float
        p-value of one test of whether any classifiers make the same errors; a small
        value means that the model without dependence does not hold. NaN where
        dependence cannot be detected.
    """

    first: Array
    second: Array
    observed: Floats
    expected: Floats
    residual: Floats
    p_value: Floats
    score_p_value: Floats
    note: str
    adjusted_p_value: Floats
    overall_p_value: float


def conditional_dependence(
    post: LatentPosterior,
    *,
    replicates: int = 499,
    rng: int | np.random.Generator | None = 0,
) -> Dependence:
    r"""Do two classifiers make the same errors more often than the model explains?

    Let r be the correlation of the votes of a pair, and r(theta) what the model
    expects. Tables are simulated from draws of the posterior and fitted again. With a
    star for simulated values, the posterior predictive p-value is

    .. math:: P\bigl(|r^* - r(\hat\theta^*)| \ge |r - r(\hat\theta)| \mid
       \text{votes}\bigr).

    The score test widens the model by a covariance of the pair in positives and one in
    negatives, and asks how steeply the likelihood rises there, in the same tables. The
    sum of all scores and the deviance of the whole table make one overall test; look at
    single pairs where that is small.

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`. Where that replaced the model of independent
        errors automatically, the fit with independent errors is checked.
    replicates
        Number of tables that are simulated and fitted again.
    rng
        A seed or a NumPy generator.

    Returns
    -------
    Dependence
        With correlation, residual and p-values of every pair, and one overall.

    Notes
    -----
    Fitting makes residuals smaller, even those that are only noise; without a fit to
    each simulated table the p-value would hardly ever be small. The fit is left out
    only where it is not possible: after a fit with dependence, for more than ten
    classifiers, and for pairs whose dependence no table could show. There the
    discrepancy is realised (Gelman, Meng, Stern), r* - r(theta) against r - r(theta),
    and p is conservative.

    A model with as many parameters as degrees of freedom (three classifiers in one
    population) fits any table, and no check can detect dependence: ``note`` says so.
    With four classifiers in one population the score test of a pair is that of the
    other two as well: the table cannot show which of them make the same errors.

    References
    ----------
    Gelman, Meng, Stern 1996, Stat. Sinica 6:733 (realised discrepancies).
    Qu, Tan, Kutner 1996, Biometrics 52:797, doi:10.2307/2533043 (correlation residual).
    Dendukuri, Joseph 2001, Biometrics 57:158, doi:10.1111/j.0006-341X.2001.00158.x.
    Westfall, Young 1993, Resampling-Based Multiple Testing (the adjustment).
    """
    _votes.latent_posterior(post, "conditional_dependence")
    replicates = _options.whole_number(replicates, "replicates", at_least=19)
    rng = _options.generator(rng)
    post = post.independent  # the question is whether independent errors suffice
    model, flat = post.model, post.flat
    if isinstance(model, Copied):  # as if copies were independent: that is the question
        model = Independent(model.patterns, model.prior)
    few = isinstance(model, Independent) and len(post.names) <= _pair_tests.MOST_SCORED
    at = np.linspace(0, len(flat["sensitivity"]) - 1, DRAWS).astype(int)
    flat = {k: v[at] for k, v in flat.items()}
    rows = [
        _predictive(model, flat, i, j, rng)
        for i, j in combinations(range(len(post.names)), 2)
    ]
    pairs = np.array(list(combinations(post.names, 2)))
    seen, mean, p = np.array(rows).T
    note, score = _power(post), np.full(p.shape, np.nan)
    adjusted = np.array(holm(p.tolist()))
    overall = float(adjusted.min())
    if few:
        draws = _pair_tests.from_posterior(flat, replicates, rng)
        fit = _pair_tests.most_likely(model.patterns)
        table = _pair_tests.complete(model.patterns)
        found = _pair_tests.p_values(fit, draws, table, rng)
        score, adjusted, overall = found.score, found.adjusted, found.overall
        p = np.where(np.isnan(found.residual), p, found.residual)
    return Dependence(
        *(pairs[:, 0], pairs[:, 1], seen, mean, seen - mean, p, score),
        note,
        adjusted,
        overall,
    )


def _power(post: LatentPosterior) -> str:
    free, parameters, _ = degrees_of_freedom(post.model.patterns)
    parameters += post.model.extra
    if free > parameters:
        return "The table has degrees of freedom left that can show dependence."
    return (
        f"The model has {parameters} parameters for {free} degrees of freedom: it fits "
        f"any table, so dependence cannot show here."
    )


def _predictive(
    model: Any, flat: Mapping[str, Floats], i: int, j: int, rng: Rng
) -> tuple[float, float, float]:
    """Give the observed and the mean expected correlation of a pair, and p."""
    patterns = model.patterns
    rows = np.full((4, len(patterns.names)), np.nan)
    rows[:, [i, j]] = FOUR
    a, b = model.class_probabilities(flat, rows)
    both = ~np.isnan(patterns.rows[:, [i, j]]).any(axis=1)
    where = 2 * (patterns.rows[both, i] == 0) + (patterns.rows[both, j] == 0)
    table = np.zeros(4)
    new, mean = np.zeros((2, len(a), 4))
    for s in range(len(patterns.populations)):
        phi = flat["prevalence"][:, [s]]
        kinds = (
            (patterns.unknown[s, both], phi * a + (1 - phi) * b),
            (patterns.pos[s, both], a),
            (patterns.neg[s, both], b),
        )
        for count, p in kinds:
            table += np.bincount(where, count, minlength=4)
            p = p / p.sum(axis=1, keepdims=True)
            new += rng.multinomial(int(count.sum()), p)
            mean += count.sum() * p
    seen, expected = float(_correlation(table[None])[0]), _correlation(mean)
    beyond = np.abs(_correlation(new) - expected) >= np.abs(seen - expected)
    return seen, float(expected.mean()), float(beyond.mean())


def _correlation(table: Floats) -> Floats:
    """Give the correlation of two votes from counts (n, 4); 0 if one is constant."""
    return _pair_tests.correlations(table[:, None], FOUR)[:, 0]
