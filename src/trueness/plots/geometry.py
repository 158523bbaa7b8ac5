"""How do two classifiers, or a classifier and a model, lie to each other?"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from trueness.comparison.dominance import Dominance
from trueness.comparison.results import Comparison
from trueness.counts.answers import of_counts
from trueness.counts.values import Tally
from trueness.plots._lines import POINTS, Axis, Source, finished, lines, named, straight
from trueness.plots._theme import COLOURS, GREY, frame, styled
from trueness.plots.ranking import FPR, TPR
from trueness.ranking.curves import roc, simplify
from trueness.ranking.gaussian import BinormalFit, fit_binormal
from trueness.ranking.geometry import leakage as leakage_of

SPECIFICITY = Axis("u", "Specificity u")
MISSED = Axis("G", "Miss rate G(u)")


@of_counts
def leakage(x: Source, *, title: str = "") -> Any:
    """Which share of the positives is missed at which specificity? A chart of G.

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    title
        Shown above the figure.
    """
    drawn = {}
    for name, t in named(x).items():
        few = simplify(roc(t), points=POINTS)
        values = {"u": 1 - few.fpr, "G": 1 - few.tpr, "cut": few.threshold}
        drawn[f"{name}: area {leakage_of(t).area:.3f}"] = values
    chance = straight([(0, 0), (1, 1)], SPECIFICITY, MISSED)
    layers = [chance, lines(drawn, SPECIFICITY, MISSED)]
    return finished(layers, "Leakage function", drawn, title)


@of_counts
def binormal_fit(t: Tally, *, title: str = "") -> Any:
    """Does a binormal curve fit? The ROC curve of the data and the fitted one.

    Parameters
    ----------
    t
        The counts.
    title
        Shown above the figure; how good the fit is when empty.
    """
    fit = fit_binormal(t)
    curve = simplify(roc(t), points=400)
    f = np.unique(
        np.concatenate([np.linspace(0, 1, 201), np.geomspace(1e-6, 0.01, 50)])
    )
    names = (f"data, AUC {1 - leakage_of(t).area:.3f}", _fit_name(fit))
    columns = {
        "curve": [names[0]] * curve.fpr.size + [names[1]] * f.size,
        "at": [*range(curve.fpr.size), *range(f.size)],
        "fpr": [*curve.fpr.tolist(), *f.tolist()],
        "tpr": [*curve.tpr.tolist(), *fit.curve.tpr(f).tolist()],
    }
    scale = alt.Scale(domain=[0, 1], nice=False)
    legend = alt.Legend(orient="bottom", direction="vertical", labelLimit=420)
    lines = (
        alt.Chart(frame(columns))
        .mark_line(interpolate="linear")
        .encode(
            x=alt.X("fpr:Q", title=FPR.title, scale=scale),
            y=alt.Y("tpr:Q", title=TPR.title, scale=scale),
            color=alt.Color("curve:N", title=None, sort=list(names), legend=legend),
            order=alt.Order("at:Q"),
        )
    )
    chance = straight([(0, 0), (1, 1)], FPR, TPR)
    title = title or f"Binormal fit, test of the fit p = {fit.p_value:.2g}"
    about = f"ROC curve of the data and of the binormal fit: {names[1]}"
    return styled(alt.layer(chance, lines), title, about)


def _fit_name(fit: BinormalFit) -> str:
    c = fit.curve
    return f"binormal: alpha {c.alpha:.2f}, b {c.b:.2f}, AUC {c.auc:.3f}"


def dominance(found: Dominance, *, title: str = "") -> Any:
    """Where is the first of two classifiers better, and how sure is that? A chart.

    Parameters
    ----------
    found
        From :func:`trueness.dominates`.
    title
        Shown above the figure; the verdict when empty.
    """
    columns = {
        "fpr": found.fpr,
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
    }
    base = alt.Chart(frame(columns)).encode(
        x=alt.X("fpr:Q", title=FPR.title, scale=alt.Scale(domain=[0, 1], nice=False))
    )
    name = "Difference of true positive rates, first - second"
    area = base.mark_area(opacity=0.25, color=COLOURS[0]).encode(
        y=alt.Y("low:Q", title=name), y2=alt.Y2("high")
    )
    line = base.mark_line(color=COLOURS[0]).encode(y=alt.Y("difference:Q", title=name))
    zero = straight([(0, 0), (1, 0)], FPR, TPR._replace(name="difference"))
    shown = title or (
        f"The first {found.verdict} the second in the sample; better somewhere: "
        f"p = {found.p_better:.2g}, worse somewhere: p = {found.p_worse:.2g}"
    )
    if found.verdict == "equal" and not title:
        shown = "Both curves are equal"
    about = (
        f"Difference of two ROC curves with its {100 * found.level:g} % band for the "
        f"whole curve. {shown}."
    )
    return styled(alt.layer(zero, area, line), shown, about)


def comparison(found: Comparison, *, title: str = "") -> Any:
    """Which classifiers differ, and by how much? All differences with intervals.

    Parameters
    ----------
    found
        From :func:`trueness.compare_auc` or :func:`trueness.compare_metric`.
    title
        Shown above the figure.
    """
    names = [f"{p.first} - {p.second}" for p in found.pairs]
    columns: dict[str, Any] = {
        "pair": names,
        "difference": [p.difference.value for p in found.pairs],
        "low": [p.difference.low for p in found.pairs],
        "high": [p.difference.high for p in found.pairs],
        "p": [p.p_adjusted for p in found.pairs],
    }
    base = alt.Chart(frame(columns)).encode(
        y=alt.Y("pair:N", title=None, sort=names),
        tooltip=["pair:N", "difference:Q", "low:Q", "high:Q", "p:Q"],
    )
    rule = base.mark_rule(color=COLOURS[0]).encode(
        x=alt.X("low:Q", title="Difference"), x2=alt.X2("high")
    )
    point = base.mark_point(filled=True, size=60, color=COLOURS[0]).encode(
        x=alt.X("difference:Q", title="Difference")
    )
    zero = (
        alt.Chart(frame({"x": [0]}))
        .mark_rule(color=GREY, strokeDash=[4, 4])
        .encode(x=alt.X("x:Q", title="Difference"))
    )
    chart = alt.layer(zero, rule, point).properties(height=26 * len(found.pairs) + 20)
    about = f"Differences ({found.method}) with intervals: {', '.join(names)}"
    return styled(chart, title, about)
