"""How many cases are right and wrong at a threshold, or at every threshold?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Record
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally

Rate = float | Floats


@final
@dataclass(frozen=True, repr=False)
class Confusion(Record):
    """How many cases are right and wrong at each threshold?

    ``tp``, ``fp``, ``fn`` and ``tn`` are counts: four plain numbers, or four arrays of
    one shape. A case is predicted positive when ``score >= threshold``.

    Examples
    --------
    >>> import trueness
    >>> trueness.accuracy(Confusion(tp=3, fp=1, fn=2, tn=4))
    np.float64(0.7)
    """

    tp: Any
    fp: Any
    fn: Any
    tn: Any

    def __init__(
        self, tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike
    ) -> None:
        named = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        for name, values in named.items():
            array = np.asarray(values)
            if array.dtype.kind not in "iuf":
                raise InputError(f"{name} must be counts; found {array.dtype}.")
            object.__setattr__(self, name, _plain(array))

    @classmethod
    def _swept(cls, tp: Array, fp: Array, n_pos: int, n_neg: int) -> Confusion:
        """Take running counts; ``fn`` and ``tn`` are worked out when asked for."""
        c = object.__new__(cls)
        tp, fp = np.asarray(tp), np.asarray(fp)
        c.__dict__.update(tp=_plain(tp), fp=_plain(fp), _n_pos=n_pos, _n_neg=n_neg)
        return c

    @classmethod
    def of_rates(cls, recall: Rate, fpr: Rate, share: Rate, n: Rate) -> Confusion:
        """Make n cases, of which a share is positive, with these rates."""
        pos, neg = n * share, n * (1 - share)
        return cls(recall * pos, fpr * neg, (1 - recall) * pos, (1 - fpr) * neg)

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        if name == "fn" and "_n_pos" in known:
            known["fn"] = known["_n_pos"] - self.tp
        elif name == "tn" and "_n_neg" in known:
            known["tn"] = known["_n_neg"] - self.fp
        else:
            raise AttributeError(f"A Confusion has tp, fp, fn and tn, no {name}.")
        return known[name]

    def __getitem__(self, at: int | slice | Array) -> Confusion:
        """Choose some of the thresholds."""
        if "_n_pos" in self.__dict__:
            return self._swept(self.tp[at], self.fp[at], self._n_pos, self._n_neg)
        return Confusion(self.tp[at], self.fp[at], self.fn[at], self.tn[at])

    @property
    def in_arrays(self) -> Confusion:
        """Give the counts as NumPy has them, of which 0 / 0 is NaN and no error."""
        if isinstance(self.tp, np.ndarray):
            return self
        c = object.__new__(Confusion)
        tp, fp, fn, tn = map(np.asarray, self.cells)
        c.__dict__.update(tp=tp, fp=fp, fn=fn, tn=tn)
        return c

    @property
    def cells(self) -> tuple[Any, Any, Any, Any]:
        """Give the four counts in the order tp, fp, fn, tn."""
        return self.tp, self.fp, self.fn, self.tn

    def weighed(self, weights: Iterable[Any]) -> Any:
        """Add up the four counts, each times its weight."""
        pairs = zip(weights, self.cells, strict=True)
        # of long columns no product by one is made
        parts = [n if w == 1 else w * n for w, n in pairs if w]
        return sum(parts[1:], parts[0]) if parts else 0

    def at_prevalence(self, prevalence: float | None) -> Confusion:
        """Give the same rates for a population of another prevalence; None: this one.

        The counts are scaled to the same number of cases, so they are no longer whole.
        """
        if prevalence is None:
            return self
        prevalence = _options.fraction(prevalence, "prevalence", ends="[]")
        tp, fp, fn, tn = self.in_arrays.cells
        pos, neg = tp + fn, fp + tn
        with np.errstate(divide="ignore", invalid="ignore"):
            up = prevalence * (pos + neg) / pos
            down = (1 - prevalence) * (pos + neg) / neg
            return Confusion(tp * up, fp * down, fn * up, tn * down)


def _plain(counts: Array) -> Any:
    """Give a single count as a number of Python, several as they are."""
    return counts if counts.ndim else counts.item()


@of_tally
def thresholds(data: Tally) -> Floats:
    """Which thresholds does a tally have? +inf (nothing flagged), then every score.

    Scores that only unlabelled cases have are left out.
    """
    return np.concatenate([[np.inf], data.labelled().score])


@of_tally
def sweep(data: Tally) -> Confusion:
    """How many cases are right and wrong at every threshold of ``thresholds``?

    At entry i the cases with a score of at least ``thresholds(data)[i]`` are flagged;
    at entry 0 none are. Cases without a label do not count.

    Examples
    --------
    >>> c = sweep(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1]))
    >>> c.tp, c.fp
    (array([0, 1, 2, 2]), array([0, 0, 1, 2]))
    """
    t = data.labelled()
    return swept(t.pos, t.neg)


def swept(pos: Array, neg: Array) -> Confusion:
    """Count at every cut the positives and negatives of rows, highest score first."""
    tp, fp = _running(pos), _running(neg)
    # the last sums, and not others of the same weights, so that nothing is left over
    return Confusion._swept(tp, fp, tp[-1].item(), fp[-1].item())


def _running(counts: Array) -> Array:
    total = np.zeros(counts.size + 1, dtype=counts.dtype)
    np.cumsum(counts, out=total[1:])
    return total
