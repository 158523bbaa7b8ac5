"""Trueness measures, calibrates, thresholds, compares and combines binary classifiers.

The table of contents, by question:

What was counted?
    tally panel leaves scan look Look Tally Panel Leaves read_tally read_panel Stream
    Folded
    resample simulate_tally simulate_panel
What if there are more than two classes?
    one_vs_rest top_label multiclass_auc
What does it cost to leave the data where they are?
    bounds Bounds CurveBounds exact_auc exact_threshold Refined apply
How good is it, at a glance?
    evaluate Finding
How good is my cut?
    at_threshold AtThreshold confusion
How good is a cut? Metrics add, scale and compare.
    metric constraint METRICS Metric Constraint Confusion sweep thresholds, and the
    metrics themselves: accuracy, recall, cost(fp=, fn=), ...
How good is the ranking, and how sure are we?
    auc partial_auc average_precision estimate Estimate
    plan_auc Plan plan_auc_difference plan_rate
    roc precision_recall det gain_curve lift_curve hull simplify
    roc_band precision_recall_band
    Roc PrecisionRecall Det GainCurve LiftCurve RocBand PrecisionRecallBand
What is the shape of the trade-off?
    leakage Leakage binormal Binormal fit_binormal BinormalFit kl_divergence Divergence
Which is better, and everywhere?
    compare_auc compare_metric compare Comparison Pair compare_groups dominates
    Dominance
Do readers do better with one treatment than with another?
    reader_study ReaderStudy ReaderComponents plan_readers ReaderPlan
Where do I cut?
    Rule best_threshold OperatingPoint Certificate best_thresholds Zones
    group_thresholds GroupThresholds validate_threshold Validation
    guaranteed_threshold GuaranteedThreshold Proof
    pareto ParetoFront cost_curve CostCurve decision_curve DecisionCurve
What does a score mean as a probability?
    calibrate CALIBRATORS Map register save_map load_map at_prevalence
    reliability Reliability brier log_loss calibration_error calibration_index
    CalibrationIndex calibration_line calibration_test calibration_gain CalibrationGain
    calibration_verdict CalibrationVerdict
What does a rank mean?
    fermi_dirac FermiDirac midranks rank_frequencies
Are they better together?
    fidel FiDEL CorrelatedFiDEL wisdom_of_crowds best_single mean_score COMBINERS
    crossing agreement Agreement compare_combiners CombinerComparison
What can be said when nobody knows the truth?
    latent_class LatentPosterior best_combination all_combinations
    combination_front cost_rule Combination
What is the true rate, by judges that err and a few labels?
    prevalence Rate compare_prevalence RateComparison plan_labels LabelNumber LabelPlan
    read_verdicts VerdictLog
How good is a system whose verdicts can be trusted, and which is better?
    attempts Attempts pass_rate pass_at_k pass_hat_k compare_runs plan_items ItemPlan
    leaderboard Leaderboard rater_agreement read_attempts
Can this leaf be trusted?
    confidence_level utility_level tree_levels TreeLevels plan_leaf top_probability
    entropic_binomial EntropicBinomial entropic_tree EntropicTree LeafReport
    compare_splits SplitComparison
How good is a model by cross-validation?
    cross_validate CrossValidation Folds
Is it good enough, and does it stay so?
    check Check Verdict watch Watch Change load_watch
What can go wrong?
    InputError NotEnoughCases Infeasible NotConverged Optimistic DoubtfulAssumption
    Cleaned

``trueness.plots`` draws, ``trueness.report`` writes the report, ``trueness.estimators``
is for scikit-learn, ``trueness.samples`` holds data to try things on.
"""

from importlib import import_module as _import_module

from trueness._core.imports import handler as _handler
from trueness._core.imports import modules_of_names as _modules_of_names
from trueness._core.imports import register_handlers as _register_handlers

__version__ = "0.1.0"

# a public name and the module that holds it, which is loaded when the name is used
_MODULES = _modules_of_names(__path__[0])

# what needs scikit-learn is no part of ``from trueness import *``
__all__ = [n for n, home in _MODULES.items() if "estimators" not in home]

# what a room asks of a room above it: the function, and the module that has it
_register_handlers(
    {
        "answer_folds": "trueness.ensembles.folds",
        "answer_on_device": "trueness.gpu.passes",
        "answer_with_limits": "trueness.scale.certificates",
        "by_name": "trueness.metrics.definitions",
        "column": "trueness.data.columns",
        "columns_of": "trueness.data.frames",
        "count_arguments": "trueness.data.arguments",
        "device_panel": "trueness.gpu.panels",
        "device_tally": "trueness.gpu.counting",
        "metric": "trueness.metrics.grammar",
        "metric_at": "trueness.threshold.at_cut",
        "not_here": "trueness._core.names",
        "serve": "trueness.app.server",
        "write_panel": "trueness.data.storage",
        "write_tally": "trueness.data.storage",
        "_import_all": "trueness",
    }
)

# what ``dir(trueness)`` and the first page of the reference show, by question: counts,
# metrics, ranking, comparison, threshold, calibration, ranks, together, no truth,
# leaves, large data, errors; other names are found under their rooms, and resolve too
_SHOWN = tuple(  # words in a text, as everybody reads them
    """
    tally panel leaves scan look one_vs_rest read_tally read_panel Tally Panel Leaves
    evaluate at_threshold metric constraint METRICS Metric Constraint Confusion
    auc average_precision partial_auc roc precision_recall det gain_curve lift_curve
    roc_band precision_recall_band plan_auc
    compare_auc compare_metric compare_groups dominates reader_study
    best_threshold best_thresholds validate_threshold guaranteed_threshold Rule pareto
    cost_curve decision_curve
    calibrate CALIBRATORS at_prevalence apply save_map load_map reliability brier
    log_loss calibration_verdict calibration_error calibration_line calibration_test
    fermi_dirac
    fidel wisdom_of_crowds mean_score best_single COMBINERS compare_combiners agreement
    latent_class best_combination cost_rule
    prevalence compare_prevalence plan_labels
    confidence_level utility_level
    bounds Stream
    check watch
    Estimate InputError NotEnoughCases Infeasible NotConverged Optimistic
    DoubtfulAssumption Cleaned
    """.split()  # noqa: SIM905 - eighty quoted names are hard to read
)
# the rooms that people open by name
_OPEN = ("estimators", "plots", "report", "samples")


def _import_all() -> None:
    """Import every module that has a public name."""
    for module in sorted(set(_MODULES.values())):
        _import_module(module)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        value = getattr(_import_module(_MODULES[name]), name)
        globals()[name] = value
        return value
    try:
        return _import_module(f"trueness.{name}")
    except ModuleNotFoundError as err:
        if err.name != f"trueness.{name}":  # a foreign library is missing
            raise
    if name.startswith("_"):
        raise AttributeError(f"module 'trueness' has no attribute {name!r}")
    named: object = _handler("by_name")(name)  # another name of a metric: ppv, ...
    if named is None:
        raise AttributeError(_handler("not_here")(name, list(_MODULES)))
    return named


def __dir__() -> list[str]:
    return sorted({"__doc__", "__version__", *_SHOWN, *_OPEN})
