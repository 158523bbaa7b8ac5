"""What does it look like? The door for Altair.

One function a figure, each returning an Altair chart: a value whose data and encoding
can be read without drawing. ``save`` writes a chart to SVG, PNG, PDF or HTML without a
browser. Figures are grouped by subject in the modules of this folder.
"""

from trueness.plots._theme import save
from trueness.plots.calibration import calibration_maps, decomposition, reliability
from trueness.plots.costs import cost_curve, decision_curve
from trueness.plots.ensembles import combiner_lines, combiners, rank_correlation
from trueness.plots.fermi import fermi_parameters, identity, rank_probability
from trueness.plots.geometry import binormal_fit, comparison, dominance, leakage
from trueness.plots.nogold import (
    combination_plane,
    dependence_matrix,
    posterior_densities,
)
from trueness.plots.planning import sample_size
from trueness.plots.ranking import det, gain_curve, lift_curve, precision_recall, roc
from trueness.plots.threshold import (
    guaranteed_cut,
    operating_point,
    pareto,
    pareto_plane,
)
from trueness.plots.trees import (
    leaf_shares,
    leaf_tree,
    levels_by_n,
    majority_likelihood,
)

__all__ = [
    "binormal_fit",
    "calibration_maps",
    "combination_plane",
    "combiner_lines",
    "combiners",
    "comparison",
    "cost_curve",
    "decision_curve",
    "decomposition",
    "dependence_matrix",
    "det",
    "dominance",
    "fermi_parameters",
    "gain_curve",
    "guaranteed_cut",
    "identity",
    "leaf_shares",
    "leaf_tree",
    "leakage",
    "levels_by_n",
    "lift_curve",
    "majority_likelihood",
    "operating_point",
    "pareto",
    "pareto_plane",
    "posterior_densities",
    "precision_recall",
    "rank_correlation",
    "rank_probability",
    "reliability",
    "roc",
    "sample_size",
    "save",
]
