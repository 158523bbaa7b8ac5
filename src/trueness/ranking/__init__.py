"""How good is the ranking, and how sure are we?

How good is it (``areas``; in the words of credit and fraud, ``scorecards``), which
trade-offs are there, in all or in part (``curves``), where does the true curve lie
(``bands``), how many cases are needed (``planning``), and what is the shape behind it
(``geometry``, ``models``)? The maths: docs/maths/ranking.md and
docs/maths/ranking_geometry.md.
"""

from trueness.ranking.curves import hull, simplify
from trueness.ranking.geometry import kl_divergence, leakage
from trueness.ranking.models import binormal, fit_binormal

__all__ = ["binormal", "fit_binormal", "hull", "kl_divergence", "leakage", "simplify"]
