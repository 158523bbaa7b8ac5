"""How is this used with scikit-learn? The door for its estimators.

Each module of this folder holds one estimator or function.
"""

from trueness.estimators.calibrator import Calibrator
from trueness.estimators.confident_tree import ConfidentTree
from trueness.estimators.fidel import FiDELClassifier
from trueness.estimators.pruning import prune
from trueness.estimators.tree_leaves import leaf_report

__all__ = ["Calibrator", "ConfidentTree", "FiDELClassifier", "leaf_report", "prune"]
