"""How do all figures look, and how are they saved?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import altair as alt

from karat import _checks
from karat._checks import InputError
from karat.storage import replacing

# Okabe and Ito: eight colours that colour-blind readers can tell apart
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#F0E442",
)
GREY = "#767676"
SIZE = 320
FORMATS = ("svg", "png", "pdf", "html", "json")


def styled(chart: Any, title: str = "", description: str = "") -> Any:
    """Give a chart the common look, its title and its text alternative."""
    if title:
        # a title is data: text only, never markup
        chart = chart.properties(title=alt.TitleParams(title, anchor="start"))
    if description:
        chart = chart.properties(description=description)
    return (
        chart.configure_view(continuousWidth=SIZE, continuousHeight=SIZE, stroke=None)
        .configure_range(category=list(COLOURS))
        .configure_axis(gridColor="#e5e5e5", titleFontWeight="normal", labelFontSize=11)
        .configure_title(fontSize=13, fontWeight="bold")
    )


def frame(columns: dict[str, Any]) -> Any:
    """Turn columns into what Altair takes, without a frame library."""
    names = list(columns)
    rows = zip(*(_plain(columns[n]) for n in names), strict=True)
    return alt.InlineData(values=[dict(zip(names, row, strict=True)) for row in rows])


def _plain(column: Any) -> list[Any]:
    from karat._records import json_value

    return [json_value(v) for v in column]


def save(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart to a file, all or nothing; the ending decides the format.

    Parameters
    ----------
    chart
        An Altair chart, from any function of ``karat.plots``.
    path
        A name that ends in .svg, .png, .pdf, .html or .json.
    """
    ending = Path(path).suffix.lower().lstrip(".")
    _checks.choice(ending, FORMATS, "the ending of the file name")
    if ending == "html":
        raise InputError("HTML is written by karat.report; use .svg, .png or .pdf.")
    with replacing(path) as temporary:
        if ending == "json":
            temporary.write_text(chart.to_json(), encoding="utf-8")
        else:
            chart.save(str(temporary), format=ending, scale_factor=2)
