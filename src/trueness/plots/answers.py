"""Which is better, what do votes say, does it still hold? Answers as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.figures import (
    Axis,
    Crosses,
    Curves,
    Intervals,
    Line,
    Panels,
    TitledFigure,
    guide,
    span,
)
from trueness._core.numbers import counted, level_text, p_is
from trueness._core.records import Estimate, shown
from trueness.comparison.dominance import Dominance, difference_figure
from trueness.comparison.results import Comparison, pairs_figure
from trueness.counts.values import Panel
from trueness.ensembles.combiners import FiDEL
from trueness.ensembles.crossfit import CombinerComparison, combiner_figure
from trueness.ensembles.ranks import CorrelatedFiDEL, rank_correlation_figure
from trueness.evals.runs import Leaderboard, rates_figure
from trueness.monitoring.verdicts import Check
from trueness.monitoring.watching import Watch
from trueness.nogold import combinations, figures
from trueness.nogold.criteria import CRITERIA
from trueness.nogold.formulas import votes
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.plots._pictures import Shown, Style, picture
from trueness.readers.analysis import ReaderStudy

BINS = 60
ENDS = ("value", "low", "high")


@picture
def dominance(found: Dominance, **look: Unpack[Style]) -> Shown:
    """Where is the first of two classifiers better, and how certain is it? A chart.

    Without a title the verdict stands above it.
    """
    verdict = (
        f"The first {found.verdict} the second in the sample; better somewhere: "
        f"{p_is(found.p_better)}, worse somewhere: {p_is(found.p_worse)}"
    )
    if found.verdict == "equal":
        verdict = "Both curves are equal"
    about = (
        f"Difference of two ROC curves with its {level_text(found.level)} band for the "
        f"whole curve. {verdict}."
    )
    return TitledFigure(difference_figure(found), title=verdict, description=about)


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


# without a gold standard


@picture
def posterior_densities(post: LatentPosterior, **look: Unpack[Style]) -> Shown:
    """Draw the posterior of every parameter over its prior (Keith 2012, Figs 1, 2)."""
    # labels that answer by themselves have no prior of these parameters
    before: Mapping[str, Floats] = {}
    if post.dependence != "labels":
        before = post.model.prior_draws(20_000, np.random.default_rng(0))
    words = list(before) or ["prevalence", "sensitivity", "specificity"]
    after = np.hstack([post.flat[k] for k in words])
    prior = np.hstack([before[k] for k in words]) if before else None
    parts = []
    for i, name in enumerate(post.diagnostics.parameter[: after.shape[1]]):
        low, high = np.quantile(after[:, i], [0.001, 0.999])
        edge = 0.1 * (high - low)
        low, high = max(0.0, float(low - edge)), min(1.0, float(high + edge))
        area = Line("posterior", _density(after[:, i], low, high))
        under: tuple[Line, ...] = ()
        if prior is not None:
            under = (Line("prior", _density(prior[:, i], low, high)),)
        top = max(float(line["high"].max()) for line in (area, *under))
        x, y = Axis("value", str(name), low, high), Axis("density", "", 0, top)
        parts.append(Curves(str(name), x, y, bands=(area,), guides=under))
    what = "Posterior and prior density of every parameter"
    return Panels(what, tuple(parts), columns=3, heights=(0.5,))


def _density(draws: Floats, low: float, high: float) -> dict[str, Floats]:
    count, edges = np.histogram(draws, bins=BINS, range=(low, high))
    width = edges[1] - edges[0]
    smooth = np.convolve(np.pad(count, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    up = smooth / (draws.size * width)
    return {"value": (edges[1:] + edges[:-1]) / 2, "low": 0 * up, "high": up}


@picture
def combination_plane(
    post: LatentPosterior, most: int = 12, **look: Unpack[Style]
) -> Shown:
    """Draw the best combinations in the ROC plane, with their 95 % intervals.

    Parameters
    ----------
    most
        With up to four classifiers, so many of the best combinations by the product of
        sensitivity and specificity are drawn; with more classifiers, the best one by
        each criterion of the paper, and the single classifiers.
    """
    drawn = _worth_drawing(post, most)
    rates = [combinations.rates_of(post, chosen) for chosen in drawn.values()]
    up = np.array([_ends(tpr) for tpr, _ in rates])
    across = np.array([_ends(1 - spec) for _, spec in rates])
    x = _around("fpr", "1 - specificity", across)
    y = _around("tpr", "sensitivity", up)
    return Crosses("Combinations", x, y, tuple(drawn), across, up)


def _ends(draws: Floats) -> tuple[float, float, float]:
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(draws.mean()), float(low), float(high)


def _around(name: str, title: str, ends: Floats) -> Axis:
    """Give an axis that holds all intervals, with a little room."""
    room = 0.05 * float(np.ptp(ends)) or 0.01
    low, high = max(0.0, ends.min() - room), min(1.0, ends.max() + room)
    return Axis(name, title, float(low), float(high))


def _worth_drawing(post: LatentPosterior, most: int) -> dict[str, Array]:
    """Which combinations are drawn, by their formula?"""
    patterns = votes(len(post.names))
    if len(post.names) <= combinations.ENUMERATED:
        best = combinations.all_combinations(post).sorted("product", most=most)
        bits = 1 << np.arange(len(patterns))
        return {
            formula: (int(number) - 1 & bits) > 0
            for formula, number in zip(best.formula.tolist(), best.number, strict=True)
        }
    found: dict[str, Array] = {}
    for criterion in CRITERIA:
        top = combinations.best_combination(post, criterion=criterion)
        found.setdefault(shown(top.formula, 60), top.map(patterns) > 0)
    return found | {n: patterns[:, k] > 0 for k, n in enumerate(post.names)}


@picture
def judge_rates(rates: Mapping[str, Rate], **look: Unpack[Style]) -> Shown:
    """How far is the raw rate of each system from the corrected one?"""
    words = "Corrected rate (\N{BLACK CIRCLE}) and raw rate (\N{WHITE DIAMOND})"
    return TitledFigure(figures.rates_figure(rates), title=words)


@picture
def judge_plane(found: Rate, **look: Unpack[Style]) -> Shown:
    """How good is each judge, as a point in the ROC plane?"""
    return figures.judges_figure(found)


@picture
def judge_errors(panel: Panel, **look: Unpack[Style]) -> Shown:
    """Which judges make the same errors? The correlation of their errors, by pair.

    Parameters
    ----------
    panel
        Verdicts of judges, with some labels.
    """
    return figures.errors_figure(panel)


@picture
def judge_labels(found: Rate, panel: Panel, **look: Unpack[Style]) -> Shown:
    """How narrow would the interval of the rate be with more labels?

    Parameters
    ----------
    found, panel
        The answer of :func:`trueness.prevalence`, and the panel that it was given.
    """
    return figures.labels_figure(found, panel)


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
