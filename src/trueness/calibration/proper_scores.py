r"""How good are the probabilities, and could their miscalibration be chance?

By isotonic recalibration (CORP; Dimitriadis, Gneiting and Jordan 2021) a loss is
:math:`S = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.numbers import number_of
from trueness._core.records import Answer, Estimate, Record, native_frame, table
from trueness._core.solvers import fit_logistic, isotonic_curve, pool_violators
from trueness.calibration.errors import LineFit, log_odds, no_line
from trueness.calibration.forecasts import (
    Forecasts,
    binned,
    equal_mass,
    pooled,
    probabilities,
)
from trueness.counts.answers import of_tally, refuse
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_from_variance,
    estimate_measure,
    evaluate_measure,
    interval_notes,
)
from trueness.inference.intervals import (
    WILSON,
    ProportionSample,
    proportion_interval,
)
from trueness.inference.sample import Measure, MeasuredValue, blockwise_values
from trueness.inference.variance import Influence
from trueness.inference.verification import unlabelled_notes

# bins of the lower limits of MCB and DSC, as many as calibration_error has
_BINS = 15
_TINY = 2.0**-52
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
        """Decompose the loss (CORP)."""
        if self._parts is not None:
            return self._parts()
        if self._data is not None:
            return _decomposed(self._data, self._name, self.level, self.high)
        unknown = estimate_from_interval(math.nan, math.nan, math.nan, self.level)
        return ScoreParts(unknown, unknown, unknown, math.nan)

    mcb = property(lambda self: self.parts.mcb, doc="Loss by miscalibration.")
    dsc = property(lambda self: self.parts.dsc, doc="Gain by discrimination.")
    unc = property(lambda self: self.parts.unc, doc="Loss of saying the prevalence.")
    skill = property(lambda self: self.parts.skill, doc="Share of UNC that is gained.")

    def __float__(self) -> float:
        """Give the value alone."""
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """Give plain Python values, those of the parts among them."""
        return super().to_dict() | self.parts.to_dict()

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table of one row, with the parts."""
        return native_frame(table(self) | table(self.parts), backend)

    def __repr__(self) -> str:
        """Write the value with its interval, then its parts."""
        e = estimate_from_interval(
            self.value, self.low, self.high, self.level, self.method
        )
        line = repr(replace(e, bounds=self.bounds))
        parts = [f"  {k}: {getattr(self, k)}" for k in ("mcb", "dsc", "unc")]
        notes = [f"  Note: {note}" for note in self.notes]
        return "\n".join([line, *parts, f"  skill: {self.skill:.4g}", *notes])

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self.parts._repr_html_()


@of_tally
def brier(data: Tally, *, level: float = 0.95) -> ProperScore:
    r"""How far are the probabilities from the outcomes, as a mean squared error?

    .. math:: S = \frac1n \sum_i (p_i - y_i)^2
                = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}

    MCB is what the best increasing recalibration would gain, DSC what it then gains
    over saying the prevalence to everybody, UNC the loss of saying that. Recalibration
    fits noise, so MCB and DSC are too large on average: read their lower limits.
    Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118.

    Examples
    --------
    Scores 0.2 and 0.8 where 1/4 and 3/4 are positive: recalibration moves both by 0.05.

    >>> b = brier(Tally([0.2, 0.8], neg=[3, 1], pos=[1, 3]))
    >>> round(b.value, 6), round(b.mcb.value, 6), b.dsc.value, b.unc.value
    (0.19, 0.0025, 0.0625, 0.25)
    """
    return _proper_score(data, "brier", level)


@of_tally
def log_loss(data: Tally, *, level: float = 0.95) -> ProperScore:
    r"""How surprising were the outcomes, in nats per case?

    .. math:: S = -\frac1n \sum_i \left[ y_i \ln p_i + (1-y_i) \ln(1-p_i) \right]

    A probability of 0 for an outcome that occurred gives an infinite loss: nothing is
    clipped, and ``notes`` say how many such cases there are. Where scores of exactly 0
    or 1 have all been right, the interval has no upper limit. Parts as of
    :func:`brier`.

    Examples
    --------
    >>> import math
    >>> x = log_loss(Tally([0.5], neg=[3], pos=[1]))
    >>> math.isclose(x.value, math.log(2))
    True
    """
    return _proper_score(data, "log_loss", level)


def squares(p: Floats) -> Losses:
    """Give the loss of a negative and of a positive case at each probability."""
    return p * p, (1 - p) ** 2


def _logs(p: Floats) -> Losses:
    with np.errstate(divide="ignore"):
        return -np.log1p(-p), -np.log(p)


# the loss, its largest value, and the squared distances of shares that it is at least
LOSSES: dict[str, tuple[Callable[[Floats], Losses], float, float]] = {
    "brier": (squares, 1.0, 1.0),
    "log_loss": (_logs, math.inf, 2.0),
}


def _measured(name: str, t: Tally) -> MeasuredValue:
    loss, most, _ = LOSSES[name]
    return mean_measure(loss(t.score), 0.0, most)(t)


# what ``estimate`` and ``compare`` ask
brier.measure = partial(_measured, "brier")  # type: ignore[attr-defined]
log_loss.measure = partial(_measured, "log_loss")  # type: ignore[attr-defined]


def mean_measure(losses: Losses, least: float, most: float) -> Measure:
    r"""Give a mean over cases of what they lose, row by row, as a measure.

    The influence of a case is :math:`(l_i - S) / n`.
    """

    def measure(t: Tally) -> MeasuredValue:
        value, n = _mean_loss(losses, t.pos, t.neg), t.n_pos + t.n_neg

        def by(loss: Floats, count: Array) -> Floats:
            def part(b: slice) -> Floats:
                # where nobody lost, a loss may be infinite, and moves nothing
                with np.errstate(invalid="ignore"):
                    return np.where(count[b] > 0, (loss[b] - value) / n, 0.0)

            return blockwise_values(loss.size, part)

        return MeasuredValue(
            value,
            Influence(by(losses[0], t.neg), by(losses[1], t.pos)),
            (least, most),
        )

    return measure


def _mean_loss(losses: Losses, pos: Array, neg: Array) -> float:
    suffered, cases = 0.0, pos.sum() + neg.sum()
    for loss, count in zip(losses, (neg, pos), strict=True):
        for b in blocks(loss.size):
            # a loss that nobody suffers is no loss, even an infinite one
            some = np.where(count[b] > 0, loss[b], 0.0)
            suffered += float(np.einsum("i,i->", some, count[b]))
    return float(suffered / cases) if cases else np.nan


def _proper_score(data: Tally, name: str, level: float) -> ProperScore:
    known, measure = probabilities(data, name), partial(_measured, name)
    e = estimate_measure(known, measure, level=level, what=name)
    said = () if name == "brier" else _infinite(data.labelled())
    low = e.value if math.isinf(e.value) else e.low
    high = math.inf if said else e.high
    notes = (*said, *unlabelled_notes(data), *e.notes)
    return ProperScore(e.value, low, high, e.level, e.method, e.se, notes, name, data)


def _infinite(t: Tally) -> tuple[str, ...]:
    """Say why a loss is, or may be, infinite."""
    sure = (t.score == 0) | (t.score == 1)
    if not sure.any():
        return ()
    wrong = t.pos[t.score == 0].sum(), t.neg[t.score == 1].sum()
    instead = (
        "Use probabilities between 0 and 1, both excluded: "
        "t.map(trueness.calibrate(other_cases)), or clip the scores and report it."
    )
    if any(wrong):
        return (
            "The loss is infinite, because some predictions were certain and wrong "
            f"(positives with a score of exactly 0: {number_of(wrong[0])}; negatives "
            f"with exactly 1: {number_of(wrong[1])}). {instead}",
        )
    return (
        "Cases with a score of exactly 0 or 1 "
        f"({number_of((t.pos + t.neg)[sure].sum())}) are all right; a single wrong one "
        f"would make the loss infinite, so the interval has no upper end. {instead}",
    )


def decomposition(t: Tally, name: str) -> tuple[float, float, float, float]:
    """Give a mean loss, MCB, DSC and UNC (Dimitriadis et al. 2021, eq. 5)."""
    s, loss = Forecasts(t, name), LOSSES[name][0]
    share, start = pool_violators(s.pos, s.neg)
    joined = (np.add.reduceat(x, start[:-1]) for x in (s.pos, s.neg))
    total = np.array([s.pos.sum()]), np.array([s.neg.sum()])
    value = _mean_loss(loss(s.score), s.pos, s.neg)
    recalibrated = _mean_loss(loss(share), *joined)
    reference = _mean_loss(loss(total[0] / (total[0] + total[1])), *total)
    # PAVA minimises the loss: a difference below zero is rounding
    mcb, dsc = max(0.0, value - recalibrated), max(0.0, reference - recalibrated)
    return value, mcb, dsc, reference


def _decomposed(data: Tally, name: str, level: float, most: float) -> ScoreParts:
    """Give the parts with their limits; MCB is not above the ``most`` of the loss."""
    s, (loss, _, least) = Forecasts(data, name), LOSSES[name]
    _, mcb, dsc, _ = decomposition(data, name)
    unc = _uncertainty(s, loss, level)
    after, of_all = loss(isotonic_curve(s.pos, s.neg)), np.full(s.score.size, s.share)
    start, found = equal_mass(s.cases, _BINS), []
    for value, said, cap in ((mcb, s.score, most), (dsc, of_all, max(unc.high, dsc))):
        if not math.isfinite(value):
            found.append(estimate_from_interval(value, 0.0, value, level, "student"))
            continue
        with np.errstate(invalid="ignore"):
            less = [(x - y)[::-1] for x, y in zip(loss(said), after, strict=True)]
        lost = evaluate_measure(s.sample, mean_measure((less[0], less[1]), 0.0, cap))
        low = 0.0
        if s.sample.imputation is None:
            bins = binned(s, start, of_share=said is of_all)
            low = min(least * bins.limits(level)[0], value)
        found.append(
            replace(
                estimate_from_variance(
                    value, lost.variance_estimate, (0.0, cap), level
                ),
                low=low,
            )
        )
    skill = (dsc - mcb) / unc.value if unc.value else math.nan
    return ScoreParts(found[0], found[1], unc, skill)


def _uncertainty(
    s: Forecasts, loss: Callable[[Floats], Losses], level: float
) -> Estimate:
    """Carry Wilson's interval of the prevalence over to the loss of saying it."""

    def said(share: float) -> float:
        p = np.array([min(max(share, _TINY), 1 - _TINY)])
        by_neg, by_pos = loss(p)
        return float((p * by_pos + (1 - p) * by_neg)[0])

    share = s.share
    value = said(share) if 0 < share < 1 else 0.0
    if s.sample.class_sizes_fixed:
        return estimate_from_interval(value, value, value, level, "share given")
    zero, one = np.zeros(s.score.size), np.ones(s.score.size)
    variance = evaluate_measure(
        s.sample, mean_measure((zero, one), 0.0, 1.0)
    ).variance_estimate
    units = s.sample.observed.cluster_number
    sample = ProportionSample(variance.uncorrected_variance, s.n, units)
    low, high = proportion_interval(share, sample, level)
    # the loss is largest at 1/2
    largest = said(0.5) if low <= 0.5 <= high else max(said(low), said(high))
    least = min(said(low), said(high))
    return estimate_from_interval(
        value, least, largest, level, WILSON, variance.standard_error
    )


@final
@dataclass(frozen=True, repr=False)
class CalibrationTest(Answer):
    """A test of the hypothesis that each score is the probability of a positive.

    Attributes
    ----------
    statistic, p_value : float
        What was compared with its distribution under the hypothesis, and how often
        calibrated scores give at least that.
    """

    statistic: float
    p_value: float
    method: str
    notes: tuple[str, ...] = ()


@of_tally
def calibration_test(
    data: Tally,
    *,
    method: str = "spiegelhalter",
    bins: int = 10,
    parameters: int = 0,
    replicates: int = 999,
    rng: Seed = 0,
) -> CalibrationTest:
    """Are these data consistent with calibrated scores?

    Parameters
    ----------
    method
        "spiegelhalter" (1986, doi:10.1002/sim.4780050506) compares the Brier score with
        its expectation (it cannot detect errors that cancel), "cox" tests for slope 1
        and intercept 0 at once (likelihood ratio), "bins" compares the mean squared
        residual of bins with that of calibrated scores, and sees errors anywhere,
        "isotonic" compares the part MCB of the Brier score with that of labels drawn
        from the scores (Monte Carlo, exact at any sample size), "hosmer-lemeshow"
        (1980, doi:10.1080/03610928008827941; of designs Rao and Scott 1981) compares
        the number of positives in bins with the sum of their scores (to reproduce
        published numbers).
    bins
        Number of bins, of equally many cases, of "bins" and "hosmer-lemeshow".
    parameters
        How many parameters of the model were fitted on these same cases, which
        "hosmer-lemeshow" takes off the degrees of freedom (R's ``hoslem.test``: 2).

    Examples
    --------
    >>> t = Tally([0.2], neg=[6], pos=[4])
    >>> calibration_test(t).statistic  # (4 - 2) 0.6 / sqrt(10 0.36 0.16)
    1.58...
    """
    test, said = CALIBRATION_TESTS[_options.choice(method, CALIBRATION_TESTS, "method")]
    options = {
        "bins": _options.whole_number(bins, "bins", at_least=2),
        "parameters": _options.whole_number(parameters, "parameters"),
        "replicates": _options.whole_number(replicates, "replicates", at_least=19),
        "rng": _options.generator(rng),
    }
    s = Forecasts(data, "calibration_test")
    if method == "isotonic":
        words = ("weight", "cluster", "sampling", "prevalence")
        refuse(data, 'method="isotonic"', dict.fromkeys(words, _DRAWS_LABELS))
    notes = (*said, *unlabelled_notes(data), *interval_notes(data))
    if s.pos[s.score == 0].any() or s.neg[s.score == 1].any():
        # what was impossible has happened
        return CalibrationTest(math.inf, 0.0, method, notes)
    statistic, p_value = test(s, **options)
    return CalibrationTest(float(statistic), float(p_value), method, notes)


def _spiegelhalter(s: Forecasts, **_: Any) -> tuple[float, float]:
    from scipy.special import stdtr

    p, column = s.score, 1 - 2 * s.score
    gap = float((s.pos - s.cases * p) @ column)
    if s.plain:
        variance = float(s.cases @ (column**2 * p * (1 - p)))
        z = gap / math.sqrt(variance) if variance > 0 else math.nan
        return z, 2 * NormalDist().cdf(-abs(z)) if variance > 0 else math.nan
    found = s.spread(-column * p, column * (1 - p))
    z = gap / found.standard_error if found.variance > 0 else math.nan
    return z, float(2 * stdtr(found.degrees_of_freedom, -abs(z)))


def _cox(s: Forecasts, **_: Any) -> tuple[float, float]:
    if not s.plain:
        if why := no_line(s):
            raise NotEnoughCases(
                f'Cox\'s test of such cases needs {why} Type method="spiegelhalter".'
            )
        return LineFit(s.sample).ideal()
    # scores of 0 and 1 were right: they add nothing to either likelihood
    inner = (s.score > 0) & (s.score < 1)
    if not inner.any():
        return math.nan, math.nan
    odds, pos, neg = log_odds(s.score[inner]), s.pos[inner], s.neg[inner]
    columns = [odds] if odds.size > 1 else []
    likelihood = fit_logistic(columns, pos, neg, offset=odds)[2]
    start = -(pos @ np.logaddexp(0.0, -odds) + neg @ np.logaddexp(0.0, odds))
    statistic = max(2 * (likelihood - float(start)), 0.0)
    if not columns:
        return statistic, math.erfc(math.sqrt(statistic / 2))
    return statistic, math.exp(-statistic / 2)


def _hosmer_lemeshow(
    s: Forecasts, *, bins: int, parameters: int, **_: Any
) -> tuple[float, float]:
    from scipy.special import gammaincc

    start = equal_mass(s.cases, bins)
    columns = (s.pos, s.cases, s.cases * s.score)
    seen, total, mean = (np.add.reduceat(x, start) for x in columns)
    variance = mean * (1 - mean / total)
    if not s.plain:
        return binned(s, start).chi_square(variance / total**2, parameters)
    told = variance > 0  # bins of scores 0 or 1, which were right, tell nothing
    freedom = int(told.sum()) - parameters
    if freedom < 1:
        return math.nan, math.nan
    statistic = float(((seen - mean)[told] ** 2 / variance[told]).sum())
    return statistic, float(gammaincc(freedom / 2, statistic / 2))


def _isotonic(
    s: Forecasts, *, replicates: int, rng: np.random.Generator, **_: Any
) -> tuple[float, float]:
    score, pos, neg = pooled(s.score, s.pos, s.neg)
    cases = pos + neg

    def mcb(up: Array) -> float:  # the gain of isotonic recalibration in Brier score
        fitted = isotonic_curve(up, cases - up)
        # sum of (score-y)^2 - (fitted-y)^2 over the cases
        gain = (score - fitted) * ((score + fitted) * cases - 2 * up)
        return float(gain.sum() / cases.sum())

    seen, drawn = mcb(pos), rng.binomial(cases, score, (replicates, score.size))
    found = np.array([mcb(up) for up in drawn])
    # rounding must not part what is equal
    beyond = int((found >= seen * (1 - 1e-12)).sum())
    return seen, (1 + beyond) / (1 + replicates)


_DRAWS_LABELS = 'It draws labels of single cases from the scores. Type method="bins".'
# each test, and what it cannot see or depends on
CALIBRATION_TESTS: Mapping[
    str, tuple[Callable[..., tuple[float, float]], tuple[str, ...]]
] = MappingProxyType({
    "spiegelhalter": (_spiegelhalter, (
        "The test does not detect errors that cancel in the Brier score.",
    )),
    "cox": (_cox, (
        "The chi-squared law needs some thirty cases of the rarer class; with fewer "
        'the p-value is too small. Type method="isotonic" for an exact one.',
    )),
    "bins": (lambda s, bins, **_: binned(s, equal_mass(s.cases, bins)).test, ()),
    "isotonic": (_isotonic, ()),
    "hosmer-lemeshow": (_hosmer_lemeshow, (
        "The result depends on the number of bins, errors within a bin are not "
        "detected, bins should expect five cases of each class, and with very many "
        "cases any model is rejected.",
    )),
})  # fmt: skip
