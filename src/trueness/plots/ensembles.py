"""Which combination is better, and how alike are the classifiers, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness.ensembles.combiners import FiDEL
from trueness.ensembles.correlated import CorrelatedFiDEL, rank_correlation_figure
from trueness.ensembles.crossfit import CombinerComparison, combiner_figure
from trueness.plots._source import drawn
from trueness.plots._theme import alt, stacked, styled


def combiners(
    comparison: CombinerComparison, *, title: str = "", ax: Any = None
) -> Any:
    """How does each combiner rank unseen cases? AUCs with their intervals.

    Parameters
    ----------
    comparison
        From :func:`trueness.compare_combiners`.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(combiner_figure(comparison), title, ax)


def rank_correlation(
    f: FiDEL | CorrelatedFiDEL, *, title: str = "", ax: Any = None
) -> Any:
    """Do classifiers make the same errors? Rank correlation within classes, by pair.

    Parameters
    ----------
    f
        From :func:`trueness.fidel`, fitted with labels.
    title, ax
        As in :func:`combiners`.
    """
    return drawn(rank_correlation_figure(f), title, ax)


def combiner_lines(
    x: Any,
    aucs: Mapping[str, Any],
    *,
    x_title: str,
    errors: Mapping[str, Any] | None = None,
    title: str = "",
) -> Any:
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
        Half-lengths of the error bars, by the name of the combiner in the same way.
    title
        Shown above the figure.
    """
    values = np.asarray(x, dtype=np.float64)
    none = np.zeros(values.size)
    half = {k: none if errors is None else np.asarray(errors[k]) for k in aucs}
    rows = stacked(
        {"x": values, "auc": np.asarray(v, float), "half": half[k], "combiner": k}
        for k, v in aucs.items()
    )
    base = alt.Chart(rows).encode(
        x=alt.X("x:Q", title=x_title, scale=alt.Scale(nice=False, padding=8)),
        y=alt.Y("auc:Q", title="AUC on unseen cases", scale=alt.Scale(zero=False)),
        color=alt.Color("combiner:N", title=None, sort=list(aucs)),
    )
    layers = [base.mark_line(point=True)]
    if errors is not None:
        bars = base.transform_calculate(
            low=alt.datum.auc - alt.datum.half, high=alt.datum.auc + alt.datum.half
        ).mark_rule(opacity=0.6)
        layers.append(bars.encode(y=alt.Y("low:Q"), y2="high:Q"))
    return styled(alt.layer(*layers), title, f"AUC of each combiner by {x_title}.")
