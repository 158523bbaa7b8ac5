"""Which combination is better, and how alike are the classifiers, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.figures import Curves, Line, span
from trueness.ensembles.combiners import FiDEL
from trueness.ensembles.correlated import CorrelatedFiDEL, rank_correlation_figure
from trueness.ensembles.crossfit import CombinerComparison, combiner_figure
from trueness.plots._source import drawn


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
    ax: Any = None,
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
        Half-widths of the bands, by the name of the combiner in the same way.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    at = np.asarray(x, dtype=np.float64)
    area = {k: np.asarray(v, dtype=np.float64) for k, v in aucs.items()}
    half = {k: np.asarray(v, dtype=np.float64) for k, v in (errors or {}).items()}
    ends = {k: (area[k] - half[k], area[k] + half[k]) for k in half}
    lines = tuple(Line(k, {"x": at, "auc": v}) for k, v in area.items())
    bands = tuple(
        Line(k, {"x": at, "low": low, "high": high}) for k, (low, high) in ends.items()
    )
    every = [*area.values(), *(v for pair in ends.values() for v in pair)]
    y = span("auc", "AUC on unseen cases", *every)
    what = f"AUC by {x_title}"
    return drawn(Curves(what, span("x", x_title, at), y, lines, bands), title, ax)
