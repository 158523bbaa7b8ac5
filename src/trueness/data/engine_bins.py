"""How is a lazy frame counted in bins, when it has too many distinct scores?

Three passes: from where to where the scores go; quantiles of a sample, which make the
grid fine where the cases are; and one group-by. Every bin comes back with the smallest
and the largest score in it, however an engine rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.words import plain
from trueness._core.data_types import LabelValue
from trueness._core.imports import lazy_import
from trueness.counts.bins import merge_bins
from trueness.counts.counting import Labels
from trueness.counts.values import Tally, tally_of_bins
from trueness.data.cleaning import read_label_column
from trueness.data.columns import column
from trueness.data.engines import collect, weight_sums, weights_of, with_squared_weights

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

_SEGMENTS = 16  # quantile segments; each is divided evenly
_SAMPLE = 100_000
Names = Mapping[str, str]
T = TypeVar("T")


@final
@dataclass(frozen=True)
class Extent:
    """Number of rows, and the lowest and the highest score."""

    rows: int
    low: float
    high: float


def extent(lazy: nw.LazyFrame[Any], names: Names) -> Extent:
    """Where do the scores lie? Stops at one that is not finite, and at a wrong count.

    The columns of ``lazy`` are called by their roles, by the user as ``names`` says.
    """
    kind = lazy.collect_schema()["score"]
    checks = _score_checks(is_decimal=isinstance(kind, nw.Decimal))
    if "count" in names:
        checks |= _count_checks()

    table = collect(lazy.select(check.alias(name) for name, check in checks.items()))
    answers = {name: table[name].to_list()[0] for name in checks}

    rows = int(answers["rows"])
    score = f"score {names['score']!r}"
    if answers["not_finite"]:
        raise _columns.not_finite(
            score,
            f"in {int(answers['not_finite']):,} of {rows:,} cases",
            only_infinite=not answers["missing"],
        )

    if not rows:
        return Extent(0, 0.0, 0.0)

    if "count" in names:
        total = float(answers["total"])
        wrong = int(answers["wrong_counts"])
        _columns.counted_rows(names["count"], wrong, rows, total)

    low = float(answers["low"])
    high = float(answers["high"])
    if kind.is_integer():
        _columns.exact_extent(low, high, score)

    _columns.still_apart(
        answers.get("distinct", 0), answers.get("distinct_as_floats", 0), score
    )
    return Extent(rows, low, high)


def _score_checks(*, is_decimal: bool) -> dict[str, nw.Expr]:
    """Return expressions for the range of scores, and for missing and infinite ones."""
    value = nw.col("score").cast(nw.Float64)
    # NaN may be the largest, the smallest or neither: it is asked for by name
    is_missing = value.is_null() | value.is_nan()
    is_not_finite = is_missing | (value.abs() == np.inf)
    checks = {
        "rows": nw.len(),
        "low": value.min(),
        "high": value.max(),
        "not_finite": is_not_finite.cast(nw.Int64).sum(),
        "missing": is_missing.cast(nw.Int64).sum(),
    }

    if is_decimal:  # decimals that differ may be one float
        checks["distinct"] = nw.col("score").n_unique()
        checks["distinct_as_floats"] = value.n_unique()

    return checks


def _count_checks() -> dict[str, nw.Expr]:
    """Return expressions for the cases, and for counts that are no whole numbers."""
    number = nw.col("count").cast(nw.Float64)
    is_whole = (number >= 0.0) & (number == number.floor()) & (number < 2.0**63)
    is_wrong = number.is_null() | number.is_nan() | ~is_whole
    return {"wrong_counts": is_wrong.cast(nw.Int64).sum(), "total": number.sum()}


def _cases(names: Names) -> nw.Expr:
    """Return the expression of how many cases the rows of a group are."""
    # some engines add up to 128 bits
    number = nw.col("count").sum().cast(nw.Int64) if "count" in names else nw.len()
    return number.alias("cases")


def _chosen(lazy: nw.LazyFrame[Any], names: Names) -> nw.LazyFrame[Any]:
    """Return the score as float64, and rows with cases only."""
    rows = lazy.with_columns(nw.col("score").cast(nw.Float64))
    if "count" not in names:
        return rows
    number = nw.col("count").cast(nw.Int64)
    return rows.with_columns(number).filter(nw.col("count") > 0)


def _quantile_edges(
    lazy: nw.LazyFrame[Any], names: Names, scores: Extent, segments: int
) -> Floats:
    """Cut the scores into segments of about as many cases, by quantiles of a sample.

    Their own digits decide which are in it, so that every engine takes the same ones.
    """
    fraction = min(1.0, _SAMPLE / max(scores.rows, 1))
    sample = _chosen(lazy, names)
    if fraction < 1:
        # the fractional part of a large multiple of the golden ratio is spread evenly
        multiple = nw.col("score") * (2.0**30 * 1.6180339887498949)
        sample = sample.filter((multiple - multiple.floor()) < fraction)

    counts = collect(sample.group_by("score").agg(_cases(names)))

    score = column(counts["score"], names["score"])
    inner = np.zeros(0)
    if score.size:
        order = np.argsort(score)
        cases_below = np.cumsum(counts["cases"].to_numpy()[order])
        quantiles = cases_below[-1] * np.arange(1, segments) / segments
        inner = score[order][np.searchsorted(cases_below, quantiles)]

    inner = inner[(inner > scores.low) & (inner < scores.high)]
    return np.unique(np.concatenate([[scores.low], inner, [scores.high]]))


def chosen_by(
    value: T,
    edges: Floats,
    pieces: Sequence[T],
    choice: Callable[[T, float, T, T], T],
) -> T:
    """Write ``pieces[number of edges <= value]`` as a binary tree of comparisons.

    ``choice`` writes one: the value, its edge, what is below, what is from there on.
    """
    if len(pieces) == 1:
        return pieces[0]
    middle = len(pieces) // 2
    below = chosen_by(value, edges[: middle - 1], pieces[:middle], choice)
    above = chosen_by(value, edges[middle:], pieces[middle:], choice)
    return choice(value, float(edges[middle - 1]), below, above)


def either(value: nw.Expr, edge: float, below: nw.Expr, above: nw.Expr) -> nw.Expr:
    """Return an expression of Narwhals that chooses by a comparison."""
    return nw.when(value < edge).then(below).otherwise(above)


def _bin_number(score: nw.Expr, edges: Floats, bins: int) -> nw.Expr:
    """Return the number of a score's bin; each segment has bins of equal width."""
    numbers = []
    for segment, (low, high) in enumerate(pairwise(edges.tolist())):
        offset = segment * bins
        with np.errstate(over="ignore", divide="ignore"):
            bins_per_unit = float(np.float64(bins) / (high - low))

        # a segment that is too narrow or too wide to be divided is one bin
        if not np.isfinite(bins_per_unit) or bins_per_unit == 0:
            numbers.append(nw.lit(offset))
            continue

        part = ((score - low) * bins_per_unit).floor()
        # rounding may put the end of a segment one part too far
        part = part.clip(0.0, float(bins - 1))
        numbers.append((part + float(offset)).cast(nw.Int64))

    if not numbers:
        return nw.lit(0)
    return chosen_by(score, edges[1:-1], numbers, either)


def count_bins(
    lazy: nw.LazyFrame[Any], names: Names, edges: Floats, each: int
) -> dict[str, Any]:
    """Return the rows of a lazy frame by bin, label and group, by one group-by."""
    other_roles = [role for role in ("label", "by") if role in names]
    rows = _chosen(lazy, names)
    sums: list[nw.Expr] = []

    if "weight" in names:
        # a case of weight zero is none, and takes no part in the ends of its bin
        rows = with_squared_weights(rows).filter(
            (nw.col("weight") != 0.0) | nw.col("weight").is_null()
        )
        sums = weight_sums()

    score = nw.col("score")
    numbered = rows.with_columns(bin=_bin_number(score, edges, each))
    bins = collect(
        numbered.group_by("bin", *other_roles).agg(
            score.min().alias("low"), score.max().alias("high"), _cases(names), *sums
        )
    )
    columns: dict[str, Any] = {
        name: column(bins[name], name)
        for name in ("low", "high", "cases", *other_roles)
    }

    if "weight" in names:
        columns["weight"] = weights_of(bins, names["weight"], 1)

    return columns


def binned_tally(
    lazy: nw.LazyFrame[Any],
    names: Names,
    positive: LabelValue,
    at_most: int,
    scores: Extent | None = None,
) -> Any:
    """Return the binned tally of a lazy frame with columns named by their roles."""
    at_most = _options.whole_number(at_most, "at_most", at_least=1)
    if scores is None:
        scores = extent(lazy, names)

    edges = _quantile_edges(lazy, names, scores, min(_SEGMENTS, at_most))
    bins_of_segment = max(at_most // max(edges.size - 1, 1), 1)
    bins = count_bins(lazy, names, edges, bins_of_segment)
    labels = None

    if "label" in names:
        labels = read_label_column(
            bins["label"], positive, f"column {names['label']!r}"
        )

    if "by" not in names:
        return bins_to_tally(bins, labels).bin(at_most)

    _columns.named_groups(bins["by"], bins["cases"])
    groups, member = np.unique(bins["by"], return_inverse=True)
    return {
        plain(group): bins_to_tally(bins, labels, member == code).bin(at_most)
        for code, group in enumerate(groups)
    }


def bins_to_tally(
    bins: Mapping[str, Any], labels: Labels | None, rows: Array | slice = slice(None)
) -> Tally:
    """Return a tally of bins; a bin whose labels do not overlap stays two."""
    code = np.full(bins["cases"].size, 2) if labels is None else labels.codes()
    weight = bins.get("weight")
    if weight is None:
        sums = [bins["cases"].astype(np.int64)]
    else:
        sums = [weight.sum, weight.square]

    counts = [
        np.where(code == kind, values, 0)[rows] for values in sums for kind in range(3)
    ]
    # -0.0 is 0.0
    low = bins["low"][rows] + 0.0
    high = bins["high"][rows] + 0.0

    return tally_of_bins(*merge_bins(low, high, counts))
