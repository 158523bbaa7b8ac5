"""How is this used with scikit-learn? Its estimators, figures and cross-validation.

Cases are scored out of fold, scores are counted, an analysis of another room answers,
and the estimator keeps the record of it. Read ``classifiers`` first.
"""

from trueness._core.imports import required as _required

_required("sklearn", "sklearn")  # says what to install, which the next line does not
from trueness.estimators.classifiers import (  # noqa: E402
    Calibrator,
    ThresholdClassifier,
)
from trueness.estimators.displays import (  # noqa: E402
    CalibrationDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
    ThresholdDisplay,
)
from trueness.estimators.fidel import FiDELClassifier  # noqa: E402
from trueness.estimators.scorers import metric_scorer  # noqa: E402
from trueness.estimators.trees import ConfidentTree, leaf_report, prune  # noqa: E402

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
