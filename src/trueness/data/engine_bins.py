"""How is a lazy frame counted in bins, when it has too many distinct scores?

Three passes: from where to where the scores go; quantiles of a sample, which make the
grid fine where the cases are; and one group-by. Every bin comes back with the smallest
and the largest score in it, however an engine rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.words import plain
from trueness._core.imports import lazy_import
from trueness.counts.bins import merge_bins
from trueness.counts.counting import Labels
from trueness.counts.values import Tally, tally_of_bins
from trueness.data.cleaning import read_label_column
from trueness.data.columns import column
from trueness.data.engines import collect, weighed, weight_sums, weights_of

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

_SEGMENTS = 16  # quantile segments; each is divided evenly
_SAMPLE = 100_000
Names = Mapping[str, str]
T = TypeVar("T")


Extent = tuple[int, float, float]  # how many rows, from which to which score


def extent(lazy: nw.LazyFrame[Any], names: Names) -> Extent:
    """Where do the scores lie? Stops at one that is not finite, and at a wrong count.

    The columns of ``lazy`` are called by their roles, by the user as ``names`` says.
    """
    kind, value = lazy.collect_schema()["score"], nw.col("score").cast(nw.Float64)
    # NaN may be the largest, the smallest or neither: it is asked for by name
    missing = value.is_null() | value.is_nan()
    lost = missing | (value.abs() == np.inf)
    asked = {"rows": nw.len(), "low": value.min(), "high": value.max()}
    asked["lost"] = lost.cast(nw.Int64).sum()
    asked["missing"] = missing.cast(nw.Int64).sum()
    if isinstance(kind, nw.Decimal):
        asked |= {"exact": nw.col("score").n_unique(), "apart": value.n_unique()}
    if "count" in names:
        number = nw.col("count").cast(nw.Float64)
        whole = (number >= 0.0) & (number == number.floor()) & (number < 2.0**63)
        wrong = number.is_null() | number.is_nan() | ~whole
        asked |= {"wrong": wrong.cast(nw.Int64).sum(), "total": number.sum()}
    table = collect(lazy.select(v.alias(k) for k, v in asked.items()))
    found = {k: table[k].to_list()[0] for k in asked}
    rows, score = int(found["rows"]), f"score {names['score']!r}"
    if found["lost"]:
        raise _columns.not_finite(
            score,
            f"in {int(found['lost']):,} of {rows:,} cases",
            only_infinite=not found["missing"],
        )
    if "count" in names and rows:
        total = float(found["total"])
        _columns.counted_rows(names["count"], int(found["wrong"]), rows, total)
    ends = (float(found["low"]), float(found["high"])) if rows else (0.0, 0.0)
    if kind.is_integer():
        _columns.exact_extent(*ends, score)
    _columns.still_apart(found.get("exact", 0), found.get("apart", 0), score)
    return rows, *ends


def _cases(names: Names) -> nw.Expr:
    """Give the expression of how many cases the rows of a group are."""
    # some engines add up to 128 bits
    number = nw.col("count").sum().cast(nw.Int64) if "count" in names else nw.len()
    return number.alias("cases")


def _chosen(lazy: nw.LazyFrame[Any], names: Names) -> nw.LazyFrame[Any]:
    """Give the score as float64, and rows with cases only."""
    rows = lazy.with_columns(nw.col("score").cast(nw.Float64))
    if "count" not in names:
        return rows
    number = nw.col("count").cast(nw.Int64)
    return rows.with_columns(number).filter(nw.col("count") > 0)


def _quantile_edges(
    lazy: nw.LazyFrame[Any], names: Names, e: Extent, segments: int
) -> Floats:
    """Cut the scores into segments of about as many cases, by quantiles of a sample.

    Their own digits decide which are in it, so that every engine takes the same ones.
    """
    rows, low, high = e
    share = min(1.0, _SAMPLE / max(rows, 1))
    sample = _chosen(lazy, names)
    if share < 1:
        # the fractional part of a large multiple of the golden ratio is spread evenly
        spread = nw.col("score") * (2.0**30 * 1.6180339887498949)
        sample = sample.filter((spread - spread.floor()) < share)
    found = collect(sample.group_by("score").agg(_cases(names)))
    score, inner = column(found["score"], names["score"]), np.zeros(0)
    if score.size:
        order = np.argsort(score)
        upto = np.cumsum(found["cases"].to_numpy()[order])
        at = np.searchsorted(upto, upto[-1] * np.arange(1, segments) / segments)
        inner = score[order][at]
    inner = inner[(inner > low) & (inner < high)]
    return np.unique(np.concatenate([[low], inner, [high]]))


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
    """Choose by a comparison, in the words of Narwhals."""
    return nw.when(value < edge).then(below).otherwise(above)


def _bin_number(score: nw.Expr, edges: Floats, each: int) -> nw.Expr:
    """Number the bins of a score: each segment is divided into ``each`` even parts."""
    parts = []
    for base, (low, high) in enumerate(pairwise(edges.tolist())):
        with np.errstate(over="ignore", divide="ignore"):
            scale = float(np.float64(each) / (high - low))
        if not np.isfinite(scale) or scale == 0:  # too narrow or wide to be divided
            parts.append(nw.lit(base * each))
            continue
        within = ((score - low) * scale).floor().clip(0.0, float(each - 1))
        parts.append((within + float(base * each)).cast(nw.Int64))
    return chosen_by(score, edges[1:-1], parts, either) if parts else nw.lit(0)


def count_bins(
    lazy: nw.LazyFrame[Any], names: Names, edges: Floats, each: int
) -> dict[str, Any]:
    """Count the rows of a lazy frame by bin, label and group, in one group-by."""
    others = [role for role in ("label", "by") if role in names]
    rows, extra = _chosen(lazy, names), []
    if "weight" in names:
        rows, extra = weighed(rows), weight_sums()
        # a case of weight zero is none, and takes no part in the ends of its bin
        rows = rows.filter((nw.col("weight") != 0.0) | nw.col("weight").is_null())
    score = nw.col("score")
    ends = score.min().alias("low"), score.max().alias("high")
    numbered = rows.with_columns(bin=_bin_number(score, edges, each))
    grouped = numbered.group_by("bin", *others).agg(*ends, _cases(names), *extra)
    found = collect(grouped)
    columns: dict[str, Any] = {
        k: column(found[k], k) for k in ("low", "high", "cases", *others)
    }
    if "weight" in names:
        columns["weight"] = weights_of(found, names["weight"], 1)
    return columns


def binned_tally(
    lazy: nw.LazyFrame[Any],
    names: Names,
    positive: object,
    at_most: int,
    e: Extent | None = None,
) -> Any:
    """Count a lazy frame, whose columns are called by their roles, into bins."""
    at_most = _options.whole_number(at_most, "at_most", at_least=1)
    e = extent(lazy, names) if e is None else e
    edges = _quantile_edges(lazy, names, e, min(_SEGMENTS, at_most))
    each = max(at_most // max(edges.size - 1, 1), 1)
    found = count_bins(lazy, names, edges, each)
    labels = None
    if "label" in names:
        labels = read_label_column(
            found["label"], positive, f"column {names['label']!r}"
        )
    if "by" not in names:
        return bins_to_tally(found, labels).bin(at_most)
    _columns.named_groups(found["by"], found["cases"])
    groups, member = np.unique(found["by"], return_inverse=True)
    return {
        plain(g): bins_to_tally(found, labels, member == k).bin(at_most)
        for k, g in enumerate(groups)
    }


def bins_to_tally(
    found: Mapping[str, Any], labels: Labels | None, at: Array | slice = slice(None)
) -> Tally:
    """Make a tally of bins; where labels of one do not overlap, it stays two."""
    code = np.full(found["cases"].size, 2) if labels is None else labels.codes()
    w = found.get("weight")
    given = [found["cases"].astype(np.int64)] if w is None else [w.sum, w.square]
    counts = [np.where(code == k, x, 0)[at] for x in given for k in range(3)]
    low, high = found["low"][at] + 0.0, found["high"][at] + 0.0
    return tally_of_bins(*merge_bins(low, high, counts))
