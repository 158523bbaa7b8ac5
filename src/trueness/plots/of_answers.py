"""Which figure shows an answer, where nobody names one? For notebooks and ``.plot()``.

``FIGURE_OF_TYPE`` has a function for each class of answers; curves and estimates, which
need none, are drawn by ``reports/notebook.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.figures import (
    Axis,
    Curves,
    FigureData,
    Intervals,
    Line,
    TitledFigure,
    described,
    intervals,
    span,
)
from trueness.calibration.maps import Map
from trueness.calibration.proper_scores import ProperScore
from trueness.comparison.dominance import Dominance
from trueness.ensembles.combiners import FiDEL
from trueness.ensembles.correlated import CorrelatedFiDEL
from trueness.ensembles.crossfit import CombinerComparison
from trueness.ensembles.without_labels import Agreement
from trueness.evals.runs import Leaderboard
from trueness.fermi.distribution import FermiDirac
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import text_of
from trueness.monitoring.verdicts import Check
from trueness.monitoring.watching import Watch
from trueness.nogold.figures import rates_figure
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.plots import answers, scores, sites, trees
from trueness.ranking.planning import Plan
from trueness.ranking.scorecards import DecileTable
from trueness.readers.analysis import ReaderStudy
from trueness.sites.across import AcrossSites
from trueness.sites.summary_curve import SummaryROC
from trueness.threshold.cost_figures import cost_curves_figure, decision_curves_figure
from trueness.threshold.costs import CostCurve, DecisionCurve
from trueness.threshold.operating_point import OperatingPoint
from trueness.trees.leaf_reports import LeafReport

MAP_POINTS = 200  # of the line of a map
RATES_SHOWN = ("recall", "specificity", "precision", "npv")
Drawn = FigureData | TitledFigure


def figure_of_answer(answer: object) -> TitledFigure | None:
    """Return the figure of an answer; None where there is none, or nothing to draw."""
    make = FIGURE_OF_TYPE.get(type(answer))
    if make is None and isinstance(answer, Map):
        make = _line_of_map
    if make is None:
        return None

    try:
        figure = make(answer)
    except (InputError, NotEnoughCases):
        return None

    if isinstance(figure, TitledFigure):
        return figure
    return TitledFigure(figure, "", described(figure))


def _posterior(answer: LatentPosterior) -> Intervals:
    """Draw the interval of every parameter; the value where it is determined."""
    return intervals("Credible intervals", "probability", answer.estimates)


def _agreement(answer: Agreement) -> Intervals:
    """Draw the AUCs; where they are not determined, those of independent errors."""
    with_aucs = answer if answer.independent is None else answer.independent
    label = "AUC" if with_aucs is answer else "AUC, if errors were independent"
    return intervals("AUC of each classifier", label, with_aucs.auc)


def _rates_at_threshold(answer: OperatingPoint) -> Intervals:
    """Draw the rates on the cases that the threshold was chosen on."""
    confusion: Confusion = answer.confusion
    rates = {name: float(METRICS[name](confusion)) for name in RATES_SHOWN}
    values = np.array(list(rates.values()))

    return Intervals(
        "Rates at the threshold",
        "proportion, on these cases",
        names=tuple(map(text_of, rates)),
        value=values,
        low=values,
        high=values,
    )


def _deciles(table: DecileTable) -> Intervals:
    """Draw the proportion of positives in each group."""
    return Intervals(
        "Proportion of positives by decile of the score",
        "proportion of positives",
        names=tuple(map(str, table.decile.tolist())),
        value=table.rate,
        low=table.rate_low,
        high=table.rate_high,
        keys=("decile", "rate"),
    )


def _line_of_map(answer: Map) -> Curves:
    """Draw the probability that a map gives each score, where it has one score."""
    # Venn-Abers has two probabilities of each score by these names, others two scores
    low = max(float(np.min(getattr(answer, "low", 0.0))), 0.0)
    high = min(float(np.max(getattr(answer, "high", 1.0))), 1.0)
    score: Floats = np.linspace(low, high, MAP_POINTS)
    line = Line("probability", {"x": score, "y": answer(score)})
    ends = np.array([0.0, 1.0])
    same = Line("", {"x": ends, "y": ends})

    return Curves(
        "Calibration map",
        Axis("x", "score"),
        span("y", "probability", line["y"], ends),
        (line,),
        guides=(same,),
    )


FIGURE_OF_TYPE: Mapping[type, Callable[[Any], Drawn]] = {
    AcrossSites: sites.site_forest.figure_data,
    Agreement: _agreement,
    Check: answers.check_verdicts.figure_data,
    CombinerComparison: answers.combiners.figure_data,
    CorrelatedFiDEL: answers.rank_correlation.figure_data,
    CostCurve: lambda curve: cost_curves_figure({"": curve}),
    DecileTable: _deciles,
    DecisionCurve: lambda curve: decision_curves_figure({"act on the score": curve}),
    Dominance: answers.dominance.figure_data,
    FermiDirac: scores.rank_probability.figure_data,
    FiDEL: answers.rank_correlation.figure_data,
    LatentPosterior: _posterior,
    LeafReport: trees.leaf_probabilities.figure_data,
    Leaderboard: answers.pass_rates.figure_data,
    OperatingPoint: _rates_at_threshold,
    Plan: scores.sample_size.figure_data,
    ProperScore: lambda score: scores.decomposition.figure_data({"scores": score}),
    Rate: lambda rate: rates_figure({"rate": rate}),
    ReaderStudy: answers.reader_results.figure_data,
    SummaryROC: sites.summary_plane.figure_data,
    Watch: answers.watch_history.figure_data,
}
