"""Can the scores be read as probabilities, and what does calibration gain?

Size and test of the verdict come from the residuals of the same bins, so that they
cannot contradict each other; the gain is that on cases which the map has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described
from trueness._core.figures import Axis, Curves, Line, guide
from trueness._core.numbers import level_text, number_of, p_is, written
from trueness._core.progress import steps
from trueness._core.records import Answer, Estimate, Record
from trueness.calibration.calibrators import calibrate
from trueness.calibration.errors import CalibrationLine, calibration_line
from trueness.calibration.folds import deal_cases
from trueness.calibration.forecasts import Binned, Forecasts, binned
from trueness.calibration.maps import Map
from trueness.calibration.proper_scores import (
    Losses,
    ProperScore,
    mean_measure,
    squares,
)
from trueness.counts.answers import of_counts, of_tally
from trueness.counts.cases import with_fields
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_measure,
    interval_notes,
)
from trueness.inference.intervals import (
    WILSON,
    ProportionSample,
    proportion_interval,
)
from trueness.inference.sample import check_prevalence_known
from trueness.inference.verification import unlabelled_notes

# each bin has at most about so large a part of the cases, and of the variance of labels
_PARTS = 10


@final
@dataclass(frozen=True, repr=False)
class CalibrationPlace(Record):
    """Scores that mean something else than they say.

    Attributes
    ----------
    low, high, score : float
        The lowest and the highest of these scores, and their mean, which is the share
        of positives that they state.
    share : Estimate
        The share of positives that they have, with limits that hold for all places at
        once (Bonferroni).
    cases : float
        How many labelled cases have such a score (as equal cases, if weighted).
    """

    low: float
    high: float
    score: float
    share: Estimate
    cases: float

    @property
    def sentence(self) -> str:
        """Say it in cases."""
        many = _enough_cases(abs(self.share.value - self.score))
        x, places = self.share, len(str(many)) - 1
        ends = f"{_cases_of(x.low, many)} to {_cases_of(x.high, many)}"
        scored = f"scored about {self.score:.{places}f}"
        if self.high - self.low > abs(x.value - self.score) / 2:
            scored = f"scored from {self.low:.{places}f} to {self.high:.{places}f}"
            scored += f", {self.score:.{places}f} on average"
        return (
            f"Of {number_of(many)} cases {scored}, {_cases_of(x.value, many)} are "
            f"positive ({level_text(x.level)} limits {ends})."
        )


@final
@dataclass(frozen=True, repr=False)
class CalibrationVerdict(Answer):
    """Can the scores be read as probabilities?

    Attributes
    ----------
    code : str
        "miscalibrated": the test rejects, and the size is not known to be small.
        "close": the test rejects, but the size is small. "calibrated": the test does
        not reject, and the size is small. "undecided": nothing was found, but these
        cases could hide an error that is not small.
    size, p_value : Estimate, float
        Mean absolute difference of score and share of positives, place by place; how
        often calibrated scores differ from the shares by as much, in any places.
    worst : CalibrationPlace or None
        Where scores are surely off, and farthest; None where no single place is, or
        the test does not reject.
    mean, prevalence : float
        Mean score, and share of positives, of all.
    """

    code: str
    size: Estimate
    p_value: float
    worst: CalibrationPlace | None
    mean: float
    prevalence: float
    tolerance: float
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say the verdict, the worst place and the size, in cases."""
        many = _enough_cases(self.size.high)
        value, low, high = (
            _cases_of(x, many) for x in (self.size.value, self.size.low, self.size.high)
        )
        test = "" if math.isnan(self.p_value) else f" ({p_is(self.p_value)})"
        first = {
            "miscalibrated": f"These scores are not probabilities{test}.",
            "close": f"These scores are close to probabilities, but not equal{test}.",
            "calibrated": f"These scores can be read as probabilities{test}.",
            "undecided": "Nothing was found against reading these scores as "
            f"probabilities{test}, but there are too few cases to be sure.",
        }[self.code]
        size = (
            "On average, score and share of positives differ by "
            f"{value} in {number_of(many)} cases ({low} to {high})."
        )
        if self.code in ("calibrated", "undecided"):
            size = (
                "On average, score and share of positives may differ by up to "
                f"{high} in {number_of(many)} cases."
            )
        return (first, *([self.worst.sentence] if self.worst else []), size)

    def __repr__(self) -> str:
        """Write the verdict in sentences."""
        return "\n".join([*self.sentences, *(f"Note: {n}" for n in self.notes)])


@of_tally
def calibration_verdict(
    data: Tally, *, tolerance: float = 0.05, level: float = 0.95
) -> CalibrationVerdict:
    r"""Can the scores be read as probabilities, and where are they off?

    .. math:: \mathrm{size} = \sum_k \frac{n_k}{n} |\bar y_k - \bar p_k|

    Bins hold at most about a tenth of the cases, and of the variance :math:`p(1-p)` of
    calibrated labels; the size is the debiased error of :func:`calibration_error` there
    (Kumar, Liang and Ma 2019, arXiv:1909.10155; Satterthwaite 1946).

    Parameters
    ----------
    tolerance
        A size is small where its upper limit is at most this part of the share of the
        rarer class: with 0.05, at most 5 of 100 positives are expected at scores where
        they are not.

    Examples
    --------
    Errors that cancel: half of the cases are scored too low, half too high.

    >>> t = Tally([0.2, 0.8], neg=[60, 40], pos=[40, 60])
    >>> found = calibration_verdict(t)
    >>> found.code, round(found.size.value, 3)
    ('miscalibrated', 0.2)
    >>> print(found.worst.sentence)
    Of 100 cases scored about 0.80, 60 are positive (95 % limits 49 to 70).
    """
    s = Forecasts(data, "calibration_verdict")
    tolerance = _options.fraction(tolerance, "tolerance")
    level = _options.fraction(level, "level")
    # bins share out both the cases and their variance
    variance = s.cases * s.score * (1 - s.score)
    mass = s.cases / s.n + variance / max(float(variance.sum()), 1e-300)
    number = np.floor((np.cumsum(mass) - mass / 2) * _PARTS)
    start = np.flatnonzero(np.diff(number, prepend=-1))
    found = binned(s, start)
    size = found.mean_error(level)
    p = found.test[1]
    if s.pos[s.score == 0].any() or s.neg[s.score == 1].any():
        p = 0.0  # what was impossible has happened
    small = size.high <= tolerance * min(s.share, 1 - s.share)
    codes = ("close", "calibrated") if small else ("miscalibrated", "undecided")
    rejected = p < 1 - level
    worst = _worst(s, start, found, level) if rejected else None
    known = (float(s.score @ s.cases) / s.n, s.share, tolerance)
    notes = (*unlabelled_notes(data), *interval_notes(data))
    return CalibrationVerdict(codes[not rejected], size, p, worst, *known, notes)


def _worst(
    s: Forecasts, start: Array, found: Binned, level: float
) -> CalibrationPlace | None:
    """Give the bin whose scores are surely off by most."""
    units, each = s.sample.observed.cluster_number, 1 - (1 - level) / start.size
    ends = [*start[1:], s.score.size]
    total, up, said = (
        np.add.reduceat(x, start) for x in (s.cases, s.pos, s.cases * s.score)
    )
    worst, least = None, 0.0
    for k in range(start.size):
        n, share, score = float(total[k]), float(up[k] / total[k]), said[k] / total[k]
        variance = float(found.covariance[k, k])
        low, high = proportion_interval(
            share, ProportionSample(variance, n, units), each
        )
        gap = max(low - score, score - high)
        if gap > least:
            least, inside = gap, s.score[start[k] : ends[k]].tolist()
            e = estimate_from_interval(
                share, low, high, level, WILSON, math.sqrt(variance)
            )
            worst = CalibrationPlace(inside[0], inside[-1], float(score), e, n)
    return worst


def _enough_cases(difference: float) -> int:
    """In how many cases, a power of ten, does a difference show?"""
    if not difference > 0:
        return 100
    return int(10 ** max(2, math.ceil(-math.log10(difference))))


def _cases_of(share: float, many: int) -> str:
    """Say how many of so many cases a share is."""
    x = share * many
    return f"{x:.1f}" if x < 10 and round(x) != x else f"{x:,.0f}"


@final
@dataclass(frozen=True, repr=False)
class CalibrationGain(Record):
    """What does calibration gain on cases that the map has not seen?

    Attributes
    ----------
    before, in_sample, cross_fitted : Estimate
        Brier score of the scores as they are (NaN where these are not probabilities),
        under the map fitted on the same cases (optimistic), and under maps fitted
        without them.
    gain : Estimate
        ``before`` minus ``cross_fitted``, paired by case; above 0, calibration helps.
    error_before, error_after : Estimate
        Size of :func:`trueness.calibration_verdict`, before and cross-fitted.
    order : str
        What the map does to the order of the scores: "kept", "ties" (some different
        scores get the same probability), "reversed", or "changed".
    tally : Tally
        The cases with their cross-fitted probabilities, of so many ``folds``.
    """

    before: Estimate
    in_sample: Estimate
    cross_fitted: Estimate
    gain: Estimate
    error_before: Estimate
    error_after: Estimate
    order: str
    folds: int
    tally: Tally


@of_counts
def calibration_gain(
    data: Tally | Mapping[Any, Tally],
    *,
    method: str = "auto",
    folds: int = 5,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
    fitted: Map | None = None,
) -> Any:
    r"""What does calibration gain on cases that the map has not seen?

    .. math:: \frac1n \sum_i (s_i - y_i)^2 -
              \frac1n \sum_i \big(f_{-k(i)}(s_i) - y_i\big)^2

    with :math:`f_{-k}` the map fitted without fold k. Intervals are those of
    :func:`trueness.brier`, paired for the gain; they take the maps as given.

    Parameters
    ----------
    data
        Labelled cases that the classifier was not trained on; or a mapping from group
        to tally: maps are fitted on all together, and each group evaluated by itself.
    method, folds
        A name from ``trueness.CALIBRATORS``; each class needs as many cases as folds.
    fitted
        The map fitted on all these cases by ``method``, if it is there already.

    Examples
    --------
    Scores of 0.9 and 0.6 where 3 of 5 and 2 of 5 are positive.

    >>> t = Tally([0.9, 0.6], neg=[20, 30], pos=[30, 20])
    >>> found = calibration_gain(t, method="isotonic", rng=0)
    >>> round(found.before.value, 3), found.gain.value > 0
    (0.305, True)
    """
    groups = dict(data) if isinstance(data, Mapping) else {"": data}
    level = _options.fraction(level, "level")
    folds = _options.whole_number(folds, "folds", at_least=2)
    for part in groups.values():
        _cases.one_classifier(part, "calibration_gain")
        check_prevalence_known(part, "calibration_gain")
    if not groups:
        raise NotEnoughCases("calibration_gain needs cases; found an empty mapping.")
    groups = {name: part.labelled() for name, part in groups.items()}
    first, *others = groups.values()
    total = sum(others, start=first)
    _cases.both_classes(total, "calibration_gain")
    _cases.cases_for_folds(total, folds)
    if total.design.prevalence is not None and isinstance(data, Mapping):
        raise InputError(
            "calibration_gain needs one sample for prevalence=; found groups, each of "
            "which has a share of positives of its own. Ask for one group at a time."
        )
    whole = calibrate(total, method=method) if fitted is None else fitted
    if not isinstance(whole, Map):
        raise InputError(f"fitted must be a calibration map; found {described(whole)}.")
    # (folds, m) negatives, positives and their probabilities, of all groups in turn
    columns = zip(*((x.score, x.neg, x.pos) for x in groups.values()), strict=True)
    score, *counts = (np.concatenate(c) for c in columns)
    generator = _options.generator(rng)
    neg, pos = (deal_cases(count, folds, generator) for count in counts)
    p = np.full(neg.shape, np.nan)
    for k in steps(range(folds), "Cross-fitting", unit="folds"):
        here = neg[k] + pos[k] > 0
        out = Tally(score, neg[k], pos[k])
        rest = with_fields(total.without_design() - out, design=total.design)
        p[k, here] = calibrate(rest, method=method)(score[here])
    ends = np.cumsum([len(x) for x in groups.values()])[:-1]
    dealt = zip(*(np.split(x, ends, axis=1) for x in (p, neg, pos)), strict=True)
    parts = zip(groups.items(), dealt, strict=True)
    found = {n: _judged(part, whole, rows, level) for (n, part), rows in parts}
    return found if isinstance(data, Mapping) else found[""]


def _judged(
    part: Tally, fitted: Map, dealt: tuple[Array, ...], level: float
) -> CalibrationGain:
    some = dealt[1] + dealt[2] > 0
    score = np.broadcast_to(part.score, some.shape)[some]
    p, neg, pos = (x[some] for x in dealt)
    if not (score.size and score.min() >= 0 and score.max() <= 1):
        # not on the scale of probabilities: there is nothing to compare with
        score = np.full(score.shape, np.nan)
    design = part.design

    def mean(losses: Losses, neg: Array, pos: Array, least: float = 0.0) -> Estimate:
        """Give a mean over cases that lose so much, row by row, at most 1 each."""
        if np.isnan(losses[0]).any():
            return estimate_from_interval(
                math.nan, math.nan, math.nan, level, "student"
            )
        # one row for each score and fold, whatever its number
        rows = with_fields(Tally(np.arange(neg.size, 0, -1.0), neg, pos), design=design)
        return estimate_measure(rows, mean_measure(losses, least, 1.0), level=level)

    plain, after = squares(score), squares(p)
    seen = with_fields(Tally(p, neg, pos), design=design)
    error = estimate_from_interval(math.nan, math.nan, math.nan, level)
    if not np.isnan(score).any():
        error = calibration_verdict(part, level=level).size
    mapped = np.asarray(fitted(part.score), dtype=np.float64)
    inside, step = squares(mapped), np.diff(mapped[::-1])
    order = "kept" if (step > 0).all() else "ties"
    if (step < 0).any():
        order = "changed" if (step > 0).any() else "reversed"
    return CalibrationGain(
        mean(plain, neg, pos),
        mean(inside, part.neg, part.pos),
        mean(after, neg, pos),
        mean((plain[0] - after[0], plain[1] - after[1]), neg, pos, -1.0),
        error,
        calibration_verdict(seen, level=level).size,
        *(order, len(some), seen),
    )


def line_after(found: CalibrationGain) -> CalibrationLine | None:
    """Give the line through the cross-fitted probabilities, where there is one."""
    try:
        return calibration_line(found.tally, level=found.gain.level)
    except NotEnoughCases:
        return None


def gain_sentences(found: CalibrationGain) -> list[str]:
    """Say in cases what calibration gains, and what it does to the order."""
    g, errors = found.gain, (found.error_before.value, found.error_after.value)
    many = _enough_cases(max(x for x in errors if not math.isnan(x)))
    before, after = (_cases_of(x, many) for x in errors)
    if math.isnan(g.value):
        said = [
            f"On cases not used for fitting, probability and share of positives differ "
            f"by {after} in {many:,} cases on average."
        ]
    else:
        helps = "These cases do not show whether calibration helps."
        if g.low > 0 and errors[1] > errors[0]:
            helps = "The Brier score falls, but not every score is nearer to the "
            helps += "truth; try another method."
        elif g.low > 0:
            helps = "Calibration helps."
        elif g.high < 0:
            helps = "Calibration makes the scores worse; leave them as they are."
        said = [
            f"{helps} Score and share of positives differ by {before} in {many:,} "
            f"cases on average, and by {after} after calibration, on cases not used "
            "for fitting.",
            f"The gain in Brier score is {written(g)}, in {found.folds} folds.",
        ]
    return [*said, *_ORDERS.get(found.order, ())]


_ORDERS = {
    "ties": ("Some different scores get the same probability.",),
    "reversed": ("The map reverses the order: a higher score is less probable.",),
    "changed": ("The map changes the order of the scores, so that the AUC changes.",),
}


def gain_rows(found: CalibrationGain) -> list[list[object]]:
    """Give the Brier scores before and after, each with its words."""
    rows: list[list[object]] = [
        ["as they are", found.before],
        ["calibrated, cases not used for fitting", found.cross_fitted],
        ["calibrated, same cases (optimistic)", found.in_sample],
    ]
    return rows[math.isnan(found.before.value) :]


def decomposition_figure(scores: Mapping[str, ProperScore]) -> Curves:
    """How large are discrimination and miscalibration of each, and where is loss equal?

    On each of nine guides mcb - dsc is constant.
    """
    mcb = [float(s.mcb) for s in scores.values()]
    dsc = [float(s.dsc) for s in scores.values()]
    right, top = (1.15 * max([*v, 1e-9]) for v in (dsc, mcb))
    x = Axis("dsc", "Discrimination (DSC)", 0.0, right)
    y = Axis("mcb", "Miscalibration (MCB)", 0.0, top)
    guides = []
    for shift in np.linspace(-right, top, 9):
        ends = np.array([max(0.0, -shift), min(right, top - shift)])
        guides.append(guide(x, y, ends, ends + shift))
    dots = tuple(
        Line(name, {"dsc": np.array([d]), "mcb": np.array([m])})
        for name, d, m in zip(scores, dsc, mcb, strict=True)
    )
    what = "Miscalibration against discrimination"
    return Curves(what, x, y, guides=tuple(guides), dots=dots)
