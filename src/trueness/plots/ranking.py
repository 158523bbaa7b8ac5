"""How good is the ranking, and what does a rank say, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.figures import POINTS, Axis, Curves, Line, guide, span
from trueness._core.numbers import p_is
from trueness.counts.values import Tally
from trueness.fermi.distribution import FermiDirac
from trueness.fermi.distribution import fermi_dirac as solve
from trueness.plots._altair import ONE, Panels
from trueness.plots._draw import Captioned, Shown, Source, named, picture
from trueness.ranking import figures
from trueness.ranking.areas import auc
from trueness.ranking.gaussian import fit_binormal
from trueness.ranking.planning import Plan


@picture
def roc(data: Source, *, band: str | None = None, points: int = POINTS) -> Shown:
    """Which false positive rate does each true positive rate cost? A chart.

    Parameters
    ----------
    data
        A tally, a panel, or a mapping from name to tally.
    """
    tallies = {_with_auc(name, t): t for name, t in named(data).items()}
    return figures.roc_figure(tallies, band=band, points=points)


def _with_auc(name: str, t: Tally) -> str:
    a = auc(t)
    return f"{name}: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})"


@picture
def precision_recall(
    data: Source, *, band: str | None = None, points: int = POINTS
) -> Shown:
    """Which precision (PPV) remains at each recall (sensitivity)? A chart."""
    return figures.precision_recall_figure(named(data), band=band, points=points)


@picture
def det(data: Source, *, points: int = POINTS) -> Shown:
    """Which miss rate goes with each false alarm rate, on probit axes? A chart."""
    return figures.det_figure(named(data), points=points)


@picture
def gain_curve(data: Source, *, points: int = POINTS) -> Shown:
    """Which share of the positives is among the cases with the highest scores?"""
    return figures.gain_figure(named(data), points=points)


@picture
def lift_curve(data: Source, *, points: int = POINTS) -> Shown:
    """How many times more frequent are positives among flagged cases than among all?"""
    return figures.lift_figure(named(data), points=points)


@picture
def score_distributions(data: Source, *, bins: int = 40) -> Shown:
    """How are the scores of positives and of negatives spread? A chart.

    Parameters
    ----------
    bins
        How many bins of equal width between the smallest and the largest score.
    """
    return figures.score_figure(named(data), bins)


@picture
def auc_forest(data: Source, *, level: float = 0.95) -> Shown:
    """How large is the AUC of each classifier, and how sure are we? A forest plot."""
    return figures.auc_figure(named(data), level=level)


@picture
def leakage(data: Source) -> Shown:
    """Which share of the positives is missed at each specificity? A chart of G."""
    return figures.leakage_figure(named(data))


@picture
def binormal_fit(data: Tally) -> Shown:
    """Does a binormal curve fit? The ROC curve of the data and the fitted one.

    Parameters
    ----------
    title
        Shown above the figure; how good the fit is when empty.
    """
    fit = fit_binormal(data)
    title = f"Binormal fit, test of the fit {p_is(fit.p_value)}"
    return Captioned(figures.binormal_figure(data, fit), title)


@picture
def sample_size(found: Plan) -> Shown:
    """How does the half-width of the interval of an AUC, or the power, depend on n?

    Parameters
    ----------
    found
        From :func:`trueness.plan_auc`; it is the dot on the line.
    """
    return figures.plan_figure(found)


@picture
def rank_probability(
    fd: FermiDirac | Mapping[str, FermiDirac],
    observed: ArrayLike | Mapping[str, ArrayLike] | None = None,
) -> Shown:
    """How likely is a positive at each rank, and how often was there one?

    Kim et al. (2021), Fig. 1B: the Fermi-Dirac curve, with its threshold r* as a dashed
    line, and observed shares of positives as points.

    Parameters
    ----------
    fd
        One distribution, or several by name.
    observed
        Share of positives at ranks 1 to n, as ``counts.rank_frequencies`` gives;
        by name where there are several.
    """
    several = dict(fd) if isinstance(fd, Mapping) else {"Fermi-Dirac": fd}
    if observed is not None and not isinstance(observed, Mapping):
        observed = dict.fromkeys(several, observed)
    lines, dots, rules = [], [], []
    for name, f in several.items():
        rank = np.linspace(1, f.n, min(f.n, POINTS))
        lines.append(Line(name, {"rank": rank, "p": f.probability(rank)}))
        if 1 <= f.rank_threshold <= f.n:
            rules.append((f"r* of {name}", f.rank_threshold))
    for name, shares in (observed or {}).items():
        p = np.asarray(shares)
        dots.append(Line(name, {"rank": np.arange(1, p.size + 1), "p": p}))
    figure = Curves(
        "Probability of being positive by rank",
        span("rank", "rank (1 is the highest score)", *(k["rank"] for k in lines)),
        Axis("p", "share of positives"),
        tuple(lines), dots=tuple(dots), rules=tuple(rules),
    )  # fmt: skip
    return figure


@picture
def fermi_parameters(n: int = 1000) -> Shown:
    """How do beta and mu follow from AUC and prevalence? Kim et al. (2021), Fig. 2.

    Parameters
    ----------
    n
        Number of cases; beta n and mu / n hardly depend on it.
    """
    area = np.linspace(0.52, 0.98, 47)
    lines = []
    for rho in (0.1, 0.3, 0.5, 0.7, 0.9):
        found = [solve(n=n, prevalence=rho, auc=float(a)) for a in area]
        b, m = (np.array([getattr(f, k) for f in found]) for k in ("beta", "mu"))
        lines.append(Line(f"prevalence {rho:g}", {"auc": area, "b": b * n, "m": m / n}))
    x = span("auc", "AUC", area)
    both = (
        span("b", "beta n", *(line["b"] for line in lines)),
        Axis("m", "mu / n", -2, 3),
    )
    parts = tuple(Curves(y.title, x, y, tuple(lines)) for y in both)
    what = "beta n and mu / n by AUC, for five prevalences."
    return Panels(what, parts, columns=2)


@picture
def identity(
    x: ArrayLike,
    y: ArrayLike,
    *,
    x_title: str,
    y_title: str,
    colour: Any = None,
    colour_title: str = "",
) -> Shown:
    """Do two ways to find a number agree? Points, and the line where they are equal.

    Parameters
    ----------
    x, y
        The numbers, pair by pair.
    x_title, y_title
        What they are.
    colour
        One value per pair, which decides its colour and stands in the legend.
    colour_title
        What the values of ``colour`` are.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    names = np.full(a.size, ONE)
    if colour is not None:
        names = np.array([f"{colour_title} {c}".strip() for c in colour])
    ends = [min(a.min(), b.min()), max(a.max(), b.max())]
    across, up = span("x", x_title, ends), span("y", y_title, ends)
    dots = tuple(
        Line(str(name), {"x": a[names == name], "y": b[names == name]})
        for name in dict.fromkeys(names.tolist())
    )
    what = f"{y_title} against {x_title}; on the dashed line both are equal"
    equal = guide(across, up, ends, ends)
    return Curves(what, across, up, guides=(equal,), dots=dots)
