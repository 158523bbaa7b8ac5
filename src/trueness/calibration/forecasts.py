"""Which probabilities were said, what happened, and how far are they apart?

By bins the mean squared residual follows a noncentral chi-square whose scale comes from
the design (Patnaik 1949; Satterthwaite 1946; Sun et al. 2024, arXiv:2408.08998):
``docs/maths/calibration.md``, "Residuals of bins", which has the letters of ``Binned``.
Without bins it is the reliability diagram.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.figures import (
    POINTS,
    Axis,
    Bars,
    Curves,
    Line,
    few_points,
    guide,
    span,
)
from trueness._core.progress import steps
from trueness._core.records import Answer, Estimate
from trueness._core.solvers import bisect, isotonic_curve, pool_violators
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    estimate_from_interval,
    evaluate_measure,
    interval_notes,
)
from trueness.inference.intervals import student_quantile, wilson_interval
from trueness.inference.sample import MeasuredValue, Sample, apply_design
from trueness.inference.variance import Influence, VarianceEstimate
from trueness.inference.verification import unlabelled_notes

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


class Forecasts:
    """The cases that are meant, ascending by score; weights as equal cases (Kish)."""

    def __init__(self, data: Tally, what: str) -> None:
        self.sample = apply_design(probabilities(data, what), what)
        t = self.sample.target_counts
        # Kish's number of equal cases over the sum of weights; counts are their own
        # squares, and stay whole numbers
        squares = sum(float(q.sum()) for q in t.squares[:2])
        self.scale = scale = float(t.n_pos + t.n_neg) / max(squares, 1e-300)
        up, down = (c[::-1] if scale == 1 else c[::-1] * scale for c in (t.pos, t.neg))
        self.score, self.pos, self.neg, self.cases = t.score[::-1], up, down, up + down

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
        s, x = self.sample, self.sample.observed
        if x.grouped is not None or s.class_sizes_fixed or s.imputation is not None:
            return False
        pairs = zip((x.neg, x.pos), x.squares, strict=False)
        each = np.concatenate([q[c > 0] / c[c > 0] for c, q in pairs])
        return bool(np.ptp(each) <= 1e-12 * each.max())

    def spread(self, by_neg: Floats, by_pos: Floats) -> VarianceEstimate:
        """How far does a sum vary to which cases add so much, ascending by score?"""
        return varied(self.sample, *(x[::-1] * self.scale for x in (by_neg, by_pos)))


def varied(sample: Sample[Tally], by_neg: Floats, by_pos: Floats) -> VarianceEstimate:
    """How far does a sum vary to which the counts of a sample add so much?"""
    return evaluate_measure(
        sample, lambda _: MeasuredValue(math.nan, Influence(by_neg, by_pos))
    ).variance_estimate


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
    def test(self) -> tuple[float, float]:
        """Give the square, and how often calibrated scores show as much."""
        if not self.covariance.any():
            return self.square, math.nan
        return self.square, 1 - _below(self.square, 0.0, self._law())

    def limits(self, level: float) -> tuple[float, float]:
        """Between which numbers does the true square lie?"""
        seen = self.square
        if not self.covariance.any():  # what was not seen could be there: Wilson
            z = NormalDist().inv_cdf((1 + level) / 2)
            return wilson_interval(min(seen, 1.0), self.units, z)
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
            low = max(value - student_quantile(self.units - 1, level) * sd, 0.0)
        return estimate_from_interval(
            value, low, math.sqrt(high), level, "squared error's root"
        )

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
    known, cells, classes = s.sample.observed, s.sample.observed.grouped, []
    for y, count in ((0, known.neg), (1, known.pos)):
        unit, shift = s.sample.class_weights[y] * s.scale, np.zeros(bins)
        own = by[y] * unit
        if s.sample.class_sizes_fixed:
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


# points of the curve, and rows of the confidence band
_POINTS, _BAND = 500, 200


@final
@dataclass(frozen=True, repr=False, eq=False)
class Reliability(Answer):
    """The CORP reliability curve and its bands, in ascending order of score.

    Attributes
    ----------
    score, probability : array (k,)
        Scores, and the share of positives there, by isotonic regression; between them
        the curve is straight.
    consistency_low, consistency_high : array (k,)
        Where the curve would lie if the scores were calibrated: a curve outside this
        band is evidence against calibration.
    confidence_low, confidence_high : array (k,)
        Confidence band of the true share of positives.
    level : float
        Pointwise level of both bands.
    n, n_pos : int
        Labelled cases, and positives among them, or sums of their weights.
    """

    score: Floats
    probability: Floats
    consistency_low: Floats
    consistency_high: Floats
    confidence_low: Floats
    confidence_high: Floats
    level: float
    n: int
    n_pos: int
    notes: tuple[str, ...] = ()


@of_tally
def reliability(
    data: Tally, *, level: float = 0.95, replicates: int = 500, rng: Seed = 0
) -> Reliability:
    r"""Which share of the cases with a score of p is positive?

    .. math:: \hat p(s_i) = \max_{a \le i} \min_{b \ge i}
              \frac{\sum_{a..b} pos}{\sum_{a..b} (pos + neg)}

    CORP (Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118). The
    confidence band is by likelihood ratio among increasing curves (Banerjee and Wellner
    2001, doi:10.1214/aos/1015345959), right for scores with many cases each and too
    wide for continuous ones. Of more than 500 distinct scores the curve has the ends of
    the isotonic blocks and 500 quantiles.

    Examples
    --------
    >>> r = reliability(Tally([0.1, 0.5, 0.9], neg=[9, 6, 1], pos=[1, 4, 9]))
    >>> r.probability
    array([0.1, 0.4, 0.9])
    """
    s = Forecasts(data, "reliability")
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=20)
    generator = _options.generator(rng)
    at, curve = s.score, isotonic_curve(s.pos, s.neg)
    if at.size > _POINTS:
        start = pool_violators(s.pos, s.neg)[1]
        quantiles = np.linspace(0, at.size - 1, _POINTS).astype(int)
        at = at[np.union1d(np.concatenate([start[:-1], start[1:] - 1]), quantiles)]
    fitted = np.interp(at, s.score, curve)
    number = s.n  # as many equal cases as the mean residual from the curve varies
    if s.sample.observed.grouped is not None:
        variance = s.spread(-curve / s.n, (1 - curve) / s.n).variance
        one = float(s.cases @ (curve * (1 - curve))) / s.n
        number = min(s.n, one / variance) if variance > 0 and one > 0 else s.n
    score, pos, neg = pooled(s.score, s.pos, s.neg, max(min(MOST_ROWS, int(number)), 1))
    cases = pos + neg
    whole = np.maximum(np.rint(cases * (number / cases.sum())), 1).astype(np.int64)
    drawn = np.empty((replicates, at.size))
    for k in steps(range(replicates), "Bootstrap", unit="samples"):
        up = generator.binomial(whole, score) * (cases / whole)
        drawn[k] = np.interp(at, score, isotonic_curve(up, cases - up))
    consistent = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    score, pos, neg = pooled(score, pos, neg, _BAND)
    scale = number / float((pos + neg).sum())
    low, high = _likely_values(pos * scale, neg * scale, level)
    known = data.labelled()
    return Reliability(
        *(at, fitted, consistent[0], consistent[1]),
        np.minimum(np.interp(at, score, low), fitted),
        np.maximum(np.interp(at, score, high), fitted),
        *(level, known.n_neg + known.n_pos, known.n_pos),
        notes=(*unlabelled_notes(data), *interval_notes(data)),
    )


def _likely_values(pos: Floats, neg: Floats, level: float) -> tuple[Floats, Floats]:
    """Between which values is the curve at each row not unlikely?"""
    from scipy.special import chdtri

    most = float(chdtri(1, 1 - level)) / 2
    best = _likelihood(isotonic_curve(pos, neg), pos, neg)
    low, high = np.empty(pos.size), np.empty(pos.size)
    for i in range(pos.size):
        # with a value at row i the most likely increasing curve is that of either side
        # by itself, cut off at the value
        sides = [_blocks(pos[:i], neg[:i]), _blocks(pos[i + 1 :], neg[i + 1 :])]
        sides.insert(1, (np.array([pos[i]]), np.array([neg[i]])))
        up, down = (np.concatenate(x) for x in zip(*sides, strict=True))
        share, here = up / (up + down), np.arange(up.size) - sides[0][0].size
        middle = float(np.clip(isotonic_curve(up, down)[here == 0], 0.0, 1.0)[0])

        def inside(
            value: Floats, share: Floats = share, up: Floats = up, down: Floats = down,
            here: Array = here,
        ) -> Array:  # fmt: skip
            v = value[:, None]
            curve = np.where(here < 0, np.minimum(share, v), np.maximum(share, v))
            curve = np.where(here == 0, v, curve)
            return np.asarray(_likelihood(curve, up, down) >= best - most)

        start = np.array([middle, middle])
        low[i], high[i] = bisect(inside, start, np.array([0.0, 1.0]), 20)
    return low, high


def _blocks(pos: Floats, neg: Floats) -> tuple[Floats, Floats]:
    """Give the counts of the blocks of isotonic regression."""
    if not pos.size:
        return pos, neg
    start = pool_violators(pos, neg)[1][:-1]
    return np.add.reduceat(pos, start), np.add.reduceat(neg, start)


def _likelihood(share: Floats, pos: Floats, neg: Floats) -> Any:
    """Give the log-likelihood of shares (..., m)."""
    from scipy.special import xlog1py, xlogy

    return (xlogy(pos, share) + xlog1py(neg, -share)).sum(axis=-1)


SCORE, SHARE = Axis("score", "Score"), Axis("probability", "Share of positives")
UNSEEN = 5e-4  # a quarter of a pixel: lines may be off by so much
BARS = 40


def reliability_figure(
    found: Mapping[str, Reliability], band: str = "confidence"
) -> Curves:
    """Which share of the cases with a score of p is positive?

    ``band`` is "confidence", which holds the true curve, or "consistency", in which
    the curve of calibrated scores would lie.
    """
    lines = tuple(Line(n, _few(r, "probability")) for n, r in found.items())
    ends = (f"{band}_low", f"{band}_high")
    bands = tuple(Line(n, _few(r, *ends)) for n, r in found.items())
    diagonal = guide(SCORE, SHARE, [0.0, 1.0], [0.0, 1.0])
    return Curves("Reliability diagram", SCORE, SHARE, lines, bands, (diagonal,))


def _few(r: Reliability, *names: str) -> dict[str, Array]:
    """Give columns of a curve without the points that nobody would see."""
    columns = {name.rpartition("_")[2]: getattr(r, name) for name in names}
    some = np.arange(r.score.size)
    if some.size > POINTS:
        kept = [few_points(r.score, v, some.size, UNSEEN) for v in columns.values()]
        some = np.unique(np.concatenate(kept))
    return {k: v[some] for k, v in {"score": r.score, **columns}.items()}


def probability_bars(name: str, t: Tally) -> Bars:
    """How many negatives and positives have which score between 0 and 1?"""
    bar = np.minimum((t.score * BARS).astype(int), BARS - 1)
    neg, pos = (np.bincount(bar, c, BARS).astype(np.float64) for c in (t.neg, t.pos))
    return Bars("Scores", np.arange(BARS + 1) / BARS, {name: neg}, {name: pos})


def map_figure(maps: Mapping[str, Callable[[Any], Any]], t: Tally, bins: int) -> Curves:
    """Which probability does each map give, and which share was there in bins?"""
    grid = np.linspace(t.score[-1], t.score[0], POINTS)
    cases = t.neg + t.pos
    start = equal_mass(cases, bins)
    total = np.add.reduceat(cases, start)
    seen = {
        "score": np.add.reduceat(t.score * cases, start) / total,
        "probability": np.add.reduceat(t.pos, start) / total,
    }
    return Curves(
        "Probability against score",
        span("score", "Score", grid),
        Axis("probability", "Probability"),
        tuple(Line(k, {"score": grid, "probability": f(grid)})
              for k, f in maps.items()),
        dots=(Line("share of positives", seen),),
    )  # fmt: skip
