"""Which public name lives where? Read by type checkers, and by ``trueness`` itself."""

from trueness import (
    estimators as estimators,
    plots as plots,
    report as report,
    samples as samples,
)
from trueness._core.checks.errors import (
    DoubtfulAssumption as DoubtfulAssumption,
    Infeasible as Infeasible,
    InputError as InputError,
    Cleaned as Cleaned,
    NotConverged as NotConverged,
    NotEnoughCases as NotEnoughCases,
    Optimistic as Optimistic,
)
from trueness._core.records import Estimate as Estimate
from trueness.metrics.algebra import Constraint as Constraint, Metric as Metric
from trueness.scale.application import apply as apply
from trueness.ranking.areas import average_precision as average_precision
from trueness.ranking.areas import partial_auc as partial_auc
from trueness.ranking.bands import (
    PrecisionRecallBand as PrecisionRecallBand,
    RocBand as RocBand,
    precision_recall_band as precision_recall_band,
    roc_band as roc_band,
)
from trueness.findings.how_good import evaluate as evaluate
from trueness.findings.records import Finding as Finding
from trueness.calibration.calibrators import (
    CALIBRATORS as CALIBRATORS,
    calibrate as calibrate,
)
from trueness.counts.folds import Folds as Folds
from trueness.estimators.cross_validation import (
    CrossValidation as CrossValidation,
    cross_validate as cross_validate,
)
from trueness.monitoring.checking import check as check
from trueness.monitoring.verdicts import Check as Check, Verdict as Verdict
from trueness.monitoring.questions import load_watch as load_watch, watch as watch
from trueness.monitoring.watching import Change as Change, Watch as Watch
from trueness.scale.certificates import Bounds as Bounds, bounds as bounds
from trueness.nogold.combinations.table import (
    all_combinations as all_combinations,
    combination_front as combination_front,
)
from trueness.comparison.paired import compare_auc as compare_auc
from trueness.data.eval_rows import attempts as attempts
from trueness.evals.attempts import (
    Attempts as Attempts,
    read_attempts as read_attempts,
)
from trueness.evals.ranks import (
    Leaderboard as Leaderboard,
    leaderboard as leaderboard,
)
from trueness.evals.raters import rater_agreement as rater_agreement
from trueness.evals.rates import (
    pass_at_k as pass_at_k,
    pass_hat_k as pass_hat_k,
    pass_rate as pass_rate,
)
from trueness.evals.runs import (
    ItemPlan as ItemPlan,
    compare_runs as compare_runs,
    plan_items as plan_items,
)
from trueness.readers.analysis import (
    ReaderStudy as ReaderStudy,
    reader_study as reader_study,
)
from trueness.readers.model import ReaderComponents as ReaderComponents
from trueness.readers.planning import (
    ReaderPlan as ReaderPlan,
    plan_readers as plan_readers,
)
from trueness.comparison.results import Comparison as Comparison, Pair as Pair
from trueness.metrics.confusion import (
    Confusion as Confusion,
    sweep as sweep,
    thresholds as thresholds,
)
from trueness.metrics.definitions import (
    METRICS as METRICS,
    accuracy as accuracy,
    balanced_accuracy as balanced_accuracy,
    cost as cost,
    cost_rate as cost_rate,
    diagnostic_odds_ratio as diagnostic_odds_ratio,
    f1 as f1,
    f_beta as f_beta,
    flagged as flagged,
    flagged_rate as flagged_rate,
    fnr as fnr,
    fpr as fpr,
    g_mean as g_mean,
    jaccard as jaccard,
    kappa as kappa,
    lift as lift,
    lr_negative as lr_negative,
    lr_positive as lr_positive,
    markedness as markedness,
    mcc as mcc,
    net_benefit as net_benefit,
    npv as npv,
    precision as precision,
    recall as recall,
    specificity as specificity,
    youden as youden,
)
from trueness.calibration.reliability_curve import (
    Reliability as Reliability,
    reliability as reliability,
)
from trueness.ensembles.correlated import (
    CorrelatedFiDEL as CorrelatedFiDEL,
    crossing as crossing,
)
from trueness.counts.values import Panel as Panel, Tally as Tally
from trueness.ensembles.crossfit import (
    CombinerComparison as CombinerComparison,
    compare_combiners as compare_combiners,
)
from trueness.ranking.curves import (
    Det as Det,
    GainCurve as GainCurve,
    LiftCurve as LiftCurve,
    PrecisionRecall as PrecisionRecall,
    Roc as Roc,
    det as det,
    gain_curve as gain_curve,
    hull as hull,
    lift_curve as lift_curve,
    precision_recall as precision_recall,
    roc as roc,
    simplify as simplify,
)
from trueness.ranking.geometry import (
    Divergence as Divergence,
    kl_divergence as kl_divergence,
)
from trueness.comparison.dominance import Dominance as Dominance, dominates as dominates
from trueness.ensembles.combiners import (
    COMBINERS as COMBINERS,
    FiDEL as FiDEL,
    best_single as best_single,
    fidel as fidel,
    mean_score as mean_score,
    wisdom_of_crowds as wisdom_of_crowds,
)
from trueness.trees.entropic import (
    EntropicBinomial as EntropicBinomial,
    EntropicTree as EntropicTree,
    entropic_binomial as entropic_binomial,
    entropic_tree as entropic_tree,
    top_probability as top_probability,
)
from trueness.scale.envelopes import CurveBounds as CurveBounds
from trueness.metrics.grammar import constraint as constraint, metric as metric
from trueness.fermi.distribution import (
    FermiDirac as FermiDirac,
    fermi_dirac as fermi_dirac,
    midranks as midranks,
)
from trueness.data.first_look import Look as Look, look as look
from trueness.data.files import scan as scan
from trueness.data.frames import leaves as leaves, panel as panel, tally as tally
from trueness.threshold.fronts import ParetoFront as ParetoFront, pareto as pareto
from trueness.ranking.gaussian import (
    Binormal as Binormal,
    BinormalFit as BinormalFit,
    binormal as binormal,
    fit_binormal as fit_binormal,
)
from trueness.ranking.geometry import Leakage as Leakage, leakage as leakage
from trueness.comparison.groups import compare_groups as compare_groups
from trueness.threshold.guarantees import (
    GuaranteedThreshold as GuaranteedThreshold,
    Proof as Proof,
    guaranteed_threshold as guaranteed_threshold,
)
from trueness.ranking.areas import auc as auc
from trueness.inference.statistics import estimate as estimate
from trueness.nogold.fitting import latent_class as latent_class
from trueness.nogold.posterior import LatentPosterior as LatentPosterior
from trueness.trees.levels import (
    TreeLevels as TreeLevels,
    confidence_level as confidence_level,
    plan_leaf as plan_leaf,
    tree_levels as tree_levels,
    utility_level as utility_level,
)
from trueness.nogold.combinations.best import Combination as Combination
from trueness.nogold.rate_comparison import (
    RateComparison as RateComparison,
    compare_prevalence as compare_prevalence,
)
from trueness.nogold.label_plans import (
    LabelNumber as LabelNumber,
    LabelPlan as LabelPlan,
    plan_labels as plan_labels,
)
from trueness.nogold.rate import (
    Rate as Rate,
    prevalence as prevalence,
)
from trueness.nogold.combinations.best import (
    best_combination as best_combination,
    cost_rule as cost_rule,
)
from trueness.calibration.maps import (
    Map as Map,
    at_prevalence as at_prevalence,
    load_map as load_map,
    register as register,
    save_map as save_map,
)
from trueness.calibration.errors import calibration_error as calibration_error
from trueness.calibration.verdict import (
    CalibrationVerdict as CalibrationVerdict,
    calibration_verdict as calibration_verdict,
)
from trueness.calibration.slope import calibration_test as calibration_test
from trueness.calibration.slope import calibration_line as calibration_line
from trueness.calibration.errors import (
    CalibrationIndex as CalibrationIndex,
    calibration_index as calibration_index,
)
from trueness.threshold.rule import Rule as Rule
from trueness.threshold.zones import Zones as Zones, best_thresholds as best_thresholds
from trueness.threshold.group_cuts import (
    GroupThresholds as GroupThresholds,
    group_thresholds as group_thresholds,
)
from trueness.threshold.operating_point import (
    OperatingPoint as OperatingPoint,
    best_threshold as best_threshold,
)
from trueness.comparison.paired import (
    compare_metric as compare_metric,
    compare as compare,
)
from trueness.ranking.planning import (
    Plan as Plan,
    plan_auc as plan_auc,
    plan_auc_difference as plan_auc_difference,
    plan_rate as plan_rate,
)
from trueness.threshold.milp import Certificate as Certificate
from trueness.calibration.gain import (
    CalibrationGain as CalibrationGain,
    calibration_gain as calibration_gain,
)
from trueness.scale.refinement import (
    Refined as Refined,
    exact_auc as exact_auc,
    exact_threshold as exact_threshold,
)
from trueness.counts.resampling import resample as resample
from trueness.calibration.proper_scores import brier as brier, log_loss as log_loss
from trueness.counts.simulation import (
    rank_frequencies as rank_frequencies,
    simulate_panel as simulate_panel,
    simulate_tally as simulate_tally,
)
from trueness.trees.splits import (
    SplitComparison as SplitComparison,
    compare_splits as compare_splits,
)
from trueness.data.multiclass import (
    multiclass_auc as multiclass_auc,
    one_vs_rest as one_vs_rest,
    top_label as top_label,
)
from trueness.data.verdict_logs import (
    VerdictLog as VerdictLog,
    read_verdicts as read_verdicts,
)
from trueness.data.storage import read_panel as read_panel, read_tally as read_tally
from trueness.scale.streams import Folded as Folded, Stream as Stream
from trueness.threshold.costs import (
    CostCurve as CostCurve,
    DecisionCurve as DecisionCurve,
    cost_curve as cost_curve,
    decision_curve as decision_curve,
)
from trueness.trees.leaf_counts import Leaves as Leaves
from trueness.trees.leaf_report import LeafReport as LeafReport
from trueness.ensembles.without_labels import (
    Agreement as Agreement,
    agreement as agreement,
)
from trueness.threshold.validation import (
    Validation as Validation,
    validate_threshold as validate_threshold,
)

__version__: str
from trueness.threshold.at_cut import (
    AtThreshold as AtThreshold,
    at_threshold as at_threshold,
    confusion as confusion,
)
