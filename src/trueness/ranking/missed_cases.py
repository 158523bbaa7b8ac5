r"""What may a sample of weighted cases have missed of an AUC?

Cases that are heavier than those drawn (``counts.heavy_cases``): the position z of a
case is the normal quantile of the share of the other class that it beats, its
placement.

The growth of weights with z also says how likely a kind of cases that ranks last was
missed as a whole. Its cases would weigh as much more than others as it says, and would
have been drawn as much more rarely: the kind was missed among fewer cases than were
drawn, though no fewer than Kish's number. Weights that do not go with the score leave
that number as it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.counts.heavy_cases import PlacedCases, lacking_variance, weight_curve
from trueness.counts.placements import placement_values
from trueness.counts.values import Tally
from trueness.counts.weights import heaviest


class Missed(NamedTuple):
    """What a sample of one class may have missed.

    ``low`` and ``high`` are what the variance of its placements lacks of cases that
    would lower and raise the AUC; ``met`` is among how many cases it met none of a kind
    that ranks last.
    """

    low: float = 0.0
    high: float = 0.0
    met: float = math.inf


def missed_cases(t: Tally, a: float) -> tuple[Missed, Missed]:
    """What may have been missed of weighted positives, and of weighted negatives?"""
    below, above = placement_values(t)
    neg, pos, _ = t.squares
    up, down = (t.pos, pos), (t.neg, neg)
    most = heaviest(t)
    return _missed(up, down, below, a, most), _missed(down, up, above, a, most)


_Sums = tuple[Array, Array]  # of weights and of their squares


def _missed(own: _Sums, other: _Sums, place: Floats, a: float, most: float) -> Missed:
    from scipy.special import ndtr, ndtri

    cases = PlacedCases.of(*own, place)
    # equal weights do not grow: nothing is added, not even a rounding
    if cases.alike:
        return Missed(met=cases.cases)
    others = PlacedCases.of(*other, place)
    rim = 0.5 / (others.cases + 1)  # beyond all others: half a case from the end
    x, y = (c._replace(at=ndtri(np.clip(c.at, rim, 1 - rim))) for c in (cases, others))
    growth = weight_curve(x, y)
    low, high = lacking_variance(x, growth, lambda z: ndtr(z) - a, most)
    # in the place of the variance of a placement, as that of as many equal cases
    scale = x.kish**2 / max(x.kish - 1, 1.0)
    last = growth(ndtri(np.array([rim if a > 0.5 else 1 - rim])))[0]
    more = float(last - x.number @ growth(x.at) / x.cases)
    met = x.cases * math.exp(-max(more, 0.0))
    return Missed(low * scale, high * scale, max(met, x.kish))
