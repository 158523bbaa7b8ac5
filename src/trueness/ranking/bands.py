"""Confidence band of a curve. Pointwise, or as a whole.

Curves are redrawn by the sampling design: cases, weights or whole clusters, and where
labels are missing at random, unlabelled cases too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import NamedTuple, final

import numpy as np
from scipy.special import expit, log_expit, logit, ndtr, xlogy

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import divergence
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.progress import stop_if_requested
from trueness._core.records import TwoAxes
from trueness._core.solvers import rises_above_zero
from trueness.counts.answers import design_parts_of, of_tally, refuse
from trueness.counts.design import AT_RANDOM
from trueness.counts.placements import coarsen, corners
from trueness.counts.resampling import Seed
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Tally, tally_of_rows
from trueness.inference.estimates import (
    estimate_from_variance,
    evaluate_measure,
    interval_notes,
)
from trueness.inference.intervals import student_quantile
from trueness.inference.sample import (
    MeasuredValue,
    Sample,
    apply_design,
    check_prevalence_known,
)
from trueness.inference.variance import Influence
from trueness.inference.verification import (
    Imputation,
    impute_labels,
    unlabelled_notes,
)
from trueness.ranking.areas import SINGLE_CASES, auc_measure
from trueness.ranking.curves import precision_at
from trueness.ranking.expected_draws import ExpectedDraws


@final
@dataclass(frozen=True, repr=False)
class Band(TwoAxes):
    """Confidence band of a curve.

    Attributes
    ----------
    axes : tuple of str
        The two rates, which are attributes: ``fpr`` and ``tpr``, or ``recall`` and
        ``precision``.
    low, high : array
        The lower and upper end of the band.
    band : {"simultaneous", "pointwise"}
        Does it hold for the whole curve, or for each point alone?
    prevalence : float
        Prevalence for which a precision holds.
    """

    low: Floats
    high: Floats
    level: float
    band: str
    method: str
    prevalence: float = math.nan
    notes: tuple[str, ...] = field(default=(), kw_only=True)


@of_tally
def roc_band(
    data: Tally,
    *,
    band: str = "simultaneous",
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Band:
    r"""Confidence band of an ROC curve.

    Where does the true ROC curve lie?

    .. math:: \widehat{\mathrm{tpr}}(f) \pm c\,\hat\sigma(f), \qquad
              P\Big(\max_f |\mathrm{tpr}^*(f) - \widehat{\mathrm{tpr}}(f)|
              / \hat\sigma(f) \le c\Big) = \text{level}

    Campbell (1994), Stat. Med. 13:499; Agresti, Coull (1998); of weights Rubin (1981).

    Parameters
    ----------
    band
        ``"simultaneous"``: the whole curve lies inside with this confidence.
        ``"pointwise"``: each single point does.
    points
        How many false positive rates the grid has, from 0 to 1.

    Examples
    --------
    >>> band = roc_band(Tally([2, 1], pos=[8, 2], neg=[2, 8]), points=3, rng=1)
    >>> bool((band.low <= band.tpr).all() and (band.tpr <= band.high).all())
    True
    """
    _cases.both_classes(data, "roc_band")
    data, level = _check_options(data, band, level)
    notes = (*unlabelled_notes(data), *interval_notes(data))
    fpr = np.linspace(0, 1, _options.whole_number(points, "points", at_least=3))

    redrawn = _redraw(data, False, replicates, rng)
    counts = redrawn.counts
    tpr = roc_height(counts.neg, counts.pos, fpr)
    replicate_curves = np.array(
        [roc_height(neg, pos, fpr) for neg, pos in redrawn.draws()]
    )

    # redrawn curves may agree by chance: the variance is at least that of a rate
    effective_sizes = _effective_sizes(redrawn.sample, level)
    positives_at_cut = redrawn.labelled_positives(fpr, effective_sizes.positives)
    variance = np.maximum(
        replicate_curves.var(axis=0), rate_variance(tpr, positives_at_cut)
    )
    standard_error = np.sqrt(variance)
    # (replicates, points): how far each redrawn curve lies from that of the sample
    distances = np.abs(replicate_curves - tpr) / standard_error
    half_height = (
        critical(distances, level, band) * effective_sizes.widening * standard_error
    )

    # the true curve rises, so bounds at one rate hold for its neighbours
    low = np.maximum.accumulate(np.clip(tpr - half_height, 0, 1))
    high = _falling_minimum(np.clip(tpr + half_height, 0, 1))

    # a sample does not resolve false positive rates below one or two negatives, so the
    # band is widened by two negatives to both sides
    shift = 2 / effective_sizes.negatives
    low = np.where(fpr >= shift, np.interp(fpr - shift, fpr, low), 0.0)
    high = np.interp(fpr + shift, fpr, high)

    # a map without a standard error leaves the band unknown
    if not redrawn.error_known:
        low = high = np.full(fpr.size, np.nan)
    return Band(
        axes=("fpr", "tpr"),
        x=fpr,
        y=tpr,
        low=low,
        high=high,
        level=level,
        band=band,
        method="bootstrap",
        notes=notes,
    )


@of_tally
def precision_recall_band(
    data: Tally,
    *,
    band: str = "simultaneous",
    method: str | None = None,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Band:
    """Confidence band of a precision-recall curve.

    Where does the true precision-recall curve lie?

    With ``prevalence=`` precision (PPV) is that at another, known prevalence; otherwise
    the prevalence is uncertain too.

    Parameters
    ----------
    method
        ``"likelihood"``: precisions at which the counts are likely (the default;
        Claeskens et al. 2003, doi:10.2307/3316066; Naiman 1986). ``"bootstrap"``:
        wider; the default for weights, clusters and labels missing at random.
    band, level, points, rng, replicates
        As in :func:`roc_band`. Only the bootstrap draws.

    Examples
    --------
    >>> t = Tally([2, 1], pos=[8, 2], neg=[2, 8])
    >>> band = precision_recall_band(t, points=3, rng=1)
    >>> band.precision.round(3).tolist()  # at recall 1/3, 2/3, 1
    [0.8, 0.8, 0.5]
    """
    _cases.both_classes(data, "precision_recall_band")
    check_prevalence_known(data, "precision_recall_band")
    data, level = _check_options(data, band, level)
    method = _band_method(data, method)
    notes = (*unlabelled_notes(data), *interval_notes(data))
    points = _options.whole_number(points, "points", at_least=3)
    recall = np.linspace(0, 1, points + 1)[1:]

    is_cohort = not data.design.fixed_classes
    redrawn = _redraw(data, is_cohort, replicates, rng)
    neg = redrawn.counts.neg
    pos = redrawn.counts.pos
    prevalence = data.design.prevalence
    if prevalence is None:
        prevalence = pos.sum().item() / (pos.sum() + neg.sum()).item()
    fpr = _false_positive_rate(neg, pos, recall)
    precision = precision_at(fpr, recall, prevalence)

    if method == "likelihood":
        observed = redrawn.sample.observed
        alarms = _likely_alarms(observed, recall, is_cohort, level, band)
        # negatives for each positive, in the target over those in the sample
        odds = (1 - prevalence) / prevalence * observed.n_pos / observed.n_neg
        alarms = _Alarms(odds * alarms.fewest, odds * alarms.most)
    else:
        alarms = _redrawn_alarms(redrawn, fpr, recall, level, band)

    # precision falls as false alarms rise; the band contains the curve of the sample
    low = np.minimum(recall / (recall + alarms.most), precision)
    high = np.maximum(recall / (recall + alarms.fewest), precision)
    # a map without a standard error leaves the band unknown
    if not redrawn.error_known:
        low = high = np.full(recall.size, np.nan)
    return Band(
        axes=("recall", "precision"),
        x=recall,
        y=precision,
        low=low,
        high=high,
        level=level,
        band=band,
        method=method,
        prevalence=prevalence,
        notes=notes,
    )


def _check_options(tally: Tally, kind: str, level: float) -> tuple[Tally, float]:
    """Return the tally, without clusters of single cases, and the level, checked."""
    _options.choice(kind, ("simultaneous", "pointwise"), "band")
    if tally.clusters is not None and tally.grouped is None:
        tally = tally.without_clusters()
    return tally, _options.fraction(level, "level")


def _band_method(tally: Tally, method: str | None) -> str:
    """Return the method of a precision-recall band: likelihood for single cases."""
    if method is None:
        # weights, clusters and imputed labels have no binomial likelihood
        if set(design_parts_of(tally)) & set(SINGLE_CASES):
            return "bootstrap"
        return "likelihood"

    _options.choice(method, ("likelihood", "bootstrap"), "method")
    if method == "likelihood":
        refuse(tally, f"method={method!r}", SINGLE_CASES)
    return method


def _falling_minimum(values: Floats) -> Floats:
    """Return at each position the smallest of the values from there on."""
    return np.asarray(np.minimum.accumulate(values[::-1])[::-1])


class _Alarms(NamedTuple):
    """The fewest and the most false alarms for each positive, at each recall."""

    fewest: Floats
    most: Floats


def _likely_alarms(
    tally: Tally, recall: Floats, is_cohort: bool, level: float, kind: str
) -> _Alarms:
    """Return the smallest and largest likely numbers of false alarms for each positive.

    The empirical likelihood ratio of Claeskens et al. (2003), least over thresholds, is
    P K(TP/P, r) + n K(FP/n, q), with n = N and q = a P / N when both classes have fixed
    sizes; in a cohort FP is binomial given FP + P, with q = a / (1 + a).
    """
    n_pos = float(tally.n_pos)
    n_neg = float(tally.n_neg)
    tp, fp = _curve_points(tally, recall)

    # the allowed distance less that of the recall: what remains for the false alarms
    allowed = _likely_distance(n_pos, recall.size, level, kind) ** 2 / 2
    remaining = allowed - n_pos * divergence((tp / n_pos)[:, None], recall)
    # pairs of a point of the curve and a recall of the grid that are likely together
    point, column = np.nonzero(remaining >= 0)

    # a cohort fixes neither class: false alarms are a proportion of FP + P
    if is_cohort:
        trials = fp[point] + n_pos
    else:
        trials = np.full(point.size, n_neg)
    proportion = fp[point] / trials
    remaining_per_trial = remaining[point, column] / trials

    # the widest range of q over all points of the curve that are likely at a recall
    lower_ends = _divergence_end(proportion, remaining_per_trial, -1)
    upper_ends = _divergence_end(proportion, remaining_per_trial, 1)
    # q lies in [0, 1], so these are replaced wherever any point is likely
    least_q = np.ones(recall.size)
    largest_q = np.zeros(recall.size)
    np.minimum.at(least_q, column, lower_ends)
    np.maximum.at(largest_q, column, upper_ends)

    if is_cohort:
        fewest_alarms = _odds(least_q)
        largest_alarms = _odds(largest_q)
    else:
        fewest_alarms = least_q * (n_neg / n_pos)
        largest_alarms = largest_q * (n_neg / n_pos)

    # the true number rises with recall, so bounds at one recall hold for its neighbours
    return _Alarms(
        fewest=np.maximum.accumulate(fewest_alarms),
        most=_falling_minimum(largest_alarms),
    )


def _curve_points(tally: Tally, recall: Floats) -> tuple[Floats, Floats]:
    """Return tp and fp at every cut, and on the straight lines of tied cases."""
    tp = np.append(0.0, np.cumsum(tally.pos))
    fp = np.append(0.0, np.cumsum(tally.neg))
    # enough points between tied cases that the smallest distance is found
    steps = np.linspace(0, 1, 100 + 4 * math.isqrt(int(tally.n_pos)))
    between = np.setdiff1d(np.concatenate([steps, recall]) * tally.n_pos, tp)
    return np.append(tp, between), np.append(fp, np.interp(between, tp, fp))


def _odds(probability: Floats) -> Floats:
    """Return the odds of a probability."""
    # a probability may round to 1, whose odds are infinite
    return np.asarray(probability / np.maximum(1 - probability, np.finfo(float).epsneg))


# more steps than the last digits need
_NEWTON_STEPS = 30


def _divergence_end(proportion: Floats, distance: Floats, side: int) -> Floats:
    """Return q with K(proportion, q) = distance, above (side 1) or below (side -1).

    As a function of the log odds u of q, the divergence K is convex: from outside,
    Newton's steps approach the root and never pass it. Logarithms are computed from u,
    since q itself may round to 0 or 1.
    """
    # there is no q above a proportion of 1, and none below 0
    has_room = proportion > 0
    if side > 0:
        has_room = proportion < 1
    solvable = (distance > 1e-12) & has_room
    p = proportion[solvable]
    room = distance[solvable]

    # K(p, q) = p ln p + (1 - p) ln(1 - p) - p ln q - (1 - p) ln(1 - q): the first two
    # terms do not depend on q
    entropy_less_room = xlogy(p, p) + xlogy(1 - p, 1 - p) - room

    # start beyond the root: with d = |q - p|, K is at least d^2 / (2 p(1 - p) + 2 d)
    # (Bernstein's inequality)
    reach = np.sqrt(2 * room * np.maximum(p * (1 - p), room)) + 2 * room
    u = logit(np.clip(p + side * reach, 1e-15, 1 - 1e-15))
    for _ in range(_NEWTON_STEPS):
        stop_if_requested()
        excess = entropy_less_room - p * log_expit(u) - (1 - p) * log_expit(-u)
        u = u - excess / (expit(u) - p)

    end = proportion.copy()
    end[solvable] = expit(u)
    return end


def _likely_distance(n_pos: float, points: int, level: float, kind: str) -> float:
    """Return how many standard errors away a curve is still likely (Naiman 1986)."""
    if kind == "pointwise":
        return NormalDist().inv_cdf((1 + level) / 2)

    n_points = max(2, round(min(points, n_pos)))
    # the angle between neighbours is the arc cosine of their correlation; that of two
    # proportions r < r' of the same positives is sqrt(r(1-r') / [r'(1-r)])
    odds = np.arange(1, n_points) / np.arange(n_points - 1, 0, -1)
    # Naiman (1986): the tube around the path has this length on the sphere
    path_length = float(np.arccos(np.sqrt(odds[:-1] / odds[1:])).sum())

    def excess_confidence(distance: float) -> float:
        # the two tails of one point, and the rest of the tube
        tube = path_length / math.pi * math.exp(-distance * distance / 2)
        return 1 - level - float(2 * ndtr(-distance) + tube)

    return rises_above_zero(excess_confidence, 0.0, 40.0)


def _redrawn_alarms(
    redrawn: _RedrawnCounts | ExpectedDraws,
    fpr: Floats,
    recall: Floats,
    level: float,
    kind: str,
) -> _Alarms:
    """Return the fewest and most false alarms for each positive, by redrawing.

    With recall r, P positives and F false alarms, the odds of precision are r P / F. So
    the band is one of log((F + 1/2) / P), which rises with r; its variance is at least
    that of two independent counts.
    """
    n_neg = redrawn.counts.n_neg
    n_pos = redrawn.counts.n_pos
    effective = _effective_sizes(redrawn.sample, level)
    # weights are divided by that of one effective negative, so that 1/2 is half a case
    unit = n_neg / effective.negatives

    def log_alarms(neg: Array, pos: Array) -> Floats:
        """Return log((F + 1/2) / P) of one redrawn sample, at each recall."""
        alarms = neg.sum() / unit * _false_positive_rate(neg, pos, recall)
        return np.asarray(np.log(alarms + 0.5) - math.log(pos.sum() / unit))

    centre = np.log(n_neg * fpr / unit + 0.5) - math.log(n_pos / unit)
    replicate_curves = np.array([log_alarms(neg, pos) for neg, pos in redrawn.draws()])

    # the logarithm of a count k has a variance near 1 / k; one is added for zeros
    variance_of_counts = 1 / (effective.negatives * fpr + 1)
    if redrawn.is_cohort:
        variance_of_counts = variance_of_counts + 1 / (effective.positives + 1)

    variance = np.maximum(replicate_curves.var(axis=0), variance_of_counts)
    standard_error = np.sqrt(variance)
    distances = np.abs(replicate_curves - centre) / standard_error
    half_height = critical(distances, level, kind) * standard_error * effective.widening

    # alarms rise with recall, so bounds at one recall hold for its neighbours
    log_fewest = np.maximum.accumulate(centre - half_height)
    log_most = _falling_minimum(centre + half_height)

    # a sample does not resolve recalls below one or two positives, so the band is
    # widened by two; near a recall of 1 all negatives may be false alarms
    shift = 2 / effective.positives
    fewest_before = np.interp(recall - shift, recall, log_fewest)
    most_after = np.interp(recall + shift, recall, log_most)
    log_fewest = np.where(recall >= shift, fewest_before, -np.inf)
    log_most = np.where(recall + shift < 1, most_after, np.inf)

    # subtract the half alarm that was added
    half_alarm = 0.5 * unit / n_pos
    all_negatives = _all_negatives(redrawn, level)
    return _Alarms(
        fewest=np.maximum(np.exp(log_fewest) - half_alarm, 0.0),
        most=np.minimum(np.exp(log_most) - half_alarm, all_negatives),
    )


def _all_negatives(redrawn: _RedrawnCounts | ExpectedDraws, level: float) -> float:
    """Return the number of negatives for each positive, in a cohort an upper bound."""
    counts = redrawn.counts
    prevalence = counts.n_pos / (counts.n_pos + counts.n_neg)
    if redrawn.is_cohort:
        measured = evaluate_measure(redrawn.sample, _prevalence_measure)
        # the lower end at a level that leaves half the error probability on its side
        prevalence = estimate_from_variance(
            measured.value,
            measured.variance_estimate,
            measured.ends,
            (1 + level) / 2,
        ).low

    return (1 - prevalence) / prevalence


def _prevalence_measure(tally: Tally) -> MeasuredValue:
    """Return the proportion of positives, and how each case moves it."""
    n = tally.n_pos + tally.n_neg
    prevalence = tally.n_pos / n
    ones = np.ones(len(tally))
    influence = Influence(-prevalence / n * ones, (1 - prevalence) / n * ones)
    return MeasuredValue(prevalence, influence)


# the most rows that are resampled; merging neighbours changes bands by under 1/1000
_MAX_ROWS = 1000


def _redraw(
    tally: Tally, is_cohort: bool, replicates: int, rng: Seed
) -> _RedrawnCounts | ExpectedDraws:
    """Return redrawn counts of a tally, by its sampling design."""
    if tally.labels_expected:
        return ExpectedDraws(tally, replicates, rng)
    return _RedrawnCounts(tally, is_cohort, replicates, rng)


class _RedrawnCounts:
    """Counts in few rows, and others that could have been drawn.

    ``is_cohort`` says whether the proportion of positives varies; ``counts`` are at the
    prevalence of the design. The error of expected labels is known where there are
    none.
    """

    error_known = True

    def __init__(
        self, tally: Tally, is_cohort: bool, replicates: int, rng: Seed
    ) -> None:
        n_replicates = _options.whole_number(replicates, "replicates", at_least=100)
        self.is_cohort = is_cohort

        design = tally.design
        rows = tally
        imputes_labels = design.unlabelled == AT_RANDOM and tally.n_unknown > 0
        if not imputes_labels:
            # within a run of rows of one class the curve is straight
            rows = corners(tally)
        few_rows = coarsen(rows, _MAX_ROWS).without_design()
        observed = few_rows.with_design(unlabelled=design.unlabelled)
        targeted = few_rows.with_design(
            unlabelled=design.unlabelled, prevalence=design.prevalence
        )
        self.sample = apply_design(observed)
        self.counts = apply_design(targeted).target_counts

        # cases without a label may be of either class: all are drawn together
        self._imputes = self.sample.imputation is not None
        self._blocks = redraws(
            self.sample.observed,
            n_replicates,
            rng,
            stratified=not (is_cohort or self._imputes),
            unknown=self._imputes,
        )

    def draws(self) -> Iterator[tuple[Floats, Floats]]:
        """Redraw the negatives and positives of each row, one sample after another."""
        for block in self._blocks:
            for columns in zip(*block, strict=True):
                if self._imputes:
                    neg, pos = self._impute(columns)
                else:
                    neg, pos = columns

                n_neg = float(neg.sum())
                n_pos = float(pos.sum())
                if not (n_neg and n_pos):
                    # a sample of one class has no curve
                    continue

                if not self.is_cohort:
                    # the design fixed how many of each class there are
                    neg = neg * (self.counts.n_neg / n_neg)
                    pos = pos * (self.counts.n_pos / n_pos)
                yield neg, pos

    def labelled_positives(self, fpr: Floats, n_positives: float) -> float | Floats:
        """Return the effective number of positives near each cut.

        Where labels are missing at random, a few labelled cases represent many.
        """
        imputation = self.sample.imputation
        if not isinstance(imputation, Imputation):
            return n_positives

        expected = imputation.expected
        observed = self.sample.observed
        bins = imputation.bins

        cases_in_bin = np.bincount(bins, expected.neg + expected.pos)
        labels_in_bin = np.bincount(bins, observed.neg + observed.pos)
        # (m,): how many cases each labelled case stands for in its bin
        cases_per_label = (cases_in_bin / labels_in_bin)[bins]

        fpr_of_rows = running_proportions(self.counts.neg)[1:]
        cases_per_label_at_fpr = np.interp(fpr, fpr_of_rows, cases_per_label)
        return np.minimum(n_positives, expected.n_pos / cases_per_label_at_fpr)

    def _impute(self, columns: tuple[Array, ...]) -> tuple[Floats, Floats]:
        """Return redrawn counts with unlabelled cases divided by their chances."""
        observed = self.sample.observed
        neg = np.zeros(len(observed))
        pos = np.zeros(len(observed))
        if not (columns[0].any() and columns[1].any()):
            return neg, pos

        rows = np.flatnonzero(np.add.reduce(columns))
        counts = [column[rows] for column in columns]
        # a weighted tally also needs sums of squares; drawn cases have weight one
        sums = [*counts, *counts][: len(observed.counts)]
        expected = impute_labels(tally_of_rows(observed.score[rows], *sums)).expected
        neg[rows] = expected.neg
        pos[rows] = expected.pos
        return neg, pos


class _EffectiveSizes(NamedTuple):
    """Effective sample sizes, and the factor by which few cases widen intervals.

    ``positives`` and ``negatives`` are Kish's numbers over the design effect;
    ``widening`` is Student's quantile over the normal one.
    """

    positives: float
    negatives: float
    widening: float


def _effective_sizes(sample: Sample[Tally], level: float) -> _EffectiveSizes:
    """Return the effective sizes of the classes, from the variance of the AUC."""
    estimate = evaluate_measure(sample, auc_measure).variance_estimate
    student_factor = student_quantile(estimate.degrees_of_freedom, level)
    widening = student_factor / NormalDist().inv_cdf((1 + level) / 2)

    if sample.imputation is None:
        independent = apply_design(sample.observed.without_clusters())
        negatives, positives = sample.observed.equal_cases
    else:
        independent = apply_design(sample.target_counts)
        positives = sample.target_counts.n_pos
        negatives = sample.target_counts.n_neg

    if not estimate.variance > 0:
        # nothing varied: each unit (cluster or case) counts as one case
        units = estimate.units
        return _EffectiveSizes(min(positives, units), min(negatives, units), widening)

    independent_estimate = evaluate_measure(independent, auc_measure).variance_estimate
    # the variance over that of as many independent cases (Kish 1965)
    design_effect = max(estimate.variance / independent_estimate.variance, 1.0)
    return _EffectiveSizes(
        max(positives / design_effect, 1.0),
        max(negatives / design_effect, 1.0),
        widening,
    )


def running_proportions(count: Array) -> Floats:
    """Return the proportion of the cases in the first 0, 1, 2, ... rows."""
    total = np.append(0, np.cumsum(count))
    return np.asarray(total / total[-1])


def height(x: Floats, y: Floats, places: Floats) -> Floats:
    """Return the height of a rising curve with corners (x, y); at a jump the upper."""
    # just to the right of equal corners np.interp uses the last, upper one
    return np.asarray(np.interp(np.minimum(places + 1e-12, 1.0), x, y))


def roc_height(neg: Array, pos: Array, fpr: Floats) -> Floats:
    """Return the true positive rate of these counts at each false positive rate."""
    return height(running_proportions(neg), running_proportions(pos), fpr)


def _false_positive_rate(neg: Array, pos: Array, recall: Floats) -> Floats:
    """Return the false positive rate at each recall, read from the lowest score."""
    return 1 - roc_height(pos[::-1], neg[::-1], 1 - recall)


def rate_variance(rate: Floats, n: float | Floats) -> Floats:
    """Return the variance of a rate, with two successes and two failures added."""
    # Agresti and Coull (1998)
    adjusted_rate = (n * rate + 2) / (n + 4)
    return np.asarray(adjusted_rate * (1 - adjusted_rate) / (n + 4))


def critical(distances: Floats, level: float, kind: str) -> float:
    """Return the height of each side of the band in standard errors."""
    pointwise = NormalDist().inv_cdf((1 + level) / 2)
    if kind == "pointwise":
        return pointwise
    # where redrawn curves do not vary, a band from their quantile would have no height
    # the largest distance of each redrawn curve: the band contains whole curves
    return max(pointwise, float(np.quantile(distances.max(axis=1), level)))
