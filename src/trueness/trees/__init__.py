"""Can this leaf of a tree, or this segment, be trusted?

Cases are counted in leaves (``leaves``). The proportion of the majority is corrected
for having been chosen and gives levels of confidence and utility (``levels``), by which
leaves are judged (``leaf_reports``) and splits compared or merged (``splits``). Read
``levels`` first. Maths: ``docs/maths/trees.md``.
"""

from trueness.trees.levels import entropic_binomial, entropic_tree, tree_levels

__all__ = ["entropic_binomial", "entropic_tree", "tree_levels"]
