"""What do verdicts and labels say of the rate, and of the judges?

Verdicts are read and centred once, and count for as much as their clusters let them be
worth. Labels by truth are solved here, as Rogan and Gladen do; ``verdict_regression``
has the truth given the verdicts (docs/maths/judges.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.special import chdtrc, ndtr

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.records import Estimate, Record
from trueness.counts.clusters import Clusters
from trueness.counts.values import Panel, Tally
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import student_quantile
from trueness.inference.variance import Influence, estimate_variance
from trueness.nogold.patterns import only_value
from trueness.nogold.posterior import summary_of_draws

Rng = np.random.Generator
LABELLED = ("random", "by verdict", "by truth")
DRAWS = 4000
REPLICATES = 1000  # of the labelled cases, for the number of effective judges
# sd of a slope a priori: a judge of sensitivity and specificity .92 moves the log odds
# by 5, two of them
SLOPE_SD = 2.5
TINY = 1e-300  # in place of a denominator of 0


class Verdicts(NamedTuple):
    """Patterns of verdicts, with counts; of clusters, their effective numbers."""

    names: tuple[str, ...]
    rows: Floats  # (m, K)
    pos: Floats
    neg: Floats
    unknown: Floats
    yes: Array  # (m,), where more judges say yes than no, or grades are above average
    regressors: Floats  # (m, k): verdicts, centred, those of copied judges once
    prior_rows: Floats  # the regressors where the prior adds cases
    slope_sd: Floats  # of each slope a priori

    @property
    def total(self) -> Floats:
        """Return the number of cases, labelled or not."""
        return self.pos + self.neg + self.unknown


def panel_of_verdicts(data: Tally | Panel) -> Panel:
    """Return a panel of verdicts, checked; a tally is one judge."""
    if isinstance(data, Tally):
        rows = data.score[:, None]
        data = Panel(["judge"], rows, neg=data.neg, pos=data.pos, unknown=data.unknown)

    if not isinstance(data, Panel):
        raise InputError(
            "prevalence needs a Panel of verdicts, or the Tally of one judge; found "
            f"{type(data).__name__}.",
            example=PythonCode('trueness.panel(labels, {"judge": verdicts})'),
        )

    if data.n == 0:
        raise NotEnoughCases("prevalence needs cases; the panel is empty.")

    for name, column in zip(data.names, data.rows.T, strict=True):
        if np.isnan(column).all():
            raise NotEnoughCases(f"Judge {name!r} has no verdicts.")

    return data


def verdicts_of(panel: Panel, effect: float = 1.0) -> Verdicts:
    """Return the verdicts of a panel, with counts divided by a design effect."""
    return center_verdicts(
        panel.names,
        panel.rows,
        pos=np.asarray(panel.pos, float) / effect,
        neg=np.asarray(panel.neg, float) / effect,
        unknown=np.asarray(panel.unknown, float) / effect,
    )


def center_verdicts(
    names: Sequence[str], rows: Floats, *, pos: Floats, neg: Floats, unknown: Floats
) -> Verdicts:
    """Return centred verdicts, 0 for a missing one; grades are also standardised."""
    is_seen = ~np.isnan(rows)
    gives_grades = graded(rows)
    judges = distinct(rows)
    mean, sd = _mean_and_sd(rows, pos + neg + unknown)

    # a grade of standard deviation 1/2 weighs as a verdict that is split evenly
    unit = np.where(gives_grades, 2 * sd, 1.0)
    value = np.where(is_seen, rows, mean)
    centered = (value - mean) / unit
    # the mean verdict of each pattern, above 0 for a yes
    lean = np.where(gives_grades, centered, value - 0.5)[:, judges].mean(axis=1)

    return Verdicts(
        names=tuple(names),
        rows=rows,
        pos=pos,
        neg=neg,
        unknown=unknown,
        yes=lean > 0,
        regressors=centered[:, judges],
        prior_rows=np.zeros((1, len(judges))),
        slope_sd=np.full(len(judges), SLOPE_SD),
    )


def _mean_and_sd(rows: Floats, cases: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the standard deviation of what each judge said, (K,) each."""
    is_seen = ~np.isnan(rows)
    weight = cases[:, None] * is_seen
    # (patterns, judges): each judge by the cases that it has judged
    proportion = weight / weight.sum(axis=0)
    value = np.where(is_seen, rows, 0.0)

    # grades of 1e300 have no square: the largest is the unit for a moment
    largest = np.maximum(np.abs(value).max(axis=0, initial=0.0), 1.0)
    value = value / largest
    mean = (proportion * value).sum(axis=0)
    variance = (proportion * (value - mean) ** 2).sum(axis=0)

    return mean * largest, np.sqrt(np.maximum(variance, TINY)) * largest


def graded(rows: Floats) -> Array:
    """Return which judges give grades, not 0 and 1."""
    return np.asarray((~np.isnan(rows) & (rows != 0) & (rows != 1)).any(axis=0))


def distinct(rows: Floats) -> list[int]:
    """Return the judges, of which those that agree in every case count once.

    >>> distinct(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    [0, 2]
    """
    distinct_judges: list[int] = []
    for judge, verdicts in enumerate(rows.T):
        is_copy = any(
            np.array_equal(verdicts, rows[:, other], equal_nan=True)
            for other in distinct_judges
        )
        if not is_copy:
            distinct_judges.append(judge)

    return distinct_judges


def random_p_value(verdicts: Verdicts) -> float:
    """Return the p-value of labels at random, given the verdicts of labelled cases.

    Hotelling's test of the mean verdict of each judge, and of how far a case is from
    the average, with the covariance of a sample without replacement.
    """
    labels = verdicts.pos + verdicts.neg
    cases = verdicts.total.sum()
    unlabelled_fraction = 1 - labels.sum() / cases
    if unlabelled_fraction <= 0:
        return 1.0

    distance = verdicts.regressors.mean(axis=1) ** 2
    features = np.column_stack([verdicts.regressors, distance])
    features = features - verdicts.total @ features / cases
    mean = labels @ features / labels.sum()
    covariance_of_case = (features.T * verdicts.total) @ features / cases
    # of a mean of labelled cases, drawn without replacement
    covariance = covariance_of_case * unlabelled_fraction / labels.sum()

    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if rank == 0:
        return 1.0

    square = float(mean @ np.linalg.pinv(covariance, hermitian=True) @ mean)
    return float(chdtrc(rank, square))


def design_effect(panel: Panel, influence: Floats | None, level: float) -> float:
    """Return how many clustered cases carry the information of one case (Kish 1965).

    ``influence`` is what a case adds to the rate, (m, 3) of one without a label, a
    positive and a negative; without labels None, and the effect is the mean over all
    patterns.
    """
    clusters = panel.clusters
    if clusters is None or clusters.single:
        return 1.0

    if clusters.number < 2:
        raise NotEnoughCases(
            "All cases are in one cluster, so nothing shows how clusters differ. Is "
            "it the right column?",
            option="cluster",
        )

    if influence is None:
        return _mean_design_effect(panel, clusters)

    unlabelled, positive, negative = influence.T
    between_clusters = estimate_variance(
        panel, Influence(negative, positive, unlabelled)
    )
    variance_of_cases = (
        _sum_of_squares(panel.unknown, unlabelled)
        + _sum_of_squares(panel.pos, positive)
        + _sum_of_squares(panel.neg, negative)
    )

    # few clusters: Student's quantile in place of the normal one
    quantile = student_quantile(between_clusters.degrees_of_freedom, level)
    widening = quantile / student_quantile(np.inf, level)
    ratio = between_clusters.variance / max(variance_of_cases, TINY)
    return max(1.0, ratio * widening**2)


def _sum_of_squares(counts: Array, values: Floats) -> float:
    return float(np.asarray(counts, float) @ values**2)


def _mean_design_effect(panel: Panel, clusters: Clusters) -> float:
    """Average the design effects of the proportions of all patterns."""
    cases = panel.n_unknown
    proportion = panel.unknown / cases
    count_of_cell = clusters.counts[2]
    cluster_size = clusters.per_cluster(count_of_cell)
    table = np.zeros((clusters.number, len(panel)))
    np.add.at(table, (clusters.code, clusters.row), count_of_cell)

    # (clusters, patterns): a cluster's cases less those that its size lets expect
    deviation = table - cluster_size[:, None] * proportion
    correction = clusters.number / (clusters.number - 1)
    variance = correction * (deviation**2).sum(axis=0) / cases**2
    variance_of_cases = (proportion * (1 - proportion) / cases).clip(TINY)
    effects = variance / variance_of_cases

    weight = 1 - proportion  # Rao and Scott (1984): the generalised effects average so
    return max(1.0, float(effects @ weight / weight.sum()))


def draws_by_truth(verdicts: Verdicts, rng: Rng) -> Floats:
    """Draw the proportion of positives among the cases without a label.

    Each proportion of yes has the posterior of Jeffreys, and theta is what they solve
    to, moved to 0 or 1 where that lies outside. Where positives do not say yes more
    often than negatives, nothing is known.
    """
    yes = one_verdict(verdicts)
    a = _draw_proportion_of_yes(verdicts.pos, yes, rng)
    b = _draw_proportion_of_yes(verdicts.neg, yes, rng)
    q = _draw_proportion_of_yes(verdicts.unknown, yes, rng)

    # Rogan, Gladen (1978): theta = (q - b) / (a - b)
    gap = np.where(a > b, a - b, np.inf)
    theta = np.clip((q - b) / gap, 0.0, 1.0)
    return np.where(a > b, theta, rng.random(DRAWS))


def _draw_proportion_of_yes(counts: Floats, yes: Array, rng: Rng) -> Floats:
    """Return draws of a proportion from its posterior, with the prior of Jeffreys."""
    return rng.beta(counts[yes].sum() + 0.5, counts[~yes].sum() + 0.5, DRAWS)


def one_verdict(verdicts: Verdicts) -> Array:
    """Return which patterns speak for a positive case: one verdict of all judges.

    The mean verdict, with judges turned round that the labels show to be worse than
    chance, is cut half way between its means in both classes. More levels than two
    would fit the few labels of a class too closely.
    """
    pos = verdicts.pos
    neg = verdicts.neg
    mean_in_positives = pos @ verdicts.regressors / pos.sum()
    mean_in_negatives = neg @ verdicts.regressors / neg.sum()
    direction = np.where(mean_in_positives < mean_in_negatives, -1.0, 1.0)

    score = verdicts.regressors @ direction
    # between the mean scores of both classes
    half_way = (pos @ score / pos.sum() + neg @ score / neg.sum()) / 2
    return np.asarray(score > half_way)


def outside_by_truth(verdicts: Verdicts) -> float:
    """Return the p-value of "q lies between the proportions of yes of both classes".

    If it is small, no rate explains q: labelled cases are not like the others.
    """
    yes = one_verdict(verdicts)
    below_negatives = -_z_of_difference(verdicts.unknown, verdicts.neg, yes)
    above_positives = _z_of_difference(verdicts.unknown, verdicts.pos, yes)
    return float(2 * ndtr(-max(below_negatives, above_positives)))


def _z_of_difference(minuend: Floats, subtrahend: Floats, yes: Array) -> float:
    """Return the difference of two proportions of yes over its standard error."""
    # half a yes and half a no more, so that no standard error is 0
    minuend_size = minuend.sum() + 1.0
    subtrahend_size = subtrahend.sum() + 1.0
    p = (minuend[yes].sum() + 0.5) / minuend_size
    q = (subtrahend[yes].sum() + 0.5) / subtrahend_size

    variance = p * (1 - p) / minuend_size + q * (1 - q) / subtrahend_size
    return float((p - q) / np.sqrt(variance))


@final
@dataclass(frozen=True, repr=False)
class Judge(Record):
    """How good is one judge? NaN for a judge who gives grades.

    Attributes
    ----------
    sensitivity, specificity : Estimate
        Proportion of positives that get a yes, and of negatives that get a no.
    """

    sensitivity: Estimate
    specificity: Estimate


def nothing(level: float, reason: str) -> Estimate:
    """Return the estimate of what cannot be known, with the reason."""
    return estimate_from_interval(np.nan, np.nan, np.nan, level, reason)


def accuracies(
    verdicts: Verdicts, pos: Floats, neg: Floats, level: float, rng: Rng
) -> dict[str, Judge]:
    """Return each judge's accuracies from the patterns of both classes.

    Draws of their proportions, or counts of labelled cases with the prior of Jeffreys.
    """

    def accuracy(of_class: Floats, votes: Floats, right_vote: int) -> Estimate:
        """Return how often a judge is right in one class, with its interval."""
        # one row of counts, or a row of proportions for each draw
        is_counts = of_class.ndim == 1
        if is_counts:
            # Jeffreys' prior is Beta(1/2, 1/2)
            right = of_class @ (votes == right_vote)
            wrong = of_class @ (votes == 1 - right_vote)
            draws = rng.beta(right + 0.5, wrong + 0.5, DRAWS)
        else:
            draws = proportion_with_vote(of_class, votes, right_vote)

        return summary_of_draws(draws, level)

    judges = {}
    gives_grades = graded(verdicts.rows)
    for k, name in enumerate(verdicts.names):
        if gives_grades[k]:
            unknown = nothing(level, "graded")
            judges[name] = Judge(unknown, unknown)
            continue

        votes = verdicts.rows[:, k]
        judges[name] = Judge(
            sensitivity=accuracy(pos, votes, right_vote=1),
            specificity=accuracy(neg, votes, right_vote=0),
        )

    return judges


def proportion_with_vote(of_class: Floats, votes: Floats, vote: int) -> Floats:
    """Return how often one judge votes so in a class, among its votes, (draws,).

    Parameters
    ----------
    of_class : array, (draws, patterns)
        Joint proportions of the class and each pattern of votes.
    votes : array, (patterns,)
        What the judge says in each pattern; NaN where no vote was cast.
    vote : int
        1 for a yes, 0 for a no.
    """
    with_this_vote = of_class @ (votes == vote).astype(np.float64)
    with_a_vote = of_class @ (~np.isnan(votes)).astype(np.float64)
    return np.asarray(with_this_vote / np.maximum(with_a_vote, TINY))


def effective_judges(
    verdicts: Verdicts,
    level: float,
    rng: Rng,
    proportions: tuple[Floats, Floats] | None,
) -> Estimate:
    """Return the effective number of independent judges, by the labelled cases.

    ``proportions`` are those of the patterns in positives and negatives, (draws,
    patterns), where labelled cases were chosen by their verdicts: judges agree more, or
    less, in these than in all.
    """
    # who always says the same errs independently of all others, but is worth nothing
    judges = [
        k for k in distinct(verdicts.rows) if np.isnan(only_value(verdicts.rows[:, k]))
    ]
    n_judges = len(judges)
    if n_judges <= 1:
        reason = "one judge" if n_judges else "constant verdicts"
        return estimate_from_interval(n_judges, n_judges, n_judges, level, reason)

    rows = verdicts.rows[:, judges]
    complete = ~np.isnan(rows).any(axis=1)
    if proportions is None:
        complete &= verdicts.pos + verdicts.neg > 0
    if verdicts.pos[complete].sum() < 2 and verdicts.neg[complete].sum() < 2:
        return nothing(level, "too few labels")

    if proportions is None:  # the Bayesian bootstrap of the labelled cases
        size = (REPLICATES, verdicts.pos.size)
        in_positives = rng.standard_gamma(verdicts.pos, size)
        in_negatives = rng.standard_gamma(verdicts.neg, size)
    else:
        in_positives, in_negatives = proportions

    correlation = _mean_correlation(
        rows[complete],
        in_positives[:REPLICATES, complete],
        in_negatives[:REPLICATES, complete],
    )
    # Kish's design effect of correlated judges
    effect = 1 + (n_judges - 1) * np.clip(correlation, 0, 1)
    return summary_of_draws(n_judges / effect, level)


def _mean_correlation(rows: Floats, pos: Floats, neg: Floats) -> Floats:
    """Average the correlation of errors over pairs of judges, for each draw.

    An error is a deviation from the mean of the own class, so that agreement which the
    truth explains does not count. ``rows`` are verdicts, (patterns, judges), ``pos``
    and ``neg`` the weights of the patterns in both classes, (draws, patterns).
    """
    patterns, judges = rows.shape
    # the covariance has no origin; this one keeps the rounding small
    verdicts = rows - rows.mean(axis=0)
    # (patterns, judges, judges): the products of all pairs of judges
    products = verdicts[:, :, None] * verdicts[:, None]
    flat_products = products.reshape(patterns, judges * judges)

    covariance = np.zeros((len(pos), judges, judges))
    for weight in (pos, neg):
        total = np.maximum(weight.sum(axis=1), TINY)
        mean = weight @ verdicts / total[:, None]
        covariance += (weight @ flat_products).reshape(-1, judges, judges)
        # the mean of the class is taken out: what is left is within it
        covariance -= total[:, None, None] * mean[:, :, None] * mean[:, None]

    variance = np.diagonal(covariance, axis1=1, axis2=2)
    sd = np.sqrt(np.maximum(variance, TINY))
    correlation = covariance / sd[:, :, None] / sd[:, None]

    row, column = np.triu_indices(judges, 1)
    return np.asarray(correlation[:, row, column].mean(axis=1))
