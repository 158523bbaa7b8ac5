"""Which public name lives where? Read by type checkers, and by ``trueness`` itself."""

from trueness import (
    estimators as estimators,
    plots as plots,
    records as records,
    reports as reports,
    samples as samples,
)
from trueness._core.checks.errors import (
    CleanedWarning as CleanedWarning,
    DoubtfulAssumptionWarning as DoubtfulAssumptionWarning,
    Infeasible as Infeasible,
    InputError as InputError,
    NotConvergedWarning as NotConvergedWarning,
    NotEnoughCases as NotEnoughCases,
    OptimisticWarning as OptimisticWarning,
)
from trueness._core.records import Estimate as Estimate
from trueness.calibration.calibrators import (
    CALIBRATORS as CALIBRATORS,
    calibrate as calibrate,
)
from trueness.calibration.errors import (
    calibration_error as calibration_error,
    calibration_index as calibration_index,
)
from trueness.calibration.maps import (
    at_prevalence as at_prevalence,
    load_map as load_map,
    save_map as save_map,
)
from trueness.calibration.proper_scores import (
    brier as brier,
    log_loss as log_loss,
)
from trueness.calibration.gain import calibration_gain as calibration_gain
from trueness.calibration.goodness_of_fit import (
    calibration_test as calibration_test,
)
from trueness.calibration.lines import calibration_line as calibration_line
from trueness.calibration.reliability_diagram import reliability as reliability
from trueness.calibration.verdict import (
    calibration_verdict as calibration_verdict,
)
from trueness.comparison.dominance import dominates as dominates
from trueness.comparison.any_number import compare as compare
from trueness.comparison.any_number import compare_groups as compare_groups
from trueness.comparison.at_threshold import compare_metric as compare_metric
from trueness.comparison.paired import compare_auc as compare_auc
from trueness.counts.expected_labels import (
    ExpectedLabels as ExpectedLabels,
    LabelSample as LabelSample,
)
from trueness.counts.resampling import (
    simulate_panel as simulate_panel,
    simulate_tally as simulate_tally,
)
from trueness.counts.values import Panel as Panel, Tally as Tally
from trueness.data.eval_rows import attempts as attempts
from trueness.data.files import scan as scan
from trueness.data.first_look import look as look
from trueness.data.frames import leaves as leaves, panel as panel, tally as tally
from trueness.data.horizons import at_horizon as at_horizon
from trueness.data.multiclass import (
    multiclass_auc as multiclass_auc,
    multiclass_cost as multiclass_cost,
    one_vs_rest as one_vs_rest,
    top_label as top_label,
)
from trueness.data.storage import read_panel as read_panel, read_tally as read_tally
from trueness.data.study_tables import read_studies as read_studies
from trueness.data.verdict_logs import read_verdicts as read_verdicts
from trueness.declarations.declaring import declare as declare
from trueness.declarations.verification import verify as verify
from trueness.ensembles.combiners import (
    COMBINERS as COMBINERS,
    best_single as best_single,
    fidel as fidel,
    mean_score as mean_score,
    wisdom_of_crowds as wisdom_of_crowds,
)
from trueness.ensembles.crossfit import compare_combiners as compare_combiners
from trueness.ensembles.without_labels import agreement as agreement
from trueness.estimators.cross_validation import cross_validate as cross_validate
from trueness.evals.attempts import (
    Attempts as Attempts,
    pass_at_k as pass_at_k,
    pass_hat_k as pass_hat_k,
    pass_rate as pass_rate,
    read_attempts as read_attempts,
)
from trueness.evals.wins import head_to_head as head_to_head
from trueness.evals.raters import rater_agreement as rater_agreement
from trueness.evals.runs import (
    compare_runs as compare_runs,
    leaderboard as leaderboard,
    plan_items as plan_items,
)
from trueness.fermi.distribution import fermi_dirac as fermi_dirac
from trueness.findings.how_good import evaluate as evaluate
from trueness.inference.any_statistic import estimate as estimate
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
    f1 as f1,
    f_beta as f_beta,
    flagged as flagged,
    flagged_rate as flagged_rate,
    fnr as fnr,
    fpr as fpr,
    kappa as kappa,
    lift as lift,
    lr_negative as lr_negative,
    lr_positive as lr_positive,
    mcc as mcc,
    net_benefit as net_benefit,
    npv as npv,
    precision as precision,
    recall as recall,
    specificity as specificity,
    youden as youden,
)
from trueness.metrics.grammar import constraint as constraint, metric as metric
from trueness.monitoring.checking import check as check
from trueness.monitoring.questions import load_watch as load_watch, watch as watch
from trueness.monitoring.stability import psi as psi
from trueness.monitoring.tipping_points import tipping_point as tipping_point
from trueness.nogold.combinations import (
    best_combination as best_combination,
    cost_rule as cost_rule,
)
from trueness.nogold.fitting import latent_class as latent_class
from trueness.nogold.label_plans import plan_labels as plan_labels
from trueness.nogold.rate import prevalence as prevalence
from trueness.nogold.rate_comparison import compare_prevalence as compare_prevalence
from trueness.ranking.areas import (
    auc as auc,
    average_precision as average_precision,
)
from trueness.ranking.bands import (
    precision_recall_band as precision_recall_band,
    roc_band as roc_band,
)
from trueness.ranking.curves import (
    det as det,
    gain_curve as gain_curve,
    lift_curve as lift_curve,
    partial_auc as partial_auc,
    precision_recall as precision_recall,
    roc as roc,
)
from trueness.ranking.planning import (
    plan_auc as plan_auc,
    plan_auc_difference as plan_auc_difference,
    plan_rate as plan_rate,
)
from trueness.ranking.scorecards import (
    decile_table as decile_table,
    gini as gini,
    ks as ks,
)
from trueness.readers.analysis import reader_study as reader_study
from trueness.readers.planning import plan_readers as plan_readers
from trueness.reports import report as report
from trueness.scale.application import apply as apply
from trueness.scale.certificates import bounds as bounds
from trueness.scale.refinement import (
    exact_auc as exact_auc,
    exact_threshold as exact_threshold,
)
from trueness.scale.queries import sql as sql
from trueness.scale.streams import Stream as Stream
from trueness.sites.across import across_sites as across_sites
from trueness.sites.summary_curve import summary_roc as summary_roc
from trueness.threshold.indeterminate import (
    indeterminate_results as indeterminate_results,
)
from trueness.threshold.rule import (
    at_threshold as at_threshold,
    confusion as confusion,
)
from trueness.threshold.costs import (
    cost_curve as cost_curve,
    decision_curve as decision_curve,
)
from trueness.threshold.fronts import pareto as pareto
from trueness.threshold.group_cuts import group_thresholds as group_thresholds
from trueness.threshold.guarantees import guaranteed_threshold as guaranteed_threshold
from trueness.threshold.milp_export import milp_program as milp_program
from trueness.threshold.operating_point import best_threshold as best_threshold
from trueness.threshold.rule import Rule as Rule
from trueness.threshold.validation import validate_threshold as validate_threshold
from trueness.threshold.zones import best_thresholds as best_thresholds
from trueness.trees.leaves import Leaves as Leaves
from trueness.trees.levels import (
    confidence_level as confidence_level,
    plan_leaf as plan_leaf,
    top_probability as top_probability,
    utility_level as utility_level,
)
from trueness.trees.splits import compare_splits as compare_splits

__version__: str
