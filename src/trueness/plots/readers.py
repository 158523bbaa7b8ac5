"""How well does each reader do with each treatment, as a picture?"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.numbers import counted, level_text, p_is
from trueness.plots._theme import COLOURS, GREY, alt, frame, styled
from trueness.readers.analysis import ReaderStudy


def reader_results(found: ReaderStudy, *, title: str = "") -> Any:
    """How well does each reader do with each treatment, and all readers on average?

    Parameters
    ----------
    found
        From :func:`trueness.reader_study`.
    title
        Printed above; the test of equality when empty.
    """
    at = np.argwhere(np.isfinite(found.results))
    order = list(found.treatments)
    each = alt.Chart(
        frame(
            {
                "treatment": [order[i] for i, _ in at],
                "reader": [found.readers[j] for _, j in at],
                "value": [float(found.results[i, j]) for i, j in at],
            }
        )
    )
    means = alt.Chart(
        frame(
            {
                "treatment": order,
                "value": [m.value for m in found.means],
                "low": [m.low for m in found.means],
                "high": [m.high for m in found.means],
            }
        )
    )
    x = alt.X("treatment:N", title=None, sort=order, axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(zero=False)
    y = alt.Y("value:Q", title=_axis(found.metric), scale=scale)
    tips = ["treatment:N", "reader:N", alt.Tooltip("value:Q", format=".4g")]
    line = each.mark_line(color=GREY, opacity=0.7).encode(
        x=x, y=y, detail="reader:N", tooltip=tips
    )
    dots = each.mark_point(color=GREY, filled=True, size=30).encode(
        x=x, y=y, tooltip=tips
    )
    bar = means.mark_rule(color=COLOURS[0], strokeWidth=3).encode(
        x=x, y=alt.Y("low:Q", title=_axis(found.metric), scale=scale), y2=alt.Y2("high")
    )
    mean = means.mark_point(color=COLOURS[0], filled=True, size=130, opacity=1).encode(
        x=x,
        y=y,
        tooltip=["treatment:N", *(alt.Tooltip(f"{k}:Q", format=".4g")
                                  for k in ("value", "low", "high"))],
    )  # fmt: skip
    shown = title or (
        f"All treatments equal: {p_is(found.p_value)}" if found.pairs else ""
    )
    about = (
        f"{_axis(found.metric)} of {counted(len(found.readers), 'reader')} by "
        f"treatment (grey), with means and {level_text(found.level)} intervals. {shown}"
    )
    key = f"Grey: each reader. Blue: mean with its {level_text(found.level)} interval."
    chart = alt.layer(bar, line, dots, mean).properties(
        width=max(160, 130 * len(order)),
        height=300,
        title=alt.TitleParams(shown, subtitle=key, anchor="start"),
    )
    return styled(chart, description=about)


def _axis(metric: str) -> str:
    return "AUC" if metric == "auc" else metric[:1].upper() + metric[1:]
