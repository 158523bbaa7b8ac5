"""What do verdicts and labels say of the rate: the truth given the votes, or by truth?

Verdicts are read and centred once, and count for as much as their clusters let them be
worth. Logistic regression of the label on them is a working model, right however judges
err; labels by truth are solved as Rogan and Gladen do (docs/maths/judges.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.special import chdtrc, expit, log_expit, ndtr

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.progress import stop_if_requested
from trueness._core.records import Estimate, Record
from trueness.counts.clusters import Clusters
from trueness.counts.values import Panel, Tally
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import student_quantile
from trueness.inference.variance import Influence, estimate_variance
from trueness.nogold.model import only_value
from trueness.nogold.particles import effective_number, resample
from trueness.nogold.posterior import summary_of_draws

Rng = np.random.Generator
LABELLED = ("random", "by verdict", "by truth")
DRAWS = 4000
REPLICATES = 1000  # of the labelled cases, for the number of effective judges
# sd of a slope a priori: a judge of sensitivity and specificity .92 moves the log odds
# by 5, two of them
SLOPE = 2.5
DEGREES = 5.0  # of freedom of the proposals
PROPOSALS_PER_DRAW = 4
STEPS = 100
THIRD = 1 / 3  # of a case of each class that the prior adds to each of several groups
ENOUGH = 10.0  # labels of the rarer class whose residuals count as much as the formula
LEFT = 0.5  # least share of a residual that fitting is taken to leave
LEAN = 30.0  # cases by which the labelled share of a pattern leans on its group's
TILT = 0.5  # sd a priori of the slope of a standard deviation of that share


class Verdicts(NamedTuple):
    """Patterns of verdicts, with counts; of clusters, as many as they are worth."""

    names: tuple[str, ...]
    rows: Floats  # (m, K)
    pos: Floats
    neg: Floats
    unknown: Floats
    yes: Array  # (m,), where more judges say yes than no, or grades are above average
    x: Floats  # regressors (m, k): verdicts, centred, those of copied judges once
    groups: Floats  # the regressors where the prior adds cases
    spread: Floats  # of each slope a priori

    @property
    def total(self) -> Floats:
        """How many cases, labelled or not?"""
        return self.pos + self.neg + self.unknown


def panel_of_verdicts(data: object) -> Panel:
    """Pass on a panel of verdicts; a tally is one judge."""
    if isinstance(data, Tally):
        rows = data.score[:, None]
        data = Panel(["judge"], rows, neg=data.neg, pos=data.pos, unknown=data.unknown)
    if not isinstance(data, Panel):
        raise InputError(
            f"prevalence needs a Panel of verdicts, or the Tally of one judge; found "
            f"{type(data).__name__}. Type trueness.panel(labels, "
            f'{{"judge": verdicts}}).'
        )
    if data.n == 0:
        raise NotEnoughCases("prevalence needs cases; the panel is empty.")
    for name, column in zip(data.names, data.rows.T, strict=True):
        if np.isnan(column).all():
            raise NotEnoughCases(f"Judge {name!r} has given no verdict at all.")
    return data


def verdicts_of(panel: Panel, effect: float = 1.0) -> Verdicts:
    """Take the counts of a panel, over a design effect."""
    counts = (panel.pos, panel.neg, panel.unknown)
    return centred(
        panel.names, panel.rows, *(np.asarray(c, float) / effect for c in counts)
    )


def centred(
    names: Sequence[str], rows: Floats, pos: Floats, neg: Floats, unknown: Floats
) -> Verdicts:
    """Put verdicts at their mean, a missing one there; standardise grades."""
    seen, by_grade = ~np.isnan(rows), graded(rows)
    weight = (pos + neg + unknown)[:, None] * seen
    value = np.where(seen, rows, 0.0)
    # grades of 1e300 have no square: the largest is the unit for a moment
    top = np.maximum(np.abs(value).max(axis=0, initial=0.0), 1.0)
    value, share = value / top, weight / weight.sum(axis=0)
    mean = (share * value).sum(axis=0)
    square = (share * (value - mean) ** 2).sum(axis=0)
    # a grade of standard deviation 1/2 weighs as a verdict that is split evenly
    unit = 2 * np.sqrt(np.maximum(square, 1e-300))
    mean, unit = mean * top, np.where(by_grade, unit * top, 1.0)
    value, kept = np.where(seen, rows, mean), distinct(rows)
    away = (value - mean) / unit
    lean = np.where(by_grade, away, value - 0.5)[:, kept].mean(axis=1)
    prior = np.zeros((1, len(kept))), np.full(len(kept), SLOPE)
    return Verdicts(
        tuple(names), rows, pos, neg, unknown, lean > 0, away[:, kept], *prior
    )


def graded(rows: Floats) -> Array:
    """Which judges give grades, not 0 and 1?"""
    return np.asarray((~np.isnan(rows) & (rows != 0) & (rows != 1)).any(axis=0))


def distinct(rows: Floats) -> list[int]:
    """Which judges remain when those that agree in every case count once?

    >>> distinct(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    [0, 2]
    """
    out: list[int] = []
    for k, column in enumerate(rows.T):
        if not any(np.array_equal(column, rows[:, j], equal_nan=True) for j in out):
            out.append(k)
    return out


def random_p_value(v: Verdicts) -> float:
    """Could labels at random have fallen on cases with these verdicts?

    Hotelling's test of the mean verdict of each judge, and of how far a case is from
    the average, with the covariance of a sample without replacement.
    """
    known, cases = v.pos + v.neg, v.total.sum()
    z = np.column_stack([v.x, v.x.mean(axis=1) ** 2])
    z = z - v.total @ z / cases
    mean, left = known @ z / known.sum(), 1 - known.sum() / cases
    if left <= 0:
        return 1.0
    covariance = (z.T * v.total) @ z / cases * left / known.sum()
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    square = float(mean @ np.linalg.pinv(covariance, hermitian=True) @ mean)
    return float(chdtrc(rank, square)) if rank else 1.0


def design_effect(panel: Panel, u: Floats | None, level: float) -> float:
    """How many cases of a cluster are worth one that is alone (Kish 1965)?

    u is what a case adds to the rate, (m, 3) of one without a label, a positive and a
    negative; without labels None, and the effect is the mean over all patterns.
    """
    cells = panel.clusters
    if cells is None or cells.single:
        return 1.0
    if cells.number < 2:
        raise NotEnoughCases(
            "All cases are in one cluster, so nothing shows how clusters differ. Is "
            "cluster= the right column?"
        )
    if u is None:
        return _rao_scott(panel, cells)
    found = estimate_variance(panel, Influence(u[:, 2], u[:, 1], u[:, 0]))
    plain = sum(
        float(np.asarray(c, float) @ u[:, k] ** 2)
        for k, c in enumerate((panel.unknown, panel.pos, panel.neg))
    )
    few = student_quantile(found.degrees_of_freedom, level) / student_quantile(
        np.inf, level
    )
    return max(1.0, found.variance / max(plain, 1e-300) * few**2)


def _rao_scott(panel: Panel, c: Clusters) -> float:
    """Average the design effects of the shares of all patterns."""
    size, total = c.per_cluster(c.counts[2]), panel.unknown / panel.n_unknown
    table = np.zeros((c.number, len(panel)))
    np.add.at(table, (c.code, c.row), c.counts[2])
    away = table - size[:, None] * total
    variance = c.number / (c.number - 1) * (away**2).sum(axis=0) / panel.n_unknown**2
    each = variance / (total * (1 - total) / panel.n_unknown).clip(1e-300)
    weight = 1 - total  # Rao and Scott (1984): the generalised effects average so
    return max(1.0, float(each @ weight / weight.sum()))


def design(v: Verdicts, labelled: str) -> Verdicts:
    """Describe the verdicts for a regression that allows for how cases were chosen.

    Where that depends on the verdicts, cases with a majority of yes and of no have
    intercepts of their own: nothing pulls the odds of one group, often large and nearly
    pure, towards those of the other. How often each pattern was labelled within its
    group is a regressor.
    """
    known = v.pos + v.neg
    if labelled == "random" or (known == v.total).all():
        return v
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
    return v._replace(x=x[:, varies], groups=groups[:, varies], spread=spread[varies])


def joint_shares(
    data: Verdicts, rng: Rng, draws: int = DRAWS
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
    proposals = PROPOSALS_PER_DRAW * draws
    z = rng.standard_normal((proposals, mode.size))
    z *= np.sqrt(DEGREES / rng.chisquare(DEGREES, proposals))[:, None]
    b = mode + z @ factor.T
    # the t density depends on the distance in units of the information only
    log_q = -(DEGREES + mode.size) / 2 * np.log1p((z**2).sum(axis=1) / DEGREES)
    weight = _log_posterior(b, *_with_prior(known)) - log_q
    chosen = rng.permutation(resample(weight, draws, rng))
    b = mode + (b[chosen] - mode) @ _stretch(known, mode, information).T
    # the share of each pattern in the population, by the Bayesian bootstrap
    w = rng.standard_gamma(data.total, (draws, len(data.x)))
    p, w = probabilities(b, data.x), w / w.sum(axis=1, keepdims=True)
    return w * p, w * (1 - p), effective_number(weight)


def _stretch(data: Verdicts, mode: Floats, information: Floats) -> Floats:
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
    # a group is told by the first regressor; a single one holds all cases
    group = np.abs(data.x[:, :1] - data.groups[:, 0]) < 1e-9
    group |= len(data.groups) == 1
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


def _with_prior(data: Verdicts) -> tuple[Floats, Floats, Floats, Floats]:
    """Give rows with an intercept, positives and negatives, and what holds slopes.

    The prior adds half a case of each class at the mean, as Jeffreys does for a share,
    and a whole case of a class without a label, where his interval ends too early
    (Brown, Cai, DasGupta 2001, doi:10.1214/ss/1009213286, section 4.1.3). Of several
    groups each gets a third of a case (Kerman 2011): halves would add up.
    """
    at = data.groups
    pos, neg = (
        np.full(len(at), THIRD if len(at) > 1 else 0.5 if count.any() else 1.0)
        for count in (data.pos, data.neg)
    )
    z = np.column_stack([np.ones(len(data.x) + len(at)), np.vstack([data.x, at])])
    ridge = np.r_[0.0, data.spread**-2.0]
    return z, np.r_[data.pos, pos], np.r_[data.neg, neg], ridge


def mode_and_information(data: Verdicts) -> tuple[Floats, Floats]:
    """Climb to the mode by Newton's steps, halved while they lead down."""
    rows = _with_prior(data)
    z, pos, neg, ridge = rows
    b = np.zeros(z.shape[1])
    for _ in range(STEPS):
        stop_if_requested()
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
    in_pos, in_neg = (c @ x.x / c.sum() for c in (x.pos, x.neg))
    score = x.x @ np.where(in_pos < in_neg, -1.0, 1.0)
    middle = (x.pos @ score / x.pos.sum() + x.neg @ score / x.neg.sum()) / 2
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
        data, w = design(x, labelled), x.total / x.total.sum()
        b, information = mode_and_information(data)
        p, z = probabilities(b[None], data.x)[0], np.insert(data.x, 0, 1, axis=1)
        # how far the rate moves with a unit of residual of each row
        step = z @ np.linalg.solve(information, z.T @ (w * p * (1 - p)))
        seen = (p - w @ p) / x.total.sum()
        return np.column_stack([seen, seen + step * (1 - p), seen - step * p])
    yes = one_verdict(x).astype(float)
    counts = x.unknown, x.pos, x.neg
    q, a, b = ((c @ yes + 0.5) / (c.sum() + 1) for c in counts)  # prior of Jeffreys
    gap = a - b if abs(a - b) > 1e-3 else 1e-3
    parts = zip((1.0, -theta, theta - 1), (q, a, b), counts, strict=True)
    return np.column_stack([k * (yes - m) / (c.sum() * gap) for k, m, c in parts])


@final
@dataclass(frozen=True, repr=False)
class Judge(Record):
    """How good is one judge? NaN for a judge who gives grades.

    Attributes
    ----------
    sensitivity, specificity : Estimate
        Share of positives that get a yes, and of negatives that get a no.
    """

    sensitivity: Estimate
    specificity: Estimate


def nothing(level: float, why: str) -> Estimate:
    """Give the estimate of what cannot be known, with the reason."""
    return estimate_from_interval(np.nan, np.nan, np.nan, level, why)


def accuracies(
    x: Verdicts, pos: Floats, neg: Floats, level: float, rng: Rng
) -> dict[str, Judge]:
    """Give each judge's accuracies from the patterns of both classes.

    Draws of their shares, or counts of labelled cases (with the prior of Jeffreys).
    """

    def share(of: Floats, right: Floats, wrong: Floats) -> Estimate:
        good, bad = of @ right, of @ wrong
        if of.ndim == 1:
            return summary_of_draws(rng.beta(good + 0.5, bad + 0.5, DRAWS), level)
        return summary_of_draws(good / np.maximum(good + bad, 1e-300), level)

    out, graded_by = {}, graded(x.rows)
    for k, (name, column) in enumerate(zip(x.names, x.rows.T, strict=True)):
        yes, no = (column == 1).astype(float), (column == 0).astype(float)
        unknown = nothing(level, "graded")
        out[name] = (
            Judge(unknown, unknown)
            if graded_by[k]
            else Judge(share(pos, yes, no), share(neg, no, yes))
        )
    return out


def effective_judges(
    x: Verdicts, level: float, rng: Rng, both: tuple[Floats, Floats] | None
) -> Estimate:
    """How many independent judges is the panel worth, by the labelled cases?

    ``both`` are shares of the patterns in positives and negatives, (draws, patterns),
    where labelled cases were chosen by their verdicts: judges agree more, or less, in
    these than in all.
    """
    # who always says the same errs independently of all others, but is worth nothing
    kept = [k for k in distinct(x.rows) if np.isnan(only_value(x.rows[:, k]))]
    k = len(kept)
    if k <= 1:
        return estimate_from_interval(
            k, k, k, level, "one judge" if k else "constant verdicts"
        )
    rows = x.rows[:, kept]
    known = x.pos + x.neg > 0
    seen = ~np.isnan(rows).any(axis=1) & (known | (both is not None))
    if x.pos[seen].sum() < 2 and x.neg[seen].sum() < 2:
        return nothing(level, "too few labels")
    if both is None:
        size = REPLICATES, x.pos.size
        both = rng.standard_gamma(x.pos, size), rng.standard_gamma(x.neg, size)
    pos, neg = (share[:REPLICATES, seen] for share in both)
    r = _mean_correlation(rows[seen], pos, neg)
    return summary_of_draws(k / (1 + (k - 1) * np.clip(r, 0, 1)), level)


def _mean_correlation(rows: Floats, pos: Floats, neg: Floats) -> Floats:
    """Average the correlation of errors over pairs, within classes, for each draw."""
    k = rows.shape[1]
    rows = rows - rows.mean(axis=0)
    products = (rows[:, :, None] * rows[:, None]).reshape(len(rows), k * k)
    covariance = np.zeros((len(pos), k, k))
    for w in (pos, neg):
        total = np.maximum(w.sum(axis=1), 1e-300)
        mean = w @ rows / total[:, None]
        covariance += (w @ products).reshape(-1, k, k)
        # within the class: products less those of the means
        covariance -= total[:, None, None] * mean[:, :, None] * mean[:, None]
    sd = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 1e-300))
    r = covariance / sd[:, :, None] / sd[:, None]
    i, j = np.triu_indices(k, 1)
    return np.asarray(r[:, i, j].mean(axis=1))
