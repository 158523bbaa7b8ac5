"""How good is the classifier at the threshold that I use?

``at_threshold(t, 0.5)`` gives the confusion matrix and every metric with its interval,
``confusion(t, 0.5)`` the four counts alone. ``f1(t, threshold=0.5)`` and
``precision(y_true, y_pred)`` ask for one metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import is_several
from trueness._core.frames import native_frame
from trueness._core.numbers import number_of
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_tally
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally
from trueness.inference.notes import notes_of
from trueness.inference.sample import needs_prevalence
from trueness.inference.verification import remarks
from trueness.metrics.algebra import Metric, depends_on_prevalence, write_number
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.grammar import one_or_more
from trueness.metrics.intervals import estimates, meant_by_rows, tidy, undefined


@final
@dataclass(frozen=True, repr=False)
class AtThreshold(Record):
    """How good is the classifier at one threshold?

    Attributes
    ----------
    threshold : float
        Cases with a score of at least this are flagged.
    confusion : Confusion
        The four counts.
    metrics : dict of str to Estimate
        Every metric at this threshold, with its interval.
    prevalence : float or None
        The prevalence that the metrics were computed for, where the design of the cases
        says another one than theirs.
    sampling : str
        How the cases were sampled: "cohort" or "case-control".
    notes : tuple of str
        What the numbers assume.
    """

    threshold: float
    confusion: Confusion
    metrics: dict[str, Estimate]
    prevalence: float | None = None
    sampling: str = "cohort"
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        """Give one metric, by any of its names."""
        meant = read_metric(name)
        known = {read_metric(k).name: e for k, e in self.metrics.items()}
        return self.metrics.get(name) or known[meant.name]

    def __iter__(self) -> Iterator[str]:
        """Give the names of the metrics."""
        return iter(self.metrics)

    def __repr__(self) -> str:
        """Write the counts, then one metric a line."""
        tp, fp, fn, tn = (number_of(float(n)) for n in self.confusion.cells)
        head = (
            f"At threshold {write_number(self.threshold)}: {tp} true and "
            f"{fp} false positives, {fn} false and "
            f"{tn} true negatives"
        )
        rows = [f"  {e!r}" for e in self.metrics.values()]
        return "\n".join([head, *rows, *(f"  Note: {n}" for n in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Give one row per metric: metric, value, low, high, level, method, group."""
        rows = tidy(self.metrics)
        names = list(rows[0]) if rows else ["metric", "value", "low", "high"]
        columns = {k: [row[k] for row in rows] for k in names}
        return native_frame(columns, backend)


@of_tally
def confusion(data: Tally, threshold: float) -> Confusion:
    """How many cases are right and wrong at this threshold?

    Labelled cases as they are: no prevalence moves these counts.

    Parameters
    ----------
    data
        The counts, or data (``confusion(y_true, y_score, 0.5)``).
    threshold
        Cases with a score of at least this are flagged.

    Examples
    --------
    >>> confusion([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], 0.5)
    Confusion
      tp: 1
      fp: 1
      fn: 1
      tn: 1
    """
    above = data.score >= _threshold(threshold)
    cells = [c[at].sum().item() for at in (above, ~above) for c in (data.pos, data.neg)]
    return Confusion(*cells)


@of_tally
def at_threshold(
    data: Tally,
    threshold: float | Iterable[float],
    *,
    metrics: Iterable[str | Metric] | None = None,
    level: float = 0.95,
) -> Any:
    """How good is the classifier at my threshold?

    Parameters
    ----------
    data
        The counts, or data (``at_threshold(y_true, y_score, 0.5)``).
    threshold
        One threshold, chosen beforehand; or several, then the answer is a dict from
        threshold to record.
    metrics
        Which metrics to compute; all of ``METRICS`` when None.
    level
        Confidence level of the intervals.

    Returns
    -------
    AtThreshold or dict of AtThreshold

    Notes
    -----
    Metrics that are shares of cases have Wilson's interval, of weighted or clustered
    cases at as many independent ones as vary as much; other metrics have Student's
    interval from their influence values (:func:`estimate`). Where labels are missing at
    random given the score, the metrics, but not ``confusion``, are those of expected
    counts (Begg and Greenes).

    A threshold that was tuned on the same cases looks better here than it will be on
    new cases: see :func:`validate_threshold`.

    Examples
    --------
    >>> found = at_threshold([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], 0.5)
    >>> found["sensitivity"].value, found.metrics["precision"].value
    (0.5, 0.5)
    """
    level = _options.fraction(level, "level")
    wanted = None
    if metrics is not None:
        wanted = [_named(m) for m in one_or_more(metrics, _METRICS, '["recall", "f1"]')]
    if is_several(threshold):
        each = map(_threshold, threshold)
        return {cut: _at(data, cut, wanted, level) for cut in each}
    return _at(data, _threshold(threshold), wanted, level)


_METRICS = "metrics must be metrics or their names in a list"


def _at(
    t: Tally, cut: float, metrics: list[Metric] | None, level: float
) -> AtThreshold:
    _cases.some_labels(t, "at_threshold")
    if meant_by_rows(t):
        _cases.both_classes(t, "at_threshold")
    found = estimates(t, cut, metrics, level=level)
    d = t.design
    notes = remarks(t, stacklevel=5)
    if d.sampling == CASE_CONTROL and d.prevalence is None:
        notes += (
            "Metrics that depend on the prevalence are left out for a case-control "
            "sample; pass prevalence= to get them.",
        )
    notes += (*notes_of(t), *undefined(found))
    return AtThreshold(cut, confusion(t, cut), found, d.prevalence, d.sampling, notes)


def _named(asked: str | Metric) -> Metric:
    """Read a metric; it is shown by the name that was typed."""
    m = read_metric(asked)
    if isinstance(asked, str) and asked.lower() in m.aliases:
        return replace(m, name=asked)
    return m


def metric_at(m: Metric, *args: Any, **options: Any) -> Any:
    """Ask for one metric of data: ``f1(t, threshold=0.5)``, ``f1(y_true, y_pred)``."""

    def ask(data: Tally, threshold: Any = None, *, level: float = 0.95) -> Any:
        if threshold is None:
            threshold = _verdicts(data, m)
        if depends_on_prevalence(m):
            needs_prevalence(data, m.name)
        found = at_threshold(data, threshold, metrics=[m], level=level)
        if isinstance(found, dict):  # several thresholds
            return {cut: one(x) for cut, x in found.items()}
        return one(found)

    def one(found: AtThreshold) -> Estimate:
        e = found.metrics[m.name]
        return replace(e, notes=e.notes or found.notes)

    ask.__name__ = m.name
    return of_tally(ask)(*args, **options)


def _verdicts(t: Tally, m: Metric) -> float:
    """Take scores that are verdicts, 0 and 1, as such."""
    scores = set(t.score.tolist())
    if scores and scores <= {0.0, 1.0}:
        return 1.0
    raise InputError(
        f"{m.name} needs a threshold, or verdicts that are 0 and 1; found "
        f"{len(scores):,} distinct scores. Type "
        f"trueness.{m.name}(y_true, y_score, threshold=0.5)."
    )


def _threshold(value: Any) -> float:
    if isinstance(value, (float, np.floating)) and math.isinf(value):
        return float(value)  # everything or nothing is flagged
    return _options.real_number(value, "threshold")
