r"""How do cases with probabilities for scores count, and what would others have shown?

``Forecasts`` holds labelled cases in ascending order of score and knows which of three
ways they came. A cohort has cases that count once each. Weighted cases have sums of
weights and of their squares. A case-control sample has as many positives and negatives
as its design wanted: the score that a case of each class shows is that of the
population, the share of positives is not, and whatever compares a probability with what
happened depends on that share. With the share :math:`\pi` of use given (``FixedShare``)
each positive counts as :math:`\pi n / N_1` cases and each negative as
:math:`(1 - \pi) n / N_0`, and an interval allows for other cases of each class, not for
another share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.numbers import counted
from trueness._core.records import Estimate
from trueness.calibration.case_control import LabelDraws, redrawn
from trueness.calibration.monotone import equal_mass
from trueness.counts.heavy_cases import PlacedCases, lacking_variance, weight_curve
from trueness.counts.resampling import draw
from trueness.counts.values import Tally
from trueness.counts.weights import linearised, student_factor, whole_draws
from trueness.ranking.auc_intervals import student_quantile

Squares = tuple[Array, Array]  # of the weights of positives and of negatives
Losses = tuple[Floats, Floats]  # of a negative and of a positive case at each row
# draws look at this many rows at most: more are pooled to as many equal cells
MOST_ROWS = 1000


class FixedShare(NamedTuple):
    """How many cases of each class there are, and the share of positives that counts.

    A case of a class counts as often as ``weights`` say; both together are as many
    cases as ``number``: so many equal ones would tell as much (Kish).
    """

    share: float
    n_pos: int
    n_neg: int

    @property
    def number(self) -> float:
        """As how many equal cases do these count?"""
        return 1 / (self.share**2 / self.n_pos + (1 - self.share) ** 2 / self.n_neg)

    @property
    def weights(self) -> tuple[float, float]:
        """How often does a positive, and a negative, count?"""
        n = self.number
        return self.share * n / self.n_pos, (1 - self.share) * n / self.n_neg

    @property
    def note(self) -> str:
        """Say what was done."""
        found = self.n_pos / (self.n_pos + self.n_neg)
        return (
            f"The cases are weighed to a share of positives of {self.share:.4g}, which "
            f"was given and is taken as known; among them it is {found:.4g}. The "
            f"intervals allow for other positives and other negatives."
        )


def fixed_share(
    t: Tally, sampling: object, prevalence: object, what: str
) -> FixedShare | None:
    """Give how cases are to be weighed; nothing when they count as they came."""
    share = None if prevalence is None else _options.fraction(prevalence, "prevalence")
    _options.sampling(sampling, share, what)
    if share is None:
        return None
    if t.weighted:
        raise InputError(
            f"{what} needs weights or prevalence=, not both: weights already say how "
            f"many positives a case stands for. Leave one of them out."
        )
    _cases.both_classes(t, what)
    return FixedShare(share, int(t.n_pos), int(t.n_neg))


def probability_rows(t: Tally, what: str) -> tuple[Floats, Array, Array]:
    """Give score, positives and negatives of labelled rows, in ascending order."""
    _cases.some_labels(t, what)
    instead = "Calibrate first: t.map(trueness.calibrate(other_cases))."
    t = t.labelled()
    _columns.unit_scores(t.score, what, instead)
    if t.binned:
        _columns.unit_scores(t.high, what, instead)
    return t.score[::-1], t.pos[::-1], t.neg[::-1]


class Forecasts(NamedTuple):
    """Labelled cases in ascending order of score, as often as they count.

    ``squares`` are sums of squared weights of positives and negatives, where cases do
    not count once each. ``draws``, of weighted rows that are to be drawn anew, says as
    how many equal cases they are drawn and what each of these weighs.
    """

    score: Floats
    pos: Array
    neg: Array
    squares: Squares | None = None
    fixed: FixedShare | None = None
    draws: tuple[Array, Floats] | None = None

    @classmethod
    def of(cls, t: Tally, what: str, sampling: object, prevalence: object) -> Forecasts:
        """Take the labelled cases of a tally, weighed to a prevalence if given."""
        fixed = fixed_share(t, sampling, prevalence, what)
        rows = probability_rows(t, what)
        if t.weighted:
            neg, pos, _ = t.labelled().squares
            return cls(*rows, (pos[::-1], neg[::-1]))
        return cls.counted(*rows, fixed)

    @classmethod
    def counted(
        cls, score: Floats, pos: Array, neg: Array, fixed: FixedShare | None
    ) -> Forecasts:
        """Let each case count once, or as often as a given share makes it count."""
        if fixed is None:
            return cls(score, pos, neg)
        up, down = fixed.weights
        return cls(score, pos * up, neg * down, (pos * up**2, neg * down**2), fixed)

    @property
    def cases(self) -> Array:
        """Give positives and negatives together."""
        return self.pos + self.neg

    @property
    def n(self) -> float:
        """How many cases are these in all, as they count?"""
        return float(self.pos.sum() + self.neg.sum())

    @property
    def weights(self) -> tuple[float, float]:
        """How often does a positive, and a negative, count by a given share?"""
        return (1.0, 1.0) if self.fixed is None else self.fixed.weights

    @property
    def met(self) -> tuple[Array, Array]:
        """Give the positives and negatives that were met, however often they count."""
        if self.fixed is None:
            return self.pos, self.neg
        up, down = self.fixed.weights
        return np.rint(self.pos / up), np.rint(self.neg / down)

    @property
    def effective(self) -> float:
        """As how many equal cases do these count? (Kish)"""
        if self.squares is None:
            return self.n
        return self.n**2 / float(self.squares[0].sum() + self.squares[1].sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """Say that cases were weighed to a given share, if they were."""
        return () if self.fixed is None else (self.fixed.note,)

    def two_of_each_class(self, what: str) -> None:
        """Stop where a class that varies by itself has a single case."""
        if self.fixed is not None and min(self.fixed.n_pos, self.fixed.n_neg) < 2:
            pos, neg = self.fixed.n_pos, self.fixed.n_neg
            raise NotEnoughCases(
                f"{what} with prevalence= needs two cases of each class, because each "
                f"must show its own spread; found {counted(pos, 'positive')} and "
                f"{counted(neg, 'negative')}. Count more cases, or leave prevalence= "
                "out."
            )

    def pooled(self, most: int = MOST_ROWS) -> Forecasts:
        """Pool neighbouring rows to at most ``most`` cells with their mean score."""
        if self.score.size <= most:
            return self
        start = equal_mass(self.cases, most)
        total = np.add.reduceat(self.cases, start)
        mean = np.add.reduceat(self.score * self.cases, start) / total
        pos, neg, *squares = (
            np.add.reduceat(c, start)
            for c in (self.pos, self.neg, *(self.squares or ()))
        )
        both = (squares[0], squares[1]) if squares else None
        return Forecasts(mean, pos, neg, both, self.fixed)

    def to_draw(self) -> Forecasts:
        """Scale weights so that a case is about one case, and say what is drawn."""
        if self.squares is None or self.fixed is not None:
            return self
        scale = self.effective / self.n
        number, each = whole_draws(self.cases, self.squares[0] + self.squares[1])
        draws = number, each * scale
        return Forecasts(self.score, self.pos * scale, self.neg * scale, draws=draws)

    def labels(
        self, chance: Floats, replicates: int, rng: np.random.Generator
    ) -> Iterator[tuple[Array, Array]]:
        """Draw labels with these chances, at the scores that the cases have.

        Of a case-control sample as many cases of each class are drawn, and they are
        weighed to the share at which such a sample would be calibrated.
        """
        if self.fixed is not None:
            up, _, share = self.redrawn(chance, replicates, rng)
            _, n_pos, n_neg = self.fixed
            number, n = sum(self.met), self.fixed.number
            for pos, rho in zip(up, share, strict=True):
                yield pos * (rho * n / n_pos), (number - pos) * ((1 - rho) * n / n_neg)
            return
        number, each = (self.cases, 1) if self.draws is None else self.draws
        for _ in range(replicates):
            up = rng.binomial(number, chance)
            yield up * each, (number - up) * each

    def redrawn(
        self, chance: Floats, replicates: int, rng: np.random.Generator
    ) -> LabelDraws:
        """Draw what other samples of as many of each class show at these scores."""
        pos, neg = self.met
        number = (pos + neg).astype(np.int64)
        return redrawn(number, chance, int(pos.sum()), replicates, rng)

    def samples(
        self, truths: Sequence[Floats], rng: np.random.Generator
    ) -> Iterator[tuple[Array, Array]]:
        """Draw scores and labels anew where truths are shares of positives.

        In a cohort all cases are drawn together, of a case-control sample each class.
        """
        if self.fixed is not None:
            yield from self._by_class(self.fixed, truths, rng)
            return
        number, each = (self.cases, 1) if self.draws is None else self.draws
        drawn = draw(number, len(truths), rng)
        for n, truth in zip(drawn, truths, strict=True):
            up = rng.binomial(n, truth)
            yield up * each, (n - up) * each

    def _by_class(
        self, fixed: FixedShare, truths: Sequence[Floats], rng: np.random.Generator
    ) -> Iterator[tuple[Array, Array]]:
        """Draw as many of each class; a truth's sample is weighed to its own share."""
        _, n_pos, n_neg = fixed
        mass, n = self.cases / self.cases.sum(), fixed.number
        for truth in truths:
            yes = mass * np.clip(truth, 1e-9, 1 - 1e-9)
            share = float(yes.sum())
            no = (mass - yes) / (1 - share)
            pos = rng.multinomial(n_pos, yes / share) * (share * n / n_pos)
            neg = rng.multinomial(n_neg, no) * ((1 - share) * n / n_neg)
            yield pos, neg

    def mean(
        self, losses: Losses, level: float, most: float, least: float = 0.0
    ) -> Estimate:
        r"""How large is the mean loss of cases, and between which values may it lie?

        The interval is normal after one more case of each class is spread over the
        rows:

        .. math:: \tilde m = \frac{n m + 2 m_0}{n + 2}, \qquad
                  \tilde m \pm z \sqrt{\frac{\tilde q - \tilde m^2}{n + 2}}

        with :math:`m_0` the mean over cases of the loss that a coin for a label would
        give, and q the mean of squares, likewise. It holds the mean itself. Weighted
        cases count as many equal ones as would give the mean its linearised variance,
        with Student's quantile, and on either side with what cases heavier than those
        drawn would add there (``counts.heavy_cases``).
        """
        if self.fixed is not None:
            return self._mean_by_class(self.fixed, losses, level, most, least)
        if self.squares is None:
            return self._mean_of(losses, 1.0, level, (least, most))
        lacks = self.lacking(self.squares, losses)
        plain, below, above = (
            self._mean_of(losses, number / self.n, level, (least, most))
            for number in self._equal_cases(self.squares, losses, lacks, level)
        )
        return replace(plain, low=below.low, high=above.high)

    def _mean_of(
        self, losses: Losses, scale: float, level: float, ends: tuple[float, float]
    ) -> Estimate:
        """Give the mean, of so many equal cases for each."""
        neg, pos, (least, most) = self.neg * scale, self.pos * scale, ends
        n = float(neg.sum() + pos.sum())
        value, method = mean_loss(losses, pos, neg), "one more of each"
        if not np.isfinite(value):
            return Estimate(value, value, value, level, method)
        cases, z = neg + pos, NormalDist().inv_cdf((1 + level) / 2)
        away = (losses[0] - value) ** 2, (losses[1] - value) ** 2
        spread = mean_loss(away, pos, neg)
        sd = math.sqrt(spread / (n - 1)) if n > 1 else math.nan
        coin = mean_loss(losses, cases, cases), mean_loss(away, cases, cases)
        if not np.isfinite(coin[1]):  # a score of 0 or 1 that was right so far
            low = value - z * (sd if n > 1 else value)
            return Estimate(value, max(low, least), math.inf, level, method, sd)
        middle = (n * value + 2 * coin[0]) / (n + 2)
        square = (n * spread + 2 * coin[1]) / (n + 2) - (middle - value) ** 2
        half = z * math.sqrt(max(square, 0.0) / (n + 2))
        low, high = max(middle - half, least), min(middle + half, most)
        return Estimate(value, min(low, value), max(high, value), level, method, sd)

    def _equal_cases(
        self, squares: Squares, losses: Losses, lacks: Sequence[float], level: float
    ) -> list[float]:
        """How many equal cases would vary like the mean loss of weighted ones?

        Of the cases as they are, and with what their variance lacks below and above.
        """
        mean = mean_loss(losses, self.pos, self.neg)
        if not np.isfinite(mean):
            return [self.n] * 3
        weights = (self.neg, squares[1]), (self.pos, squares[0])
        met = [
            [x[c > 0] for x in (loss - mean, c, q)]
            for loss, (c, q) in zip(losses, weights, strict=True)
        ]
        varies = linearised([(u / self.n, c, q) for u, c, q in met], together=True)
        if not varies.variance > 0:
            return [self.effective] * 3
        spread = sum(float(c @ u**2) for u, c, _ in met) / self.n
        wider = student_factor(varies.df, level) ** 2
        return [spread / (varies.variance + x) / wider for x in (0.0, *lacks)]

    def lacking(self, squares: Squares, losses: Losses) -> tuple[float, float]:
        """What does the variance of a mean lack, of cases heavier than those drawn?

        A case stands where the logit of its score is, half a case from 0 and 1.
        Between two scores, a loss goes in a line.
        """
        sums = (self.neg, squares[1]), (self.pos, squares[0])
        if not np.isfinite(losses).all() or not all(c.any() for c, _ in sums):
            return 0.0, 0.0
        rim = 0.5 / (self.score.size + 1)
        odds = np.clip(self.score, rim, 1 - rim)
        at = np.log(odds) - np.log1p(-odds)
        classes = [PlacedCases.of(c, q, at) for c, q in sums]
        most = max(float(x.weight.max()) for x in classes)
        mean, lacks = mean_loss(losses, self.pos, self.neg), np.zeros(2)
        for k, (own, loss) in enumerate(zip(classes, losses, strict=True)):
            if own.alike:
                continue
            growth = weight_curve(own, classes[1 - k])
            away = partial(_on_line, at, loss - mean)
            part = float(sums[k][0].sum()) / self.n
            lacks += part**2 * np.array(lacking_variance(own, growth, away, most))
        return float(lacks[0]), float(lacks[1])

    def _mean_by_class(
        self,
        fixed: FixedShare,
        losses: Losses,
        level: float,
        most: float,
        least: float,
    ) -> Estimate:
        r"""Give the mean loss at a given share, each class with its own spread.

        .. math:: m = \pi m_1 + (1 - \pi) m_0, \qquad
                  \mathrm{var}(m) = \pi^2 v_1 / N_1 + (1 - \pi)^2 v_0 / N_0
        """
        share, n_pos, n_neg = fixed
        pos, neg = self.met
        spread = pos / n_pos * share + neg / n_neg * (1 - share)
        value = middle = variance = doubt = 0.0
        parts = ((losses[1], pos, share, n_pos), (losses[0], neg, 1 - share, n_neg))
        with np.errstate(invalid="ignore"):
            for loss, cases, part, n in parts:
                own = float(loss[cases > 0] @ cases[cases > 0])
                other = float(loss[spread > 0] @ spread[spread > 0])
                mean, both = (own + other) / (n + 1), cases + spread
                away = float(((loss - mean) ** 2)[both > 0] @ both[both > 0]) / (n + 1)
                varies = part**2 * away / (n + 1)
                value, middle = value + part * own / n, middle + part * mean
                variance, doubt = variance + varies, doubt + varies**2 / n
        method = "one more of each, share given"
        if math.isnan(value):
            return Estimate(value, value, value, level, method)
        if not math.isfinite(variance):
            low = value if math.isinf(value) else 0.0
            return Estimate(value, low, math.inf, level, method)
        df, sd = variance**2 / doubt if doubt > 0 else 1e9, math.sqrt(variance)
        half = float(student_quantile(df, level)) * sd
        low, high = max(middle - half, least), min(middle + half, most)
        return Estimate(value, min(low, value), max(high, value), level, method, sd)

    def class_sandwich(self, design: Floats, chance: Floats) -> Floats:
        """What varies a sum of residuals between samples of both classes? (k, k)

        ``design`` (m, k) are the columns, ``chance`` the probability of each row.
        """
        out = np.zeros((design.shape[1], design.shape[1]))
        classes = zip(self.met, (1 - chance, -chance), self.weights, strict=True)
        for cases, residual, weight in classes:
            n, each = float(cases.sum()), residual[:, None] * design
            away = each - cases @ each / n
            out += weight**2 * (away * cases[:, None]).T @ away * n / max(n - 1, 1)
        return out


class DrawRequest(NamedTuple):
    """How sure is an interval to be, by how many draws, and from which source?"""

    level: float
    replicates: int
    rng: np.random.Generator

    @classmethod
    def of(cls, level: object, replicates: object, rng: Any) -> DrawRequest:
        """Check what was asked for."""
        level = _options.fraction(level, "level")
        number = _options.whole_number(replicates, "replicates", at_least=20)
        return cls(level, number, _options.generator(rng))

    @property
    def tails(self) -> tuple[float, float]:
        """Give the shares of draws below the lower and below the upper end."""
        return (1 - self.level) / 2, (1 + self.level) / 2


def _on_line(at: Floats, values: Floats, z: Floats) -> Floats:
    return np.asarray(np.interp(z, at, values))


def mean_loss(losses: Losses, pos: Array, neg: Array) -> float:
    """Give the mean loss of cases."""
    # a loss that nobody suffers is no loss, even an infinite one
    suffered = [x[n > 0] @ n[n > 0] for x, n in zip(losses, (neg, pos), strict=True)]
    cases = pos.sum() + neg.sum()
    return float(sum(suffered) / cases) if cases else np.nan
