"""Can this leaf of a tree, or this segment, be trusted?

Cases are counted in leaves (``leaves``), the share of the majority is corrected for
having been chosen and gives levels of confidence and utility (``levels``), by which
splits are compared or merged (``splits``). Read ``levels`` first. Maths:
``docs/maths/trees.md``.
"""

from trueness.trees.levels import entropic_binomial, entropic_tree, tree_levels

__all__ = ["entropic_binomial", "entropic_tree", "tree_levels"]
