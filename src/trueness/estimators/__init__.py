"""How is this used with scikit-learn? Its estimators.

Questions: how does a classifier get probabilities that mean what they say
(``Calibrator``); where does it cut so that a metric is best and constraints are kept
(``ThresholdClassifier``); how is a model chosen by any metric of Trueness
(``metric_scorer``); how are several combined (``FiDELClassifier``); how is a tree grown
whose every split is worth it (``ConfidentTree``, ``prune``); which leaves of a fitted
tree can be trusted (``leaf_report``).

Flow: cases are scored out of fold, scores are counted, an analysis of another room
answers, and the estimator keeps the record of it. Read ``calibrator`` first: the others
follow its shape. Maths: the pages of the rooms that answer.
"""

from trueness._core.imports import required as _required

_required("sklearn", "sklearn")  # says what to install, which the next line does not
from trueness.estimators.calibrator import Calibrator  # noqa: E402
from trueness.estimators.confident_tree import ConfidentTree, prune  # noqa: E402
from trueness.estimators.displays import (  # noqa: E402
    CalibrationDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
    ThresholdDisplay,
)
from trueness.estimators.fidel import FiDELClassifier  # noqa: E402
from trueness.estimators.threshold_classifier import (  # noqa: E402
    ThresholdClassifier,
    metric_scorer,
)
from trueness.estimators.tree_leaves import leaf_report  # noqa: E402

__all__ = [
    "CalibrationDisplay",
    "Calibrator",
    "ConfidentTree",
    "FiDELClassifier",
    "PrecisionRecallDisplay",
    "RocDisplay",
    "ThresholdClassifier",
    "ThresholdDisplay",
    "leaf_report",
    "metric_scorer",
    "prune",
]
