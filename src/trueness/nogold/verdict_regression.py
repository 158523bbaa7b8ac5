"""What is the truth given the verdicts, by the cases whose label is known?

Logistic regression of the label on the verdicts is a working model, right however
judges err (docs/maths/judges.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from trueness._core.arrays import Floats
from trueness._core.progress import stop_if_requested
from trueness.nogold.particles import effective_number, resample
from trueness.nogold.verdicts import DRAWS, SLOPE_SD, Verdicts, one_verdict

Rng = np.random.Generator
DEGREES_OF_FREEDOM = 5.0  # of the proposals
PROPOSALS_PER_DRAW = 4
MAX_NEWTON_STEPS = 100
# cases of each class that the prior adds: to each of several groups, to all cases, and
# to all cases where a class has no label
PRIOR_CASES_PER_GROUP = 1 / 3
PRIOR_CASES = 0.5
PRIOR_CASES_OF_UNLABELLED_CLASS = 1.0
ENOUGH_LABELS = 10.0  # of the rarer class: their residuals count as much as the formula
LEAST_RESIDUAL = 0.5  # proportion of a residual that fitting is taken to leave
# cases of its group by which the labelled fraction of a pattern is shrunk
WEIGHT_OF_GROUP_FRACTION = 30.0
LABELLED_FRACTION_SD = 0.5  # of its slope a priori, for a standard deviation of it


class PenalizedData(NamedTuple):
    """Rows of a logistic regression, with the cases and the penalty of its prior."""

    rows: Floats  # (m, k + 1), with an intercept
    pos: Floats  # (m,)
    neg: Floats
    penalty: Floats  # (k + 1,), 1 / variance of each slope a priori


class JointProportions(NamedTuple):
    """Draws of which proportion of all cases shows each pattern and is of a class."""

    positive: Floats  # (draws, patterns)
    negative: Floats
    effective: float  # effective number of independent draws of the truth


def regressors_by_design(verdicts: Verdicts, labelled: str) -> Verdicts:
    """Describe the verdicts for a regression that allows for how cases were chosen.

    Where that depends on the verdicts, cases with a majority of yes and of no have
    intercepts of their own: nothing pulls the odds of one group, often large and nearly
    pure, towards those of the other. How often each pattern was labelled within its
    group is a regressor.
    """
    known = verdicts.pos + verdicts.neg
    total = verdicts.total
    if labelled == "random" or (known == total).all():
        return verdicts

    # one column for each majority, no and yes
    group = np.column_stack([~verdicts.yes, verdicts.yes]).astype(float)
    group = group[:, total @ group > 0]
    cases = total @ group
    groups = group.shape[1]

    # the first columns tell the groups apart; the prior adds cases to each of them
    indicator = np.eye(groups)[:, 1:] - (cases / cases.sum())[1:]
    centered = _center_within(verdicts.regressors, group, total)
    fraction = _labelled_fraction(known, group, total)
    regressors = np.hstack([group @ indicator, centered, fraction])

    others = regressors.shape[1] - indicator.shape[1]
    prior_rows = np.hstack([indicator, np.zeros((groups, others))])
    slope_sd = np.r_[
        np.full(groups - 1, np.inf),
        np.full(verdicts.regressors.shape[1], SLOPE_SD),
        LABELLED_FRACTION_SD,
    ]

    varies = np.abs(regressors).max(axis=0) > 1e-9
    return verdicts._replace(
        regressors=regressors[:, varies],
        prior_rows=prior_rows[:, varies],
        slope_sd=slope_sd[varies],
    )


def _center_within(columns: Floats, group: Floats, total: Floats) -> Floats:
    """Subtract the mean of the group of each row; groups are columns of 0 and 1."""
    cases = total @ group
    # (groups, columns)
    mean = (group.T * total) @ columns / cases[:, None]
    return np.asarray(columns - group @ mean)


def _labelled_fraction(known: Floats, group: Floats, total: Floats) -> Floats:
    """Return how often each pattern was labelled, standardised in groups, (m, 1)."""
    cases = total @ group
    # the fraction of each group with a label, with half a case added
    fraction_of_group = group @ ((known @ group + 0.5) / (cases + 1))
    # each pattern is drawn towards its group, so that no logarithm is of 0
    labels = known + WEIGHT_OF_GROUP_FRACTION * fraction_of_group
    fraction = np.log(labels / (total + WEIGHT_OF_GROUP_FRACTION))[:, None]

    centered = _center_within(fraction, group, total)
    sd = float(np.sqrt(total @ centered**2 / cases.sum())[0])
    return np.asarray(centered / max(sd, 1e-9))


def draw_joint_proportions(
    data: Verdicts, rng: Rng, draws: int = DRAWS
) -> JointProportions:
    """Draw the proportions of all cases with each pattern and each truth.

    Importance sampling of the regression, and the Bayesian bootstrap of the patterns.
    """
    has_label = data.pos + data.neg > 0
    labelled = data._replace(
        regressors=data.regressors[has_label],
        pos=data.pos[has_label],
        neg=data.neg[has_label],
    )
    mode, information = mode_and_information(labelled)

    # information = L L', so L'^-1 z has its inverse as covariance: normal around the
    # mode, stretched to Student t, whose tails are heavier than those of the posterior
    factor = np.linalg.inv(np.linalg.cholesky(information)).T
    proposals = PROPOSALS_PER_DRAW * draws
    z = rng.standard_normal((proposals, mode.size))
    chi_square = rng.chisquare(DEGREES_OF_FREEDOM, proposals)
    z *= np.sqrt(DEGREES_OF_FREEDOM / chi_square)[:, None]
    coefficients = mode + z @ factor.T

    # the t density depends on the distance in units of the information only
    exponent = -(DEGREES_OF_FREEDOM + mode.size) / 2
    log_proposal = exponent * np.log1p((z**2).sum(axis=1) / DEGREES_OF_FREEDOM)
    log_weight = _log_posterior(coefficients, _add_prior(labelled)) - log_proposal
    resampled = rng.permutation(resample(log_weight, draws, rng))
    stretch = _robust_stretch(labelled, mode, information)
    coefficients = mode + (coefficients[resampled] - mode) @ stretch.T

    # the proportion of each pattern in the population, by the Bayesian bootstrap:
    # normalised gamma variables are a Dirichlet draw (Rubin 1981)
    gamma = rng.standard_gamma(data.total, (draws, len(data.regressors)))
    proportion = gamma / gamma.sum(axis=1, keepdims=True)
    probability = probabilities(coefficients, data.regressors)

    return JointProportions(
        positive=proportion * probability,
        negative=proportion * (1 - probability),
        effective=effective_number(log_weight),
    )


def _robust_stretch(data: Verdicts, mode: Floats, information: Floats) -> Floats:
    """Return the matrix that gives deviations from the mode the variance of a sandwich.

    That of the sandwich (HC3 of MacKinnon, White 1985), mixed with the information
    where a group has few labels of a class: by luck its residuals are then too small.
    One verdict has a proportion of its own for yes and for no: the formula cannot be
    wrong.
    """
    if data.regressors.shape[1] < 2:
        return np.eye(mode.size)

    rows = np.column_stack([np.ones(len(data.regressors)), data.regressors])
    p = expit(rows @ mode)
    inverse = np.linalg.inv(information)

    # HC3: a residual over 1 - leverage is that of a fit without the case
    leverage = p * (1 - p) * np.einsum("ij,jk,ik->i", rows, inverse, rows)
    residual_left = np.maximum(1 - leverage, LEAST_RESIDUAL)
    squared_residuals = data.pos * (1 - p) ** 2 + data.neg * p**2

    observed_variance = squared_residuals / residual_left**2
    assumed_variance = (data.pos + data.neg) * p * (1 - p)
    excess = observed_variance - assumed_variance
    trusted_excess = _trust_in_residuals(data) * excess
    middle = information + (rows * trusted_excess[:, None]).T @ rows

    # deviations are L'^-1 u with I = L L' and u of unit variance; those of the result
    # are I^-1 C u with M = C C'
    information_root = np.linalg.cholesky(information)
    middle_root = np.linalg.cholesky(middle)
    return np.asarray(inverse @ middle_root @ information_root.T)


def _trust_in_residuals(data: Verdicts) -> Floats:
    """Return how far residuals are trusted, 0 to 1, by the labels of a group."""
    # a group is told by the first regressor; a single one holds all cases
    group = np.abs(data.regressors[:, :1] - data.prior_rows[:, 0]) < 1e-9
    group |= len(data.prior_rows) == 1
    labels_of_rarer = np.minimum(data.pos @ group, data.neg @ group)
    return np.asarray(group @ (labels_of_rarer / (labels_of_rarer + ENOUGH_LABELS)))


def probabilities(coefficients: Floats, regressors: Floats) -> Floats:
    """Return P(+ | x) of each row in each draw of the coefficients, (draws, rows)."""
    intercept = coefficients[:, :1]
    return np.asarray(expit(intercept + coefficients[:, 1:] @ regressors.T))


def _add_prior(data: Verdicts) -> PenalizedData:
    """Return rows with an intercept, and the cases and the penalty of the prior.

    The prior adds half a case of each class at the mean, as Jeffreys does for a
    proportion, and a whole case of a class without a label, where his interval ends too
    early (Brown, Cai, DasGupta 2001, doi:10.1214/ss/1009213286, section 4.1.3). Of
    several groups each gets a third of a case (Kerman 2011): halves would add up.
    """
    groups = len(data.prior_rows)
    regressors = np.vstack([data.regressors, data.prior_rows])
    return PenalizedData(
        rows=np.column_stack([np.ones(len(regressors)), regressors]),
        pos=np.r_[data.pos, np.full(groups, _prior_cases(data.pos, groups))],
        neg=np.r_[data.neg, np.full(groups, _prior_cases(data.neg, groups))],
        penalty=np.r_[0.0, data.slope_sd**-2.0],
    )


def _prior_cases(labels: Floats, groups: int) -> float:
    """Return how many cases of a class the prior adds to each group."""
    if groups > 1:
        return PRIOR_CASES_PER_GROUP
    return PRIOR_CASES if labels.any() else PRIOR_CASES_OF_UNLABELLED_CLASS


def mode_and_information(verdicts: Verdicts) -> tuple[Floats, Floats]:
    """Return mode and information, by Newton's steps, halved while they lead down."""
    data = _add_prior(verdicts)
    rows, pos, neg, penalty = data

    mode = np.zeros(rows.shape[1])
    for _ in range(MAX_NEWTON_STEPS):
        stop_if_requested()
        # gradient and information of a logistic regression with a normal prior
        p = expit(rows @ mode)
        gradient = rows.T @ (pos - (pos + neg) * p) - penalty * mode
        weight = (pos + neg) * p * (1 - p)
        information = (rows * weight[:, None]).T @ rows + np.diag(penalty)

        # Newton's step, information^-1 gradient
        step = np.linalg.solve(information, gradient)
        current = _log_posterior(mode, data)
        while _log_posterior(mode + step, data) < current and step.any():
            # halves that are too small to move the mode end the search
            step = np.where(np.abs(step) > 1e-12, step / 2, 0.0)

        mode = mode + step
        if np.abs(step).max() < 1e-9:
            break

    return mode, information


def _log_posterior(coefficients: Floats, data: PenalizedData) -> Floats:
    """Return the log posterior, without its constant, of each row of coefficients."""
    log_odds = coefficients @ data.rows.T
    log_likelihood = log_expit(log_odds) @ data.pos + log_expit(-log_odds) @ data.neg
    return np.asarray(log_likelihood - coefficients**2 @ data.penalty / 2)


def influence_on_rate(verdicts: Verdicts, labelled: str, rate: float) -> Floats:
    """Return what a case adds to the rate: without a label, positive, negative."""
    if labelled == "by truth":
        return _influence_by_truth(verdicts, rate)

    data = regressors_by_design(verdicts, labelled)
    proportion = verdicts.total / verdicts.total.sum()
    mode, information = mode_and_information(data)
    p = probabilities(mode[None], data.regressors)[0]
    rows = np.insert(data.regressors, 0, 1, axis=1)

    # how far the rate moves with a unit of residual of each row
    direction = rows.T @ (proportion * p * (1 - p))
    step = rows @ np.linalg.solve(information, direction)
    unlabelled = (p - proportion @ p) / verdicts.total.sum()
    positive = unlabelled + step * (1 - p)
    negative = unlabelled - step * p

    return np.column_stack([unlabelled, positive, negative])


def _influence_by_truth(verdicts: Verdicts, rate: float) -> Floats:
    """Return the influence on (q - b) / (a - b): Rogan and Gladen, as ``rate`` is."""
    yes = one_verdict(verdicts).astype(float)
    # proportions of yes with the prior of Jeffreys
    a = _proportion_of_yes(verdicts.pos, yes)
    b = _proportion_of_yes(verdicts.neg, yes)
    q = _proportion_of_yes(verdicts.unknown, yes)
    # without a difference of the classes the rate has no slope
    gap = a - b if abs(a - b) > 1e-3 else 1e-3

    return np.column_stack(
        [
            1.0 * (yes - q) / (verdicts.unknown.sum() * gap),
            -rate * (yes - a) / (verdicts.pos.sum() * gap),
            (rate - 1) * (yes - b) / (verdicts.neg.sum() * gap),
        ]
    )


def _proportion_of_yes(counts: Floats, yes: Floats) -> float:
    return float((counts @ yes + 0.5) / (counts.sum() + 1))
