"""Which is better, what do votes say, does it still hold? Answers as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.checks.errors import NotEnoughCases
from trueness._core.figures import (
    Axis,
    Curves,
    Intervals,
    Line,
    Panels,
    TitledFigure,
    guide,
    span,
)
from trueness._core.numbers import counted, level_text, p_is
from trueness._core.records import Estimate
from trueness.comparison.dominance import Dominance, difference_figure
from trueness.comparison.results import Comparison, pairs_figure
from trueness.ensembles.combiners import FiDEL
from trueness.ensembles.crossfit import CombinerComparison, combiner_figure
from trueness.ensembles.ranks import CorrelatedFiDEL, rank_correlation_figure
from trueness.evals.runs import Leaderboard, rates_figure
from trueness.monitoring.verdicts import Check
from trueness.monitoring.watching import Watch
from trueness.plots._pictures import Shown, Style, picture
from trueness.readers.analysis import ReaderStudy

ENDS = ("value", "low", "high")


@picture
def dominance(found: Dominance, **look: Unpack[Style]) -> Shown:
    """Where is the first of two classifiers better, and how certain is it? A chart.

    Without a title the verdict stands above it.
    """
    first, second = found.names
    verdict = _VERDICT_OF_CURVES[found.verdict].format(first=first, second=second)
    if found.verdict != "equal":
        verdict += (
            f" in the sample; {first} better somewhere: {p_is(found.p_better)}, worse "
            f"somewhere: {p_is(found.p_worse)}"
        )
    about = (
        f"Difference of the ROC curves of {first} and {second} with its "
        f"{level_text(found.level)} band for the whole curve. {verdict}."
    )
    figure = difference_figure(found, f"{first} - {second}")
    return TitledFigure(figure, title=verdict, description=about)


_VERDICT_OF_CURVES = {
    "dominates": "{first} dominates {second}",
    "is dominated": "{first} is dominated by {second}",
    "crosses": "The curves of {first} and {second} cross",
    "equal": "The curves of {first} and {second} are equal",
}


@picture
def comparison(found: Comparison, **look: Unpack[Style]) -> Shown:
    """Which classifiers differ, and by how much? All differences with intervals."""
    return pairs_figure(found)


@picture
def combiners(comparison: CombinerComparison, **look: Unpack[Style]) -> Shown:
    """How does each combiner rank unseen cases? AUCs with their intervals."""
    return combiner_figure(comparison)


@picture
def rank_correlation(f: FiDEL | CorrelatedFiDEL, **look: Unpack[Style]) -> Shown:
    """Do classifiers make the same errors? Rank correlation within classes, by pair."""
    return rank_correlation_figure(f)


@picture
def combiner_lines(
    x: ArrayLike,
    aucs: Mapping[str, ArrayLike],
    *,
    x_title: str,
    errors: Mapping[str, ArrayLike] | None = None,
    **look: Unpack[Style],
) -> Shown:
    """How does the AUC of each combiner change with x? One line per combiner.

    Kim et al. (2021), Figs 4B, S1 and S2.

    Parameters
    ----------
    x
        What changes: the number of classifiers, or how strongly they correlate.
    aucs
        From the name of a combiner to its AUCs, in the order of ``x``.
    x_title
        What ``x`` is.
    errors
        Half-widths of the bands, by the name of the combiner in the same way.
    """
    at = np.asarray(x, dtype=np.float64)
    area = {k: np.asarray(v, dtype=np.float64) for k, v in aucs.items()}
    half = {k: np.asarray(v, dtype=np.float64) for k, v in (errors or {}).items()}
    bands = tuple(
        Line(k, {"x": at, "low": area[k] - half[k], "high": area[k] + half[k]})
        for k in half
    )
    lines = tuple(Line(k, {"x": at, "auc": v}) for k, v in area.items())
    ends = [band[end] for band in bands for end in ("low", "high")]
    y = span("auc", "AUC on unseen cases", *area.values(), *ends)
    return Curves(f"AUC by {x_title}", span("x", x_title, at), y, lines, bands)


@picture
def reader_results(found: ReaderStudy, **look: Unpack[Style]) -> Shown:
    """How well does each reader do with each treatment, and all readers on average?

    Without a title the test of equality stands above it.
    """
    metric, level = found.metric, level_text(found.level)
    metric = "AUC" if metric == "auc" else metric[:1].upper() + metric[1:]
    at = np.arange(len(found.treatments))
    ticks = tuple((float(k), str(name)) for k, name in enumerate(found.treatments))
    x = Axis("treatment", "Treatment", -0.5, at.size - 0.5, ticks)
    ends = {k: np.array([getattr(m, k) for m in found.means]) for k in ENDS}
    y = span("value", metric, found.results, ends["low"], ends["high"])
    each = tuple(
        guide(x, y, at[there], row[there], "each reader")
        for row, there in zip(
            found.results.T, np.isfinite(found.results).T, strict=True
        )
        if there.any()
    )
    dots = Line(f"mean of the readers, {level} interval", {"treatment": at, **ends})
    said = f"All treatments equal: {p_is(found.p_value)}" if found.pairs else ""
    about = (
        f"{metric} of {counted(len(found.readers), 'reader')} by treatment (grey), "
        f"with means and {level} intervals. {said}"
    )
    figure = Curves(about, x, y, guides=each, dots=(dots,))
    return TitledFigure(figure, title=said, description=about)


@picture
def pass_rates(
    found: Leaderboard | Mapping[str, Estimate], **look: Unpack[Style]
) -> Shown:
    """How often does each system pass, and which ranks can it have? A chart."""
    return rates_figure(found)


# requirements and watches


@picture
def check_verdicts(found: Check, **look: Unpack[Style]) -> Shown:
    """Where does each interval lie relative to its bound?

    What was counted, and has no interval, is left out.
    """
    seen = [v for v in found.ordered() if v.low < v.high] or found.ordered()
    value, low, high = (np.array([getattr(v, k) - v.bound for v in seen]) for k in ENDS)
    what = f"Intervals of {len(seen)} requirements, seen from their bounds"
    names, keys = tuple(v.name for v in seen), ("requirement", "value")
    more = {"verdict": np.array([v.verdict for v in seen])}
    from_bound = "Distance from the bound"
    return Intervals(what, from_bound, names, value, low, high, 0.0, keys, more)


@picture
def watch_history(found: Watch, **look: Unpack[Style]) -> Shown:
    """What did each batch show, and since when is there an alarm?

    Each group has a panel of its own.
    """
    about = f"Watch on {found.what}: {found.sentence()}"
    seen = {g: w for g, w in (found.groups or {"": found}).items() if _rows(w)}
    if not seen:
        raise NotEnoughCases(
            "A figure of a watch needs a batch with cases; found none."
        )
    parts = tuple(map(_batches, seen.values()))
    if not found.groups:
        return TitledFigure(parts[0], description=about)
    panels = Panels(about, parts, tuple(seen), heights=(0.6,))
    return TitledFigure(panels, description=about)


def _rows(found: Watch) -> list[dict[str, Any]]:
    return [r for r in found.history if r["batch"] is not None]


def _batches(found: Watch) -> Curves:
    """Show each batch, the limits of all so far, the bound, the alarm, the change."""
    rows = _rows(found)
    names = {r["name"] or f"look {r['look']}": float(r["look"]) for r in rows}
    look, batch, low, high = (
        np.array([r[k] for r in rows], dtype=np.float64)
        for k in ("look", "batch", "low", "high")
    )
    bound = [] if found.bound is None else [found.bound]
    ticks = tuple((at, name) for name, at in names.items())
    x = Axis("look", "Batch", look.min() - 0.5, look.max() + 0.5, ticks)
    y = span("batch", found.what, batch, low, high, bound)
    guides = [guide(x, y, [x.low, x.high], bound * 2, "bound")] if bound else []
    line = Line("each batch", {"look": look, "batch": batch})
    dots, rules = [line], []
    if found.change is not None and found.since in names:
        at = names[found.since]
        rules.append((f"alarm: {found.since}", at))
        dots.append(guide(x, y, [at], batch[look == at], "alarm"))
        if (first := names.get(found.change.first)) is not None:
            last = names.get(found.change.last, first)
            sides = {"low": np.full(2, y.low), "high": np.full(2, y.high)}
            began = {"look": np.array([first - 0.5, last + 0.5]), **sides}
            guides.insert(0, Line("the change began here", began))
    band = Line("interval of all so far", {"look": look, "low": low, "high": high})
    marks = (tuple(guides), tuple(dots), tuple(rules))
    return Curves(found.what, x, y, (line,), (band,), *marks)
