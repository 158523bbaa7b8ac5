r"""What if some cases are easy for every classifier, and the others are not?

A share e of a class is easy: there every classifier is right. On the other cases
classifiers err independently,

.. math:: P(x \mid +) = e\, 1[x = 1] + (1 - e) \prod_k w_k^{x_k} (1 - w_k)^{1 - x_k},
   \qquad w_k = \frac{\alpha_k - e}{1 - e}

(the finite mixture of Albert and Dodd 2004, Biometrics 60:427,
doi:10.1111/j.0006-341X.2004.00187.x), and likewise for negatives. alpha_k remains the
sensitivity; e is at most the smallest of them, and uniform below it a priori.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtr

from trueness._core.arrays import Floats
from trueness.nogold.dependent import independent_votes, inside


@final
@dataclass(frozen=True)
class Difficulty:
    """Easy and hard cases. The parameter is e over the smallest accuracy, 0 to 1."""

    word: str = "easy"
    names: tuple[str, ...] = ("pos", "neg")

    def natural(self, extra: Floats) -> Floats:
        """Turn coordinates into shares, uniform a priori."""
        return np.asarray(ndtr(extra))

    def probabilities(self, rate: Floats, own: Floats, rows: Floats) -> Floats:
        """Mix the easy and the hard cases."""
        # a missing vote takes no part, so it contradicts nothing
        easy = (np.nan_to_num(rows, nan=1.0) == 1).all(axis=1)
        # a class has no more easy cases than its worst classifier gets right, or that
        # one would have a negative chance to be right on the others
        share = own * rate.min(axis=1, keepdims=True) * (1 - 1e-9)
        # what is left of each sensitivity is earned on the hard cases
        hard = independent_votes(inside((rate - share) / (1 - share)), rows)
        return np.asarray(share * easy + (1 - share) * hard)
