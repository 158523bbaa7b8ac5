"""What does a comparison of combiners say, in words?"""

from __future__ import annotations

from trueness.ensembles.crossfit import CombinerComparison


def best_combiner(found: CombinerComparison) -> str:
    """Which combiner has the highest AUC on cases it was not fitted on?"""
    return found.best()


def combiner_sentence(found: CombinerComparison, method: str) -> str:
    """Say whether a combiner beats every single classifier, and by how much."""
    return found.sentence(method)
