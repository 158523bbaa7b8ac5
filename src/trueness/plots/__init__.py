"""Figures: what does it look like? The door for matplotlib.

One function per figure. A call draws it on axes of matplotlib, ``ax`` or new ones of
print size, and returns the axes: ``plots.roc(t).figure.savefig("roc.pdf")``. What is
drawn are figure data (:mod:`trueness._core.figures`: numbers and words without ink).
``plots.roc.figure_data(t)`` returns them; ``save`` writes them as SVG or HTML, with the
numbers under the pointer, or as PNG or PDF.

To be read in this order: ``_pictures`` (what a figure takes), ``_matplotlib`` (how it
is drawn, with ``_curves`` and its neighbours), ``_saving``, then what is drawn.
"""

from trueness.plots._saving import save
from trueness.plots.answers import (
    check_verdicts,
    combiner_lines,
    combiners,
    comparison,
    dominance,
    pass_rates,
    rank_correlation,
    reader_results,
    watch_history,
)
from trueness.plots.nogold import (
    combination_densities,
    combination_plane,
    judge_errors,
    judge_labels,
    judge_plane,
    judge_rates,
    latent_model,
    posterior_densities,
)
from trueness.plots.scores import (
    auc_forest,
    binormal_fit,
    calibration_maps,
    decomposition,
    det,
    fermi_parameters,
    gain_curve,
    identity,
    leakage,
    leakage_and_roc,
    lift_curve,
    precision_recall,
    rank_probability,
    reliability,
    roc,
    sample_size,
    score_distributions,
)
from trueness.plots.sites import site_forest, summary_plane
from trueness.plots.threshold import (
    cost_curve,
    decision_curve,
    guaranteed_threshold,
    operating_point,
    pareto,
    pareto_plane,
    risk_coverage,
    zones,
)
from trueness.plots.trees import (
    leaf_probabilities,
    leaf_tree,
    levels_by_sample_size,
    majority_likelihood,
)

__all__ = [
    "auc_forest", "binormal_fit", "calibration_maps", "check_verdicts",
    "combination_densities", "combination_plane", "combiner_lines", "combiners",
    "comparison", "cost_curve", "decision_curve", "decomposition", "det", "dominance",
    "fermi_parameters", "gain_curve", "guaranteed_threshold", "identity",
    "judge_errors", "judge_labels", "judge_plane", "judge_rates", "latent_model",
    "leaf_probabilities",
    "leaf_tree", "leakage", "leakage_and_roc", "levels_by_sample_size", "lift_curve",
    "majority_likelihood", "operating_point", "pareto", "pareto_plane", "pass_rates",
    "posterior_densities", "precision_recall", "rank_correlation", "rank_probability",
    "reader_results", "reliability", "risk_coverage", "roc", "sample_size", "save",
    "score_distributions", "site_forest", "summary_plane", "watch_history", "zones",
]  # fmt: skip
