"""How many cases are right and wrong at a threshold, or at every threshold?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Record
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.expected_counts import labelled_or_expected

Rate = float | Floats


@final
@dataclass(frozen=True, repr=False)
class Confusion(Record):
    """Confusion matrix, at one threshold or at several.

    How many cases are right and wrong?

    ``tp``, ``fp``, ``fn`` and ``tn`` are counts: four plain numbers, or four arrays of
    one shape. A case is predicted positive when ``score >= threshold``. A metric of
    four whole numbers has an interval, which assumes independent cases.

    Examples
    --------
    >>> import trueness
    >>> trueness.accuracy(Confusion(tp=3, fp=1, fn=2, tn=4))
    accuracy 0.700 (95 % CI 0.397 to 0.892)
    """

    tp: Any
    fp: Any
    fn: Any
    tn: Any

    # whether these are four whole numbers that a person has typed
    typed: ClassVar[bool] = False

    def __init__(
        self, tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike
    ) -> None:
        for name, values in (("tp", tp), ("fp", fp), ("fn", fn), ("tn", tn)):
            counts = np.asarray(values)
            if counts.dtype.kind not in "iuf":
                raise InputError(
                    f"{name} must be counts; found {counts.dtype}.", option=name
                )
            object.__setattr__(self, name, _as_number(counts))

        # NumPy's integers come from counts, whose design is not known here
        typed = all(type(values) is int and values >= 0 for values in (tp, fp, fn, tn))
        self.__dict__["typed"] = typed

    @property
    def verdicts(self) -> Tally:
        """Return the cases as the verdicts of a test, 0 and 1."""
        return Tally([1.0, 0.0], neg=[self.fp, self.tn], pos=[self.tp, self.fn])

    def with_design(self, **design: Any) -> Tally:
        """Return the verdicts as a tally with this sampling design."""
        return self.verdicts.with_design(**design)

    @classmethod
    def _swept(cls, tp: Array, fp: Array, n_pos: int, n_neg: int) -> Confusion:
        """Return a confusion from tp and fp; fn and tn are computed when read."""
        confusion = object.__new__(cls)
        confusion.__dict__.update(
            tp=_as_number(np.asarray(tp)),
            fp=_as_number(np.asarray(fp)),
            _n_pos=n_pos,
            _n_neg=n_neg,
        )
        return confusion

    @classmethod
    def from_rates(
        cls, recall: Rate, fpr: Rate, prevalence: Rate, n: Rate
    ) -> Confusion:
        """Return expected counts of n cases with this prevalence and these rates."""
        pos = n * prevalence
        neg = n * (1 - prevalence)
        return cls(
            tp=recall * pos, fp=fpr * neg, fn=(1 - recall) * pos, tn=(1 - fpr) * neg
        )

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        # differences that most analyses never read, so they are not kept for a sweep
        if name == "fn" and "_n_pos" in fields:
            fields["fn"] = fields["_n_pos"] - self.tp
        elif name == "tn" and "_n_neg" in fields:
            fields["tn"] = fields["_n_neg"] - self.fp
        else:
            raise AttributeError(
                f"A Confusion has tp, fp, fn and tn, but no {name}. Metrics are "
                "functions: type trueness.recall(confusion)."
            )

        return fields[name]

    def __getitem__(self, index: int | slice | Array) -> Confusion:
        """Return the counts at some of the thresholds."""
        tp = self.tp[index]
        fp = self.fp[index]
        if "_n_pos" in self.__dict__:
            return self._swept(tp, fp, self._n_pos, self._n_neg)
        return Confusion(tp, fp, self.fn[index], self.tn[index])

    @property
    def in_arrays(self) -> Confusion:
        """Return the counts as NumPy arrays, for which 0 / 0 is NaN, no error."""
        if isinstance(self.tp, np.ndarray):
            return self
        confusion = object.__new__(Confusion)
        tp, fp, fn, tn = map(np.asarray, self.cells)
        confusion.__dict__.update(tp=tp, fp=fp, fn=fn, tn=tn)
        return confusion

    @property
    def cells(self) -> tuple[Any, Any, Any, Any]:
        """Return the four counts in the order tp, fp, fn, tn."""
        return self.tp, self.fp, self.fn, self.tn

    def weighted_sum(self, weights: Iterable[Any]) -> Any:
        """Return the sum of tp, fp, fn and tn, each times its weight."""
        total = None
        for weight, count in zip(weights, self.cells, strict=True):
            if not weight:
                continue
            # a product by one would only copy a long column
            weighted_count = count if weight == 1 else weight * count
            total = weighted_count if total is None else total + weighted_count

        return 0 if total is None else total

    def at_prevalence(self, prevalence: float | None) -> Confusion:
        """Return counts with the same rates at another prevalence, unless it is None.

        The counts are scaled to the same number of cases, so they are no longer whole.
        """
        if prevalence is None:
            return self

        prevalence = _options.fraction(prevalence, "prevalence", ends="[]")
        tp, fp, fn, tn = self.in_arrays.cells
        pos = tp + fn
        neg = fp + tn
        # a class without a case gives NaN
        with np.errstate(divide="ignore", invalid="ignore"):
            pos_factor = prevalence * (pos + neg) / pos
            neg_factor = (1 - prevalence) * (pos + neg) / neg
            return Confusion(
                tp=tp * pos_factor,
                fp=fp * neg_factor,
                fn=fn * pos_factor,
                tn=tn * neg_factor,
            )


def _as_number(counts: Array) -> Any:
    """Return a single count as a Python number, and several as their array."""
    return counts if counts.ndim else counts.item()


@of_tally
def thresholds(data: Tally) -> Floats:
    """All thresholds of a tally: +inf (nothing flagged), then every score.

    Scores of unlabelled cases only are left out.
    """
    return np.concatenate([[np.inf], labelled_or_expected(data).score])


@of_tally
def sweep(data: Tally) -> Confusion:
    """Confusion matrix at every threshold of ``thresholds``.

    At entry i the cases with a score of at least ``thresholds(data)[i]`` are flagged;
    at entry 0 none are. Cases without a label do not count, unless a map says how
    probable their labels are.

    Examples
    --------
    >>> c = sweep(Tally([0.9, 0.5, 0.1], pos=[1, 1, 0], neg=[0, 1, 1]))
    >>> c.tp, c.fp
    (array([0, 1, 2, 2]), array([0, 0, 1, 2]))
    """
    counts = labelled_or_expected(data)
    return sweep_counts(counts.pos, counts.neg)


def sweep_counts(pos: Array, neg: Array) -> Confusion:
    """Return the confusion at every cut between rows, highest score first."""
    # rows stand from the highest score down, so a cut flags the first rows
    tp = _running_sums(pos)
    fp = _running_sums(neg)
    # the totals are the last running sums: other sums of the same weights could differ
    # by rounding
    return Confusion._swept(tp, fp, n_pos=tp[-1].item(), n_neg=fp[-1].item())


def _running_sums(counts: Array) -> Array:
    """Return the sums of the first 0, 1, 2, ... counts."""
    total = np.zeros(counts.size + 1, dtype=counts.dtype)
    np.cumsum(counts, out=total[1:])
    return total
