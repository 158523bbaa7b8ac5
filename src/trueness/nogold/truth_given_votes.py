"""What do labels say of the rate: the truth given the votes, or the votes by truth?

Logistic regression of the label on the votes is a working model, right however judges
err; labels by truth are solved as Rogan and Gladen do (docs/maths/judges.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np
from scipy.special import expit, log_expit, ndtr

from trueness._core.arrays import Array, Floats
from trueness.nogold.model import Patterns, parameter_labels, pattern_word
from trueness.nogold.sampling import kish, resample
from trueness.nogold.verdicts import Verdicts, Votes, read_votes, shares

Rng = np.random.Generator
LABELLED = ("random", "by verdict", "by truth")
# sd of a slope a priori: a judge of sensitivity and specificity .92 moves the log odds
# by 5, two of them
SLOPE = 2.5
DEGREES = 5.0  # of freedom of the proposals
PROPOSALS, DRAWS = 12_000, 4000
STEPS = 100
THIRD = 1 / 3  # of a case of each class that the prior adds to each of several groups
ENOUGH = 10.0  # labels of the rarer class whose residuals count as much as the formula
LEFT = 0.5  # least share of a residual that fitting is taken to leave
LEAN = 30.0  # cases by which the labelled share of a pattern leans on its group's
TILT = 0.5  # sd a priori of the slope of a standard deviation of that share


class Labelled(NamedTuple):
    """Votes (m, K), centred, and how many labelled cases of each class showed them."""

    x: Floats
    pos: Floats
    neg: Floats
    groups: Floats | None = None  # where the prior adds cases; None: at the mean
    spread: Floats | None = None  # of each slope a priori; None: SLOPE


def design(v: Votes, labelled: str) -> Labelled:
    """Describe the verdicts for a regression that allows for how cases were chosen.

    Where that depends on the verdicts, cases with a majority of yes and of no have
    intercepts of their own: nothing pulls the odds of one group, often large and nearly
    pure, towards those of the other. How often each pattern was labelled within its
    group is a regressor.
    """
    known = v.pos + v.neg
    if labelled == "random" or (known == v.total).all():
        return Labelled(v.x, v.pos, v.neg)
    half = np.column_stack([~v.yes, v.yes]).astype(float)
    half = half[:, v.total @ half > 0]
    cases, sides = v.total @ half, half.shape[1]

    def within(a: Floats) -> Floats:
        return np.asarray(a - half @ ((half.T * v.total) @ a / cases[:, None]))

    usual = half @ ((known @ half + 0.5) / (cases + 1))
    share = within(np.log((known + LEAN * usual) / (v.total + LEAN))[:, None])
    share /= max(float(np.sqrt(v.total @ share**2 / cases.sum())[0]), 1e-9)
    # the first columns tell the groups apart; the prior adds cases to each of them
    side = np.eye(sides)[:, 1:] - (cases / cases.sum())[1:]
    x = np.hstack([half @ side, within(v.x), share])
    groups = np.hstack([side, np.zeros((sides, x.shape[1] - side.shape[1]))])
    width = v.x.shape[1]
    spread = np.r_[np.full(sides - 1, np.inf), np.full(width, SLOPE), TILT]
    varies = np.abs(x).max(axis=0) > 1e-9
    return Labelled(x[:, varies], v.pos, v.neg, groups[:, varies], spread[varies])


def joint_shares(
    data: Labelled, total: Floats, rng: Rng, draws: int = DRAWS
) -> tuple[Floats, Floats, float]:
    """Draw which share of all cases shows each pattern and is positive, or negative.

    (draws, patterns) each, and how many independent draws of the truth they are worth.
    """
    some = data.pos + data.neg > 0
    known = data._replace(x=data.x[some], pos=data.pos[some], neg=data.neg[some])
    mode, information = mode_and_information(known)
    # information = L L', so L'^-1 z has its inverse as covariance: normal around the
    # mode, stretched to Student t, whose tails are heavier than those of the posterior
    factor = np.linalg.inv(np.linalg.cholesky(information)).T
    size = max(PROPOSALS, 4 * draws)
    z = rng.standard_normal((size, mode.size))
    z *= np.sqrt(DEGREES / rng.chisquare(DEGREES, size))[:, None]
    b = mode + z @ factor.T
    # the t density depends on the distance in units of the information only
    log_q = -(DEGREES + mode.size) / 2 * np.log1p((z**2).sum(axis=1) / DEGREES)
    weight = _log_posterior(b, *_with_prior(known)) - log_q
    chosen = rng.permutation(resample(weight, draws, rng))
    b = mode + (b[chosen] - mode) @ _stretch(known, mode, information).T
    p, w = probabilities(b, data.x), shares(total, draws, rng)
    return w * p, w * (1 - p), kish(weight)


def _stretch(data: Labelled, mode: Floats, information: Floats) -> Floats:
    """By which matrix do deviations from the mode get the spread of the estimate?

    That of the sandwich (HC3 of MacKinnon, White 1985), mixed with the information
    where a group has few labels of a class: by luck its residuals are then too small.
    One verdict has a share of its own for yes and for no: the formula cannot be wrong.
    """
    if data.x.shape[1] < 2:
        return np.eye(mode.size)
    z = np.column_stack([np.ones(len(data.x)), data.x])
    p = expit(z @ mode)
    inverse = np.linalg.inv(information)
    left = 1 - p * (1 - p) * np.einsum("ij,jk,ik->i", z, inverse, z)
    seen = (data.pos * (1 - p) ** 2 + data.neg * p**2) / np.maximum(left, LEFT) ** 2
    assumed = (data.pos + data.neg) * p * (1 - p)
    at = np.zeros((1, data.x.shape[1])) if data.groups is None else data.groups
    # a group is told by the first regressor; a single one holds all cases
    group = (np.abs(data.x[:, :1] - at[:, 0]) < 1e-9) | (len(at) == 1)
    few = np.minimum(data.pos @ group, data.neg @ group)
    trust = group @ (few / (few + ENOUGH))
    middle = information + (z * (trust * (seen - assumed))[:, None]).T @ z
    # deviations are L'^-1 u with I = L L' and u of unit variance; those of the result
    # are I^-1 C u with M = C C'
    factor = np.linalg.cholesky(information)
    return np.asarray(inverse @ np.linalg.cholesky(middle) @ factor.T)


def probabilities(b: Floats, x: Floats) -> Floats:
    """Give P(+ | x) of each row in each draw, (draws, rows)."""
    return np.asarray(expit(b[:, :1] + b[:, 1:] @ x.T))


def _with_prior(data: Labelled) -> tuple[Floats, Floats, Floats, Floats]:
    """Give rows with an intercept, positives and negatives, and what holds slopes.

    The prior adds half a case of each class at the mean, as Jeffreys does for a share,
    and a whole case of a class without a label, where his interval ends too early
    (Brown, Cai, DasGupta 2001, doi:10.1214/ss/1009213286, section 4.1.3). Of several
    groups each gets a third of a case (Kerman 2011): halves would add up.
    """
    k = data.x.shape[1]
    at = np.zeros((1, k)) if data.groups is None else data.groups
    pos, neg = (
        np.full(len(at), THIRD if len(at) > 1 else 0.5 if count.any() else 1.0)
        for count in (data.pos, data.neg)
    )
    z = np.column_stack([np.ones(len(data.x) + len(at)), np.vstack([data.x, at])])
    spread = np.full(k, SLOPE) if data.spread is None else data.spread
    return z, np.r_[data.pos, pos], np.r_[data.neg, neg], np.r_[0.0, spread**-2.0]


def mode_and_information(data: Labelled) -> tuple[Floats, Floats]:
    """Climb to the mode by Newton's steps, halved while they lead down."""
    rows = _with_prior(data)
    z, pos, neg, ridge = rows
    b = np.zeros(z.shape[1])
    for _ in range(STEPS):
        p = expit(z @ b)
        slope = z.T @ (pos - (pos + neg) * p) - ridge * b
        information = (z * ((pos + neg) * p * (1 - p))[:, None]).T @ z + np.diag(ridge)
        step = np.linalg.solve(information, slope)
        here = _log_posterior(b, *rows)
        while _log_posterior(b + step, *rows) < here and step.any():
            step = np.where(np.abs(step) > 1e-12, step / 2, 0.0)
        b = b + step
        if np.abs(step).max() < 1e-9:
            break
    return b, information


def _log_posterior(
    b: Floats, z: Floats, pos: Floats, neg: Floats, ridge: Floats
) -> Floats:
    at = b @ z.T
    yes, no = log_expit(at), log_expit(-at)
    return np.asarray(yes @ pos + no @ neg - b**2 @ ridge / 2)


def draws_by_truth(x: Verdicts, rng: Rng) -> Floats:
    """Draw the share of positives among the cases without a label.

    Each share of yes has the posterior of Jeffreys, and theta is what they solve to,
    moved to 0 or 1 where that lies outside. Where positives do not say yes more often
    than negatives, nothing is known.
    """
    yes = one_verdict(x)
    a, b, q = (
        rng.beta(c[yes].sum() + 0.5, c[~yes].sum() + 0.5, DRAWS)
        for c in (x.pos, x.neg, x.unknown)
    )
    gap = np.where(a > b, a - b, np.inf)
    return np.where(a > b, np.clip((q - b) / gap, 0.0, 1.0), rng.random(DRAWS))


def one_verdict(x: Verdicts) -> Array:
    """Make one verdict of all: which patterns speak for a positive case?

    The mean verdict, with judges turned round that the labels show to be worse than
    chance, is cut half way between its means in both classes. More levels than two
    would fit the few labels of a class too closely.
    """
    v = read_votes(x)
    in_pos, in_neg = (c @ v.x / c.sum() for c in (v.pos, v.neg))
    score = v.x @ np.where(in_pos < in_neg, -1.0, 1.0)
    middle = (v.pos @ score / v.pos.sum() + v.neg @ score / v.neg.sum()) / 2
    return np.asarray(score > middle)


def outside_by_truth(x: Verdicts) -> float:
    """How surely does q lie beyond the shares of both classes? A p-value.

    Then no rate explains it: labelled cases are not like the others.
    """
    yes = one_verdict(x)
    q, *ends = (
        ((c[yes].sum() + 0.5) / (c.sum() + 1), c.sum() + 1.0)
        for c in (x.unknown, x.neg, x.pos)
    )
    below, above = (
        sign * (q[0] - end) / np.sqrt(q[0] * (1 - q[0]) / q[1] + end * (1 - end) / n)
        for sign, (end, n) in zip((-1, 1), ends, strict=True)
    )
    return float(2 * ndtr(-max(below, above)))


def influence_on_rate(x: Verdicts, labelled: str, theta: float) -> Floats:
    """What does a case without a label, a positive, a negative add to the rate?"""
    if labelled != "by truth":
        v = read_votes(x)
        data, w = design(v, labelled), v.total / v.total.sum()
        b, information = mode_and_information(data)
        p, z = probabilities(b[None], data.x)[0], np.insert(data.x, 0, 1, axis=1)
        # how far the rate moves with a unit of residual of each row
        step = z @ np.linalg.solve(information, z.T @ (w * p * (1 - p)))
        seen = (p - w @ p) / v.total.sum()
        return np.column_stack([seen, seen + step * (1 - p), seen - step * p])
    yes = one_verdict(x).astype(float)
    counts = x.unknown, x.pos, x.neg
    q, a, b = ((c @ yes + 0.5) / (c.sum() + 1) for c in counts)  # prior of Jeffreys
    gap = a - b if abs(a - b) > 1e-3 else 1e-3
    parts = zip((1.0, -theta, theta - 1), (q, a, b), counts, strict=True)
    return np.column_stack([k * (yes - m) / (c.sum() * gap) for k, m, c in parts])


@final
@dataclass(frozen=True)
class FromLabels:
    """Any dependence, alike in both classes; one population, with labels."""

    patterns: Patterns
    labelled: str
    shared: ClassVar[bool] = True  # tests may share errors, in any way

    @property
    def labels(self) -> tuple[str, ...]:
        """Give the name of every parameter, with the joint share of each pattern."""
        more = (
            f"{word}[{pattern_word(row)}]"
            for word in ("positive", "negative")
            for row in self.patterns.rows
        )
        return (*parameter_labels(self.patterns), *more)

    def draws(self, rng: Rng) -> tuple[dict[str, Floats], float]:
        """Draw all parameters, and say how many independent draws they are worth."""
        x = self.patterns
        seen = ~np.isnan(x.rows)
        v = read_votes(Verdicts(x.names, x.rows, x.pos[0], x.neg[0], x.unknown[0]))
        data = design(v, self.labelled)
        positive, negative, worth = joint_shares(data, v.total, rng)
        # accuracies are sums of joint shares over patterns with a vote, over the share
        # of the class, so that rate and accuracies always agree
        hit, alarm = (
            part @ (x.rows == 1) / np.maximum(part @ seen.astype(float), 1e-300)
            for part in (positive, negative)
        )
        flat = {
            "prevalence": positive.sum(axis=1, keepdims=True),
            "sensitivity": hit,
            "specificity": 1 - alarm,
            "positive": positive,
            "negative": negative,
        }
        return flat, worth

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern in positives and in negatives."""
        mine = self.patterns.rows
        out = np.zeros((2, len(flat["positive"]), len(rows)))
        for j, row in enumerate(rows):
            seen = ~np.isnan(row)
            known = ~np.isnan(mine[:, seen]).any(axis=1)
            same = known & (np.nan_to_num(mine[:, seen]) == row[seen]).all(axis=1)
            for c, word in enumerate(("positive", "negative")):
                share = flat[word][:, known].sum(axis=1)
                out[c, :, j] = flat[word][:, same].sum(axis=1) / np.maximum(
                    share, 1e-300
                )
        return out[0], out[1]
