"""How good is the ranking, what does a rank say, what does a probability mean?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, listing
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
from trueness.calibration.forecasts import equal_mass_bins
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
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.model_figures import (
    MODELS,
    CurveModel,
    area_text,
    leakage_lines,
    model_name,
    precision_recall_lines,
    roc_lines,
)
from trueness.ranking.models import fit_binormal
from trueness.ranking.planning import Plan

CurveSource = Source | CurveModel | Mapping[Any, Tally | CurveModel]


@picture_of
def roc(
    data: CurveSource,
    *,
    band: str | None = None,
    points: int = POINTS,
    **style: Unpack[Style],
) -> Shown:
    """ROC curve: the true positive rate at each false positive rate.

    Also draws models: :func:`trueness.ranking.binormal`,
    :func:`trueness.ranking.fit_binormal` and :func:`trueness.fermi_dirac`, alone or
    with the data by name: ``plots.roc({"data": t, "fit": fit})``.
    """
    tallies, models = _data_and_models(data)
    labels = {name: f"{name}: {area_text(auc(t))}" for name, t in tallies.items()}
    figure = figures.curve_figure(
        "roc",
        {labels[name]: t for name, t in tallies.items()},
        band=band,
        points=points,
    )

    return _with_models(figure, tallies, roc_lines(models), data)


@picture_of
def precision_recall(
    data: CurveSource,
    *,
    band: str | None = None,
    points: int = POINTS,
    prevalences: Sequence[float] | None = None,
    **style: Unpack[Style],
) -> Shown:
    """Precision-recall curve: which precision (PPV) remains at each recall?

    Also draws models, as :func:`roc` does.

    Parameters
    ----------
    prevalences
        One curve at each of these prevalences, in place of that of the data.
    """
    tallies, models = _data_and_models(data)

    if prevalences is not None:
        return _at_prevalences(tallies, models, prevalences, band, points)

    figure = figures.curve_figure("precision_recall", tallies, band=band, points=points)
    labels = {
        name: f"{name}: AP {average_precision(t).value:.3f}"
        for name, t in tallies.items()
    }
    figure = replace(
        figure,
        lines=tuple(replace(line, name=labels[line.name]) for line in figure.lines),
        bands=tuple(replace(line, name=labels[line.name]) for line in figure.bands),
    )
    prevalence = _one_prevalence(tallies)
    return _with_models(
        figure, tallies, precision_recall_lines(models, prevalence), data
    )


def _data_and_models(
    data: CurveSource,
) -> tuple[dict[str, Tally], dict[str, CurveModel]]:
    """Give everything that is drawn a name, and separate data and models."""
    if isinstance(data, MODELS):
        return {}, {model_name(data): data}
    if not isinstance(data, Mapping):
        return named(data), {}

    models: dict[str, CurveModel] = {}
    others = {}
    for name, value in data.items():
        if isinstance(value, MODELS):
            models[str(name)] = value
        else:
            others[name] = value

    # an empty mapping is refused by ``named``, one of models alone is not
    if models and not others:
        return {}, models
    return named(cast("Source", others)), models


def _with_models(
    figure: Curves,
    tallies: Mapping[str, Tally],
    model_lines: Mapping[str, Line],
    data: CurveSource,
) -> Curves:
    """Add the curves of models, in the order in which data and models were named."""
    if not model_lines:
        return figure
    lines = dict(zip(tallies, figure.lines, strict=True)) | dict(model_lines)
    order = [str(name) for name in data] if isinstance(data, Mapping) else list(lines)
    return replace(figure, lines=tuple(lines[name] for name in order))


def _one_prevalence(tallies: Mapping[str, Tally]) -> float | None:
    """Return the prevalence of the data, if there are any and they agree."""
    prevalences = {t.design.prevalence or t.prevalence for t in tallies.values()}
    return prevalences.pop() if len(prevalences) == 1 else None


def _at_prevalences(
    tallies: Mapping[str, Tally],
    models: Mapping[str, CurveModel],
    prevalences: Sequence[float],
    band: str | None,
    points: int,
) -> Curves:
    """Return one precision-recall curve for each curve and each prevalence."""
    has_several_curves = len(tallies) + len(models) > 1

    def label(name: str, prevalence: float) -> str:
        at_prevalence = f"prevalence {prevalence:g}"
        return f"{name}, {at_prevalence}" if has_several_curves else at_prevalence

    tallies_by_label = {}
    model_lines = []
    for fraction in prevalences:
        prevalence = _options.fraction(fraction, "prevalences")
        for name, t in tallies.items():
            tally = t.with_design(prevalence=prevalence)
            tallies_by_label[label(name, prevalence)] = tally
        for name, line in precision_recall_lines(models, prevalence).items():
            model_lines.append(replace(line, name=label(name, prevalence)))

    figure = figures.curve_figure(
        "precision_recall", tallies_by_label, band=band, points=points
    )
    return replace(figure, lines=(*figure.lines, *model_lines))


@picture_of
def det(data: Source, *, points: int = POINTS, **style: Unpack[Style]) -> Shown:
    """DET curve: which miss rate goes with each false alarm rate, on probit axes?"""
    return figures.det_figure(named(data), points=points)


@picture_of
def gain_curve(data: Source, *, points: int = POINTS, **style: Unpack[Style]) -> Shown:
    """Gain curve: what proportion of positives is among the highest scores?"""
    return figures.curve_figure("gain", named(data), points=points)


@picture_of
def lift_curve(data: Source, *, points: int = POINTS, **style: Unpack[Style]) -> Shown:
    """Lift curve: how much more frequent are positives among flagged cases?"""
    return figures.curve_figure("lift", named(data), points=points)


@picture_of
def score_distributions(
    data: Source,
    *,
    bins: int = 40,
    threshold: float | None = None,
    **style: Unpack[Style],
) -> Shown:
    """Histograms of the scores of positives and of negatives.

    With a threshold, the four areas of Sameni (2025), Fig. 1: true and false positives
    and negatives, eqs. (4) to (7).

    Parameters
    ----------
    bins
        How many bins of equal width between the smallest and the largest score.
    threshold
        Threshold of one classifier: scores of at least this are positive.
    """
    tallies = named(data)
    if threshold is None:
        return figures.score_figure(tallies, bins)

    if len(tallies) > 1:
        raise InputError(
            "A threshold is drawn for one classifier; found "
            f"{listing(list(tallies))}. Pass one of them.",
            option="threshold",
        )

    (tally,) = tallies.values()
    return figures.threshold_figure(
        tally, _options.real_number(threshold, "threshold"), bins
    )


@picture_of
def auc_forest(data: Source, *, level: float = 0.95, **style: Unpack[Style]) -> Shown:
    """Forest plot of AUCs: how large is each, and how certain?"""
    return figures.auc_figure(named(data), level=level)


@picture_of
def leakage(data: CurveSource, **style: Unpack[Style]) -> Shown:
    """Leakage function G: what proportion of the positives is missed at each
    specificity?

    Also draws models, as :func:`roc` does. Sameni (2025), Figs 5 and 6.
    """
    tallies, models = _data_and_models(data)
    figure = figures.leakage_figure(tallies)
    return _with_models(figure, tallies, leakage_lines(models), data)


@picture_of
def leakage_and_roc(data: Tally, **style: Unpack[Style]) -> Shown:
    """Leakage function and ROC curve in one plane: y = G(x) and y = 1 - G(1 - x).

    Sameni (2025), Fig. 3. The shaded area under G is Pr(x_p <= x_n), 1 - AUC.
    """
    return figures.leakage_and_roc_figure(data)


@picture_of
def binormal_fit(data: Tally, **style: Unpack[Style]) -> Shown:
    """Empirical ROC curve and fitted binormal curve: does the model fit?

    The default title is the test of the fit.
    """
    fit = fit_binormal(data)
    title = f"Binormal fit, test of the fit {p_is(fit.p_value)}"
    return TitledFigure(figures.binormal_figure(data, fit), title=title)


@picture
def sample_size(plan: Plan, **style: Unpack[Style]) -> Shown:
    """Half-width of the interval of an AUC, or its power, by number of cases."""
    return figures.plan_figure(plan)


@picture
def rank_probability(
    distribution: FermiDirac | Mapping[str, FermiDirac],
    observed: Any = None,
    *,
    bins: int = 20,
    **style: Unpack[Style],
) -> Shown:
    """Probability of a positive at each rank, and how often there was one.

    Kim et al. (2021), Figs 1B and S4: the Fermi-Dirac curve, with its threshold r* as a
    dashed line, and observed proportions of positives as points.

    Parameters
    ----------
    distribution
        One distribution, or several by name.
    observed
        A tally, whose ranks are put into ``bins`` of about equally many cases; or the
        proportion of positives at ranks 1 to n, as ``counts.rank_frequencies`` returns.
        A mapping by name for several distributions.
    bins
        Number of points of a tally.
    """
    distributions = (
        dict(distribution)
        if isinstance(distribution, Mapping)
        else {"Fermi-Dirac": distribution}
    )

    if observed is None:
        observed = {}
    elif not isinstance(observed, Mapping):
        observed = dict.fromkeys(distributions, observed)

    n_bins = _options.whole_number(bins, "bins", at_least=1)

    curves = []
    rules = []
    for name, distribution in distributions.items():
        n = distribution.n
        ranks = np.linspace(1, n, min(n, POINTS))
        curve = {"rank": ranks, "p": distribution.probability(ranks)}
        curves.append(Line(name, curve))

        if 1 <= distribution.rank_threshold <= n:
            label = f"r* of {name}" if len(distributions) > 1 else "r*"
            rules.append((label, distribution.rank_threshold))

    dots = [
        Line(name, _observed_points(proportions, distributions[name].n, n_bins))
        for name, proportions in observed.items()
    ]
    ranks_drawn = [curve["rank"] for curve in curves]

    return Curves(
        "Probability of being positive by rank",
        span("rank", "Rank (1 is the highest score)", *ranks_drawn),
        Axis("p", "Proportion of positives"),
        tuple(curves),
        dots=tuple(dots),
        rules=tuple(rules),
    )


def _observed_points(observed: Any, n: int, bins: int) -> dict[str, Floats]:
    """Return observed proportions of positives by rank, on the scale of 1 to n."""
    if isinstance(observed, Tally):
        return _binned_rank_frequencies(observed.labelled(), n, bins)

    try:
        proportions = np.asarray(observed, dtype=np.float64)
    except (TypeError, ValueError):
        proportions = np.empty((0, 0))

    if proportions.ndim != 1 or not proportions.size:
        raise InputError(
            "rank_probability needs observed to be a tally, or the proportion of "
            f"positives at each rank; found {described(observed)}.",
            option="observed",
        )

    return {"rank": np.arange(1.0, proportions.size + 1), "p": proportions}


def _binned_rank_frequencies(t: Tally, n: int, bins: int) -> dict[str, Floats]:
    """Return mean rank and proportion of positives in bins of about equal size.

    Tied cases have the mean of their ranks; ranks are scaled to those of n cases.
    """
    cases = t.pos + t.neg
    middle_rank = np.cumsum(cases) - cases / 2 + 0.5
    start = equal_mass_bins(cases, bins)
    cases_in_bin = np.add.reduceat(cases, start)
    mean_rank = np.add.reduceat(middle_rank * cases, start) / cases_in_bin
    scale = n / float(cases.sum())

    return {
        "rank": (mean_rank - 0.5) * scale + 0.5,
        "p": np.add.reduceat(t.pos, start) / cases_in_bin,
    }


@picture
def fermi_parameters(n: int = 1000, **style: Unpack[Style]) -> Shown:
    """Beta and mu of Fermi-Dirac by AUC and prevalence: Kim et al. (2021), Fig. 2.

    Parameters
    ----------
    n
        Number of cases; beta n and mu / n hardly depend on it.
    """
    areas = np.linspace(0.52, 0.98, 47)
    lines = []
    for prevalence in (0.1, 0.3, 0.5, 0.7, 0.9):
        beta = np.empty(areas.size)
        mu = np.empty(areas.size)
        for column, area in enumerate(areas.tolist()):
            distribution = solve(n=n, prevalence=prevalence, auc=area)
            beta[column] = distribution.beta
            mu[column] = distribution.mu

        columns = {"auc": areas, "b": beta * n, "m": mu / n}
        lines.append(Line(f"prevalence {prevalence:g}", columns))

    x = span("auc", "AUC", areas)
    beta_axis = span("b", "beta n", *(line["b"] for line in lines))
    mu_axis = Axis("m", "mu / n", -2, 3)
    panel_of_beta = Curves(beta_axis.title, x, beta_axis, tuple(lines))
    panel_of_mu = Curves(mu_axis.title, x, mu_axis, tuple(lines))

    description = "beta n and mu / n by AUC, for five prevalences."
    return Panels(description, (panel_of_beta, panel_of_mu), columns=2)


@picture
def identity(
    x: ArrayLike,
    y: ArrayLike,
    *,
    x_title: str,
    y_title: str,
    colour: Iterable[object] | None = None,
    colour_title: str = "",
    **style: Unpack[Style],
) -> Shown:
    """Paired numbers beside the line of equality: do two ways to compute agree?

    Parameters
    ----------
    x, y
        The paired numbers.
    x_title, y_title
        What they are.
    colour
        One value per pair, which sets its colour and is shown in the legend.
    colour_title
        What the values of ``colour`` are.
    """
    across = np.asarray(x, dtype=np.float64)
    up = np.asarray(y, dtype=np.float64)
    names = np.full(across.size, ONE)

    if colour is not None:
        names = np.array([f"{colour_title} {value}".strip() for value in colour])

    # both axes have the same range, so that the line of equality is their diagonal
    ends = [min(across.min(), up.min()), max(across.max(), up.max())]
    x_axis = span("x", x_title, ends)
    y_axis = span("y", y_title, ends)
    dots = tuple(
        Line(str(name), {"x": across[names == name], "y": up[names == name]})
        for name in dict.fromkeys(names.tolist())
    )
    description = f"{y_title} against {x_title}; the dashed line marks equality"
    equal = guide(x_axis, y_axis, ends, ends)

    return Curves(description, x_axis, y_axis, guides=(equal,), dots=dots)


@picture_of
def reliability(
    data: Source,
    *,
    level: float = 0.95,
    replicates: int = 500,
    rng: Seed = 0,
    **style: Unpack[Style],
) -> Shown:
    """Reliability diagram: what proportion of the cases with a score of p is positive?

    The curve is the isotonic regression of the labels on the scores (CORP), with its
    confidence band in colour. For one classifier, a grey consistency band is added:
    where the curve leaves it, chance does not explain the distance from the diagonal.
    Below, areas show how the scores of negatives and positives are spread.
    """
    diagrams = {
        name: calibration.reliability(t, level=level, replicates=replicates, rng=rng)
        for name, t in named(data).items()
    }
    figure = calibration.reliability_figure(diagrams)
    if not isinstance(data, Tally):
        return figure

    about = (
        f"Reliability diagram of {diagrams[ONE].n:,} cases: proportion of positives "
        f"against score, with {level_text(level)} consistency and confidence bands"
    )
    parts = (_with_consistency_band(figure, diagrams), _scores_below(data))
    panels = Panels("Reliability diagram", parts, heights=(1.0, 0.22), joined=True)

    return TitledFigure(panels, description=about)


def _with_consistency_band(
    figure: Curves, diagrams: Mapping[str, calibration.Reliability]
) -> Curves:
    """Add where the curve of calibrated scores would lie, as a grey band."""
    (band,) = calibration.reliability_figure(diagrams, "consistency").bands
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
    maps: Mapping[str, Map], t: Tally, *, bins: int = 12, **style: Unpack[Style]
) -> Shown:
    """Calibration maps: which probability does each assign to a score?

    Parameters
    ----------
    maps
        Fitted maps by name, for example of several methods.
    t
        Labelled cases on the same scale; dots show their proportions of positives in
        bins of equally many cases.
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
def decomposition(scores: Mapping[str, ProperScore], **style: Unpack[Style]) -> Shown:
    """Decomposition of scores: discrimination and miscalibration of each classifier.

    Each classifier is a dot: discrimination to the right, miscalibration upwards. Lines
    connect points of equal mean loss, which is lowest at the lower right.

    Parameters
    ----------
    scores
        Results of :func:`trueness.brier` or :func:`trueness.log_loss` by name, on the
        same cases (their uncertainty is the same).
    """
    return decomposition_figure(scores)
