"""How good is the ranking, what does a rank say, what does a probability mean?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.figures import (
    POINTS,
    Axis,
    Curves,
    Line,
    Panels,
    TitledFigure,
    guide,
    score_bands,
    span,
)
from trueness._core.numbers import level_text, p_is
from trueness.calibration import reliability_diagram as calibration
from trueness.calibration.maps import Map
from trueness.calibration.proper_scores import ProperScore, decomposition_figure
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.fermi.distribution import FermiDirac
from trueness.fermi.distribution import fermi_dirac as solve
from trueness.plots._pictures import (
    ONE,
    Shown,
    Source,
    Style,
    named,
    picture,
    picture_of,
)
from trueness.ranking import figures
from trueness.ranking.areas import auc
from trueness.ranking.models import fit_binormal
from trueness.ranking.planning import Plan


@picture_of
def roc(
    data: Source,
    *,
    band: str | None = None,
    points: int = POINTS,
    **look: Unpack[Style],
) -> Shown:
    """Which false positive rate does each true positive rate cost? A chart."""
    found = {name: (t, auc(t)) for name, t in named(data).items()}
    tallies = {
        f"{name}: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})": t
        for name, (t, a) in found.items()
    }
    return figures.curve_figure("roc", tallies, band=band, points=points)


@picture_of
def precision_recall(
    data: Source,
    *,
    band: str | None = None,
    points: int = POINTS,
    **look: Unpack[Style],
) -> Shown:
    """Which precision (PPV) remains at each recall (sensitivity)? A chart."""
    return figures.curve_figure(
        "precision_recall", named(data), band=band, points=points
    )


@picture_of
def det(data: Source, *, points: int = POINTS, **look: Unpack[Style]) -> Shown:
    """Which miss rate goes with each false alarm rate, on probit axes? A chart."""
    return figures.det_figure(named(data), points=points)


@picture_of
def gain_curve(data: Source, *, points: int = POINTS, **look: Unpack[Style]) -> Shown:
    """Which share of the positives is among the cases with the highest scores?"""
    return figures.curve_figure("gain", named(data), points=points)


@picture_of
def lift_curve(data: Source, *, points: int = POINTS, **look: Unpack[Style]) -> Shown:
    """How many times more frequent are positives among flagged cases than among all?"""
    return figures.curve_figure("lift", named(data), points=points)


@picture_of
def score_distributions(
    data: Source, *, bins: int = 40, **look: Unpack[Style]
) -> Shown:
    """How are the scores of positives and of negatives spread? A chart.

    Parameters
    ----------
    bins
        How many bins of equal width between the smallest and the largest score.
    """
    return figures.score_figure(named(data), bins)


@picture_of
def auc_forest(data: Source, *, level: float = 0.95, **look: Unpack[Style]) -> Shown:
    """How large is the AUC of each classifier, and how sure are we? A forest plot."""
    return figures.auc_figure(named(data), level=level)


@picture_of
def leakage(data: Source, **look: Unpack[Style]) -> Shown:
    """Which share of the positives is missed at each specificity? A chart of G."""
    return figures.leakage_figure(named(data))


@picture_of
def binormal_fit(data: Tally, **look: Unpack[Style]) -> Shown:
    """Does a binormal curve fit? The ROC curve of the data and the fitted one.

    Without a title the test of the fit stands above it.
    """
    fit = fit_binormal(data)
    title = f"Binormal fit, test of the fit {p_is(fit.p_value)}"
    return TitledFigure(figures.binormal_figure(data, fit), title=title)


@picture
def sample_size(found: Plan, **look: Unpack[Style]) -> Shown:
    """How does the half-width of the interval of an AUC, or the power, depend on n?"""
    return figures.plan_figure(found)


@picture
def rank_probability(
    fd: FermiDirac | Mapping[str, FermiDirac],
    observed: ArrayLike | Mapping[str, ArrayLike] | None = None,
    **look: Unpack[Style],
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
    ranks = {k: np.linspace(1, f.n, min(f.n, POINTS)) for k, f in several.items()}
    shares = {k: np.asarray(p) for k, p in (observed or {}).items()}
    return Curves(
        "Probability of being positive by rank",
        span("rank", "rank (1 is the highest score)", *ranks.values()),
        Axis("p", "share of positives"),
        tuple(Line(k, {"rank": at, "p": several[k].probability(at)})
              for k, at in ranks.items()),
        dots=tuple(Line(k, {"rank": np.arange(1, p.size + 1), "p": p})
                   for k, p in shares.items()),
        rules=tuple((f"r* of {k}", f.rank_threshold)
                    for k, f in several.items() if 1 <= f.rank_threshold <= f.n),
    )  # fmt: skip


@picture
def fermi_parameters(n: int = 1000, **look: Unpack[Style]) -> Shown:
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
    x, b_axis = span("auc", "AUC", area), span("b", "beta n", *(k["b"] for k in lines))
    both = (b_axis, Axis("m", "mu / n", -2, 3))
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
    colour: Iterable[object] | None = None,
    colour_title: str = "",
    **look: Unpack[Style],
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


@picture_of
def reliability(
    data: Source,
    *,
    level: float = 0.95,
    replicates: int = 500,
    rng: Seed = 0,
    **look: Unpack[Style],
) -> Shown:
    """Which share of the cases with a score of p is positive? A chart.

    The curve is the isotonic regression of the labels on the scores (CORP), with its
    confidence band in colour. For one classifier, a grey consistency band is added:
    where the curve leaves it, chance does not explain the distance from the diagonal.
    Below, areas show how the scores of negatives and positives are spread.
    """
    found = {
        name: calibration.reliability(t, level=level, replicates=replicates, rng=rng)
        for name, t in named(data).items()
    }
    figure = calibration.reliability_figure(found)
    if not isinstance(data, Tally):
        return figure
    about = (
        f"Reliability diagram of {found[ONE].n:,} cases: proportion of positives "
        f"against score, with {level_text(level)} consistency and confidence bands"
    )
    parts = (_with_consistency_band(figure, found), _scores_below(data))
    panels = Panels("Reliability diagram", parts, heights=(1.0, 0.22), joined=True)
    return TitledFigure(panels, description=about)


def _with_consistency_band(
    figure: Curves, found: Mapping[str, calibration.Reliability]
) -> Curves:
    """Add where the curve of calibrated scores would lie, as a grey band."""
    (band,) = calibration.reliability_figure(found, "consistency").bands
    consistency = replace(band, name="consistency band")
    curve = replace(figure.lines[0], name="calibration curve")
    confidence = replace(figure.bands[0], name="calibration curve")
    return replace(
        figure,
        lines=(curve,),
        bands=(confidence,),
        guides=(consistency, *figure.guides),
    )


def _scores_below(data: Tally) -> Curves:
    """Return the histogram of the scores, which stands below the diagram."""
    bars = score_bands(calibration.probability_bars(ONE, data.labelled()))
    if isinstance(bars, Panels):
        raise TypeError("one classifier has one histogram")
    return replace(
        bars, x=calibration.SCORE_AXIS, y=replace(bars.y, title="Proportion")
    )


@picture
def calibration_maps(
    maps: Mapping[str, Map], t: Tally, *, bins: int = 12, **look: Unpack[Style]
) -> Shown:
    """Which probability does each map give a score? A chart.

    Parameters
    ----------
    maps
        Fitted maps by name, for example of several methods.
    t
        Labelled cases on the same scale; their shares of positives in bins of equally
        many cases are drawn as dots.
    bins
        Number of dots.
    """
    if not maps:
        raise InputError(
            "calibration_maps needs a mapping from name to map.",
            example=PythonCode(
                'calibration_maps({"platt": trueness.calibrate(t, method="platt")}, t)'
            ),
        )
    _cases.some_labels(t, "calibration_maps")
    return calibration.map_figure(maps, t.labelled(), bins)


@picture
def decomposition(scores: Mapping[str, ProperScore], **look: Unpack[Style]) -> Shown:
    """Which classifier discriminates better, and which is calibrated better? A chart.

    Each classifier is a dot: discrimination to the right, miscalibration upwards. Lines
    connect points of equal mean loss, which is lowest at the lower right.

    Parameters
    ----------
    scores
        Results of :func:`trueness.brier` or :func:`trueness.log_loss` by name, on the
        same cases (their uncertainty is the same).
    """
    return decomposition_figure(scores)
