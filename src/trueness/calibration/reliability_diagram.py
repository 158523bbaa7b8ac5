"""Reliability diagram: what proportion of the cases with a score of p is positive?

The curve is the isotonic regression of the labels on the scores, without bins. Labels
that are drawn from the scores show where it would lie if scores were calibrated; a
likelihood ratio among increasing curves shows where the true curve may lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

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
from trueness.calibration.forecasts import (
    MAX_POOLED_ROWS,
    Forecasts,
    effective_sample_size,
    equal_mass_bins,
    pool_rows,
)
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.estimates import interval_notes
from trueness.inference.verification import unlabelled_notes

MAX_CURVE_POINTS = 500
# the most rows at which the confidence band is computed
MAX_BAND_ROWS = 200
# halvings of an interval within [0, 1]: one part in a million
_BAND_HALVINGS = 20


@final
@dataclass(frozen=True, repr=False, eq=False)
class Reliability(Answer):
    """The CORP reliability curve and its bands, in ascending order of score.

    Attributes
    ----------
    score, probability : array (k,)
        Scores, and the proportion of positives there, by isotonic regression; between
        them the curve is straight.
    consistency_low, consistency_high : array (k,)
        Range of the curve if the scores were calibrated: a curve outside this band is
        evidence against calibration.
    confidence_low, confidence_high : array (k,)
        Confidence band of the true proportion of positives.
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
    r"""Reliability curve by isotonic regression (CORP), with two bands.

    What proportion of the cases with a score of p is positive?

    .. math:: \hat p(s_i) = \max_{a \le i} \min_{b \ge i}
              \frac{\sum_{a..b} pos}{\sum_{a..b} (pos + neg)}

    CORP (Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118). The
    confidence band inverts a likelihood ratio test among increasing curves (Banerjee
    and Wellner 2001, doi:10.1214/aos/1015345959). It is accurate for scores with many
    cases each, and too wide for continuous ones. With more than 500 distinct scores the
    curve is given at the ends of the isotonic blocks and at 500 quantiles.

    Examples
    --------
    >>> r = reliability(Tally([0.1, 0.5, 0.9], neg=[9, 6, 1], pos=[1, 4, 9]))
    >>> r.probability
    array([0.1, 0.4, 0.9])
    """
    forecasts = Forecasts(data, "reliability")
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=20)
    generator = _options.generator(rng)

    curve = isotonic_curve(forecasts.pos, forecasts.neg)
    shown_score = _scores_to_show(forecasts)
    probability = np.interp(shown_score, forecasts.score, curve)

    # consistency band: where the curves of calibrated scores lie
    effective_cases = effective_sample_size(forecasts, curve)
    # labels are drawn for whole cases, so each row needs at least one
    max_rows = max(min(MAX_POOLED_ROWS, int(effective_cases)), 1)
    score, pos, neg = pool_rows(forecasts.score, forecasts.pos, forecasts.neg, max_rows)
    drawn_curves = _curves_of_drawn_labels(
        score, pos + neg, effective_cases, shown_score, replicates, generator
    )
    tails = [(1 - level) / 2, (1 + level) / 2]
    consistency_low, consistency_high = np.quantile(drawn_curves, tails, axis=0)

    # confidence band: counts are scaled to the effective sample size
    band_score, band_pos, band_neg = pool_rows(score, pos, neg, MAX_BAND_ROWS)
    scale = effective_cases / float((band_pos + band_neg).sum())
    band_low, band_high = _confidence_band(band_pos * scale, band_neg * scale, level)
    confidence_low = np.interp(shown_score, band_score, band_low)
    confidence_high = np.interp(shown_score, band_score, band_high)

    labelled = data.labelled()
    return Reliability(
        score=shown_score,
        probability=probability,
        consistency_low=consistency_low,
        consistency_high=consistency_high,
        # the band has fewer rows than the curve, but must contain it
        confidence_low=np.minimum(confidence_low, probability),
        confidence_high=np.maximum(confidence_high, probability),
        level=level,
        n=labelled.n_neg + labelled.n_pos,
        n_pos=labelled.n_pos,
        notes=(*unlabelled_notes(data), *interval_notes(data)),
    )


def _scores_to_show(forecasts: Forecasts) -> Floats:
    """Return all scores; of many, the ends of isotonic blocks and quantiles."""
    score = forecasts.score
    if score.size <= MAX_CURVE_POINTS:
        return score

    start = pool_violators(forecasts.pos, forecasts.neg)[1]
    block_ends = np.concatenate([start[:-1], start[1:] - 1])
    quantiles = np.linspace(0, score.size - 1, MAX_CURVE_POINTS).astype(int)
    shown = np.union1d(block_ends, quantiles)
    return np.asarray(score[shown])


def _curves_of_drawn_labels(
    score: Floats,
    cases: Array,
    effective_cases: float,
    shown_score: Floats,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """Return isotonic curves of labels that were drawn from the scores."""
    whole_cases = np.maximum(np.rint(cases * (effective_cases / cases.sum())), 1)
    whole_cases = whole_cases.astype(np.int64)
    curves = np.empty((replicates, shown_score.size))
    for k in steps(range(replicates), "Bootstrap", unit="samples"):
        # whole cases are drawn, and scaled back to the weights of the rows
        pos = rng.binomial(whole_cases, score) * (cases / whole_cases)
        curves[k] = np.interp(shown_score, score, isotonic_curve(pos, cases - pos))
    return curves


def _confidence_band(pos: Floats, neg: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the smallest and the largest likely value of an increasing curve, by row.

    Given a value at a row, the most likely increasing curve is isotonic regression of
    the rows below it and of the rows above it, each cut off at the value.
    """
    from scipy.special import chdtri

    # half the quantile of chi-squared with one degree of freedom (Wilks 1938)
    largest_loss = float(chdtri(1, 1 - level)) / 2
    smallest = _log_likelihood(isotonic_curve(pos, neg), pos, neg) - largest_loss
    blocks_of_rows = [_blocks_around(row, pos, neg) for row in range(pos.size)]
    blocks = _as_table(blocks_of_rows)

    def is_likely(value: Floats) -> Array:
        """Return whether a curve through this value is in the likelihood interval."""
        # shape (rows, ends, blocks): both ends of all rows are computed at once
        column = value[:, :, None]
        below = np.minimum(blocks.proportion, column)
        above = np.maximum(blocks.proportion, column)
        curve = np.where(blocks.side < 0, below, above)
        curve = np.where(blocks.side == 0, column, curve)
        return np.asarray(_log_likelihood(curve, blocks.pos, blocks.neg) >= smallest)

    middle = np.array(
        [_fitted_value(blocks_of_row) for blocks_of_row in blocks_of_rows]
    )
    # from the fitted value outwards, to 0 and to 1
    start = np.repeat(middle[:, None], 2, axis=1)
    ends = bisect(is_likely, start, np.array([0.0, 1.0]), _BAND_HALVINGS)
    return ends[:, 0], ends[:, 1]


class _BlocksAround(NamedTuple):
    """The isotonic blocks below a row, the row itself, and the blocks above.

    Arrays are for one row, or tables (rows, 1, blocks) for all rows.
    """

    pos: Floats
    neg: Floats
    proportion: Floats
    side: Floats  # -1 below, 0 at the row, 1 above


def _blocks_around(row: int, pos: Floats, neg: Floats) -> _BlocksAround:
    """Return the isotonic blocks of both sides of a row, fitted separately."""
    pos_below, neg_below = _isotonic_blocks(pos[:row], neg[:row])
    pos_above, neg_above = _isotonic_blocks(pos[row + 1 :], neg[row + 1 :])
    block_pos = np.concatenate([pos_below, [pos[row]], pos_above])
    block_neg = np.concatenate([neg_below, [neg[row]], neg_above])
    return _BlocksAround(
        pos=block_pos,
        neg=block_neg,
        proportion=block_pos / (block_pos + block_neg),
        # -1 below the row, 0 at it, 1 above
        side=np.sign(np.arange(block_pos.size) - pos_below.size).astype(np.float64),
    )


def _as_table(blocks_of_rows: Sequence[_BlocksAround]) -> _BlocksAround:
    """Return the blocks of all rows in tables, padded with blocks without a case."""
    most_blocks = max((blocks.pos.size for blocks in blocks_of_rows), default=0)
    shape = (len(blocks_of_rows), 1, most_blocks)
    table = _BlocksAround(
        pos=np.zeros(shape),
        neg=np.zeros(shape),
        proportion=np.zeros(shape),
        side=np.zeros(shape),
    )
    for row, blocks in enumerate(blocks_of_rows):
        size = blocks.pos.size
        for column, values in zip(table, blocks, strict=True):
            column[row, 0, :size] = values

    return table


def _fitted_value(blocks: _BlocksAround) -> float:
    """Return the value of the most likely increasing curve at the row itself."""
    fitted = isotonic_curve(blocks.pos, blocks.neg)[blocks.side == 0]
    return float(np.clip(fitted, 0.0, 1.0)[0])


def _isotonic_blocks(pos: Floats, neg: Floats) -> tuple[Floats, Floats]:
    """Return the counts of the blocks of isotonic regression."""
    if not pos.size:
        return pos, neg
    start = pool_violators(pos, neg)[1][:-1]
    return np.add.reduceat(pos, start), np.add.reduceat(neg, start)


def _log_likelihood(probability: Floats, pos: Floats, neg: Floats) -> Any:
    """Return the log-likelihood of probabilities (..., m)."""
    from scipy.special import xlog1py, xlogy

    return (xlogy(pos, probability) + xlog1py(neg, -probability)).sum(axis=-1)


SCORE_AXIS = Axis("score", "Score")
PROPORTION_AXIS = Axis("probability", "Proportion of positives")
# a quarter of a pixel, the largest error of a drawn line
_INVISIBLE = 5e-4
BARS = 40


def reliability_figure(
    curves: Mapping[str, Reliability], band: str = "confidence"
) -> Curves:
    """Return the diagram: the proportion of positives against the score.

    ``band`` is "confidence", which holds the true curve, or "consistency", in which
    the curve of calibrated scores would lie.
    """
    lines = []
    bands = []
    for name, curve in curves.items():
        lines.append(Line(name, _thin_columns(curve, "probability")))
        band_columns = _thin_columns(curve, f"{band}_low", f"{band}_high")
        bands.append(Line(name, band_columns))

    diagonal = guide(SCORE_AXIS, PROPORTION_AXIS, [0.0, 1.0], [0.0, 1.0])
    return Curves(
        "Reliability diagram",
        SCORE_AXIS,
        PROPORTION_AXIS,
        tuple(lines),
        tuple(bands),
        (diagonal,),
    )


def _thin_columns(curve: Reliability, *names: str) -> dict[str, Array]:
    """Return columns of a curve without points that would not be visible."""
    # "confidence_low" is the column "low" of a band
    columns = {name.rpartition("_")[2]: getattr(curve, name) for name in names}
    size = curve.score.size
    visible = np.arange(size)
    if size > POINTS:
        points = [
            few_points(curve.score, column, size, _INVISIBLE)
            for column in columns.values()
        ]
        visible = np.unique(np.concatenate(points))

    columns = {"score": curve.score, **columns}
    return {name: column[visible] for name, column in columns.items()}


def probability_bars(name: str, t: Tally) -> Bars:
    """Return the histograms of the scores of negatives and positives from 0 to 1."""
    bar = np.minimum((t.score * BARS).astype(int), BARS - 1)
    neg = np.bincount(bar, t.neg, BARS).astype(np.float64)
    pos = np.bincount(bar, t.pos, BARS).astype(np.float64)
    return Bars("Scores", np.arange(BARS + 1) / BARS, {name: neg}, {name: pos})


def map_figure(maps: Mapping[str, Callable[[Any], Any]], t: Tally, bins: int) -> Curves:
    """Return the figure of the curve of each map, and proportions of positives."""
    grid = np.linspace(t.score[-1], t.score[0], POINTS)
    cases = t.neg + t.pos
    start = equal_mass_bins(cases, bins)
    cases_in_bin = np.add.reduceat(cases, start)
    observed = {
        "score": np.add.reduceat(t.score * cases, start) / cases_in_bin,
        "probability": np.add.reduceat(t.pos, start) / cases_in_bin,
    }
    lines = [
        Line(name, {"score": grid, "probability": to_probability(grid)})
        for name, to_probability in maps.items()
    ]
    return Curves(
        "Probability against score",
        span("score", "Score", grid),
        Axis("probability", "Probability"),
        tuple(lines),
        dots=(Line("proportion of positives", observed),),
    )
