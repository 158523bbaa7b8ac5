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
from trueness.ensembles.correlated import CorrelatedFiDEL
from trueness.ensembles.crossfit import CombinerComparison, combiner_figure
from trueness.ensembles.ranks import rank_correlation_figure
from trueness.evals.runs import Leaderboard, rates_figure
from trueness.monitoring.verdicts import Check
from trueness.monitoring.watching import Watch
from trueness.plots._pictures import Shown, Style, picture
from trueness.readers.analysis import ReaderStudy


@picture
def dominance(result: Dominance, **style: Unpack[Style]) -> Shown:
    """Difference of two ROC curves: where is the first classifier better?

    The default title is the verdict.
    """
    first, second = result.names
    verdict = _VERDICT_OF_CURVES[result.verdict].format(first=first, second=second)
    if result.verdict != "equal":
        verdict += (
            f" in the sample; {first} better somewhere: {p_is(result.p_better)}, worse "
            f"somewhere: {p_is(result.p_worse)}"
        )

    description = (
        f"Difference of the ROC curves of {first} and {second} with its "
        f"{level_text(result.level)} band for the whole curve. {verdict}."
    )
    figure = difference_figure(result, f"{first} - {second}")
    return TitledFigure(figure, title=verdict, description=description)


_VERDICT_OF_CURVES = {
    "dominates": "{first} dominates {second}",
    "is dominated": "{first} is dominated by {second}",
    "crosses": "The curves of {first} and {second} cross",
    "equal": "The curves of {first} and {second} are equal",
}


@picture
def comparison(result: Comparison, **style: Unpack[Style]) -> Shown:
    """All differences with their intervals: which classifiers differ?"""
    return pairs_figure(result)


@picture
def combiners(comparison: CombinerComparison, **style: Unpack[Style]) -> Shown:
    """AUC of each combiner on new cases: which ranks them best?"""
    return combiner_figure(comparison)


@picture
def rank_correlation(
    combiner: FiDEL | CorrelatedFiDEL, **style: Unpack[Style]
) -> Shown:
    """Rank correlation within classes, by pair: do classifiers share their errors?"""
    return rank_correlation_figure(combiner)


@picture
def combiner_lines(
    x: ArrayLike,
    aucs: Mapping[str, ArrayLike],
    *,
    x_title: str,
    errors: Mapping[str, ArrayLike] | None = None,
    **style: Unpack[Style],
) -> Shown:
    """AUC of each combiner as a function of x, one line each.

    Kim et al. (2021), Figs 4B, S1 and S2.

    Parameters
    ----------
    x
        What changes: the number of classifiers, or how strongly they correlate.
    aucs
        A mapping from the name of a combiner to its AUCs, in the order of ``x``.
    x_title
        What ``x`` is.
    errors
        A mapping from the name of a combiner to the half-widths of its band.
    """
    places = np.asarray(x, dtype=np.float64)

    lines = []
    bands = []
    for name, areas in aucs.items():
        line = Line(name, {"x": places, "auc": np.asarray(areas, dtype=np.float64)})
        lines.append(line)

    for name, half_widths in (errors or {}).items():
        area = np.asarray(aucs[name], dtype=np.float64)
        half_width = np.asarray(half_widths, dtype=np.float64)
        ends = {"low": area - half_width, "high": area + half_width}
        bands.append(Line(name, {"x": places, **ends}))

    heights = [line["auc"] for line in lines]
    ends_of_bands = [band[end] for band in bands for end in ("low", "high")]
    return Curves(
        f"AUC by {x_title}",
        span("x", x_title, places),
        span("auc", "AUC on new cases", *heights, *ends_of_bands),
        tuple(lines),
        tuple(bands),
    )


@picture
def reader_results(study: ReaderStudy, **style: Unpack[Style]) -> Shown:
    """Results of each reader with each treatment, and of all readers on average.

    The default title is the test of equality.
    """
    metric = "AUC" if study.metric == "auc" else _capitalized(study.metric)
    level = level_text(study.level)
    places = np.arange(len(study.treatments))
    means = {
        "value": np.array([mean.value for mean in study.means]),
        "low": np.array([mean.low for mean in study.means]),
        "high": np.array([mean.high for mean in study.means]),
    }

    ticks = []
    for place, treatment in enumerate(study.treatments):
        ticks.append((float(place), str(treatment)))
    x = Axis("treatment", "Treatment", -0.5, places.size - 0.5, tuple(ticks))
    y = span("value", metric, study.results, means["low"], means["high"])

    lines_of_readers = []
    for results in study.results.T:
        # a reader need not have read with every treatment
        has_result = np.isfinite(results)
        if has_result.any():
            line = guide(x, y, places[has_result], results[has_result], "each reader")
            lines_of_readers.append(line)

    name_of_means = f"mean of the readers, {level} interval"
    dots = Line(name_of_means, {"treatment": places, **means})

    test = ""
    if study.pairs:
        test = f"All treatments equal: {p_is(study.p_value)}"
    description = (
        f"{metric} of {counted(len(study.readers), 'reader')} by treatment (grey), "
        f"with means and {level} intervals. {test}"
    )
    figure = Curves(description, x, y, guides=tuple(lines_of_readers), dots=(dots,))

    return TitledFigure(figure, title=test, description=description)


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


@picture
def pass_rates(
    rates: Leaderboard | Mapping[str, Estimate], **style: Unpack[Style]
) -> Shown:
    """Pass rate of each system with its interval, and the ranks that it can have."""
    return rates_figure(rates)


# requirements and watches


@picture
def check_verdicts(check: Check, **style: Unpack[Style]) -> Shown:
    """Intervals of a check, seen from their bounds.

    Requirements on counts have no interval and are left out.
    """
    verdicts = check.ordered()
    estimated = [verdict for verdict in verdicts if verdict.low < verdict.high]
    if estimated:
        verdicts = estimated

    return Intervals(
        what=f"Intervals of {len(verdicts)} requirements, relative to their bounds",
        label="Distance from the bound",
        names=tuple(verdict.name for verdict in verdicts),
        value=np.array([verdict.value - verdict.bound for verdict in verdicts]),
        low=np.array([verdict.low - verdict.bound for verdict in verdicts]),
        high=np.array([verdict.high - verdict.bound for verdict in verdicts]),
        zero=0.0,
        keys=("requirement", "value"),
        more={"verdict": np.array([verdict.verdict for verdict in verdicts])},
    )


@picture
def watch_history(watch: Watch, **style: Unpack[Style]) -> Shown:
    """History of a watch: what did each batch show, and when was the alarm raised?

    Each group has a separate panel.
    """
    about = f"Watch on {watch.what}: {watch.sentence()}"
    watches = watch.groups or {"": watch}
    with_cases = {
        name: one_watch
        for name, one_watch in watches.items()
        if _batches_with_cases(one_watch)
    }
    if not with_cases:
        raise NotEnoughCases(
            "A figure of a watch needs a batch with cases; found none."
        )

    parts = tuple(_history_figure(one_watch) for one_watch in with_cases.values())
    if not watch.groups:
        return TitledFigure(parts[0], description=about)

    panels = Panels(about, parts, tuple(with_cases), heights=(0.6,))
    return TitledFigure(panels, description=about)


def _batches_with_cases(watch: Watch) -> list[dict[str, Any]]:
    return [row for row in watch.history if row["batch"] is not None]


def _history_figure(watch: Watch) -> Curves:
    """Show each batch, the interval of all so far, the bound, the alarm, the change."""
    rows = _batches_with_cases(watch)
    columns = {}
    for name in ("look", "batch", "low", "high"):
        columns[name] = np.array([row[name] for row in rows], dtype=np.float64)

    look = columns["look"]
    look_by_name = {}
    for row in rows:
        look_by_name[row["name"] or f"look {row['look']}"] = float(row["look"])

    ticks = tuple((place, name) for name, place in look_by_name.items())
    x = Axis("look", "Batch", look.min() - 0.5, look.max() + 0.5, ticks)
    bounds = [] if watch.bound is None else [watch.bound]  # the axis reaches it
    y = span(
        "batch", watch.what, columns["batch"], columns["low"], columns["high"], bounds
    )

    line = Line("each batch", {"look": look, "batch": columns["batch"]})
    ends = {"low": columns["low"], "high": columns["high"]}
    band = Line("interval of all so far", {"look": look, **ends})

    dots = [line]
    rules = []
    if watch.change is not None and watch.since in look_by_name:
        alarm = look_by_name[watch.since]
        rules.append((f"alarm: {watch.since}", alarm))
        dots.append(guide(x, y, [alarm], line["batch"][look == alarm], "alarm"))

    guides = _areas_of_change(watch, look_by_name, y)
    if watch.bound is not None:
        heights = [watch.bound, watch.bound]
        guides.append(guide(x, y, [x.low, x.high], heights, "bound"))

    return Curves(
        watch.what,
        x,
        y,
        lines=(line,),
        bands=(band,),
        guides=tuple(guides),
        dots=tuple(dots),
        rules=tuple(rules),
    )


def _areas_of_change(
    watch: Watch, look_by_name: Mapping[str, float], y: Axis
) -> list[Line]:
    """Return the batches among which a change began, as an area of full height.

    There is none without an alarm, or where these batches are not drawn.
    """
    change = watch.change
    if change is None or watch.since not in look_by_name:
        return []
    if change.first not in look_by_name:
        return []

    earliest = look_by_name[change.first]
    latest = look_by_name.get(change.last, earliest)
    area = {
        "look": np.array([earliest - 0.5, latest + 0.5]),
        "low": np.full(2, y.low),
        "high": np.full(2, y.high),
    }
    return [Line("the change began here", area)]
