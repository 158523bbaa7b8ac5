"""Karat measures, calibrates, thresholds, compares and combines binary classifiers.

The table of contents, by question:

What was counted?
    tally panel leaves scan Tally Panel Leaves read_tally read_panel Stream Folded
    resample simulate_tally simulate_panel
What does it cost to leave the data where they are?
    bounds Bounds CurveBounds exact_auc exact_threshold Refined apply
How good is a cut? Metrics add, scale and compare.
    metric constraint METRICS Metric Constraint Confusion sweep thresholds, and the
    metrics themselves: accuracy, recall, cost(fp=, fn=), ...
How good is the ranking, and how sure are we?
    auc partial_auc average_precision plan_auc Plan Estimate
    roc precision_recall det gain_curve lift_curve hull simplify
    roc_band precision_recall_band
    Roc PrecisionRecall Det GainCurve LiftCurve RocBand PrecisionRecallBand
What is the shape of the trade-off?
    leakage Leakage binormal Binormal fit_binormal BinormalFit kl_divergence Divergence
Which is better, and everywhere?
    compare_auc compare_metric compare_statistic Comparison Pair dominates Dominance
    compare_groups cluster_bootstrap
Where do I cut?
    best_threshold OperatingPoint Certificate pareto ParetoFront cost_curve CostCurve
    decision_curve DecisionCurve validate_threshold Validation guaranteed_threshold
    GuaranteedThreshold
What does a score mean, as a probability?
    calibrate CALIBRATORS Map save_map load_map at_prevalence reliability Reliability
    brier log_loss calibration_error calibration_line calibration_test
What does a rank mean?
    fermi_dirac FermiDirac midranks rank_frequencies
Are they better together?
    fidel FiDEL CorrelatedFiDEL wisdom_of_crowds best_single mean_score COMBINERS
    crossing agreement Agreement compare_combiners CombinerComparison
What can be said when nobody knows the truth?
    latent_class LatentPosterior latent_maximum LatentMaximum conditional_dependence
    Dependence best_combination all_combinations combination_front cost_rule
    Combination
Can this leaf be trusted?
    confidence_level utility_level tree_levels TreeLevels plan_leaf top_probability
    entropic_binomial EntropicBinomial entropic_tree EntropicTree LeafReport
    compare_splits SplitComparison
What can go wrong?
    InputError NotEnoughCases Infeasible NotConverged Optimistic DoubtfulAssumption

``karat.plots`` draws, ``karat.report`` writes the report, ``karat.estimators`` is for
scikit-learn, ``karat.samples`` holds data to try things on.
"""

from karat._checks import (
    DoubtfulAssumption,
    Infeasible,
    InputError,
    NotConverged,
    NotEnoughCases,
    Optimistic,
)
from karat._doors import door as _door
from karat._records import Estimate
from karat.algebra import Constraint, Metric
from karat.applying import apply
from karat.areas import average_precision, partial_auc
from karat.bands import (
    PrecisionRecallBand,
    RocBand,
    precision_recall_band,
    roc_band,
)
from karat.calibration import CALIBRATORS, calibrate
from karat.certificate import Bounds, CurveBounds, bounds
from karat.combinations import all_combinations, combination_front
from karat.comparison import Comparison, Pair, compare_auc
from karat.confusion import (
    METRICS,
    Confusion,
    accuracy,
    balanced_accuracy,
    cost,
    cost_rate,
    diagnostic_odds_ratio,
    f1,
    f_beta,
    flagged,
    flagged_rate,
    fnr,
    fpr,
    g_mean,
    jaccard,
    kappa,
    lift,
    lr_negative,
    lr_positive,
    markedness,
    mcc,
    net_benefit,
    npv,
    precision,
    recall,
    specificity,
    sweep,
    thresholds,
    youden,
)
from karat.corp import Reliability, reliability
from karat.correlated import CorrelatedFiDEL, crossing
from karat.counts import Panel, Tally
from karat.crossfit import CombinerComparison, compare_combiners
from karat.curves import (
    Det,
    GainCurve,
    LiftCurve,
    PrecisionRecall,
    Roc,
    det,
    gain_curve,
    hull,
    lift_curve,
    precision_recall,
    roc,
    simplify,
)
from karat.dependence import Dependence, conditional_dependence
from karat.divergence import Divergence, kl_divergence
from karat.dominance import Dominance, dominates
from karat.ensembles import (
    COMBINERS,
    FiDEL,
    best_single,
    fidel,
    mean_score,
    wisdom_of_crowds,
)
from karat.entropic import (
    EntropicBinomial,
    EntropicTree,
    entropic_binomial,
    entropic_tree,
    top_probability,
)
from karat.expressions import constraint, metric
from karat.fermi import FermiDirac, fermi_dirac, midranks
from karat.files import scan
from karat.frames import leaves, panel, tally
from karat.fronts import ParetoFront, pareto
from karat.gaussian import Binormal, BinormalFit, binormal, fit_binormal
from karat.geometry import Leakage, leakage
from karat.groups import cluster_bootstrap, compare_groups
from karat.groups import over_groups as _over_groups
from karat.guarantees import GuaranteedThreshold, guaranteed_threshold
from karat.inference import auc
from karat.latent import LatentPosterior, latent_class
from karat.latent_ml import LatentMaximum, latent_maximum
from karat.levels import (
    TreeLevels,
    confidence_level,
    plan_leaf,
    tree_levels,
    utility_level,
)
from karat.logic import Combination, best_combination, cost_rule
from karat.maps import Map, at_prevalence, load_map, save_map
from karat.miscalibration import (
    calibration_error,
    calibration_line,
    calibration_test,
)
from karat.operating import OperatingPoint, best_threshold
from karat.paired import compare_metric, compare_statistic
from karat.planning import Plan, plan_auc
from karat.programs import Certificate
from karat.refining import Refined, exact_auc, exact_threshold
from karat.resampling import resample
from karat.scoring import brier, log_loss
from karat.simulation import rank_frequencies, simulate_panel, simulate_tally
from karat.splits import SplitComparison, compare_splits
from karat.storage import read_panel, read_tally
from karat.streaming import Folded, Stream
from karat.tradeoffs import CostCurve, DecisionCurve, cost_curve, decision_curve
from karat.trees import LeafReport, Leaves
from karat.unlabelled import Agreement, agreement
from karat.validation import Validation, validate_threshold

# what takes a tally takes a mapping from group to tally, and a panel, as well
_GROUPED = (
    *("auc", "average_precision", "best_threshold", "brier", "calibration_error"),
    *("calibration_line", "calibration_test", "cost_curve", "decision_curve", "det"),
    *("fermi_dirac", "fit_binormal", "gain_curve", "guaranteed_threshold"),
    *("kl_divergence", "leakage", "lift_curve", "log_loss", "partial_auc"),
    *("precision_recall", "precision_recall_band", "reliability", "roc", "roc_band"),
    *("sweep", "thresholds", "validate_threshold"),
)
for _name in _GROUPED:
    globals()[_name] = _over_groups(globals()[_name])

# doors that load a foreign library: opened when they are asked for
_DOORS = ("estimators", "plots", "report", "samples")


def __getattr__(name: str) -> object:
    if name in _DOORS:
        return _door(name)
    raise AttributeError(f"module 'karat' has no attribute {name!r}")


__version__ = "0.1.0"

__all__ = [
    "CALIBRATORS",
    "COMBINERS",
    "METRICS",
    "Agreement",
    "Binormal",
    "BinormalFit",
    "Bounds",
    "Certificate",
    "Combination",
    "CombinerComparison",
    "Comparison",
    "Confusion",
    "Constraint",
    "CorrelatedFiDEL",
    "CostCurve",
    "CurveBounds",
    "DecisionCurve",
    "Dependence",
    "Det",
    "Divergence",
    "Dominance",
    "DoubtfulAssumption",
    "EntropicBinomial",
    "EntropicTree",
    "Estimate",
    "FermiDirac",
    "FiDEL",
    "Folded",
    "GainCurve",
    "GuaranteedThreshold",
    "Infeasible",
    "InputError",
    "LatentMaximum",
    "LatentPosterior",
    "LeafReport",
    "Leakage",
    "Leaves",
    "LiftCurve",
    "Map",
    "Metric",
    "NotConverged",
    "NotEnoughCases",
    "OperatingPoint",
    "Optimistic",
    "Pair",
    "Panel",
    "ParetoFront",
    "Plan",
    "PrecisionRecall",
    "PrecisionRecallBand",
    "Refined",
    "Reliability",
    "Roc",
    "RocBand",
    "SplitComparison",
    "Stream",
    "Tally",
    "TreeLevels",
    "Validation",
    "accuracy",
    "agreement",
    "all_combinations",
    "apply",
    "at_prevalence",
    "auc",
    "average_precision",
    "balanced_accuracy",
    "best_combination",
    "best_single",
    "best_threshold",
    "binormal",
    "bounds",
    "brier",
    "calibrate",
    "calibration_error",
    "calibration_line",
    "calibration_test",
    "cluster_bootstrap",
    "combination_front",
    "compare_auc",
    "compare_combiners",
    "compare_groups",
    "compare_metric",
    "compare_splits",
    "compare_statistic",
    "conditional_dependence",
    "confidence_level",
    "constraint",
    "cost",
    "cost_curve",
    "cost_rate",
    "cost_rule",
    "crossing",
    "decision_curve",
    "det",
    "diagnostic_odds_ratio",
    "dominates",
    "entropic_binomial",
    "entropic_tree",
    "exact_auc",
    "exact_threshold",
    "f1",
    "f_beta",
    "fermi_dirac",
    "fidel",
    "fit_binormal",
    "flagged",
    "flagged_rate",
    "fnr",
    "fpr",
    "g_mean",
    "gain_curve",
    "guaranteed_threshold",
    "hull",
    "jaccard",
    "kappa",
    "kl_divergence",
    "latent_class",
    "latent_maximum",
    "leakage",
    "leaves",
    "lift",
    "lift_curve",
    "load_map",
    "log_loss",
    "lr_negative",
    "lr_positive",
    "markedness",
    "mcc",
    "mean_score",
    "metric",
    "midranks",
    "net_benefit",
    "npv",
    "panel",
    "pareto",
    "partial_auc",
    "plan_auc",
    "plan_leaf",
    "precision",
    "precision_recall",
    "precision_recall_band",
    "rank_frequencies",
    "read_panel",
    "read_tally",
    "recall",
    "reliability",
    "resample",
    "roc",
    "roc_band",
    "save_map",
    "scan",
    "simplify",
    "simulate_panel",
    "simulate_tally",
    "specificity",
    "sweep",
    "tally",
    "thresholds",
    "top_probability",
    "tree_levels",
    "utility_level",
    "validate_threshold",
    "wisdom_of_crowds",
    "youden",
]
