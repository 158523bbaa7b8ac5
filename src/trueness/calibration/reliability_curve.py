"""Do the probabilities mean what they say? The reliability diagram, without bins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
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
from trueness._core.records import Answer
from trueness._core.solvers import bisect, isotonic_curve, pool_violators
from trueness.calibration.forecasts import MOST_ROWS, Forecasts, equal_mass, pooled
from trueness.calibration.proper_scores import ProperScore
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.limits import notes_of
from trueness.inference.verification import remarks

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
    s = Forecasts.of(data, "reliability")
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=20)
    generator = _options.generator(rng)
    at, curve = s.score, isotonic_curve(s.pos, s.neg)
    if at.size > _POINTS:
        start = pool_violators(s.pos, s.neg)[1]
        quantiles = np.linspace(0, at.size - 1, _POINTS).astype(int)
        at = at[np.union1d(np.concatenate([start[:-1], start[1:] - 1]), quantiles)]
    fitted = np.interp(at, s.score, curve)
    number = _effective(s, curve)
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
        notes=(*remarks(data), *notes_of(data)),
    )


def _effective(s: Forecasts, fitted: Floats) -> float:
    """As how many equal cases does the mean residual from the curve vary?"""
    if s.sample.cases.grouped is None:
        return s.n
    variance = s.spread(-fitted / s.n, (1 - fitted) / s.n).variance
    one = float(s.cases @ (fitted * (1 - fitted))) / s.n
    return min(s.n, one / variance) if variance > 0 and one > 0 else s.n


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


_LEVELS = 9  # lines of equal loss


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


def decomposition_figure(scores: Mapping[str, ProperScore]) -> Curves:
    """How large are discrimination and miscalibration of each, and where is loss equal?

    On a guide mcb - dsc is constant.
    """
    mcb = [float(s.mcb) for s in scores.values()]
    dsc = [float(s.dsc) for s in scores.values()]
    right, top = (1.15 * max([*v, 1e-9]) for v in (dsc, mcb))
    x = Axis("dsc", "Discrimination (DSC)", 0.0, right)
    y = Axis("mcb", "Miscalibration (MCB)", 0.0, top)
    guides = []
    for shift in np.linspace(-right, top, _LEVELS):
        ends = np.array([max(0.0, -shift), min(right, top - shift)])
        guides.append(guide(x, y, ends, ends + shift))
    dots = tuple(
        Line(name, {"dsc": np.array([d]), "mcb": np.array([m])})
        for name, d, m in zip(scores, dsc, mcb, strict=True)
    )
    what = "Miscalibration against discrimination"
    return Curves(what, x, y, guides=tuple(guides), dots=dots)
