"""How good is the ranking, and how sure are we?

Which trade-offs are there (``curves``), how often does a positive stand before a
negative, how good is the part that matters, or the top (``areas``, ``partial_areas``),
where does the true curve lie (``bands``), how many cases are needed (``planning``,
``plan_samples``), and what is the shape behind all of it (``geometry``, ``gaussian``)?
``figures`` says what pictures show.

A tally and its design become the counts that are meant (``inference.sample``); from
these come a curve, or a value with the influence of each case, of which ``inference``
makes an ``Estimate``. Bands and plans alone draw other samples. The maths:
docs/maths/ranking.md and docs/maths/ranking_geometry.md.
"""

from trueness.ranking.curves import hull, simplify
from trueness.ranking.gaussian import binormal, fit_binormal
from trueness.ranking.geometry import kl_divergence, leakage

__all__ = ["binormal", "fit_binormal", "hull", "kl_divergence", "leakage", "simplify"]
