"""How is this used with scikit-learn? The door for its estimators.

Each module of this folder holds one estimator or function.
"""

from karat.estimators.calibrator import Calibrator
from karat.estimators.confident_tree import ConfidentTree
from karat.estimators.fidel import FiDELClassifier
from karat.estimators.pruning import prune
from karat.estimators.tree_leaves import leaf_report

__all__ = ["Calibrator", "ConfidentTree", "FiDELClassifier", "leaf_report", "prune"]
