"""How do all figures look, and how are they saved?"""

from __future__ import annotations

import os
from functools import cache
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.figures import image
from trueness._core.files import replacing
from trueness._core.imports import lazy_import
from trueness._core.records import json_value

if TYPE_CHECKING:
    from altair import TopLevelMixin as Chart

# imported at the first chart: figures on axes of matplotlib do not need it
alt: Any = lazy_import("altair", "plots")

# Okabe and Ito: eight colours that colour-blind readers can tell apart
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
           "#56B4E9", "#000000", "#F0E442")  # fmt: skip
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
    made = (
        chart.configure_view(continuousWidth=SIZE, continuousHeight=SIZE, stroke=None)
        .configure_range(category=list(COLOURS))
        .configure_axis(gridColor="#e5e5e5", titleFontWeight="normal", labelFontSize=11)
        .configure_title(fontSize=13, fontWeight="bold")
    )
    # not by assignment, which Altair takes for a property of the figure
    kind: Any = type(made)
    object.__setattr__(made, "__class__", _shown_as_image(kind))
    return made


@cache
def _shown_as_image(kind: Any) -> Any:
    """Give the kind of chart that shows itself in a notebook as a drawing.

    Altair's own output loads its scripts from the network, which an exported notebook
    may not have; a copy, as ``chart.properties`` makes one, is of the same kind.
    """

    def bundle(self: Any, *args: Any, **options: Any) -> Any:
        svg, text = _drawn(self)
        # Jupyter shows the image of a notebook that somebody else ran, not the SVG
        return {"text/html": image(svg, text), "image/svg+xml": svg, "text/plain": text}

    more = {"_repr_mimebundle_": bundle, "__module__": kind.__module__}
    return type(kind.__name__, (kind,), more)


def frame(columns: dict[str, Any]) -> Any:
    """Turn columns into what Altair takes, without a frame library."""
    names = list(columns)
    rows = zip(*(map(json_value, columns[n]) for n in names), strict=True)
    return alt.InlineData(values=[dict(zip(names, row, strict=True)) for row in rows])


def save(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Write a chart to a file, all or nothing; the ending decides the format.

    Parameters
    ----------
    chart
        An Altair chart, from any function of ``trueness.plots``.
    path
        A name that ends in .svg, .png, .pdf, .html or .json.
    """
    if not (hasattr(chart, "to_json") and hasattr(chart, "save")):
        raise InputError(
            f"save needs a chart of trueness.plots; found {described(chart)}. A figure "
            f"of matplotlib saves itself: ax.figure.savefig(...)."
        )
    ending = _options.file_path(path, "save").suffix.lower().lstrip(".")
    _options.choice(ending, FORMATS, "the ending of the file name")
    with replacing(path) as temporary:
        if ending == "json":
            temporary.write_text(chart.to_json(), encoding="utf-8")
        elif ending == "html":
            temporary.write_text(_page(chart), encoding="utf-8")
        else:
            scale = 2 if ending == "png" else 1
            how: Any = {"format": ending, "scale_factor": scale}
            chart.save(str(temporary), **how)


def _page(chart: Chart) -> str:
    """Write a page without any script: the drawing is an image, so names in it stay
    text whatever they hold (Altair's own pages let ``</script>`` through).
    """
    svg, text = _drawn(chart)
    title = _title(chart.to_dict())
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(str(title))}</title>\n</head>\n<body>\n<main>\n"
        f"{image(svg, text)}\n"
        "</main>\n</body>\n</html>\n"
    )


def _drawn(chart: Chart) -> tuple[str, str]:
    """Give the drawing, and what it shows in words."""
    drawn, spec = StringIO(), chart.to_dict()
    chart.save(drawn, format="svg")
    return drawn.getvalue(), str(spec.get("description") or _title(spec))


def _title(spec: dict[str, Any]) -> Any:
    title = spec.get("title", "Figure")
    return title.get("text", "Figure") if isinstance(title, dict) else title
