"""Which is better, and where, as a picture?"""

from __future__ import annotations

from typing import Any

from trueness._core.numbers import level_text, p_is
from trueness.comparison.dominance import Dominance, difference_figure
from trueness.comparison.results import Comparison, pairs_figure
from trueness.plots import _altair
from trueness.plots._source import drawn
from trueness.plots._theme import alt, styled


def dominance(found: Dominance, *, title: str = "", ax: Any = None) -> Any:
    """Where is the first of two classifiers better, and how certain is it? A chart.

    Parameters
    ----------
    found
        From :func:`trueness.dominates`.
    title
        Shown above the figure; the verdict when empty.
    ax
        Axes of matplotlib to draw on; they are returned. An Altair chart when None.
    """
    shown = title or (
        f"The first {found.verdict} the second in the sample; better somewhere: "
        f"{p_is(found.p_better)}, worse somewhere: {p_is(found.p_worse)}"
    )
    if found.verdict == "equal" and not title:
        shown = "Both curves are equal"
    figure = difference_figure(found)
    if ax is not None:
        return drawn(figure, shown, ax)
    about = (
        f"Difference of two ROC curves with its {level_text(found.level)} band for the "
        f"whole curve. {shown}."
    )
    return styled(alt.layer(*_altair.layers(figure)), shown, about)


def comparison(found: Comparison, *, title: str = "", ax: Any = None) -> Any:
    """Which classifiers differ, and by how much? All differences with intervals.

    Parameters
    ----------
    found
        From :func:`trueness.compare_auc` or :func:`trueness.compare_metric`.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(pairs_figure(found), title, ax)
