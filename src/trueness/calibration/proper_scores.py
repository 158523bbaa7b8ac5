r"""How good are the probabilities? Brier score, log loss and their parts.

By isotonic recalibration (CORP; Dimitriadis, Gneiting and Jordan 2021) a loss is
:math:`S = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats, map_blocks
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.figures import Axis, Curves, Line, guide
from trueness._core.numbers import number_of
from trueness._core.records import (
    Answer,
    Estimate,
    Record,
    native_frame,
    table,
)
from trueness._core.solvers import isotonic_curve, pool_violators
from trueness.calibration.errors import error_bins
from trueness.calibration.forecasts import (
    Forecasts,
    check_probabilities,
    effective_sample_size,
)
from trueness.calibration.residuals import (
    BinnedResiduals,
    residuals_from_prevalence,
    residuals_from_scores,
)
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_from_variance,
    estimate_measure,
    evaluate_measure,
)
from trueness.inference.intervals import WILSON, ProportionSample, proportion_interval
from trueness.inference.sample import Measure, MeasuredValue, blockwise_values
from trueness.inference.variance import Influence
from trueness.inference.verification import unlabelled_notes

# the prevalence is kept this far from 0 and 1 for the loss of predicting it
_SMALLEST_PREVALENCE = 2.0**-52
# what each loss is called in an answer
_TITLES = {"brier": "Brier score", "log_loss": "log loss"}
Losses = tuple[Floats, Floats]  # of a negative and of a positive case at each row


@final
@dataclass(frozen=True, repr=False)
class ScoreParts(Record):
    """Miscalibration, discrimination and uncertainty of a mean loss.

    Attributes
    ----------
    mcb, dsc, unc : Estimate
        The loss is ``mcb - dsc + unc``.
    skill : float
        ``(dsc - mcb) / unc``: 1 is perfect, 0 as good as saying the prevalence.
    """

    mcb: Estimate
    dsc: Estimate
    unc: Estimate
    skill: float


@final
@dataclass(frozen=True, repr=False)
class ProperScore(Answer):
    """A mean loss with its interval; its parts are computed when they are asked for.

    Attributes
    ----------
    value, low, high, level, method, se
        As in an :class:`trueness.Estimate`.
    parts : ScoreParts
        ``mcb``, ``dsc``, ``unc`` and ``skill``, which are also attributes of this.
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    se: float
    notes: tuple[str, ...] = ()
    _name: str = "brier"
    _data: Tally | None = None
    _parts: Callable[[], ScoreParts] | None = None

    @cached_property
    def parts(self) -> ScoreParts:
        """Return the parts of the loss (CORP)."""
        if self._parts is not None:
            return self._parts()
        if self._data is not None:
            return _score_parts(self._data, self._name, self.level, self.high)
        unknown = estimate_from_interval(math.nan, math.nan, math.nan, self.level)
        return ScoreParts(unknown, unknown, unknown, math.nan)

    mcb = property(lambda self: self.parts.mcb, doc="Loss by miscalibration.")
    dsc = property(lambda self: self.parts.dsc, doc="Gain by discrimination.")
    unc = property(
        lambda self: self.parts.unc,
        doc="Loss of predicting the prevalence for every case.",
    )
    skill = property(
        lambda self: self.parts.skill, doc="Proportion of UNC explained by the scores."
    )

    def __float__(self) -> float:
        """Return the value alone."""
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, those of the parts among them."""
        return super().to_dict() | self.parts.to_dict()

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table of one row, with the parts."""
        return native_frame(table(self) | table(self.parts), backend)

    def __repr__(self) -> str:
        """Write the value with its interval, then its parts."""
        estimate = estimate_from_interval(
            self.value, self.low, self.high, self.level, self.method
        )
        name = _TITLES[self._name]
        lines = [repr(replace(estimate, name=name, bounds=self.bounds))]
        for name in ("mcb", "dsc", "unc"):
            lines.append(f"  {name}: {getattr(self, name)}")
        lines.append(f"  skill: {self.skill:.4g}")
        for note in self.notes:
            lines.append(f"  Note: {note}")
        return "\n".join(lines)


def _loss_measure(name: str, t: Tally) -> MeasuredValue:
    """Return the mean loss with this name, and the influence of each case."""
    check_probabilities(t, name)
    loss = LOSSES[name]
    return mean_measure(_losses_of_rows(loss, t.score), 0.0, loss.largest)(t)


def _losses_of_rows(loss: LossFunction, score: Floats) -> Losses:
    """Return the losses of a negative and of a positive of each row.

    For long columns they are computed when read, which is faster than storing them.
    """
    return (
        blockwise_values(score.size, lambda block: loss.of_negative(score[block])),
        blockwise_values(score.size, lambda block: loss.of_positive(score[block])),
    )


@of_tally(measure=partial(_loss_measure, "brier"))
def brier(data: Tally, *, level: float = 0.95) -> ProperScore:
    r"""Brier score, with a confidence interval and its parts.

    How far are the probabilities from the outcomes, as a mean squared error?

    .. math:: S = \frac1n \sum_i (p_i - y_i)^2
                = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}

    MCB is the gain of the best increasing recalibration. DSC is its gain over
    predicting the prevalence for every case, and UNC the loss of that prediction.
    Recalibration fits noise, so MCB and DSC are too large on average: read their lower
    ends. Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118.

    Examples
    --------
    Scores 0.2 and 0.8 where 1/4 and 3/4 are positive: recalibration moves both by 0.05.

    >>> b = brier(Tally([0.2, 0.8], neg=[3, 1], pos=[1, 3]))
    >>> round(b.value, 6), round(b.mcb.value, 6), b.dsc.value, b.unc.value
    (0.19, 0.0025, 0.0625, 0.25)
    """
    return _proper_score(data, "brier", level)


@of_tally(measure=partial(_loss_measure, "log_loss"))
def log_loss(
    data: Tally, *, clip: float | str | None = None, level: float = 0.95
) -> ProperScore:
    r"""Log loss, with a confidence interval and its parts.

    How surprising were the outcomes, in nats per case?

    .. math:: S = -\frac1n \sum_i \left[ y_i \ln p_i + (1-y_i) \ln(1-p_i) \right]

    A probability of 0 for an outcome that occurred has an infinite loss: nothing is
    clipped, and ``notes`` state the number of such cases. If there are scores of
    exactly 0 or 1, all correct, the interval has no upper bound. Parts as of
    :func:`brier`.

    Parameters
    ----------
    clip
        Smallest distance of a probability from 0 and 1, so that the loss is finite: a
        number, or ``"scikit-learn"`` for the 2.2e-16 of its ``log_loss``. The number
        then depends on this choice, and a note says so.

    Examples
    --------
    >>> import math
    >>> x = log_loss(Tally([0.5], neg=[3], pos=[1]))
    >>> math.isclose(x.value, math.log(2))
    True
    """
    if clip is None:
        return _proper_score(data, "log_loss", level)

    distance = clip_distance(clip)
    check_probabilities(data, "log_loss")
    score = _proper_score(_clip_scores(data, distance), "log_loss", level)
    return replace(score, notes=(note_on_clipping(distance), *score.notes))


# scikit-learn clips at the distance of 1 from the next float64
_CLIP_OF_SCIKIT_LEARN = float(np.finfo(np.float64).eps)


def note_on_clipping(distance: float) -> str:
    """Return the note on a clipped log loss."""
    return (
        f"Probabilities within {distance:.3g} of 0 or 1 were clipped to that distance."
    )


def clip_distance(clip: float | str) -> float:
    """Return the smallest distance of a probability from 0 and 1."""
    if isinstance(clip, str):
        _options.choice(clip, ("scikit-learn",), "clip")
        return _CLIP_OF_SCIKIT_LEARN

    distance = _options.positive_number(clip, "clip")
    if not distance < 0.5:
        raise InputError(
            f"clip must be below 0.5, as a distance from 0 and 1; found {clip!r}.",
            option="clip",
            example=1e-6,
        )
    return distance


def _clip_scores(data: Tally, distance: float) -> Tally:
    """Return the cases with probabilities clipped at a distance from 0 and 1."""
    return data.map(lambda score: np.clip(score, distance, 1 - distance))


def squared_errors(p: Floats) -> Losses:
    """Return the Brier loss of a negative and of a positive at each probability."""
    return _square_of_negative(p), _square_of_positive(p)


def _square_of_negative(p: Floats) -> Floats:
    return p * p


def _square_of_positive(p: Floats) -> Floats:
    return np.asarray((1 - p) ** 2)


def _logarithm_of_negative(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log1p(-p))


def _logarithm_of_positive(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(p))


def _brier_gain_by_noise(p: Floats) -> Floats:
    """Return the expected fall of the total loss if a block has its own proportion."""
    return p * (1 - p)


def _log_gain_by_noise(p: Floats) -> Floats:
    """Return the expected fall of the total loss if a block has its own proportion.

    Twice the log-likelihood ratio has one degree of freedom (Wilks 1938).
    """
    return np.full(p.shape, 0.5)


class LossFunction(NamedTuple):
    """A loss, its largest value, and its expected gain by the noise of fitted blocks.

    The losses of a negative and of a positive are functions of the probability.
    """

    of_negative: Callable[[Floats], Floats]
    of_positive: Callable[[Floats], Floats]
    largest: float
    gain_by_noise: Callable[[Floats], Floats]

    def losses(self, p: Floats) -> Losses:
        """Return the losses of a negative and of a positive at each probability."""
        return self.of_negative(p), self.of_positive(p)


LOSSES: Mapping[str, LossFunction] = MappingProxyType(
    {
        "brier": LossFunction(
            _square_of_negative, _square_of_positive, 1.0, _brier_gain_by_noise
        ),
        "log_loss": LossFunction(
            _logarithm_of_negative, _logarithm_of_positive, math.inf, _log_gain_by_noise
        ),
    }
)


def mean_measure(losses: Losses, smallest: float, largest: float) -> Measure:
    r"""Return the measure "mean loss of the cases", from the losses of each row.

    The influence of a case is :math:`(l_i - S) / n`.
    """

    def measure(t: Tally) -> MeasuredValue:
        """Return the mean loss and the influence of a case of each row."""
        cases = t.n_pos + t.n_neg
        value = _total_loss(losses, t.pos, t.neg) / cases if cases else math.nan

        def influence(loss: Floats, count: Array) -> Floats:
            def influence_of_block(block: slice) -> Floats:
                # contiguous, since sums over reversed arrays round differently
                loss_of_block = np.ascontiguousarray(loss[block])
                with np.errstate(invalid="ignore"):
                    excess = loss_of_block - value
                    excess /= cases
                return _zero_without_cases(excess, count[block])

            return blockwise_values(loss.size, influence_of_block)

        by_case = Influence(influence(losses[0], t.neg), influence(losses[1], t.pos))
        return MeasuredValue(value, by_case, (smallest, largest))

    return measure


def _mean_loss(losses: Losses, pos: Array, neg: Array) -> float:
    """Return the mean loss of counted cases."""
    cases = pos.sum() + neg.sum()
    return float(_total_loss(losses, pos, neg) / cases) if cases else math.nan


def _total_loss(losses: Losses, pos: Array, neg: Array) -> float:
    """Return the total loss of all cases."""
    total = 0.0
    for loss, count in zip(losses, (neg, pos), strict=True):
        for loss_of_block in map_blocks(partial(_block_loss, loss, count), loss.size):
            total += loss_of_block
    return total


def _block_loss(loss: Floats, count: Array, block: slice) -> float:
    """Return the total loss of the cases of a block."""
    # contiguous, since sums over reversed arrays round differently
    loss_of_block = np.ascontiguousarray(loss[block])
    count_of_block = count[block]
    if not np.isfinite(loss_of_block).all():
        loss_of_block = _zero_without_cases(loss_of_block, count_of_block)
    return float(np.einsum("i,i->", loss_of_block, count_of_block))


def _zero_without_cases(values: Floats, count: Array) -> Floats:
    """Return the values of rows, with 0 for infinite ones of rows without a case.

    The value of such a row does not count, but infinity times no case would be NaN.
    """
    if np.isfinite(values).all():
        return values
    return np.where(count > 0, values, 0.0)


def _proper_score(data: Tally, name: str, level: float) -> ProperScore:
    """Return the mean loss with its interval; its parts are computed later."""
    checked = check_probabilities(data, name)
    estimate = estimate_measure(
        checked, partial(_loss_measure, name), level=level, measure_name=name
    )
    infinite_notes = () if name == "brier" else notes_on_infinity(data.labelled())
    return ProperScore(
        value=estimate.value,
        low=estimate.value if math.isinf(estimate.value) else estimate.low,
        high=math.inf if infinite_notes else estimate.high,
        level=estimate.level,
        method=estimate.method,
        se=estimate.se,
        notes=(*infinite_notes, *unlabelled_notes(data), *estimate.notes),
        _name=name,
        _data=data,
    )


def notes_on_infinity(t: Tally) -> tuple[str, ...]:
    """Return why a log loss is, or may be, infinite."""
    # scores are in descending order, so only the first and the last can be 1 and 0
    if not t.score.size or (t.score[0] < 1 and t.score[-1] > 0):
        return ()

    certain = (t.score == 0) | (t.score == 1)

    remedy = (
        "Use probabilities between 0 and 1, both excluded: calibrate the scores on "
        "other cases, or clip them and report it."
    )
    positives_at_zero = t.pos[t.score == 0].sum()
    negatives_at_one = t.neg[t.score == 1].sum()
    if positives_at_zero or negatives_at_one:
        return (
            "The loss is infinite, because some predictions were certain and wrong "
            f"(positives with a score of exactly 0: {number_of(positives_at_zero)}; "
            f"negatives with exactly 1: {number_of(negatives_at_one)}). {remedy}",
        )

    cases = (t.pos + t.neg)[certain].sum()
    return (
        f"All cases with a score of exactly 0 or 1 ({number_of(cases)}) were "
        "correct. One error would make the loss infinite, so the interval has no "
        "upper end. "
        f"{remedy}",
    )


class Decomposition(NamedTuple):
    """A mean loss, with its miscalibration, discrimination and uncertainty."""

    loss: float
    mcb: float
    dsc: float
    unc: float


def decomposition(t: Tally, name: str) -> Decomposition:
    """Return a mean loss, MCB, DSC and UNC (Dimitriadis et al. 2021, eq. 5)."""
    forecasts = Forecasts(t, name)
    losses = LOSSES[name].losses
    value = _mean_loss(losses(forecasts.score), forecasts.pos, forecasts.neg)

    probability, start = pool_violators(forecasts.pos, forecasts.neg)
    block_pos = np.add.reduceat(forecasts.pos, start[:-1])
    block_neg = np.add.reduceat(forecasts.neg, start[:-1])
    # isotonic regression is the best increasing recalibration of any proper score
    recalibrated = _mean_loss(losses(probability), block_pos, block_neg)

    positives = np.array([forecasts.pos.sum()])
    negatives = np.array([forecasts.neg.sum()])
    prevalence = positives / (positives + negatives)
    loss_of_prevalence = _mean_loss(losses(prevalence), positives, negatives)
    return Decomposition(
        loss=value,
        # isotonic regression minimises the loss, so a negative difference is rounding
        mcb=max(0.0, value - recalibrated),
        dsc=max(0.0, loss_of_prevalence - recalibrated),
        unc=loss_of_prevalence,
    )


def _score_parts(data: Tally, name: str, level: float, loss_end: float) -> ScoreParts:
    """Return the parts with their intervals; MCB is at most the end of the loss."""
    forecasts = Forecasts(data, name)
    loss = LOSSES[name]
    values = decomposition(data, name)
    unc = _uncertainty(forecasts, loss.losses, level)

    start = error_bins(forecasts)
    prevalence = np.full(forecasts.score.size, forecasts.prevalence)
    mcb = _part_estimate(
        forecasts,
        values.mcb,
        stated=forecasts.score,
        loss=loss,
        residuals=residuals_from_scores(forecasts, start),
        largest=loss_end,
        level=level,
    )
    dsc = _part_estimate(
        forecasts,
        values.dsc,
        stated=prevalence,
        loss=loss,
        residuals=residuals_from_prevalence(forecasts, start),
        largest=max(unc.high, values.dsc),
        level=level,
    )
    skill = (values.dsc - values.mcb) / unc.value if unc.value else math.nan
    return ScoreParts(mcb, dsc, unc, skill)


def _part_estimate(
    forecasts: Forecasts,
    value: float,
    *,
    stated: Floats,
    loss: LossFunction,
    residuals: BinnedResiduals,
    largest: float,
    level: float,
) -> Estimate:
    """Return the gain of isotonic recalibration over the stated probabilities."""
    if not math.isfinite(value):
        return estimate_from_interval(value, 0.0, value, level, "student")

    recalibrated = loss.losses(isotonic_curve(forecasts.pos, forecasts.neg))
    before = loss.losses(stated)
    with np.errstate(invalid="ignore"):
        # of a negative and of a positive, highest score first
        gains = (
            (before[0] - recalibrated[0])[::-1],
            (before[1] - recalibrated[1])[::-1],
        )

    evaluated = evaluate_measure(forecasts.sample, mean_measure(gains, 0.0, largest))
    estimate = estimate_from_variance(
        value, evaluated.variance_estimate, (0.0, largest), level
    )
    # 0 where the residuals of the bins could be noise, or labels are imputed
    low = 0.0
    could_be_noise = residuals.square_interval(level)[0] == 0
    if forecasts.sample.imputation is None and not could_be_noise:
        low = max(estimate.low - _gain_by_noise(forecasts, loss), 0.0)
    return replace(estimate, low=low)


def _gain_by_noise(forecasts: Forecasts, loss: LossFunction) -> float:
    """Return an upper limit of the mean gain of isotonic regression by fitting noise.

    It has as many degrees of freedom as blocks, and lowers the sum of squared residuals
    by up to twice as many variances (Meyer and Woodroofe 2000,
    doi:10.1214/aos/1015956708).
    """
    # one value for each block
    probability = pool_violators(forecasts.pos, forecasts.neg)[0]
    curve = isotonic_curve(forecasts.pos, forecasts.neg)
    cases = effective_sample_size(forecasts, curve)
    return 2 * float(loss.gain_by_noise(probability).sum()) / cases


def _uncertainty(
    forecasts: Forecasts, losses: Callable[[Floats], Losses], level: float
) -> Estimate:
    """Return the loss of predicting the prevalence, from Wilson's interval of it."""

    def loss_at(prevalence: float) -> float:
        # at 0 and 1 a wrong label has an infinite log loss
        inside = max(prevalence, _SMALLEST_PREVALENCE)
        p = np.array([min(inside, 1 - _SMALLEST_PREVALENCE)])
        loss_of_negative, loss_of_positive = losses(p)
        return float((p * loss_of_positive + (1 - p) * loss_of_negative)[0])

    prevalence = forecasts.prevalence
    value = loss_at(prevalence) if 0 < prevalence < 1 else 0.0
    if forecasts.sample.class_sizes_fixed:
        return estimate_from_interval(value, value, value, level, "fixed proportion")

    # the prevalence as a mean: a negative counts 0, a positive 1
    zeros = np.zeros(forecasts.score.size)
    proportion = mean_measure((zeros, zeros + 1), 0.0, 1.0)
    variance = evaluate_measure(forecasts.sample, proportion).variance_estimate
    clusters = forecasts.sample.observed.cluster_number
    sample = ProportionSample(variance.uncorrected_variance, forecasts.n, clusters)
    low, high = proportion_interval(prevalence, sample, level)

    largest = max(loss_at(low), loss_at(high))
    if low <= 0.5 <= high:  # the loss is largest at 1/2
        largest = loss_at(0.5)
    return estimate_from_interval(
        value,
        min(loss_at(low), loss_at(high)),
        largest,
        level,
        WILSON,
        variance.standard_error,
    )


# lines of equal loss in the figure of MCB against DSC
_GUIDES = 9
# the factor between the end of an axis and its largest value, and its least length
_AXIS_MARGIN = 1.15
_SHORTEST_AXIS = 1e-9


def decomposition_figure(scores: Mapping[str, ProperScore]) -> Curves:
    """Return the figure of miscalibration against discrimination.

    Each guide is a line of equal loss: mcb - dsc is the same all along it.
    """
    mcb = [float(score.mcb) for score in scores.values()]
    dsc = [float(score.dsc) for score in scores.values()]
    right = _AXIS_MARGIN * max([*dsc, _SHORTEST_AXIS])
    top = _AXIS_MARGIN * max([*mcb, _SHORTEST_AXIS])
    x = Axis("dsc", "Discrimination (DSC)", 0.0, right)
    y = Axis("mcb", "Miscalibration (MCB)", 0.0, top)

    guides = []
    for shift in np.linspace(-right, top, _GUIDES):
        # mcb = dsc + shift, from where the line enters the axes to where it leaves them
        dsc_of_ends = np.array([max(0.0, -shift), min(right, top - shift)])
        guides.append(guide(x, y, dsc_of_ends, dsc_of_ends + shift))

    dots = [
        Line(name, {"dsc": np.array([dsc_of_one]), "mcb": np.array([mcb_of_one])})
        for name, dsc_of_one, mcb_of_one in zip(scores, dsc, mcb, strict=True)
    ]
    return Curves(
        "Miscalibration against discrimination",
        x,
        y,
        guides=tuple(guides),
        dots=tuple(dots),
    )
