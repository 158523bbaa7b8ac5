"""Can this leaf of a tree, or this segment, be trusted?

Cases are counted in leaves (``leaves``). The proportion of the majority is corrected
for having been chosen and gives levels of confidence and utility (``levels``), by which
leaves are judged (``leaf_reports``) and splits compared or merged (``splits``). The
bias of an estimate is exact (``estimator_errors``); leaves become scores of new cases
by a map (``leaf_maps``). Read ``levels`` first. Maths: ``docs/maths/trees.md``.
"""

from trueness.trees.estimator_errors import estimator_error
from trueness.trees.levels import entropic_binomial, entropic_tree, tree_levels

__all__ = ["entropic_binomial", "entropic_tree", "estimator_error", "tree_levels"]
