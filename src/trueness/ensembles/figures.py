"""What do the figures of combined classifiers show? Numbers without ink."""

from __future__ import annotations

from trueness._core.figures import Intervals, Matrix, intervals
from trueness.ensembles.combiners import FiDEL
from trueness.ensembles.correlated import CorrelatedFiDEL
from trueness.ensembles.crossfit import CombinerComparison


def combiner_figure(found: CombinerComparison) -> Intervals:
    """How does each combiner rank cases it has not seen? The best one first."""
    order = sorted(found.auc.items(), key=lambda pair: -pair[1].value)
    keys = ("combiner", "auc")
    return intervals("Combined", "AUC on new cases", dict(order), keys=keys)


def rank_correlation_figure(f: FiDEL | CorrelatedFiDEL) -> Matrix:
    """How alike do the classifiers err? Spearman's correlation within the classes."""
    what = "Spearman's rank correlation within the classes, mean of both, by pair"
    return Matrix(what, "rank correlation", f.names, f.correlation)
