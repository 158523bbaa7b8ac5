"""How good is the ranking, and how sure are we?

How good is it (``areas``, ``interpolated_area``; in the words of credit and fraud,
``scorecards``; where it is sure of itself, ``risk_coverage``), which trade-offs are
there, in all or in part (``curves``), where does the true curve lie (``bands``), how
many cases are needed (``planning``), and what is the shape behind it (``geometry``,
``models``)? The maths: docs/maths/ranking.md and
docs/maths/ranking_geometry.md.
"""

from trueness.ranking.curves import hull, simplify
from trueness.ranking.geometry import kl_divergence, leakage
from trueness.ranking.interpolated_area import precision_recall_area
from trueness.ranking.models import binormal, fit_binormal
from trueness.ranking.risk_coverage import risk_coverage

__all__ = [
    "binormal",
    "fit_binormal",
    "hull",
    "kl_divergence",
    "leakage",
    "precision_recall_area",
    "risk_coverage",
    "simplify",
]
