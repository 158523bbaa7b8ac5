"""Trueness measures, calibrates, thresholds, compares and combines binary classifiers.

The table of contents, by question:

What was counted?
    tally panel leaves scan Tally Panel Leaves read_tally read_panel Stream Folded
    resample simulate_tally simulate_panel
What if there are more than two classes?
    one_vs_rest top_label multiclass_auc
What does it cost to leave the data where they are?
    bounds Bounds CurveBounds exact_auc exact_threshold Refined apply
How good is my cut?
    at_threshold AtThreshold confusion
How good is a cut? Metrics add, scale and compare.
    metric constraint METRICS Metric Constraint Confusion sweep thresholds, and the
    metrics themselves: accuracy, recall, cost(fp=, fn=), ...
How good is the ranking, and how sure are we?
    auc partial_auc average_precision estimate Estimate
    plan_auc Plan plan_auc_difference plan_rate RatePlan
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
    best_threshold OperatingPoint RobustCut Certificate pareto ParetoFront cost_curve
    CostCurve decision_curve DecisionCurve validate_threshold Validation
    guaranteed_threshold GuaranteedThreshold Proof
    best_thresholds Zones validate_thresholds ZoneValidation guaranteed_thresholds
    GuaranteedZones group_thresholds GroupThresholds gap_price GapPrice best_decision
    Decision
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
Can this leaf be trusted?
    confidence_level utility_level tree_levels TreeLevels plan_leaf top_probability
    entropic_binomial EntropicBinomial entropic_tree EntropicTree LeafReport
    compare_splits SplitComparison
Is it good enough, and does it stay so?
    check Check Verdict watch Watch GroupWatch load_watch
What can go wrong?
    InputError NotEnoughCases Infeasible NotConverged Optimistic DoubtfulAssumption

``trueness.plots`` draws, ``trueness.report`` writes the report, ``trueness.estimators``
is for scikit-learn, ``trueness.samples`` holds data to try things on.
"""

from trueness._core.doors import OPEN as _OPEN
from trueness._core.doors import SHOWN as _SHOWN
from trueness._core.doors import door as _door
from trueness._core.doors import homes as _homes

__version__ = "0.1.0"

# a public name and the module that holds it, which is loaded when the name is asked for
_HOMES = _homes(__path__[0])

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        try:
            return _door(name)
        except ModuleNotFoundError as err:
            if err.name != f"trueness.{name}":  # a foreign library is missing
                raise
        if not name.startswith("_"):  # another name of a metric: sensitivity, ppv, ...
            named: object = _door("metrics.definitions").by_name(name)
            if named is not None:
                return named
        if name.startswith("_"):
            raise AttributeError(f"module 'trueness' has no attribute {name!r}")
        raise AttributeError(_door("_core.names").not_here(name, list(_HOMES)))
    value = getattr(_door(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"__doc__", "__version__", *_SHOWN, *_OPEN})
