"""Can this leaf of a tree, or this segment, be trusted?

Questions: how likely is the majority in a leaf the true one, and how useful is it
(:func:`trueness.confidence_level`, :func:`trueness.utility_level`,
:func:`trueness.trees.tree_levels`); how many cases does a leaf need
(:func:`trueness.plan_leaf`); which probability has the majority, without the bias of
having been chosen (:func:`trueness.top_probability`); is a split worth it
(:func:`trueness.compare_splits`).

Flow: cases are counted in leaves (``leaf_counts``: Leaves), the share of the majority
is corrected (``entropic``), levels follow from it (``levels``), leaves are judged
(``leaf_report``), and splits are compared or merged (``splits``) by their levels.

Read ``levels`` first, then ``entropic``, ``leaf_report``, ``leaf_counts``, ``splits``.
Maths: ``docs/maths/trees.md``.
"""

from trueness.trees.entropic import (
    entropic_binomial,
    entropic_tree,
)
from trueness.trees.levels import tree_levels

__all__ = ["entropic_binomial", "entropic_tree", "tree_levels"]
