"""What does a measure tell the engine?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from trueness._core.arrays import BLOCK, Floats, blocks
from trueness.counts.values import Tally


class InBlocks(NDArrayOperatorsMixin):
    """Influence values that are made as they are read, for columns too long to keep.

    ``part`` gives those of a slice of ``blocks(size)``. Used in any other way, they
    are an array.
    """

    def __init__(self, size: int, part: Callable[[slice], Floats]) -> None:
        self.size, self._part = size, part

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, slice) or at.step or (at.start or 0) % BLOCK:
            return np.asarray(self)[at]
        start = at.start or 0
        walked = at.stop == min(start + BLOCK, self.size)
        return self._part(at) if walked else np.asarray(self)[at]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        out = np.empty(self.size)
        for b in blocks(self.size):
            out[b] = self._part(b)
        return out

    def __array_ufunc__(
        self, ufunc: Any, method: str, *args: Any, **options: Any
    ) -> Any:
        arrays = (np.asarray(x) if isinstance(x, InBlocks) else x for x in args)
        return getattr(ufunc, method)(*arrays, **options)


class Measured(NamedTuple):
    r"""A value of counts, and how far one more case would move it.

    With counts :math:`n_i, p_i` of negatives and positives at row i, and a value
    :math:`\theta(n, p)`, the influence values are

    .. math:: u^-_i = \frac{\partial\theta}{\partial n_i}, \qquad
              u^+_i = \frac{\partial\theta}{\partial p_i}

    (Hampel 1974; the linearised values of survey sampling, Deville 1999). Since a
    measure does not change when all counts are doubled, they add up to zero over the
    cases (Euler).
    """

    value: float
    by_neg: Floats  # (m,), or InBlocks
    by_pos: Floats  # (m,)
    ends: tuple[float, float] = (0.0, 1.0)
    # do they add up to zero within each class? Then the numbers of positives and
    # negatives are no part of what varies, as in DeLong's variance of an AUC
    by_class: bool = False


Measure = Callable[[Tally], Measured]
