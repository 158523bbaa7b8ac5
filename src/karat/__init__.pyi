"""Which public name lives where? Read by type checkers, and by ``karat`` itself."""

from karat import (
    estimators as estimators,
    plots as plots,
    report as report,
    samples as samples,
)
from karat._checks import (
    DoubtfulAssumption as DoubtfulAssumption,
    Infeasible as Infeasible,
    InputError as InputError,
    NotConverged as NotConverged,
    NotEnoughCases as NotEnoughCases,
    Optimistic as Optimistic,
)
from karat._records import Estimate as Estimate
from karat.algebra import Constraint as Constraint, Metric as Metric
from karat.applying import apply as apply
from karat.areas import (
    average_precision as average_precision,
    partial_auc as partial_auc,
)
from karat.bands import (
    PrecisionRecallBand as PrecisionRecallBand,
    RocBand as RocBand,
    precision_recall_band as precision_recall_band,
    roc_band as roc_band,
)
from karat.calibration import CALIBRATORS as CALIBRATORS, calibrate as calibrate
from karat.certificate import Bounds as Bounds, bounds as bounds
from karat.combinations import (
    all_combinations as all_combinations,
    combination_front as combination_front,
)
from karat.comparison import (
    Comparison as Comparison,
    Pair as Pair,
    compare_auc as compare_auc,
)
from karat.confusion import (
    METRICS as METRICS,
    Confusion as Confusion,
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
    sweep as sweep,
    thresholds as thresholds,
    youden as youden,
)
from karat.corp import Reliability as Reliability, reliability as reliability
from karat.correlated import CorrelatedFiDEL as CorrelatedFiDEL, crossing as crossing
from karat.counts import Panel as Panel, Tally as Tally
from karat.crossfit import (
    CombinerComparison as CombinerComparison,
    compare_combiners as compare_combiners,
)
from karat.curves import (
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
from karat.dependence import (
    Dependence as Dependence,
    conditional_dependence as conditional_dependence,
)
from karat.divergence import Divergence as Divergence, kl_divergence as kl_divergence
from karat.dominance import Dominance as Dominance, dominates as dominates
from karat.ensembles import (
    COMBINERS as COMBINERS,
    FiDEL as FiDEL,
    best_single as best_single,
    fidel as fidel,
    mean_score as mean_score,
    wisdom_of_crowds as wisdom_of_crowds,
)
from karat.entropic import (
    EntropicBinomial as EntropicBinomial,
    EntropicTree as EntropicTree,
    entropic_binomial as entropic_binomial,
    entropic_tree as entropic_tree,
    top_probability as top_probability,
)
from karat.envelopes import CurveBounds as CurveBounds
from karat.expressions import constraint as constraint, metric as metric
from karat.fermi import (
    FermiDirac as FermiDirac,
    fermi_dirac as fermi_dirac,
    midranks as midranks,
)
from karat.files import scan as scan
from karat.frames import leaves as leaves, panel as panel, tally as tally
from karat.fronts import ParetoFront as ParetoFront, pareto as pareto
from karat.gaussian import (
    Binormal as Binormal,
    BinormalFit as BinormalFit,
    binormal as binormal,
    fit_binormal as fit_binormal,
)
from karat.geometry import Leakage as Leakage, leakage as leakage
from karat.groups import (
    cluster_bootstrap as cluster_bootstrap,
    compare_groups as compare_groups,
)
from karat.guarantees import (
    GuaranteedThreshold as GuaranteedThreshold,
    Proof as Proof,
    guaranteed_threshold as guaranteed_threshold,
)
from karat.inference import auc as auc
from karat.latent import (
    LatentPosterior as LatentPosterior,
    latent_class as latent_class,
)
from karat.latent_ml import (
    LatentMaximum as LatentMaximum,
    latent_maximum as latent_maximum,
)
from karat.levels import (
    TreeLevels as TreeLevels,
    confidence_level as confidence_level,
    plan_leaf as plan_leaf,
    tree_levels as tree_levels,
    utility_level as utility_level,
)
from karat.logic import (
    Combination as Combination,
    best_combination as best_combination,
    cost_rule as cost_rule,
)
from karat.maps import (
    Map as Map,
    at_prevalence as at_prevalence,
    load_map as load_map,
    save_map as save_map,
)
from karat.miscalibration import (
    calibration_error as calibration_error,
    calibration_line as calibration_line,
    calibration_test as calibration_test,
)
from karat.operating import (
    OperatingPoint as OperatingPoint,
    best_threshold as best_threshold,
)
from karat.paired import (
    compare_metric as compare_metric,
    compare_statistic as compare_statistic,
)
from karat.planning import Plan as Plan, plan_auc as plan_auc
from karat.programs import Certificate as Certificate
from karat.recalibration import (
    CalibrationGain as CalibrationGain,
    calibration_gain as calibration_gain,
)
from karat.refining import (
    Refined as Refined,
    exact_auc as exact_auc,
    exact_threshold as exact_threshold,
)
from karat.resampling import resample as resample
from karat.scoring import brier as brier, log_loss as log_loss
from karat.simulation import (
    rank_frequencies as rank_frequencies,
    simulate_panel as simulate_panel,
    simulate_tally as simulate_tally,
)
from karat.splits import (
    SplitComparison as SplitComparison,
    compare_splits as compare_splits,
)
from karat.storage import read_panel as read_panel, read_tally as read_tally
from karat.streaming import Folded as Folded, Stream as Stream
from karat.tradeoffs import (
    CostCurve as CostCurve,
    DecisionCurve as DecisionCurve,
    cost_curve as cost_curve,
    decision_curve as decision_curve,
)
from karat.trees import LeafReport as LeafReport, Leaves as Leaves
from karat.unlabelled import Agreement as Agreement, agreement as agreement
from karat.validation import (
    Validation as Validation,
    validate_threshold as validate_threshold,
)

__version__: str
