"""Which counts are meant, and how does a case act on them?

Of a cohort they are those of the labelled cases; at another prevalence both classes are
scaled to it; where labels are missing at random, a case without one is partly positive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from trueness._core.arrays import BLOCK, Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError
from trueness.counts.cases import Cases, change_counts
from trueness.counts.design import AT_RANDOM, CASE_CONTROL, PLAIN
from trueness.counts.values import Panel, Tally
from trueness.inference.verification import Imputed, impute

T = TypeVar("T", bound=Cases)


class InBlocks(NDArrayOperatorsMixin):
    """Influence values that are made as they are read, for columns too long to keep.

    ``part`` gives those of a slice of ``blocks(size)``; otherwise they are an array.
    """

    def __init__(self, size: int, part: Callable[[slice], Floats]) -> None:
        self.size, self._part = size, part

    def __getitem__(self, at: slice | Array) -> Any:
        if not isinstance(at, slice) or at.step or (at.start or 0) % BLOCK:
            return np.asarray(self)[at]
        start = at.start or 0
        walked = at.stop == min(start + BLOCK, self.size)
        return self._part(at) if walked else np.asarray(self)[at]

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> Floats:
        out = np.empty(self.size)
        for b in blocks(self.size):
            out[b] = self._part(b)
        return out

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *args: Any, **options: Any
    ) -> Any:
        arrays = (np.asarray(x) if isinstance(x, InBlocks) else x for x in args)
        return getattr(ufunc, method)(*arrays, **options)


def in_blocks(size: int, part: Callable[[slice], Floats]) -> Floats:
    """Give influence values at once, or where columns are long as they are read."""
    long: Any = InBlocks(size, part) if size > BLOCK else part(slice(0, size))
    return cast("Floats", long)


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


class Sample(NamedTuple):
    """The counts that a design means, beside the cases that were drawn."""

    counts: Any  # a tally, or a panel: what a measure sees
    cases: Any  # the same rows, as they were drawn
    scale: tuple[float, float]  # what a negative, and a positive, counts
    imputed: Imputed | None
    fixed: bool  # are the numbers of both classes no matter of chance?


def centred(influence: Floats, count: Array) -> Floats:
    """Shift influence values so that they add up to zero over the cases."""
    total = float(count.sum())
    return influence - float(count @ influence) / total if total else influence


def meant(x: Tally | Panel, what: str = "") -> Sample:
    """Which counts does the design of these cases mean?

    ``what`` names a measure that rests on the share of positives.
    """
    d = x.design
    if d == PLAIN:
        counts: Any = x.labelled()
        return Sample(counts, counts, (1.0, 1.0), None, False)
    if what:
        needs_prevalence(x, what)
    at_random = d.unlabelled == AT_RANDOM and x.n_unknown > 0
    imputed = impute(x) if at_random and isinstance(x, Tally) else None
    cases = x.without_design() if at_random else x.labelled().without_design()
    counts = cases if imputed is None else imputed[0]
    if d.prevalence is None:
        return Sample(counts, cases, (1.0, 1.0), imputed, d.fixed_classes)
    scale = _class_weights(counts, d.prevalence)
    return Sample(with_share(counts, d.prevalence), cases, scale, imputed, True)


def _class_weights(x: Cases, share: float) -> tuple[float, float]:
    """What must a negative, and a positive, count that a share is positive?"""
    n, shares = x.n_pos + x.n_neg, ((1 - share, x.n_neg), (share, x.n_pos))
    # without a case of a class nothing is known of its share
    neg, pos = (p * n / k if k else np.nan for p, k in shares)
    return neg, pos


def with_share(x: T, share: float) -> T:
    r"""Weigh labelled cases so that a given share of them is positive.

    A positive counts :math:`\pi n / N_1` times, a negative :math:`(1-\pi) n / N_0`
    times, a case without a label once.

    Examples
    --------
    >>> t = with_share(Tally([2, 1], neg=[1, 4], pos=[4, 1]), 0.1)
    >>> t.prevalence, t.n_pos, t.pos
    (0.1, 1.0, array([0.8, 0.2]))
    """
    weights = (*_class_weights(x, share), 1.0)
    six = [*weights, *(w**2 for w in weights)]

    def scaled(columns: Sequence[Array]) -> list[Array]:
        both = columns if len(columns) == 6 else (*columns, *columns)
        return [c * w for c, w in zip(both, six, strict=True)]

    return change_counts(x, scaled)


def needs_prevalence(x: Tally | Panel, what: str) -> None:
    """Stop where a case-control sample cannot show the share of positives.

    With another prevalence, each class must have a case that can be weighed.
    """
    if x.design.prevalence is not None:
        _cases.both_classes(x, what)
    if x.design.sampling != CASE_CONTROL or x.design.prevalence is not None:
        return
    raise InputError(
        f"{what} depends on the prevalence (the share of positives), which a "
        "case-control sample does not show, because its design fixed it. Type "
        "prevalence=0.01, with the prevalence where the classifier is used; or "
        'sampling="cohort" if cases were not chosen by their label.'
    )
