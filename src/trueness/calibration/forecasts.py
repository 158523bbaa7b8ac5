"""Which probabilities were said, what happened, and how far are they apart by bins?

The mean squared residual of bins follows a noncentral chi-square whose scale comes from
the design (Patnaik 1949; Satterthwaite 1946; Sun et al. 2024, arXiv:2408.08998):
``docs/maths/calibration.md``, "Residuals of bins", which has the letters of ``Binned``.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.records import Estimate
from trueness._core.solvers import bisect
from trueness.counts.values import Tally
from trueness.inference.limits import around, inferred, score_limits, student
from trueness.inference.sample import Measured, Sample, meant
from trueness.inference.spread import Spread

# curves are drawn anew on this many rows at most: more are pooled to as many cells
MOST_ROWS = 1000


def probabilities(data: Tally, what: str) -> Tally:
    """Stop where no case has a label, or scores are not from 0 to 1."""
    _cases.some_labels(data, what)
    known = data.labelled()
    for score in (known.score, known.high):
        _columns.unit_scores(
            score, what, "Calibrate first: t.map(trueness.calibrate(other_cases))."
        )
    return data


class Forecasts(NamedTuple):
    """The cases that are meant, ascending by score; weights as equal cases (Kish)."""

    score: Floats
    pos: Array
    neg: Array
    sample: Sample
    scale: float  # what a unit of weight is in equal cases

    @classmethod
    def of(cls, data: Tally, what: str) -> Forecasts:
        """Take the cases that the design of a tally means."""
        sample = meant(probabilities(data, what), what)
        t = sample.counts
        # Kish's number of equal cases over the sum of weights; counts are their own
        # squares, and stay whole numbers
        squares = sum(float(q.sum()) for q in t.squares[:2])
        scale = float(t.n_pos + t.n_neg) / max(squares, 1e-300)
        pos, neg = (c[::-1] if scale == 1 else c[::-1] * scale for c in (t.pos, t.neg))
        return cls(t.score[::-1], pos, neg, sample, scale)

    @property
    def cases(self) -> Array:
        """Give positives and negatives together."""
        return self.pos + self.neg

    @property
    def n(self) -> float:
        """As how many equal cases do these count?"""
        return float(self.pos.sum() + self.neg.sum())

    @property
    def share(self) -> float:
        """Which share is positive?"""
        return float(self.pos.sum()) / self.n

    @property
    def plain(self) -> bool:
        """Are these independent cases, as they came, that count alike?"""
        x = self.sample.cases
        s = self.sample
        if x.grouped is not None or s.fixed or s.imputed is not None:
            return False
        pairs = zip((x.neg, x.pos), x.squares, strict=False)
        each = np.concatenate([q[c > 0] / c[c > 0] for c, q in pairs])
        return bool(np.ptp(each) <= 1e-12 * each.max())

    def spread(self, by_neg: Floats, by_pos: Floats) -> Spread:
        """How far does a sum vary to which cases add so much, ascending by score?"""
        return varied(self.sample, *(x[::-1] * self.scale for x in (by_neg, by_pos)))


def varied(sample: Sample, by_neg: Floats, by_pos: Floats) -> Spread:
    """How far does a sum vary to which the counts of a sample add so much?"""
    return inferred(sample, lambda _: Measured(math.nan, by_neg, by_pos)).spread


def pooled(
    score: Floats, pos: Array, neg: Array, most: int = MOST_ROWS
) -> tuple[Floats, Array, Array]:
    """Pool neighbouring rows to at most ``most`` cells with their mean score."""
    if score.size <= most:
        return score, pos, neg
    start = equal_mass(pos + neg, most)
    up, down = (np.add.reduceat(c, start) for c in (pos, neg))
    return np.add.reduceat(score * (pos + neg), start) / (up + down), up, down


def equal_mass(cases: Array, bins: int) -> Array:
    """Where do bins of about equally many cases start? Rows are never split."""
    middle = np.cumsum(cases) - cases / 2
    number = np.floor(middle * (bins / cases.sum()))
    return np.flatnonzero(np.diff(number, prepend=-1))


class Binned(NamedTuple):
    """Mean residual of each bin, its share of the cases, and their covariance."""

    gap: Floats
    weight: Floats
    covariance: Floats
    noise: Floats  # variance of the share of positives of independent cases
    units: float  # cases, or clusters, in all
    drawn: float = 0.0  # kappa: what drawing the scores adds

    @property
    def square(self) -> float:
        """Give the mean squared residual, which noise enlarges."""
        return float(self.weight @ self.gap**2)

    @property
    def debiased(self) -> Floats:
        """Give the squared residual of each bin less what noise adds, or 0."""
        return np.maximum(self.gap**2 - np.diag(self.covariance), 0.0)

    def _law(self) -> tuple[float, float, float, float]:
        """Give A, v0, c_m and kappa."""
        w, cov = self.weight, self.covariance
        part, mean = w[:, None] * cov, np.sign(self.gap) * np.sqrt(self.debiased)
        first, second = float(w @ np.diag(cov)), 2 * float((part * part.T).sum())
        size, along = float(w @ mean**2), second / (2 * first)
        if size > 0:
            along = float((w * mean) @ cov @ (w * mean)) / size
        return first, second, along, self.drawn

    @property
    def p_value(self) -> float:
        """How often do calibrated scores show as much?"""
        if not self.covariance.any():
            return math.nan
        return 1 - _below(self.square, 0.0, self._law())

    def limits(self, level: float) -> tuple[float, float]:
        """Between which numbers does the true square lie?"""
        seen = self.square
        if not self.covariance.any():  # what was not seen could be there: Wilson
            z = NormalDist().inv_cdf((1 + level) / 2)
            return score_limits(min(seen, 1.0), self.units, z)
        law = first, second, along, _ = self._law()
        most = 4 * seen + 50 * (first + 50 * max(second / (2 * first), along))

        def end(square: float, tail: float) -> float:
            if _below(square, 0.0, law) <= tail:
                return 0.0
            found = bisect(lambda x: _below(square, float(x), law) > tail, 0.0, most)
            return min(float(found), 1.0)

        return end(seen, (1 + level) / 2), end(max(seen, first), (1 - level) / 2)

    def mean_error(self, level: float) -> Estimate:
        """Give the mean absolute residual, less what noise adds (Kumar et al.)."""
        size = np.abs(self.gap)
        bias = self.weight @ (folded_mean(self.gap, self.noise) - size)
        value = max(float(self.weight @ size - bias), 0.0)
        low, high = self.limits(level)
        if low > 0 and self.covariance.any():
            along = self.weight * np.sign(self.gap)
            sd = math.sqrt(max(float(along @ self.covariance @ along), 0.0))
            low = max(value - student(self.units - 1, level) * sd, 0.0)
        return around(value, low, math.sqrt(high), level, "squared error's root")

    def chi_square(self, null: Floats, parameters: int) -> tuple[float, float]:
        r"""Give Pearson's statistic of no residual, and its p-value (Rao, Scott 1981).

        ``null`` are the variances of equal, independent and calibrated cases; with
        :math:`M = N^{-1/2} \Sigma N^{-1/2}` the statistic times
        :math:`\mathrm{tr} M / \mathrm{tr} M^2` has about
        :math:`(\mathrm{tr} M)^2 / \mathrm{tr} M^2` degrees of freedom.
        """
        from scipy.special import chdtrc

        told = null > 0  # bins whose cases are certain, and were right, tell nothing
        share = 1 - parameters / max(int(told.sum()), 1)
        if not share > 0:
            return math.nan, math.nan
        root = np.sqrt(null[told])
        effect = self.covariance[np.ix_(told, told)] / np.outer(root, root)
        one, two = float(np.trace(effect)), float((effect * effect).sum())
        statistic = float(((self.gap[told] / root) ** 2).sum()) * one / two
        return statistic, float(chdtrc(one**2 / two * share, statistic))


def folded_mean(mean: Floats, variance: Floats) -> Floats:
    """Give E|X| of normal X."""
    from scipy.special import ndtr

    sd = np.sqrt(variance)
    x = np.copysign(np.inf, mean)
    np.divide(mean, sd, out=x, where=sd > 0)
    density = math.sqrt(2 / math.pi) * sd * np.exp(-x * x / 2)
    return np.asarray(density + mean * (1 - 2 * ndtr(-x)))


def _below(seen: float, square: float, law: tuple[float, ...]) -> float:
    """How likely is no more than was seen, if the true square is this one?"""
    from scipy.special import chndtr, ndtr

    first, second, along, drawn = law
    c = (second + (4 * along + drawn * square) * square) / (2 * first + 4 * square)
    x, df, noncentral = seen / c, first / c, square / c
    if noncentral > 1e8:  # beyond what SciPy adds up: the law of very many is normal
        return float(ndtr((x - df - noncentral) / math.sqrt(2 * (df + 2 * noncentral))))
    return float(chndtr(x, df, noncentral))


def binned(s: Forecasts, start: Array, *, of_share: bool = False) -> Binned:
    """Give mean residuals of bins, from the score or the share of positives."""
    said = np.full(s.score.size, s.share) if of_share else s.score
    bin_of = np.repeat(np.arange(start.size), np.diff(start, append=said.size))
    total, up = (np.add.reduceat(x, start) for x in (s.cases, s.pos))
    gap = np.add.reduceat(s.pos - s.cases * said, start) / total
    residual = [y - said - gap[bin_of] for y in (0, 1)]
    by = [r / total[bin_of] for r in residual]
    cov, units = _covariance(s, by, bin_of, start.size, of_share)
    # labels that all agree show no spread: then that of calibrated cases
    pure = np.flatnonzero((up <= 0) | (up >= total))
    right = np.add.reduceat(s.cases * said * (1 - said), start) / total**2
    cov[pure, pure] = np.maximum(cov[pure, pure], right[pure])
    share = up / total
    # a bin of one case has no variance of its own: its share says nothing
    noise = share * (1 - share) / np.maximum(total - 1, 1)
    found = Binned(gap, total / total.sum(), cov, noise, units)
    size = float(found.weight @ found.debiased)
    if not size > 0 or not cov.any():
        return found
    mean, more = np.sign(gap) * np.sqrt(found.debiased), found.debiased - size
    by = [(2 * mean[bin_of] * r + more[bin_of]) / s.n for r in residual]
    drawn = s.spread(by[0], by[1]).variance - 4 * found._law()[2] * size
    return found._replace(drawn=drawn / size**2 if drawn > 0 else 0.0)


def _covariance(
    s: Forecasts, by: list[Floats], bin_of: Array, bins: int, of_share: bool
) -> tuple[Floats, float]:
    """Give the covariance of the means of bins, and the units that were drawn.

    A case adds ``by`` (of a negative, of a positive) to the mean of its own bin. Where
    the numbers of both classes are fixed, the mean of a class is taken off; where the
    share of all is estimated, what the case adds to that.
    """
    known, cells, classes = s.sample.cases, s.sample.cases.grouped, []
    for y, count in ((0, known.neg), (1, known.pos)):
        unit, shift = s.sample.scale[y] * s.scale, np.zeros(bins)
        own = by[y] * unit
        if s.sample.fixed:
            mean = np.bincount(bin_of, count[::-1] * own, bins)
            shift = mean / max(float(count.sum()), 1e-300)
        elif of_share:
            shift += (y - s.share) / s.n * unit
        classes.append((own, shift))
    if cells is None:
        cov, in_all = np.zeros((bins, bins)), s.n
        squares = [q[::-1] for q in known.squares[:2]]
        for (own, shift), q in zip(classes, squares, strict=True):
            cross = np.outer(np.bincount(bin_of, q * own, bins), shift)
            cov += np.diag(np.bincount(bin_of, q * own * own, bins)) - cross - cross.T
            cov += float(q.sum()) * np.outer(shift, shift)
        one = np.bincount(bin_of, (known.neg + known.pos)[::-1], bins)
        units = one**2 / np.bincount(bin_of, squares[0] + squares[1], bins)  # Kish
    else:
        m, row, in_all = cells.number, bin_of.size - 1 - cells.row, float(cells.number)
        place, sums = cells.code * bins + bin_of[row], np.zeros((m, bins))
        for (own, shift), count in zip(classes, cells.counts, strict=False):
            sums += np.bincount(place, count * own[row], m * bins).reshape(m, bins)
            sums -= np.outer(cells.per_cluster(count), shift)
        cov = sums.T @ sums
        units = np.bincount(np.unique(place) % bins, minlength=bins) / 1.0
    wider = np.sqrt(units / np.maximum(units - 1, 1))
    return cov * np.outer(wider, wider), in_all
