"""What do tests and judges say without a gold standard? Posteriors, planes, rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.figures import (
    Axis,
    Crosses,
    Curves,
    Diagram,
    Line,
    Node,
    Panels,
    Plate,
    TitledFigure,
)
from trueness._core.records import shown
from trueness.counts.values import Panel
from trueness.nogold import combination_tables, figures, pattern_draws
from trueness.nogold.combinations import best_combination
from trueness.nogold.criteria import CRITERIA
from trueness.nogold.formulas import votes
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.plots._pictures import Shown, Style, picture

FEWEST_BINS, MOST_BINS = 15, 60
PRIOR_DRAWS = 20_000


@picture
def posterior_densities(
    posterior: LatentPosterior,
    truth: Mapping[str, float] | None = None,
    **style: Unpack[Style],
) -> Shown:
    """Posterior density of every parameter, over its prior.

    Keith, Davey and Boyd (2012), Figs 1 and 2.

    Parameters
    ----------
    truth
        True values to mark, by parameter: ``{"prevalence": 0.1, "sensitivity[AA]":
        0.7}``. The names are the titles of the panels.
    """
    prior: Mapping[str, Floats] = {}
    # labels that answer by themselves have no prior of these parameters
    if posterior.dependence != "labels":
        prior = posterior.model.prior_draws(PRIOR_DRAWS, np.random.default_rng(0))

    families = list(prior) or ["prevalence", "sensitivity", "specificity"]
    posterior_draws = np.hstack([posterior.flat[family] for family in families])
    prior_draws = np.hstack([prior[family] for family in families]) if prior else None
    parameters = posterior.diagnostics.parameter[: posterior_draws.shape[1]]
    names = [str(name) for name in parameters]
    true_values = dict(truth or {})
    _check_parameters(true_values, names)

    panels = []
    for column, name in enumerate(names):
        draws = {"posterior": posterior_draws[:, column]}
        if prior_draws is not None:
            draws["prior"] = prior_draws[:, column]
        panels.append(_density_panel(name, draws, true_values.get(name)))

    description = "Posterior and prior density of every parameter"
    return Panels(description, tuple(panels), columns=3, heights=(0.5,))


def _check_parameters(true_values: Mapping[str, float], names: Sequence[str]) -> None:
    """Raise an error for a true value of a parameter that the model does not have."""
    unknown = [name for name in true_values if name not in names]
    if unknown:
        raise InputError(
            f"truth names parameters of the model, which are {listing(names)}; found "
            f"{listing(unknown)}.",
            option="truth",
            choices=tuple(names),
        )


def _density_panel(
    name: str, draws: Mapping[str, Floats], true_value: float | None
) -> Curves:
    """Return the density of one parameter, over its prior where there is one."""
    low, high = _range_of_density(draws["posterior"], true_value)
    areas = {
        kind: Line(kind, _density(draws_of_kind, low, high))
        for kind, draws_of_kind in draws.items()
    }
    top = max(float(area["high"].max()) for area in areas.values())

    return Curves(
        name,
        Axis("value", name, low, high),
        Axis("density", "", 0, 1.05 * top),
        bands=(areas["posterior"],),
        guides=(areas["prior"],) if "prior" in areas else (),
        rules=() if true_value is None else (("truth", float(true_value)),),
    )


def _range_of_density(draws: Floats, true_value: float | None) -> tuple[float, float]:
    """Return a range that holds nearly all draws and the truth, with a margin."""
    # the few outermost draws would squeeze all others
    lowest, highest = np.quantile(draws, [0.001, 0.999])
    margin = 0.1 * (highest - lowest)
    if true_value is not None:
        lowest = min(lowest, true_value)
        highest = max(highest, true_value)

    low = float(lowest - margin)
    high = float(highest + margin)
    is_probability = draws.min() >= 0 and draws.max() <= 1
    if is_probability:  # the margin must not leave its range
        low = max(0.0, low)
        high = min(1.0, high)

    return low, high


def _density(draws: Floats, low: float, high: float) -> dict[str, Floats]:
    """Return a histogram with neighbouring bins averaged; bins by the Rice rule."""
    rice_rule = 2 * draws.size ** (1 / 3)
    bins = int(np.clip(rice_rule, FEWEST_BINS, MOST_BINS))
    count, edges = np.histogram(draws, bins=bins, range=(low, high))
    bin_width = edges[1] - edges[0]

    weights_of_neighbours = [0.25, 0.5, 0.25]
    with_outer_bins_twice = np.pad(count, 1, mode="edge")
    smooth = np.convolve(with_outer_bins_twice, weights_of_neighbours, "valid")
    height = smooth / (draws.size * bin_width)

    # the areas reach both ends: the middles of the outer bins do not
    middles = (edges[1:] + edges[:-1]) / 2
    across = np.concatenate([edges[:1], middles, edges[-1:]])
    up = np.concatenate([height[:1], height, height[-1:]])

    return {"value": across, "low": np.zeros(up.size), "high": up}


@picture
def combination_densities(
    posterior: LatentPosterior, n_best: int = 6, **style: Unpack[Style]
) -> Shown:
    """Posterior densities of sensitivity and specificity of logical combinations.

    Keith, Davey and Boyd (2012), additional file, section S7.

    Parameters
    ----------
    n_best
        How many of the best combinations are drawn, as in :func:`combination_plane`.
    """
    n_best = _options.whole_number(n_best, "n_best", at_least=1)
    combinations = _combinations_to_draw(posterior, n_best)

    panels = []
    # of more than four tests there may be more of them: the best by each criterion
    for formula, patterns in list(combinations.items())[:n_best]:
        sensitivity, specificity = pattern_draws.rates_of(posterior, patterns)
        areas = (
            Line("sensitivity", _density(sensitivity, 0.0, 1.0)),
            Line("specificity", _density(specificity, 0.0, 1.0)),
        )
        top = max(float(area["high"].max()) for area in areas)
        x = Axis("value", shown(formula, 34), 0.0, 1.0)
        panels.append(
            Curves(formula, x, Axis("density", "", 0, 1.05 * top), bands=areas)
        )

    description = "Posterior densities of combinations"
    return Panels(
        description, tuple(panels), columns=min(3, len(panels)), heights=(0.5,)
    )


@picture
def latent_model(posterior: LatentPosterior, **style: Unpack[Style]) -> Shown:
    """Graph of the latent class model: which quantity depends on which?

    Keith, Davey and Boyd (2012), Fig. 3, in their letters. Circles are unknown, the
    square is observed; boxes repeat for each individual and classifier.
    """
    nodes = [
        Node(0.0, 0.0, above="prevalence", inside="\u03d5", shape="circle"),
        Node(0.0, 1.2, below="truth", inside="T", shape="circle"),
        Node(1.6, 1.2, below="verdict", inside="C", shape="square"),
        Node(3.1, 0.75, below="sensitivity", inside="\u03b1", shape="circle"),
        Node(3.1, 1.65, below="1 - specificity", inside="\u03b2", shape="circle"),
    ]
    edges = [(0, 1), (1, 2), (3, 2), (4, 2)]

    if posterior.dependence not in ("none", "labels"):
        shared = Node(1.6, 0.0, above="shared errors", inside="z", shape="circle")
        nodes.append(shared)
        edges.append((5, 2))

    plates = (
        Plate(-0.6, 0.6, 2.3, 1.95, "individuals n = 1 ... N"),
        Plate(0.9, 0.35, 3.8, 2.3, f"classifiers k = 1 ... {len(posterior.names)}"),
    )
    description = f"Latent class model of {', '.join(posterior.names)}"
    return Diagram(
        description, tuple(nodes), tuple(edges), directed=True, plates=plates
    )


@picture
def combination_plane(
    posterior: LatentPosterior, n_best: int = 12, **style: Unpack[Style]
) -> Shown:
    """The best combinations in the ROC plane, with their 95 % intervals.

    Parameters
    ----------
    n_best
        Number of combinations that are drawn: the best by the product of sensitivity
        and specificity. With more than four classifiers, the best by each criterion of
        the paper is drawn, and the single classifiers.
    """
    combinations = _combinations_to_draw(posterior, n_best)
    sensitivities = []
    false_positive_rates = []
    for patterns in combinations.values():
        sensitivity, specificity = pattern_draws.rates_of(posterior, patterns)
        sensitivities.append(_interval_ends(sensitivity))
        false_positive_rates.append(_interval_ends(1 - specificity))

    across = np.array(false_positive_rates)
    up = np.array(sensitivities)
    x = _range_around("fpr", "1 - specificity", across)
    y = _range_around("tpr", "sensitivity", up)

    return Crosses("Combinations", x, y, tuple(combinations), across, up)


def _interval_ends(draws: Floats) -> tuple[float, float, float]:
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(draws.mean()), float(low), float(high)


def _range_around(name: str, title: str, ends: Floats) -> Axis:
    """Return an axis that holds all intervals, with a little room."""
    margin = 0.05 * float(np.ptp(ends)) or 0.01
    low = max(0.0, float(ends.min() - margin))
    high = min(1.0, float(ends.max() + margin))
    return Axis(name, title, low, high)


def _combinations_to_draw(posterior: LatentPosterior, n_best: int) -> dict[str, Array]:
    """Return which patterns of verdicts are positive, by the formula that is drawn."""
    patterns = votes(len(posterior.names))
    if len(posterior.names) <= combination_tables.MAX_TABLE_CLASSIFIERS:
        best = combination_tables.all_combinations(posterior).sorted(
            "product", most=n_best
        )
        # the bits of a number say for which patterns a combination is positive
        bits = 1 << np.arange(len(patterns))
        return {
            formula: (int(number) - 1 & bits) > 0
            for formula, number in zip(best.formula.tolist(), best.number, strict=True)
        }

    drawn: dict[str, Array] = {}
    for criterion in CRITERIA:
        best_by_criterion = best_combination(posterior, criterion=criterion)
        formula = shown(best_by_criterion.formula, 60)
        drawn.setdefault(formula, best_by_criterion.map(patterns) > 0)

    for k, name in enumerate(posterior.names):
        drawn[name] = patterns[:, k] > 0

    return drawn


@picture
def judge_rates(rates: Mapping[str, Rate], **style: Unpack[Style]) -> Shown:
    """Raw and corrected rate of each system: how far are they apart?"""
    title = "Corrected rate (\N{BLACK CIRCLE}) and raw rate (\N{WHITE DIAMOND})"
    return TitledFigure(figures.rates_figure(rates), title=title)


@picture
def judge_plane(rate: Rate, **style: Unpack[Style]) -> Shown:
    """Rates of each judge in the ROC plane: how good is each?"""
    return figures.judges_figure(rate)


@picture
def judge_errors(panel: Panel, **style: Unpack[Style]) -> Shown:
    """Correlation of the errors of judges, by pair: which make the same ones?

    Parameters
    ----------
    panel
        Verdicts of judges, with some labels.
    """
    return figures.errors_figure(panel)


@picture
def judge_labels(rate: Rate, panel: Panel, **style: Unpack[Style]) -> Shown:
    """Width of the interval of a rate by number of labels: are more worth it?

    Parameters
    ----------
    rate, panel
        The answer of :func:`trueness.prevalence`, and its panel.
    """
    return figures.labels_figure(rate, panel)
