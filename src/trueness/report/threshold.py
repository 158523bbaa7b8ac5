"""Where to set the threshold? The section with the slider and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from trueness._core.arrays import Array, Floats
from trueness._core.figures import Curves
from trueness._core.numbers import cut_text, percent
from trueness.counts.values import Tally
from trueness.inference.sample import meant
from trueness.metrics.grammar import text_of
from trueness.ranking.figures import (
    gain_figure,
    precision_recall_figure,
    roc_figure,
    score_figure,
)
from trueness.report import svg
from trueness.report._parts import Figure, Grid, Section, grid, possible
from trueness.report.inputs import Checked, Model, Once, ReportOptions
from trueness.report.slider import quantity, weight_of
from trueness.threshold.at_cut import AtThreshold
from trueness.threshold.figures import (
    ACROSS,
    Strip,
    cost_curve_figure,
    decision_figure,
    price_figure,
    region,
)


def section(
    models: Sequence[Model],
    calibration: Figure | None,
    checked: Checked,
    options: ReportOptions,
    once: Once = lambda _, make: make(),
) -> Section:
    """Show what every threshold does, and the chosen one.

    ``once`` remembers the curves with their bands, which no objective changes.
    """
    stops = "every one" if options.live else "a few hundred"
    table = (
        "The intervals in the table take the given threshold as fixed"
        if isinstance(checked, AtThreshold)
        else "The table says what to expect on new cases: the choice is repeated on "
        "bootstrap samples and evaluated on the cases left out"
    )
    drawn = [
        _roc(models, options, once),
        _precision_recall(models, options, once),
        _capacity(models, options, once),
        _cost(models, options, once),
        calibration,
        _scores(models, once),
        _decision(models, options),
        possible(lambda: _any_cost(models, options, once)),
    ]
    return Section(
        "threshold",
        words=_how_to_move(options),
        figures=tuple(f for f in drawn if f is not None),
        tables=_metrics(models[0], checked),
        method=(
            "Every distinct score is tried as a threshold, so the chosen one is "
            f"exactly the best; the slider stops at {stops} of them. Bands of the ROC "
            "and precision-recall curves hold the whole true curve with the stated "
            "confidence. Net benefit: Vickers and Elkin 2006, "
            "doi:10.1177/0272989X06295361; its intervals are for one threshold at a "
            "time. Cost curve: Drummond and Holte 2006, doi:10.1007/s10994-006-8199-5; "
            f"its intervals allow for the choice of the threshold. {table}."
        ),
        caveat=(
            "A threshold holds for cases like these. Where positives are rarer, "
            "precision and net benefit fall although recall stays the same. Net "
            "benefit reads scores as probabilities, so calibrate them first."
        ),
    )


def _how_to_move(options: ReportOptions) -> tuple[str, ...]:
    best = "minimises" if options.smallest else "maximises"
    limits = " and ".join(repr(c) for c in options.subject_to)
    what = text_of(options.objective.name)
    if not options.stated:
        what += (
            " (sensitivity + specificity - 1, which is 0 for guessing and 1 at best)"
        )
    chosen = f"The chosen threshold {best} {what}"
    chosen += f", subject to {limits}." if limits else "."
    if options.at is not None:
        chosen = f"The threshold {options.at:g} was given."
    lines = [
        "One threshold moves through all figures, which show these cases. The arrow "
        "keys move it by one step.",
        chosen,
    ]
    if limits:
        lines.append("In the red regions a constraint is not met.")
    if options.prevalence is not None:
        lines.append(
            f"All shares and costs are for use where {percent(options.prevalence)} of "
            "the cases are positive; the confusion matrix counts these cases as they "
            "are."
        )
    return tuple(lines)


def _tallies(models: Sequence[Model]) -> dict[str, Tally]:
    return {m.name: m.tally for m in models}


def _drawn(
    models: Sequence[Model],
    figure: Curves,
    title: str,
    note: str,
    follow: str,
    place: tuple[float, float] | None = None,
    *,
    under: Sequence[Markup] = (),
    rule: str = "",
    x: tuple[float, float] | None = None,
    y: tuple[float, float] | None = None,
) -> Figure:
    """Draw curves and the dot that moves; ``rule`` names what an upright follows.

    The dot is at ``place``, or at the metrics that it is to ``follow``.
    """
    axes = svg.axes_of(figure, x, y)
    across, up = place or (models[0].steps.at_start(q) for q in follow.split())
    over = [svg.upright(axes, across, "now rule", rule)] if rule else []
    over.append(svg.dot(axes, across, up, "now", follow))
    names = [m.name for m in models]
    return svg.curves(
        figure, names, title=title, note=note, under=under, over=over, x=x, y=y
    )


def _shaded(
    models: Sequence[Model], options: ReportOptions, plane: str, figure: Curves
) -> list[Markup]:
    """Shade where a constraint is not met."""
    if not options.subject_to:
        return []
    s, axes = models[0].steps, svg.axes_of(figure)
    strips = region(options.subject_to, plane, s.n_pos, s.n_neg, met=False)
    return [svg.area(axes, *_wider(strip), "forbidden") for strip in strips]


def _wider(strip: Strip) -> tuple[Array, Array, Array]:
    """Reach half a column to either side, so that two strips meet."""
    x, low, high = strip
    half = 0.5 / (ACROSS - 1)
    across: Floats = np.concatenate([[x[0] - half], x, [x[-1] + half]]).clip(0, 1)
    low, high = (np.concatenate([v[:1], v, v[-1:]]) for v in (low, high))
    return across, low, high


def _bands(options: ReportOptions) -> dict[str, Any]:
    if not options.replicates:
        return {}
    return {
        "band": "simultaneous",
        "level": options.level,
        "rng": options.rng,
        "replicates": options.replicates,
    }


def _roc(models: Sequence[Model], options: ReportOptions, once: Once) -> Figure:
    figure = once(
        ("roc", options.sure), lambda: roc_figure(_tallies(models), **_bands(options))
    )
    return _drawn(
        models,
        figure,
        "ROC curve",
        "Up and to the left is better; the dashed diagonal is guessing.",
        "fpr recall",
        under=_shaded(models, options, "roc", figure),
    )


def _precision_recall(
    models: Sequence[Model], options: ReportOptions, once: Once
) -> Figure:
    figure = once(
        ("precision_recall", options.sure),
        lambda: precision_recall_figure(_tallies(models), **_bands(options)),
    )
    share = percent(models[0].steps.share)
    return _drawn(
        models,
        figure,
        "Precision and recall",
        f"Up and to the right is better; the dashed line is guessing, at the "
        f"prevalence of {share}.",
        "recall precision",
        under=_shaded(models, options, "precision_recall", figure),
    )


def _capacity(models: Sequence[Model], options: ReportOptions, once: Once) -> Figure:
    figure = once(("gain", options.prevalence), lambda: gain_figure(_tallies(models)))
    return _drawn(
        models,
        figure,
        "Capacity",
        "Share of the positives that is found when only so many cases can be handled.",
        "flagged_rate recall",
        under=_shaded(models, options, "gain", figure),
        rule="flagged_rate",
    )


def _cost(models: Sequence[Model], options: ReportOptions, once: Once) -> Figure:
    (fp, fn), s = options.costs, models[0].steps
    note = f"Lower is better. A false positive costs {fp:g}, a false negative {fn:.4g}."
    if options.invented:
        note = (
            "Lower is better. No costs were given, so both error rates count equally: "
            f"a false positive costs 1 and a false negative {fn:.4g}, which is how "
            f"many negatives there are for each positive. {options.how_to_give_costs}"
        )
    c = s.confusion[s.start]
    now = float((fp * c.fp + fn * c.fn) / (s.n_pos + s.n_neg))
    return _drawn(
        models,
        once(
            ("price", fp, fn, options.prevalence),
            lambda: price_figure(
                {m.name: meant(m.tally).counts for m in models}, fp, fn
            ),
        ),
        "Cost",
        note,
        "flagged_rate cost",
        (s.at_start("flagged_rate"), now),
        rule="flagged_rate",
    )


def _scores(models: Sequence[Model], once: Once) -> Figure:
    return svg.bars(
        once("scores", lambda: score_figure(_tallies(models))),
        note="Solid: positives. Dashed outline: negatives. Cases to the right of the "
        "line are flagged.",
        now=models[0].steps.first,
    )


def _decision(models: Sequence[Model], options: ReportOptions) -> Figure | None:
    """Draw the net benefit of acting on scores that are probabilities.

    It is asked at the steps of the slider, so that its dot stays on the curve.
    """
    at = {m.name: _probabilities(m) for m in models if m.is_probability}
    asked = {m.name: m.tally for m in models if at.get(m.name, np.empty(0)).size}
    if not asked:
        return None
    figure = decision_figure(asked, level=options.level, at=at)
    best = max(float(line["y"].max()) for line in figure.lines)
    share = models[0].steps.share
    top = 1.1 * max(best, share)
    s = models[0].steps
    cut, c = s.first, s.confusion[s.start]
    inside = models[0].name in asked and cut < 1
    odds = cut / (1 - cut) if inside else np.nan
    now = float((c.tp - c.fp * odds) / (s.n_pos + s.n_neg))
    return _drawn(
        models,
        figure,
        "Net benefit",
        "Higher is better: true positives per case, minus the false positives, "
        "weighted by the odds of the threshold probability. Dashed: flag no case "
        "(flat; treat none) or every case (falling; treat all).",
        "threshold net_benefit",
        (cut, now),
        rule="threshold",
        x=(0.0, _reach(figure, share)),
        y=(-top / 6, top),
    )


def _probabilities(m: Model) -> Floats:
    found = m.steps.threshold[m.steps.threshold < 1]
    return np.maximum(found, 0.0)


def _reach(figure: Curves, prevalence: float) -> float:
    """Up to which probability is there anything to see?"""
    seen = [line["p"][line["y"] > 0.02 * prevalence] for line in figure.lines]
    last = max((float(x.max()) for x in seen if x.size), default=0.0)
    return float(min(1.0, np.ceil(10 * max(last, 2 * prevalence)) / 10))


def _any_cost(models: Sequence[Model], options: ReportOptions, once: Once) -> Figure:
    level = options.level
    figure = once(
        ("cost_curve", level), lambda: cost_curve_figure(_tallies(models), level=level)
    )
    s, span = models[0].steps, (0.0, 0.55)
    at = weight_of(models[0].steps.share, options.costs)
    alarm, miss = s.at_start("fpr"), s.at_start("fnr")
    axes = svg.axes_of(figure, y=span)
    now = at * miss + (1 - at) * alarm
    tilted = svg.tilted(axes, alarm, miss, "now rule", "fpr fnr")
    note = (
        "Lower is better. The weight says how much of the largest possible cost comes "
        "from missed positives; it follows from the costs and the prevalence. The "
        "curve is the best threshold for each weight, the straight line the threshold "
        "of the slider: where they touch, that threshold is best. The dot is at the "
        f"present weight, {at:.2g}. Dashed: flag all or none."
    )
    over = [
        svg.clipped(axes, [tilted]),
        svg.dot(axes, at, now, "now", "weight weighted_cost"),
    ]
    names = [m.name for m in models]
    title = "Cost for every cost ratio"
    return svg.curves(figure, names, title=title, note=note, over=over, y=span)


def _metrics(best: Model, checked: Checked) -> tuple[Grid, ...]:
    """Give every metric at the chosen threshold, with its interval where it has one."""
    if checked is None:
        return ()
    rows = [(quantity(name).text, found) for name, found in checked.metrics.items()]
    at = cut_text(best.point.threshold, best.point.interval)
    caption = f"{best.name} on new cases, at the chosen threshold, {at}"
    if isinstance(checked, AtThreshold):
        caption = f"{best.name} at the given threshold, {at}"
    return (grid(caption, ("metric", "value"), rows),)
