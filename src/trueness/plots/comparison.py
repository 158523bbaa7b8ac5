"""Which is better, as a picture: classifiers, combiners, readers, systems?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.figures import Axis, Curves, Line, guide, span
from trueness._core.numbers import counted, level_text, p_is
from trueness._core.records import Estimate
from trueness.comparison.dominance import Dominance, difference_figure
from trueness.comparison.results import Comparison, pairs_figure
from trueness.ensembles.combiners import FiDEL
from trueness.ensembles.correlated import CorrelatedFiDEL, rank_correlation_figure
from trueness.ensembles.crossfit import CombinerComparison, combiner_figure
from trueness.evals.ranks import Leaderboard, rates_figure
from trueness.plots._draw import Captioned, Shown, picture
from trueness.readers.analysis import ReaderStudy


@picture
def dominance(found: Dominance) -> Shown:
    """Where is the first of two classifiers better, and how certain is it? A chart.

    Parameters
    ----------
    found
        From :func:`trueness.dominates`.
    title
        Shown above the figure; the verdict when empty.
    """
    verdict = (
        f"The first {found.verdict} the second in the sample; better somewhere: "
        f"{p_is(found.p_better)}, worse somewhere: {p_is(found.p_worse)}"
    )
    if found.verdict == "equal":
        verdict = "Both curves are equal"
    about = (
        f"Difference of two ROC curves with its {level_text(found.level)} band for the "
        f"whole curve. {verdict}."
    )
    return Captioned(difference_figure(found), verdict, about)


@picture
def comparison(found: Comparison) -> Shown:
    """Which classifiers differ, and by how much? All differences with intervals.

    Parameters
    ----------
    found
        From :func:`trueness.compare_auc` or :func:`trueness.compare_metric`.
    """
    return pairs_figure(found)


@picture
def combiners(comparison: CombinerComparison) -> Shown:
    """How does each combiner rank unseen cases? AUCs with their intervals.

    Parameters
    ----------
    comparison
        From :func:`trueness.compare_combiners`.
    """
    return combiner_figure(comparison)


@picture
def rank_correlation(f: FiDEL | CorrelatedFiDEL) -> Shown:
    """Do classifiers make the same errors? Rank correlation within classes, by pair.

    Parameters
    ----------
    f
        From :func:`trueness.fidel`, fitted with labels.
    """
    return rank_correlation_figure(f)


@picture
def combiner_lines(
    x: Any,
    aucs: Mapping[str, Any],
    *,
    x_title: str,
    errors: Mapping[str, Any] | None = None,
) -> Shown:
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
    """
    at = np.asarray(x, dtype=np.float64)
    area = {k: np.asarray(v, dtype=np.float64) for k, v in aucs.items()}
    half = {k: np.asarray(v, dtype=np.float64) for k, v in (errors or {}).items()}
    bands = tuple(
        Line(k, {"x": at, "low": area[k] - half[k], "high": area[k] + half[k]})
        for k in half
    )
    lines = tuple(Line(k, {"x": at, "auc": v}) for k, v in area.items())
    ends = [band[end] for band in bands for end in ("low", "high")]
    y = span("auc", "AUC on unseen cases", *area.values(), *ends)
    return Curves(f"AUC by {x_title}", span("x", x_title, at), y, lines, bands)


@picture
def reader_results(found: ReaderStudy) -> Shown:
    """How well does each reader do with each treatment, and all readers on average?

    Parameters
    ----------
    found
        From :func:`trueness.reader_study`.
    title
        Shown above the figure; the test of equality when empty.
    """
    metric, level = found.metric, level_text(found.level)
    metric = "AUC" if metric == "auc" else metric[:1].upper() + metric[1:]
    at = np.arange(len(found.treatments))
    ticks = tuple((float(k), str(name)) for k, name in enumerate(found.treatments))
    x = Axis("treatment", "Treatment", -0.5, at.size - 0.5, ticks)
    value, low, high = (
        np.array([getattr(m, k) for m in found.means]) for k in ("value", "low", "high")
    )
    y = span("value", metric, found.results, low, high)
    seen = np.isfinite(found.results).T
    each = tuple(
        guide(x, y, at[there], row[there], "each reader")
        for row, there in zip(found.results.T, seen, strict=True)
        if there.any()
    )
    mean = {"treatment": at, "value": value, "low": low, "high": high}
    dots = Line(f"mean of the readers, {level} interval", mean)
    shown = f"All treatments equal: {p_is(found.p_value)}" if found.pairs else ""
    about = (
        f"{metric} of {counted(len(found.readers), 'reader')} by treatment (grey), "
        f"with means and {level} intervals. {shown}"
    )
    figure = Curves(about, x, y, guides=each, dots=(dots,))
    return Captioned(figure, shown, about)


@picture
def pass_rates(found: Leaderboard | Mapping[str, Estimate]) -> Shown:
    """How often does each system pass, and which ranks can it have? A chart.

    Parameters
    ----------
    found
        From :func:`trueness.leaderboard`, or rates by name.
    """
    return rates_figure(found)
