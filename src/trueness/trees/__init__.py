"""Can this leaf of a tree, or this segment, be trusted?

Cases are counted in leaves (``leaves``), the share of the majority is corrected for
having been chosen (``entropic``), levels of confidence and utility follow from it
(``levels``), and splits are compared or merged by their levels (``splits``). Read
``levels`` first. Maths: ``docs/maths/trees.md``.
"""

from trueness.trees.entropic import entropic_binomial, entropic_tree
from trueness.trees.levels import tree_levels

__all__ = ["entropic_binomial", "entropic_tree", "tree_levels"]
