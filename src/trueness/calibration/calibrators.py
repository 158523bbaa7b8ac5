"""What does a score mean as a probability, and by which method?

No method is best everywhere: a curve with two parameters wins on 50 cases and loses on
5000. ``auto`` chooses the method with the smallest cross-validated log loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from inspect import signature
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.solvers import pool_violators, pooled_blocks
from trueness.calibration.field_rules import check_ascending, check_probabilities
from trueness.calibration.folds import deal_cases
from trueness.calibration.forecasts import equal_mass_bins, pool_rows
from trueness.calibration.label_maps import pooled_bins
from trueness.calibration.maps import (
    Formula,
    Map,
    at_prevalence,
    evaluate_formula,
    freeze,
    just_above,
    register,
)
from trueness.calibration.parametric import (
    beta,
    binormal,
    fermi_dirac_map,
    platt,
    temperature,
)
from trueness.counts.answers import of_tally, refuse
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.sample import apply_design, check_prevalence_known

# rows that are compared with a line at once
_SMALLEST_BLOCK = 64
_LARGEST_BLOCK = 1 << 14


class _Corner(NamedTuple):
    """A corner of the cumulative sum diagram."""

    cases: int
    positives: int


@register("isotonic")
class Isotonic(Map):
    """Straight lines between the ends of the blocks of isotonic regression."""

    score: Floats
    probability: Floats

    def __post_init__(self) -> None:
        _freeze_table(self, "score", "probability", 0)
        check_probabilities("probability", self.probability)
        check_ascending("probability", self.probability, strictly=False)

    @property
    def expression(self) -> Formula:
        """Return the points that straight lines connect."""
        return (("lines", self.score, self.probability),)


@register("histogram")
class Histogram(Map):
    """Proportion of positives in each bin; a score at an edge is in the upper bin."""

    edges: Floats
    probability: Floats

    def __post_init__(self) -> None:
        _freeze_table(self, "edges", "probability", 1)
        check_probabilities("probability", self.probability)

    @property
    def expression(self) -> Formula:
        """Return the table of steps."""
        return (("table", self.edges, self.probability),)


@register("venn-abers")
class VennAbers(Map):
    """Two probabilities a score (``interval``); one is perfectly calibrated."""

    low_edges: Floats
    low: Floats
    high_edges: Floats
    high: Floats

    def __post_init__(self) -> None:
        _freeze_table(self, "low_edges", "low", 1)
        _freeze_table(self, "high_edges", "high", 1)
        for name in ("low", "high"):
            check_probabilities(name, getattr(self, name))
            check_ascending(name, getattr(self, name), strictly=False)

        edges = np.concatenate([self.low_edges, just_above(self.high_edges)])
        low, high = self.interval(np.append(edges, -np.inf))
        if (low > high).any():
            raise InputError("low must not be above high.")

    def interval(self, score: ArrayLike) -> tuple[Floats, Floats]:
        """Return p0 and p1 of each score: isotonic fits with the case as 0 and as 1."""
        low = ("table", self.low_edges, self.low)
        # "edge < score" is "next float above the edge <= score"
        high = ("table", just_above(self.high_edges), self.high)
        return evaluate_formula((low,), score), evaluate_formula((high,), score)

    @property
    def expression(self) -> Formula:
        """Return the table of steps of the probability between the two."""
        edges = np.union1d(self.low_edges, just_above(self.high_edges))
        p0, p1 = self.interval(np.concatenate([[-np.inf], edges]))
        # Vovk et al. (2015), section 4
        return (("table", edges, p1 / (1 - p0 + p1)),)


def isotonic(t: Tally) -> Isotonic:
    """Isotonic regression: which increasing function fits the labels best?

    Straight lines between the scores, as in scikit-learn (Zadrozny and Elkan 2002,
    doi:10.1145/775047.775151). Its ends are often exactly 0 or 1, so that one case may
    have an infinite log loss: "venn-abers" has not that fault.

    >>> isotonic(Tally([1, 2, 3, 4], neg=[2, 0, 2, 0], pos=[0, 1, 1, 2]))([1, 2, 3])
    array([0. , 0.5, 0.5])
    """
    probability, start = pool_violators(t.pos[::-1], t.neg[::-1])
    score = t.score[::-1]

    # the first and the last row of each block: between them the function is constant
    block_ends = np.unique(np.concatenate([start[:-1], start[1:] - 1]))
    block = np.searchsorted(start, block_ends, side="right") - 1
    return Isotonic(score[block_ends], probability[block])


def venn_abers(t: Tally) -> VennAbers:
    """Venn-Abers predictor: two probabilities, one of them perfectly calibrated.

    p0 is the isotonic fit at the score when the case itself is added as a negative, p1
    as a positive; as one number :math:`p_1 / (1 - p_0 + p_1)`, which is never 0 or 1
    (Vovk, Petej and Fedorova 2015, arXiv:1511.00213). No confidence interval.

    >>> c = venn_abers(Tally([5], neg=[1], pos=[1]))
    >>> [p.round(4) for p in c.interval([5.0])], c([5.0])
    ([array([0.3333]), array([0.6667])], array([0.5]))
    """
    # a new negative among these cases is a new positive in their mirror image
    p0 = 1 - _isotonic_with_one_positive(t.neg, t.pos)[::-1]
    p1 = _isotonic_with_one_positive(t.pos[::-1], t.neg[::-1])

    # between two scores p0 is that of the lower one, p1 that of the upper one
    score = t.score[::-1]
    low_steps = np.concatenate([[0.0], p0])
    high_steps = np.concatenate([p1, [1.0]])
    # a step begins where the value rises
    low_rises = np.diff(low_steps) > 0
    high_rises = np.diff(high_steps) > 0
    return VennAbers(
        low_edges=score[low_rises],
        low=low_steps[np.append(True, low_rises)],
        high_edges=score[high_rises],
        high=high_steps[np.append(high_rises, True)],
    )


def _isotonic_with_one_positive(pos: Ints, neg: Ints) -> Floats:
    """Return the isotonic value at each row when one positive is added to it, exactly.

    Vovk et al. (2015), algorithms 1 to 4: one walk along the cumulative sum diagram,
    with cases to the right (x) and positives upwards (y).
    """
    cases = np.cumsum(pos + neg)
    positives = np.cumsum(pos)
    corners = _minorant_corners(cases, positives)
    if cases[-1] >= 2**31:  # products of two counts must not overflow
        cases = cases.astype(object)
        positives = positives.astype(object)

    value = np.empty(cases.size)
    row = 0
    while row < cases.size:
        leftmost = corners[-1]
        following = corners[-2]
        stop = _first_row_below(cases, positives, row, leftmost, following)
        rise = following.positives - leftmost.positives
        value[row : stop + 1] = rise / (following.cases - leftmost.cases)
        if stop < cases.size:
            # algorithm 2: this row moves to the left of the added case, by (-1, -1)
            corners.pop()
            moved = _Corner(int(cases[stop]) - 1, int(positives[stop]) - 1)
            _add_corner_on_the_left(corners, moved)
        row = stop + 1

    return value


def _first_row_below(
    cases: Ints, positives: Ints, row: int, start: _Corner, end: _Corner
) -> int:
    """Return the first row, from ``row`` on, that lies below the line between corners.

    If there is none, the number of rows. Rows are compared in blocks.
    """
    run = end.cases - start.cases
    rise = end.positives - start.positives
    block_size = _SMALLEST_BLOCK
    while row < cases.size:
        block = slice(row, row + block_size)
        # cross products of whole numbers: slopes are compared without rounding
        height = (positives[block] - (1 + start.positives)) * run
        below = height < rise * (cases[block] - (1 + start.cases))
        first_below = int(below.argmax())
        if below[first_below]:
            return row + first_below

        row += block_size
        block_size = min(2 * block_size, _LARGEST_BLOCK)

    return cases.size


def _minorant_corners(cases: Ints, positives: Ints) -> list[_Corner]:
    """Return the corners of the convex minorant, the leftmost last (algorithm 1)."""
    # the added case comes before the first row; the end of a block need not be a corner
    x = np.concatenate([[-1, 0], cases])
    y = np.concatenate([[-1, 0], positives])
    block_ends = pooled_blocks(np.diff(y), np.diff(x))[::-1]

    corners: list[_Corner] = []
    for corner in zip(x[block_ends].tolist(), y[block_ends].tolist(), strict=True):
        _add_corner_on_the_left(corners, _Corner(*corner))
    return corners


def _add_corner_on_the_left(corners: list[_Corner], corner: _Corner) -> None:
    """Add a corner to the left of all others, and remove those above the new line."""
    while len(corners) > 1:
        next_one = corners[-1]
        after_next = corners[-2]
        # keep the next corner if the line bends upwards there
        rise_to_next = next_one.positives - corner.positives
        run_to_next = next_one.cases - corner.cases
        rise_after = after_next.positives - next_one.positives
        run_after = after_next.cases - next_one.cases
        if rise_to_next * run_after < rise_after * run_to_next:
            break
        corners.pop()

    corners.append(corner)


def histogram(t: Tally, *, bins: int = 10) -> Histogram:
    """Histogram binning: the proportion of positives in each bin of scores.

    Bins hold about equally many cases, edges lie half-way between neighbouring scores;
    proportions need not increase (Zadrozny and Elkan, ICML 2001).

    >>> t = Tally([1, 2, 3, 4], neg=[3, 2, 2, 0], pos=[1, 2, 2, 4])
    >>> histogram(t, bins=2)([1, 4])
    array([0.375, 0.75 ])
    """
    bins = _options.whole_number(bins, "bins", at_least=1)
    score = t.score[::-1]
    pos = t.pos[::-1]
    cases = (t.neg + t.pos)[::-1]
    start = equal_mass_bins(cases, bins)

    # each edge lies between the last score of a bin and the first of the next
    below = score[start[1:] - 1]
    above = score[start[1:]]
    middle = below / 2 + above / 2
    # between neighbouring floats there is no middle
    has_middle = (middle > below) & (middle <= above)
    edges = np.where(has_middle, middle, above)
    probability = np.add.reduceat(pos, start) / np.add.reduceat(cases, start)
    return Histogram(edges, probability)


def _freeze_table(record: Map, scores: str, values: str, additional: int) -> None:
    """Make two fields of a map read-only, and check them as a table.

    There must be one value for each score, and so many ``additional`` ones.
    """
    freeze(record, scores, values)
    score = getattr(record, scores)
    value = getattr(record, values)
    check_ascending("The scores of a map", score)
    if (score.size + additional,) != value.shape:
        raise InputError(
            f"The table of a map must have one value per score; found {score.size} "
            f"scores and {value.size} values."
        )


@of_tally
def calibrate(data: Tally, /, method: str = "auto", **options: Any) -> Map:
    """Calibration map from score to probability.

    Which probability does each score correspond to? Called with scores the map returns
    probabilities; ``t.map(c)`` is the calibrated tally, and ``c.save(path)`` saves the
    map. With a stated prevalence, which a case-control sample needs, the map is for
    that prevalence (:func:`trueness.at_prevalence`).

    Parameters
    ----------
    data
        Labelled cases that the classifier was *not* trained on (for training cases see
        :class:`trueness.estimators.Calibrator`); unknowns are not used.
    method
        A name from ``trueness.CALIBRATORS``; "sigmoid" is "platt". "venn-abers",
        "binormal" and "fermi-dirac" take no weights; with weights, "auto" is Platt's.
    **options
        Passed on to the method, for example ``bins=20`` to "histogram".

    Examples
    --------
    >>> t = Tally([1, 2, 3], neg=[3, 2, 1], pos=[1, 2, 3])
    >>> calibrate(t, method="isotonic")([1, 2, 3])
    array([0.25, 0.5 , 0.75])
    """
    method = calibrator_name(method)
    fit = CALIBRATORS[method]
    call = f"calibrate(method={method!r})"
    if method in CASE_BY_CASE:
        others = ", ".join(name for name in CALIBRATORS if name not in CASE_BY_CASE)
        reason = f"It is fitted case by case; {others} take weights."
        refuse(data, call, {"weight": reason})

    _cases.both_classes(data, call)
    option_names = [name for name in signature(fit).parameters if name != "t"]
    _options.options(options, option_names, f"method={method!r}")
    check_prevalence_known(data, "calibrate")

    observed = data.without_design()
    # methods without a covariance do not use clusters
    cases = observed if method in _USE_CLUSTERS else observed.without_clusters()
    fitted = fit(cases, **options)
    design = data.design
    if design.prevalence is None:
        return fitted

    # the prevalence of the population that the labelled cases stand for
    cohort = observed.with_design(
        sampling=design.sampling, unlabelled=design.unlabelled
    )
    prevalence_of_cohort = apply_design(cohort).target_counts.prevalence
    return at_prevalence(fitted, prevalence_of_cohort, design.prevalence)


def fit_label_map(reference: Tally) -> Map:
    """Return the default map of expected labels, fitted to labelled reference cases."""
    return calibrate(reference, method="pooled-bins")


def calibrator_name(method: str) -> str:
    """Return the name of a method; "sigmoid" is scikit-learn's name of "platt"."""
    if isinstance(method, str) and method == "sigmoid":
        return "platt"
    return str(_options.choice(method, CALIBRATORS, "method"))


def auto(t: Tally, *, folds: int = 10, rng: Seed = 0) -> Map:
    """Map with the smallest cross-validated log loss.

    The candidates are "platt" and "venn-abers"; for scores from 0 to 1, also "beta"
    and, as the first one, "platt" in their log-odds (Stone 1974,
    doi:10.1111/j.2517-6161.1974.tb00994.x). Weighted cases, and a class with one case,
    cannot be divided into folds: then it is the first candidate.

    >>> t = Tally([0.1, 0.9], neg=[90, 10], pos=[10, 90])
    >>> auto(t)([0.1, 0.9]).round(6)  # Venn-Abers: (10 + 1) / (100 + 2)
    array([0.107843, 0.892157])
    """
    folds = _options.whole_number(folds, "folds", at_least=2)
    candidates = _candidate_fits(t)
    folds = min(folds, int(t.n_pos), int(t.n_neg))
    if t.weighted or folds < 2 or len(t) < 2:
        return candidates[0](t)

    losses = _cross_validated_log_losses(t, candidates, folds, _options.generator(rng))
    return candidates[int(np.argmin(losses))](t)


def _candidate_fits(t: Tally) -> list[Callable[[Tally], Map]]:
    """Return the fits that "auto" chooses from, fewest parameters first."""
    if t.score[-1] >= 0 and t.score[0] <= 1:
        return [partial(platt, scale="logit"), platt, beta, venn_abers]
    return [platt, venn_abers]


def _cross_validated_log_losses(
    t: Tally,
    candidates: list[Callable[[Tally], Map]],
    folds: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the mean log loss of each candidate on cases that it was not fitted to."""
    # many distinct scores are pooled: losses then differ by far less than chance
    score, pos, neg = pool_rows(t.score, t.pos, t.neg, 4096)
    folds_of_neg = deal_cases(neg, folds, rng)
    folds_of_pos = deal_cases(pos, folds, rng)
    losses = np.zeros(len(candidates))

    for held_out_neg, held_out_pos in zip(folds_of_neg, folds_of_pos, strict=True):
        training = Tally(score, neg - held_out_neg, pos - held_out_pos)
        probability = np.array([fit(training)(score) for fit in candidates])
        # isotonic values of 0 and 1 would make the loss infinite
        probability = np.clip(probability, 2.0**-52, 1 - 2.0**-52)
        losses -= np.log(probability) @ held_out_pos
        losses -= np.log(1 - probability) @ held_out_neg

    return losses / float(pos.sum() + neg.sum())


# methods that are fitted to single cases, and cannot use weights
CASE_BY_CASE = ("fermi-dirac", "venn-abers", "binormal")
_FITS: dict[str, Callable[..., Map]] = {
    "auto": auto,
    "fermi-dirac": fermi_dirac_map,
    "platt": platt,
    "isotonic": isotonic,
    "beta": beta,
    "temperature": temperature,
    "venn-abers": venn_abers,
    "binormal": binormal,
    "histogram": histogram,
    "pooled-bins": pooled_bins,
}
# the methods whose covariance takes clusters of reference cases into account
_USE_CLUSTERS = ("platt", "pooled-bins")


def _check_both_classes(name: str, fit: Callable[..., Map]) -> Callable[..., Map]:
    """Return a fit that checks for both classes and leaves out unlabelled cases."""

    @wraps(fit)
    def call(t: Tally, **options: Any) -> Map:
        _cases.both_classes(t, name)
        return fit(t.labelled(), **options)

    return call


CALIBRATORS: Mapping[str, Callable[..., Map]] = MappingProxyType(
    {name: _check_both_classes(name, fit) for name, fit in _FITS.items()}
)
