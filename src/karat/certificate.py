r"""Between which numbers does the exact answer lie, when scores were put into cells?

A binned tally knows the counts of each cell and its smallest and largest score; only
the order inside the cells is lost. So the true cases are one of the ways to arrange
each cell, and for many answers the best and the worst arrangement are known:

* every positive of a cell above its negatives, at the cell's ends (*sharpest*), or the
  other way round (*dullest*): between the two lie the AUC, the Brier score and the log
  loss, because exchanging a positive with a negative below it moves each of them one
  way only;
* at a threshold inside a cell the confusion matrix lies in a box (``boxes.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from karat import _checks
from karat._checks import InputError
from karat._numerics import Array, Floats
from karat._records import Record
from karat.algebra import Metric
from karat.boxes import Boxes, boxes_of, range_in, search
from karat.confusion import Confusion
from karat.counts import Tally
from karat.curves import roc
from karat.expressions import constraints as read_constraints
from karat.expressions import metric as read_metric
from karat.inference import auc
from karat.operating import best_threshold


@final
@dataclass(frozen=True, repr=False)
class Bounds(Record):
    """Between which numbers does the exact answer lie?

    Attributes
    ----------
    value : float
        The answer of the binned tally.
    low, high : float
        The exact answer lies between these, with certainty: this is no confidence
        interval, the cases are all there.
    name : str
        What was asked.
    cells : int
        How many rows of the tally hold more than one score.

    Examples
    --------
    >>> Bounds(0.8125, 0.8, 0.825, "auc", 10)
    auc 0.8125 (exactly between 0.8 and 0.825; 10 cells)
    """

    value: float
    low: float
    high: float
    name: str = ""
    cells: int = 0

    def __float__(self) -> float:
        """Give the value alone."""
        return self.value

    def __repr__(self) -> str:
        """Write value and bounds in one line."""
        return (
            f"{self.name} {self.value:.6g} (exactly between {self.low:.6g} and "
            f"{self.high:.6g}; {self.cells:,} cells)"
        )

    __str__ = __repr__


@final
@dataclass(frozen=True, repr=False)
class CurveBounds(Record):
    """Between which two curves does the exact ROC curve lie?

    Attributes
    ----------
    fpr : array
        False positive rates, ascending; each cell gives its two ends.
    low, high : array
        The exact true positive rate lies between these.
    """

    fpr: Floats
    low: Floats
    high: Floats


def sharpest(t: Tally) -> Tally:
    """Put the positives of each cell at its highest score, all others at its lowest.

    >>> t = Tally([2, 1], neg=[0, 1], pos=[1, 0]).coarse(1)
    >>> sharpest(t) == Tally([2, 1], neg=[0, 1], pos=[1, 0])
    True
    """
    return _split(t, t.pos)


def dullest(t: Tally) -> Tally:
    """Put the negatives of each cell at its highest score, all others at its lowest."""
    return _split(t, t.neg)


def _split(t: Tally, upper: Array) -> Tally:
    zero = np.zeros(len(t), dtype=np.int64)
    counts = [
        np.concatenate([zero, c] if c is not upper else [c, zero])
        for c in (t.neg, t.pos, t.unknown)
    ]
    return Tally(np.concatenate([t.high, t.score]), *counts)


def bounds(analysis: Any, t: Tally, **options: Any) -> Any:
    """Between which numbers does the exact answer lie, when scores are in cells?

    Parameters
    ----------
    analysis
        ``karat.auc``, ``karat.roc``, ``karat.best_threshold``, a Brier score or log
        loss (a function of that name), or a metric, in Python or as text, with
        ``threshold=``.
    t
        A tally made with ``at_most=``, or by :meth:`Tally.coarse`. Of a tally without
        cells the bounds are the answer itself.
    **options
        What the analysis takes: ``maximize`` and ``subject_to`` for ``best_threshold``,
        ``threshold`` for a metric.

    Returns
    -------
    Bounds or CurveBounds

    Notes
    -----
    The AUC lies within half of the pairs that share a cell. For ``best_threshold`` the
    bounds are those of the best value; the lower one is reached by the threshold that
    ``best_threshold`` gives. The bounds say what the cells cost; how far the answer
    would differ for other cases is the matter of its confidence interval.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0])  # AUC 3/4
    >>> bounds(auc, t.coarse(2))
    auc 0.5 (exactly between 0.25 and 0.75; 2 cells)
    >>> bounds("recall", t.coarse(2), threshold=2)
    recall 0.5 (exactly between 0.5 and 1; 2 cells)
    """
    _checks.one_classifier(t, "bounds")
    name = getattr(analysis, "__name__", analysis)
    if isinstance(analysis, Metric) or (
        isinstance(name, str) and "threshold" in options
    ):
        return _metric_bounds(t, read_metric(analysis), **options)
    if name not in BOUNDED:
        raise InputError(
            f"bounds knows {_checks.listing(BOUNDED, 9)}, and any metric with "
            f"threshold=; found {name!r}.{_checks.nearest(name, list(BOUNDED))}"
        )
    function = analysis if callable(analysis) else _NAMED.get(name)
    if function is None:
        raise InputError(f"Pass the function: karat.bounds(karat.{name}, t).")
    return BOUNDED[name](function, t, **options)


def _cells(t: Tally) -> int:
    return int(np.count_nonzero(t.high > t.score))


def _extremes(function: Callable[..., Any], t: Tally, **options: Any) -> Bounds:
    """Ask the sharpest and the dullest arrangement."""
    name = getattr(function, "__name__", "")
    value, one, other = (
        _number(function(x, **options)) for x in (t, sharpest(t), dullest(t))
    )
    low, high = min(one, other), max(one, other)
    if t.binned and function is not auc:
        # a sum over all cases rounds in its last digits
        low, high = low - 1e-13 * abs(low), high + 1e-13 * abs(high)
    return Bounds(value, low, high, name, _cells(t))


def _number(answer: Any) -> float:
    return float(getattr(answer, "value", answer))


def _roc_bounds(function: Callable[..., Any], t: Tally) -> CurveBounds:
    """Give the rectangle between the ends of each cell."""
    curve = function(t)
    fpr = np.repeat(curve.fpr, 2)[1:-1]
    low, high = np.repeat(curve.tpr[:-1], 2), np.repeat(curve.tpr[1:], 2)
    exact = np.repeat(~(t.labelled().high > t.labelled().score), 2)
    # a single score is one step of the curve, drawn as a straight line
    line = np.repeat(curve.tpr, 2)[1:-1]
    return CurveBounds(fpr, np.where(exact, line, low), np.where(exact, line, high))


def _best_bounds(function: Callable[..., Any], t: Tally, **options: Any) -> Bounds:
    point = function(t, **options)
    shown = options.get("minimize")
    objective = read_metric(
        options.get("maximize", "accuracy") if shown is None else shown
    )
    constraints = read_constraints(options.get("subject_to", ()))
    better = objective if shown is None else -objective
    found = search(t.labelled(), better, constraints, options.get("prevalence"))
    ends = (found.reached, found.possible)
    low, high = ends if shown is None else (-ends[1], -ends[0])
    low, high = min(low, point.value), max(high, point.value)
    name = f"best {objective.name}"
    return Bounds(point.value, low, high, name, _cells(t))


def _metric_bounds(
    t: Tally, metric: Metric, *, threshold: float, prevalence: float | None = None
) -> Bounds:
    """Bound a metric at a threshold, which may fall into a cell."""
    t = t.labelled()
    at = int(np.searchsorted(-t.score, -float(threshold), side="right"))
    inside = at < len(t) and float(threshold) <= t.high[at] and t.high[at] > t.score[at]
    every = boxes_of(t)
    value = _at_cut(every, metric, at, prevalence)
    if not inside:
        return Bounds(value, value, value, metric.name, _cells(t))
    tp, fp = every.tp, every.fp
    here = slice(at, at + 1)
    one = Boxes(
        (tp[0][here], tp[1][here]),
        (fp[0][here], fp[1][here]),
        every.n_pos,
        every.n_neg,
        every.open[here],
    )
    low, high = range_in(one, metric, prevalence)
    return Bounds(value, float(low[0]), float(high[0]), metric.name, _cells(t))


def _at_cut(b: Boxes, metric: Metric, at: int, prevalence: float | None) -> float:
    """Evaluate at the real cut that flags the first ``at`` rows."""
    tp = int(b.tp[1][at - 1]) if at else 0
    fp = int(b.fp[1][at - 1]) if at else 0
    c = Confusion(tp, fp, b.n_pos - tp, b.n_neg - fp)
    return float(metric(c if prevalence is None else c.at_prevalence(prevalence)))


_NAMED: dict[str, Callable[..., Any]] = {
    "auc": auc,
    "best_threshold": best_threshold,
    "roc": roc,
}

BOUNDED: dict[str, Callable[..., Any]] = {
    "auc": _extremes,
    "best_threshold": _best_bounds,
    "brier": _extremes,
    "brier_score": _extremes,
    "log_loss": _extremes,
    "roc": _roc_bounds,
}
