"""What does a comparison of combiners say, in words?"""

from __future__ import annotations

from trueness.ensembles.crossfit import CombinerComparison


def best_combiner(found: CombinerComparison) -> str:
    """Which combiner has the highest AUC on cases it was not fitted on?"""
    return max(found.auc, key=lambda name: found.auc[name].value)


def combiner_sentence(found: CombinerComparison, method: str) -> str:
    """Say whether a combiner beats the best single classifier, and by how much."""
    gain = found.difference[method]
    if method == found.against:
        return "No combination is better than the best single classifier."
    span = f"{gain.value:+.3f} AUC, {gain.low:+.3f} to {gain.high:+.3f}"
    differs = "does not differ significantly from"
    if gain.low > 0 or gain.high < 0:
        differs = f"is significantly {'better' if gain.low > 0 else 'worse'} than"
    return f"{method} {differs} the best single classifier ({span})."
