"""How good is the ranking, as a picture?"""

from __future__ import annotations

from typing import Any

from trueness._core.checks import cases as _cases
from trueness._core.figures import POINTS
from trueness._core.numbers import p_is
from trueness.counts.answers import of_counts
from trueness.counts.values import Tally
from trueness.plots._source import Source, drawn, named
from trueness.ranking import figures
from trueness.ranking.areas import auc
from trueness.ranking.gaussian import fit_binormal
from trueness.ranking.planning import Plan


@of_counts
def roc(
    data: Source,
    *,
    band: str | None = None,
    title: str = "",
    points: int = POINTS,
    ax: Any = None,
) -> Any:
    """Which false positive rate does each true positive rate cost? A chart.

    Parameters
    ----------
    data
        A tally, a panel, or a mapping from name to tally.
    band
        ``"simultaneous"`` or ``"pointwise"``: also draw the 95 % band.
    points
        The largest number of points that a curve is drawn with; see
        :func:`trueness.ranking.simplify`.
    """
    tallies = {_with_auc(name, t): t for name, t in named(data).items()}
    return drawn(figures.roc_figure(tallies, band=band, points=points), title, ax)


@of_counts
def precision_recall(
    data: Source,
    *,
    band: str | None = None,
    title: str = "",
    points: int = POINTS,
    ax: Any = None,
) -> Any:
    """Which precision (PPV) remains at each recall (sensitivity)? A chart.

    Parameters
    ----------
    data, band, title, points, ax
        As in :func:`roc`.
    """
    figure = figures.precision_recall_figure(named(data), band=band, points=points)
    return drawn(figure, title, ax)


@of_counts
def det(data: Source, *, title: str = "", points: int = POINTS, ax: Any = None) -> Any:
    """Which miss rate goes with each false alarm rate, on probit axes? A chart.

    Parameters
    ----------
    data, title, points, ax
        As in :func:`roc`.
    """
    return drawn(figures.det_figure(named(data), points=points), title, ax)


@of_counts
def gain_curve(
    data: Source, *, title: str = "", points: int = POINTS, ax: Any = None
) -> Any:
    """Which share of the positives is among the cases with the highest scores?

    Parameters
    ----------
    data, title, points, ax
        As in :func:`roc`.
    """
    return drawn(figures.gain_figure(named(data), points=points), title, ax)


@of_counts
def lift_curve(
    data: Source, *, title: str = "", points: int = POINTS, ax: Any = None
) -> Any:
    """How many times more frequent are positives among flagged cases than among all?

    Parameters
    ----------
    data, title, points, ax
        As in :func:`roc`.
    """
    return drawn(figures.lift_figure(named(data), points=points), title, ax)


@of_counts
def score_distributions(
    data: Source, *, bins: int = 40, title: str = "", ax: Any = None
) -> Any:
    """How are the scores of positives and of negatives spread? A chart.

    Parameters
    ----------
    bins
        How many bins of equal width between the smallest and the largest score.
    data, title, ax
        As in :func:`roc`.
    """
    return drawn(figures.score_figure(named(data), bins), title, ax)


@of_counts
def auc_forest(
    data: Source, *, level: float = 0.95, title: str = "", ax: Any = None
) -> Any:
    """How large is the AUC of each classifier, and how sure are we? A forest plot.

    Parameters
    ----------
    data
        A tally, a panel, or a mapping from name to tally, for example of groups.
    title, ax
        As in :func:`roc`.
    """
    return drawn(figures.auc_figure(named(data), level=level), title, ax)


@of_counts
def leakage(data: Source, *, title: str = "", ax: Any = None) -> Any:
    """Which share of the positives is missed at each specificity? A chart of G.

    Parameters
    ----------
    data, title, ax
        As in :func:`roc`.
    """
    return drawn(figures.leakage_figure(named(data)), title, ax)


@of_counts
def binormal_fit(data: Tally, *, title: str = "", ax: Any = None) -> Any:
    """Does a binormal curve fit? The ROC curve of the data and the fitted one.

    Parameters
    ----------
    data
        The counts.
    title
        Shown above the figure; how good the fit is when empty.
    """
    _cases.one_classifier(data, "binormal_fit")
    fit = fit_binormal(data)
    title = title or f"Binormal fit, test of the fit {p_is(fit.p_value)}"
    return drawn(figures.binormal_figure(data, fit), title, ax)


def sample_size(found: Plan, *, title: str = "", ax: Any = None) -> Any:
    """How does the half-width of the interval of an AUC, or the power, depend on n?

    Parameters
    ----------
    found
        From :func:`trueness.plan_auc`; it is the dot on the line.
    title, ax
        As in :func:`roc`.
    """
    return drawn(figures.plan_figure(found), title, ax)


def _with_auc(name: str, t: Tally) -> str:
    a = auc(t)
    return f"{name}: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})"
