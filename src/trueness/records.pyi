"""Which class lives where? Read by type checkers, and by ``trueness.records``."""

from trueness._core.records import Estimate as Estimate
from trueness.calibration.errors import CalibrationIndex as CalibrationIndex
from trueness.calibration.gain import CalibrationGain as CalibrationGain
from trueness.calibration.grades import GradeTests as GradeTests
from trueness.calibration.maps import Map as Map
from trueness.calibration.reliability_diagram import Reliability as Reliability
from trueness.calibration.verdict import CalibrationVerdict as CalibrationVerdict
from trueness.comparison.dominance import Dominance as Dominance
from trueness.comparison.results import Comparison as Comparison, Pair as Pair
from trueness.counts.folds import Folds as Folds
from trueness.data.first_look import Look as Look
from trueness.data.horizons import HorizonLabels as HorizonLabels
from trueness.data.verdict_logs import VerdictLog as VerdictLog
from trueness.declarations.records import (
    Declaration as Declaration,
    Verification as Verification,
)
from trueness.ensembles.combiners import FiDEL as FiDEL
from trueness.ensembles.correlated import CorrelatedFiDEL as CorrelatedFiDEL
from trueness.ensembles.crossfit import CombinerComparison as CombinerComparison
from trueness.ensembles.without_labels import Agreement as Agreement
from trueness.estimators.cross_validation import CrossValidation as CrossValidation
from trueness.sites.across import AcrossSites as AcrossSites
from trueness.sites.covariates import CovariateEffect as CovariateEffect
from trueness.sites.left_out import SitesLeftOut as SitesLeftOut
from trueness.sites.summary_curve import SummaryROC as SummaryROC
from trueness.evals.wins import (
    HeadToHead as HeadToHead,
    HeadToHeadPair as HeadToHeadPair,
)
from trueness.evals.runs import ItemPlan as ItemPlan, Leaderboard as Leaderboard
from trueness.fermi.distribution import FermiDirac as FermiDirac
from trueness.findings.records import Finding as Finding
from trueness.metrics.algebra import Constraint as Constraint, Metric as Metric
from trueness.metrics.confusion import Confusion as Confusion
from trueness.monitoring.stability import StabilityIndex as StabilityIndex
from trueness.monitoring.verdicts import Check as Check, Verdict as Verdict
from trueness.monitoring.watching import Change as Change, Watch as Watch
from trueness.nogold.score_label_plans import ScoreLabelPlan as ScoreLabelPlan
from trueness.nogold.expected_panels import ExpectedPanel as ExpectedPanel
from trueness.nogold.combinations import Combination as Combination
from trueness.nogold.label_plans import (
    LabelSampleSize as LabelSampleSize,
    LabelPlan as LabelPlan,
)
from trueness.nogold.posterior import LatentPosterior as LatentPosterior
from trueness.nogold.rate import Rate as Rate
from trueness.nogold.rate_comparison import RateComparison as RateComparison
from trueness.ranking.bands import Band as Band
from trueness.ranking.curves import Curve as Curve
from trueness.ranking.risk_coverage import RiskCoverage as RiskCoverage
from trueness.ranking.scorecards import (
    DecileTable as DecileTable,
    KolmogorovSmirnov as KolmogorovSmirnov,
)
from trueness.ranking.models import Binormal as Binormal, BinormalFit as BinormalFit
from trueness.ranking.geometry import Divergence as Divergence, Leakage as Leakage
from trueness.ranking.planning import Plan as Plan
from trueness.readers.analysis import ReaderStudy as ReaderStudy
from trueness.readers.model import ReaderComponents as ReaderComponents
from trueness.readers.planning import ReaderPlan as ReaderPlan
from trueness.scale.certificates import Bounds as Bounds
from trueness.scale.envelopes import CurveBounds as CurveBounds
from trueness.scale.refinement import ExactResult as ExactResult
from trueness.scale.streams import StreamUpdate as StreamUpdate
from trueness.threshold.class_costs import ClassDecisions as ClassDecisions
from trueness.threshold.indeterminate import (
    IndeterminateResults as IndeterminateResults,
)
from trueness.threshold.rule import AtThreshold as AtThreshold
from trueness.threshold.costs import (
    CostCurve as CostCurve,
    DecisionCurve as DecisionCurve,
)
from trueness.threshold.fronts import ParetoFront as ParetoFront
from trueness.threshold.group_cuts import GroupThresholds as GroupThresholds
from trueness.threshold.guarantees import (
    GuaranteedThreshold as GuaranteedThreshold,
    Proof as Proof,
)
from trueness.threshold.milp import Certificate as Certificate
from trueness.threshold.milp_export import MilpProgram as MilpProgram
from trueness.monitoring.tipping_points import TippingPoint as TippingPoint
from trueness.threshold.operating_point import OperatingPoint as OperatingPoint
from trueness.threshold.validation import Validation as Validation
from trueness.threshold.zones import Zones as Zones
from trueness.trees.estimator_errors import EstimatorError as EstimatorError
from trueness.trees.leaf_maps import LeafMap as LeafMap
from trueness.trees.leaf_reports import LeafReport as LeafReport
from trueness.trees.levels import (
    EntropicBinomial as EntropicBinomial,
    EntropicTree as EntropicTree,
    TreeLevels as TreeLevels,
)
from trueness.trees.splits import SplitComparison as SplitComparison
