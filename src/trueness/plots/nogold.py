"""What do votes without a gold standard say, and which combination is best?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.figures import Axis, Crosses, Curves, Line
from trueness._core.records import shown
from trueness.counts.values import Panel
from trueness.nogold import figures
from trueness.nogold.combinations.best import (
    ENUMERATED,
    all_combinations,
    best_combination,
    rates_of,
)
from trueness.nogold.combinations.search import CRITERIA
from trueness.nogold.combinations.words import votes
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.plots._altair import Panels
from trueness.plots._draw import Captioned, Shown, picture

BINS = 60


@picture
def posterior_densities(post: LatentPosterior) -> Shown:
    """Draw the posterior of every parameter over its prior (Keith 2012, Figs 1, 2)."""
    # labels that answer by themselves have no prior of these parameters
    before: Mapping[str, Floats] = {}
    if post.dependence != "labels":
        before = post.model.prior_draws(20_000, np.random.default_rng(0))
    words = list(before) or ["prevalence", "sensitivity", "specificity"]
    after = np.hstack([post.flat[k] for k in words])
    prior = np.hstack([before[k] for k in words]) if before else None
    parts = []
    for i, name in enumerate(post.diagnostics.parameter[: after.shape[1]]):
        low, high = _range(after[:, i])
        area = Line("posterior", _density(after[:, i], low, high))
        under: tuple[Line, ...] = ()
        if prior is not None:
            under = (Line("prior", _density(prior[:, i], low, high)),)
        top = max(float(line["high"].max()) for line in (area, *under))
        x, y = Axis("value", str(name), low, high), Axis("density", "", 0, top)
        parts.append(Curves(str(name), x, y, bands=(area,), guides=under))
    what = "Posterior and prior density of every parameter"
    small: Any = {"columns": 3, "width": 170, "heights": (80,)}
    return Panels(what, tuple(parts), **small)


def _range(draws: Floats) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.001, 0.999])
    edge = 0.1 * (high - low)
    return max(0.0, float(low - edge)), min(1.0, float(high + edge))


def _density(draws: Floats, low: float, high: float) -> dict[str, Floats]:
    count, edges = np.histogram(draws, bins=BINS, range=(low, high))
    width = edges[1] - edges[0]
    smooth = np.convolve(np.pad(count, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    up = smooth / (draws.size * width)
    return {"value": (edges[1:] + edges[:-1]) / 2, "low": 0 * up, "high": up}


@picture
def combination_plane(post: LatentPosterior, most: int = 12) -> Shown:
    """Draw the best combinations in the ROC plane, with their 95 % intervals.

    Parameters
    ----------
    post
        From :func:`trueness.latent_class`.
    most
        With up to four classifiers, so many of the best combinations by the product of
        sensitivity and specificity are drawn; with more classifiers, the best one by
        each criterion of the paper, and the single classifiers.
    """
    found = [(f, *rates_of(post, c)) for f, c in _worth_drawing(post, most).items()]
    up = np.array([_ends(tpr) for _, tpr, _ in found])
    across = np.array([_ends(1 - spec) for _, _, spec in found])
    x = _around("fpr", "1 - specificity", across)
    y = _around("tpr", "sensitivity", up)
    names = tuple(formula for formula, _, _ in found)
    return Crosses("Combinations", x, y, names, across, up)


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


@picture
def judge_rates(rates: Mapping[str, Rate]) -> Shown:
    """How far is the raw rate of each system from the corrected one?

    Parameters
    ----------
    rates
        A mapping from system to its answer from :func:`trueness.prevalence`.
    """
    words = "Corrected rate (\N{BLACK CIRCLE}) and raw rate (\N{WHITE DIAMOND})"
    return Captioned(figures.rates_figure(rates), words)


@picture
def judge_plane(found: Rate) -> Shown:
    """How good is each judge, as a point in the ROC plane?

    Parameters
    ----------
    found
        From :func:`trueness.prevalence`.
    """
    return figures.judges_figure(found)


@picture
def judge_errors(panel: Panel) -> Shown:
    """Which judges make the same errors? The correlation of their errors, by pair.

    Parameters
    ----------
    panel
        Verdicts of judges, with some labels.
    """
    return figures.errors_figure(panel)


@picture
def judge_labels(found: Rate, panel: Panel) -> Shown:
    """How narrow would the interval of the rate be with more labels?

    Parameters
    ----------
    found, panel
        The answer of :func:`trueness.prevalence`, and the panel that it was given.
    """
    return figures.labels_figure(found, panel)
