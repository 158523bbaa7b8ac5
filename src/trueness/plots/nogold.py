"""What do votes without a gold standard say, and which combination is best?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.figures import Axis, Crosses
from trueness._core.records import shown
from trueness.counts.values import Panel
from trueness.nogold import figures
from trueness.nogold.combinations.best import ENUMERATED, best_combination, rates_of
from trueness.nogold.combinations.criteria import CRITERIA
from trueness.nogold.combinations.table import all_combinations
from trueness.nogold.combinations.words import votes
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.plots import _altair
from trueness.plots._source import drawn
from trueness.plots._theme import COLOURS, GREY, alt, stacked, styled

BINS = 60


def posterior_densities(post: LatentPosterior) -> Any:
    """Draw the posterior of every parameter over its prior (Keith 2012, Figs 1, 2)."""
    scale = alt.Scale(domain=["posterior", "prior"], range=[COLOURS[0], GREY])
    legend = alt.Legend(orient="bottom")
    order = [str(n) for n in post.diagnostics.parameter]
    base = (
        alt.Chart(stacked(_densities(post)))
        .mark_area(opacity=0.45, line=True)
        .encode(
            x=alt.X("value:Q", title=None, scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y("density:Q", title=None, axis=None, stack=None),
            color=alt.Color("of:N", title=None, scale=scale, legend=legend),
        )
        .properties(width=170, height=80)
        .facet(facet=alt.Facet("parameter:N", title=None, sort=order), columns=3)
        .resolve_scale(x="independent", y="independent")
    )
    return styled(base, "", "Posterior and prior density of every parameter")


def _densities(post: LatentPosterior) -> Iterator[dict[str, Any]]:
    """Give the density of every parameter after and before the data were seen.

    Labels that answer by themselves have no prior of these parameters.
    """
    rng, before = np.random.default_rng(0), {}
    if post.dependence != "labels":
        before = post.model.prior_draws(20_000, rng)
    words = list(before) or ["prevalence", "sensitivity", "specificity"]
    sides = [("posterior", post.flat), *([("prior", before)] if before else [])]
    columns = {of: np.hstack([x[k] for k in words]) for of, x in sides}
    for i, name in enumerate(
        post.diagnostics.parameter[: columns["posterior"].shape[1]]
    ):
        low, high = _range(columns["posterior"][:, i])
        for of, draws in columns.items():
            at, density = _density(draws[:, i], low, high)
            yield {"parameter": str(name), "value": at, "density": density, "of": of}


def _range(draws: Floats) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.001, 0.999])
    edge = 0.1 * (high - low)
    return max(0.0, float(low - edge)), min(1.0, float(high + edge))


def _density(draws: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    count, edges = np.histogram(draws, bins=BINS, range=(low, high))
    width = edges[1] - edges[0]
    smooth = np.convolve(np.pad(count, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    return (edges[1:] + edges[:-1]) / 2, smooth / (draws.size * width)


def combination_plane(post: LatentPosterior, most: int = 12) -> Any:
    """Draw the best combinations in the ROC plane, with their 95 % intervals.

    With up to four classifiers, the ``most`` best combinations by the product of
    sensitivity and specificity are drawn; with more classifiers, the best combination
    by each criterion of the paper, and the single classifiers.
    """
    found = [(f, *rates_of(post, c)) for f, c in _worth_drawing(post, most).items()]
    up = np.array([_ends(tpr) for _, tpr, _ in found])
    across = np.array([_ends(1 - spec) for _, _, spec in found])
    names = tuple(formula for formula, _, _ in found)
    x, y = (
        _around(name, title, ends)
        for name, title, ends in (
            ("fpr", "1 - specificity", across),
            ("tpr", "sensitivity", up),
        )
    )
    figure = Crosses("Combinations", x, y, names, across, up, key="formula")
    return _altair.crosses(figure, "")


def _ends(draws: Floats) -> tuple[float, float, float]:
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(draws.mean()), float(low), float(high)


def _around(name: str, title: str, ends: Floats) -> Axis:
    """Give an axis that holds all intervals, with a little room."""
    low, high = float(ends.min()), float(ends.max())
    room = 0.05 * (high - low) or 0.01
    return Axis(name, title, max(0.0, low - room), min(1.0, high + room))


def _worth_drawing(post: LatentPosterior, most: int) -> dict[str, Array]:
    """Which combinations are drawn, by their formula?"""
    patterns = votes(len(post.names))
    if len(post.names) <= ENUMERATED:
        best = all_combinations(post).sorted("product", most=most)
        code = [int(n) - 1 for n in best.number]
        each = [np.array([c >> j & 1 for j in range(len(patterns))]) > 0 for c in code]
        return dict(zip(best.formula.tolist(), each, strict=True))
    found: dict[str, Array] = {}
    for criterion in CRITERIA:
        top = best_combination(post, criterion=criterion)
        found.setdefault(shown(top.formula, 60), top.map(patterns) > 0)
    return found | {n: patterns[:, k] > 0 for k, n in enumerate(post.names)}


def judge_rates(rates: Mapping[str, Rate], *, title: str = "", ax: Any = None) -> Any:
    """How far is the raw rate of each system from the corrected one?

    Parameters
    ----------
    rates
        A mapping from system to its answer from :func:`trueness.prevalence`.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    figure = figures.rates_figure(rates)
    title = (
        title or "Corrected rate (\N{BLACK CIRCLE}) and raw rate (\N{WHITE DIAMOND})"
    )
    return drawn(figure, title, ax)


def judge_plane(found: Rate, *, title: str = "", ax: Any = None) -> Any:
    """How good is each judge, as a point in the ROC plane?

    Parameters
    ----------
    found
        From :func:`trueness.prevalence`.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(figures.judges_figure(found), title, ax)


def judge_errors(panel: Panel, *, title: str = "", ax: Any = None) -> Any:
    """Which judges make the same errors? The correlation of their errors, by pair.

    Parameters
    ----------
    panel
        Verdicts of judges, with some labels.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(figures.errors_figure(panel), title, ax)


def judge_labels(found: Rate, panel: Panel, *, title: str = "", ax: Any = None) -> Any:
    """How narrow would the interval of the rate be with more labels?

    Parameters
    ----------
    found, panel
        The answer of :func:`trueness.prevalence`, and the panel that it was given.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(figures.labels_figure(found, panel), title, ax)
