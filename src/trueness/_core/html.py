"""How does an answer look in a notebook? Tables and small drawings, all escaped."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from trueness._core.polyline import few_points

SIDE = 160  # of the drawing of a curve
INK = "#767676"  # an image does not know the colours of its page: legible on both


def html_table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Write a small table; every cell is escaped, a list of lines is one a line."""
    top = "".join(f"<th>{escape(str(h))}</th>" for h in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(c)}</td>" for c in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    lines = value if isinstance(value, list) else [value]
    return "<br>".join(escape(str(line)) for line in lines)


def image(svg: str, text: str) -> str:
    """Show a drawing as an image.

    Jupyter removes drawings from the HTML of notebooks that somebody else ran, until
    they are trusted; it keeps images.
    """
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(text)}" src="data:image/svg+xml;base64,{data}">'


def curve_image(x: Any, y: Any, x_name: str, y_name: str) -> str:
    """Draw one curve in the box of its values, with the names of its axes."""
    across, up = _share(x), 1 - _share(y)
    some = few_points(across, up, 200, 0.002)
    points = " ".join(
        f"{20 + SIDE * a:.1f},{4 + SIDE * b:.1f}"
        for a, b in zip(across[some], up[some], strict=True)
    )
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE + 28}" '
        f'height="{SIDE + 24}" font-family="sans-serif" font-size="11" fill="{INK}">'
        f'<rect x="20" y="4" width="{SIDE}" height="{SIDE}" fill="none" '
        f'stroke="{INK}" stroke-opacity="0.4"/>'
        f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="1.8"/>'
        f'<text x="{20 + SIDE / 2}" y="{SIDE + 18}" text-anchor="middle">'
        f"{escape(x_name)}</text>"
        f'<text transform="translate(13 {4 + SIDE / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_name)}</text></svg>'
    )
    return image(drawn, f"{y_name} against {x_name}")


def _share(values: Any) -> Any:
    """Place values between their smallest, or 0, and their largest, or 1."""
    v = np.asarray(values, dtype=np.float64)
    low, high = min(0.0, float(v.min())), max(1.0, float(v.max()))
    return (v - low) / (high - low)
