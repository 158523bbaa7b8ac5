"""Which trade-offs does a classifier offer, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from karat import _checks
from karat._checks import InputError
from karat.counts import Panel, Tally
from karat.curves import precision_recall as pr_curve
from karat.curves import roc as roc_curve
from karat.curves import simplify
from karat.inference import auc
from karat.plots._theme import GREY, frame, styled

POINTS = 400
Source = Tally | Panel | Mapping[Any, Tally]


def roc(x: Source, *, title: str = "", points: int = POINTS) -> Any:
    """Which true positive rate costs which false positive rate? A chart.

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    title
        Shown above the figure.
    points
        Most points a curve is drawn with; the largest movement is under 1/200.
    """
    tallies = named(x)
    columns: dict[str, list[Any]] = {
        k: [] for k in ("curve", "at", "fpr", "tpr", "cut")
    }
    for name, t in tallies.items():
        curve = simplify(roc_curve(t), points=points)
        _extend(columns, _with_auc(name, t), curve.fpr, curve.tpr, curve.threshold)
    lines = (
        alt.Chart(frame(columns))
        .mark_line(interpolate="linear", clip=True)
        .encode(
            x=_rate("fpr", "False positive rate"),
            y=_rate("tpr", "True positive rate (recall)"),
            color=_colour(columns["curve"]),
            order=alt.Order("at:Q"),
            tooltip=_tips(curve="Curve", cut="Threshold", fpr="FPR", tpr="TPR"),
        )
    )
    chance = _line([(0, 0), (1, 1)], "fpr", "tpr")
    about = "ROC curve of " + ", ".join(dict.fromkeys(columns["curve"]))
    return styled(alt.layer(chance, lines), title, about)


def precision_recall(
    x: Source,
    *,
    prevalence: float | None = None,
    title: str = "",
    points: int = POINTS,
) -> Any:
    """Which precision is left at which recall? A chart.

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    prevalence
        Share of positives for which precision is shown; that of each sample when None.
    title
        Shown above the figure.
    points
        Most points a curve is drawn with.
    """
    columns = _empty("recall", "precision")
    share = []
    for name, t in named(x).items():
        curve = pr_curve(t, prevalence=prevalence)
        share.append(curve.prevalence)
        curve = simplify(curve, points=points)
        _extend(columns, name, curve.recall, curve.precision, curve.threshold)
    lines = (
        alt.Chart(frame(columns))
        .mark_line(interpolate="linear", clip=True)
        .encode(
            x=_rate("recall", "Recall (true positive rate)"),
            y=_rate("precision", "Precision"),
            color=_colour(columns["curve"]),
            order=alt.Order("at:Q"),
            tooltip=_tips(
                curve="Curve", cut="Threshold", recall="Recall", precision="Precision"
            ),
        )
    )
    level = float(np.mean(share))
    chance = _line([(0, level), (1, level)], "recall", "precision")
    about = "Precision-recall curve of " + ", ".join(dict.fromkeys(columns["curve"]))
    return styled(alt.layer(chance, lines), title, about)


def named(x: Source) -> dict[str, Tally]:
    """Give every classifier of a tally, a panel or a mapping a name."""
    if isinstance(x, Tally):
        return {"classifier": x}
    if isinstance(x, Panel):
        return {name: x[name] for name in x.names}
    if isinstance(x, Mapping) and x:
        return {str(name): t for name, t in x.items()}
    raise InputError(
        f"A figure needs a tally, a panel or a mapping from name to tally; found "
        f"{type(x).__name__}. Type karat.tally(y_true, y_score)."
    )


def _with_auc(name: str, t: Tally) -> str:
    _checks.both_classes(t, "roc")
    a = auc(t)
    return f"{name}: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})"


def _empty(x: str, y: str) -> dict[str, list[Any]]:
    return {name: [] for name in ("curve", "at", x, y, "cut")}


def _extend(columns: dict[str, list[Any]], name: str, *values: Any) -> None:
    """Add a curve to the columns of the figure: its name, its order, its values."""
    keys = list(columns)
    columns[keys[0]] += [name] * len(values[0])
    columns[keys[1]] += range(len(values[0]))
    for key, column in zip(keys[2:], values, strict=True):
        columns[key] += column.tolist()


def _rate(name: str, title: str) -> Any:
    kind = alt.X if name in ("fpr", "recall") else alt.Y
    return kind(f"{name}:Q", title=title, scale=alt.Scale(domain=[0, 1], nice=False))


def _colour(names: list[str]) -> Any:
    legend = alt.Legend(orient="bottom", direction="vertical", labelLimit=SIZE_OF_LABEL)
    return alt.Color(
        "curve:N",
        title=None,
        sort=list(dict.fromkeys(names)),
        legend=None if set(names) == {"classifier"} else legend,
    )


SIZE_OF_LABEL = 420


def _tips(**names: str) -> list[Any]:
    return [
        alt.Tooltip(k, title=title, type="nominal")
        if k == "curve"
        else alt.Tooltip(k, title=title, type="quantitative", format=".4g")
        for k, title in names.items()
    ]


def _line(points: list[tuple[float, float]], x: str, y: str) -> Any:
    """Draw what chance would give, as a broken grey line."""
    columns = {x: [p[0] for p in points], y: [p[1] for p in points]}
    return (
        alt.Chart(frame(columns))
        .mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1)
        .encode(x=alt.X(f"{x}:Q"), y=alt.Y(f"{y}:Q"))
    )
