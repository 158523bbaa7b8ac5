"""How good is the classifier at the threshold that I use?

``at_threshold(t, 0.5)`` gives the confusion matrix and every metric with its interval,
``confusion(t, 0.5)`` the four counts alone, ``metrics_table`` one row per metric for
one or several thresholds, classifiers and groups. ``f1(t, threshold=0.5)`` and
``precision(y_true, y_pred)`` ask for one metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import is_several
from trueness._core.doors import door
from trueness._core.numbers import number_of
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_counts, of_tally
from trueness.counts.values import Panel, Tally
from trueness.counts.weights import remark
from trueness.metrics.algebra import Metric, write_number
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.grammar import one_or_more
from trueness.metrics.intervals import estimates, tidy, weighed_cells
from trueness.ranking.cluster_metrics import left_out, left_out_estimate
from trueness.ranking.clusters import Clusters, clusters
from trueness.ranking.cut_rates import expected
from trueness.ranking.verification import (
    AT_RANDOM,
    impute,
    not_in_clusters,
    remarks,
)


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
        The prevalence that the metrics were computed for, when one other than that of
        the cases was given.
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
        return _frame(tidy(self.metrics), backend)


@of_tally(weights=True)
def confusion(t: Tally, threshold: float) -> Confusion:
    """How many cases are right and wrong at this threshold?

    Parameters
    ----------
    t
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
    cut = _threshold(threshold)
    t = t.labelled()
    above = t.score >= cut
    tp, fp, fn, tn = (c.sum().item() for c in _cells(t.pos, t.neg, above))
    return Confusion(tp=tp, fp=fp, fn=fn, tn=tn)


def _cells(pos: Array, neg: Array, above: Array) -> list[Array]:
    return [pos[above], neg[above], pos[~above], neg[~above]]


@of_tally(weights=True)
def at_threshold(
    t: Tally,
    threshold: float | Iterable[float],
    *,
    metrics: Iterable[str | Metric] | None = None,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    rng: Any = 0,
    cluster: Any = None,
    unlabelled: str = "left out",
) -> Any:
    """How good is the classifier at my threshold?

    Parameters
    ----------
    t
        The counts, or data (``at_threshold(y_true, y_score, 0.5)``).
    threshold
        One threshold, chosen beforehand; or several, then the answer is a dict from
        threshold to record.
    metrics
        Which metrics to compute; all of ``METRICS`` when None.
    prevalence
        The share of positives where the classifier is used, for the metrics that depend
        on it; the share among the cases when None.
    sampling
        As in :func:`best_threshold`.
    level, rng
        Confidence level of the intervals, and the seed of their draws.
    cluster
        Which cases belong together (patients, sites): a column of the data, or a
        mapping from cluster to tally. The intervals then come from leaving out one
        cluster at a time, with Student's quantile.
    unlabelled
        Cases without a label are ``"left out"``, or ``"missing at random"`` given the
        score, as in :func:`auc` (Begg and Greenes): the metrics, but not ``confusion``,
        are then those of expected counts.

    Returns
    -------
    AtThreshold or dict of AtThreshold

    Notes
    -----
    Metrics that are shares of counted cases get Wilson's interval; other metrics get
    the central interval of their posterior under Jeffreys' prior. With weighted cases,
    shares get Wilson's interval for the effective number of cases, which is the number
    of equally weighted cases with the same variance (Korn and Graubard 1998), with
    Student's quantile; for other metrics the cells of the confusion matrix are drawn
    with the variance of their weights.

    A threshold that was tuned on the same cases looks better here than it will be on
    new cases: see :func:`validate_threshold`.

    Examples
    --------
    >>> found = at_threshold([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], 0.5)
    >>> found["sensitivity"].value, found.metrics["precision"].value
    (0.5, 0.5)
    """
    if metrics is not None:
        metrics = one_or_more(metrics, _METRICS, '["recall", "precision"]')
    if is_several(threshold):
        options: dict[str, Any] = {"prevalence": prevalence, "sampling": sampling}
        options |= {"level": level, "metrics": metrics, "rng": rng, "cluster": cluster}
        options["unlabelled"] = unlabelled
        return {_threshold(c): at_threshold(t, c, **options) for c in threshold}
    cut = _threshold(threshold)
    if cluster is not None:
        not_in_clusters(unlabelled, "at_threshold")
    together = None if cluster is None else clusters(cluster, "at_threshold")
    t = t if together is None else together.tally(0)
    if not t.n_pos + t.n_neg:
        raise NotEnoughCases(
            f"at_threshold needs cases with a label; this tally has none among {t.n:,}."
        )
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence", ends="[]")
    c = confusion(t, cut)
    found = estimates(
        c,
        None if metrics is None else [_named(m) for m in metrics],
        level=level,
        prevalence=prevalence,
        sampling=sampling,
        rng=rng,
        weighed=weighed_cells(t, t.score >= cut),
    )
    drawn = "cases" if together is None else "clusters"
    notes = remarks(t, unlabelled) + _notes(prevalence, sampling) + remark(t, drawn)
    if unlabelled == AT_RANDOM and t.n_unknown:
        _cases.both_classes(t, "at_threshold")
        x, shown = impute(t), [_named(m) for m in metrics or found]
        found = {
            m.name: expected(x, m, cut, level, prevalence)
            for m in shown
            if m.name in found
        }
    if together is not None:
        if prevalence is not None:
            raise InputError("at_threshold takes cluster= or prevalence=, not both.")
        found = _by_clusters(found, together, cut, level)
    return AtThreshold(cut, c, found, prevalence, sampling, notes)


_METRICS = "metrics must be metrics or their names in a list"


def _by_clusters(
    found: dict[str, Estimate], c: Clusters, cut: float, level: float
) -> dict[str, Estimate]:
    """Give the metrics the intervals that clusters leave."""
    flags = c.rows[:, :1] >= cut
    return {
        name: left_out_estimate(left_out(c, read_metric(name), flags), 0, level, name)
        for name in found
    }


def _named(asked: str | Metric) -> Metric:
    """Read a metric; it is shown by the name that was typed."""
    m = read_metric(asked)
    if isinstance(asked, str) and asked.lower() in m.aliases:
        return replace(m, name=asked)
    return m


def _notes(prevalence: float | None, sampling: str) -> tuple[str, ...]:
    if sampling != "case-control" or prevalence is not None:
        return ()
    return (
        "Metrics that depend on the prevalence are left out for a case-control "
        "sample; pass prevalence= to get them.",
    )


@of_counts(weights=True)
def metrics_table(
    t: Any,
    *,
    threshold: float | Iterable[float],
    metrics: Iterable[str | Metric] | None = None,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    backend: str | None = None,
) -> Any:
    """How large is every metric, as a table with one row per metric?

    Parameters
    ----------
    t
        The counts, a panel, groups, or data (``by=`` gives groups).
    threshold
        One threshold, or several: then there is a column ``threshold``.
    metrics, prevalence, sampling, level
        As in :func:`at_threshold`.
    backend
        The library of the frame: "pandas", "polars", "pyarrow" or "dict".

    Returns
    -------
    A frame with columns metric, value, low, high, level, method, group.

    Examples
    --------
    >>> rows = metrics_table([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5], threshold=0.5,
    ...                      metrics=["recall"], backend="dict")
    >>> rows["metric"], rows["value"]
    (['recall'], [0.5])
    """
    if metrics is not None:  # an iterator would be gone after the first threshold
        metrics = one_or_more(metrics, _METRICS, '["recall", "precision"]')
    options: dict[str, Any] = {"prevalence": prevalence, "sampling": sampling}
    options |= {"level": level, "metrics": metrics}
    several = is_several(threshold)
    cuts: list[Any] = [*threshold] if is_several(threshold) else [threshold]
    parts = {None: t} if isinstance(t, Tally) else t
    if isinstance(t, Panel):
        parts = {name: t[name] for name in t.names}
    rows = []
    for group, part in parts.items():
        for cut in cuts:
            found = at_threshold(part, cut, **options)
            by_name = {group: found} if isinstance(found, AtThreshold) else found
            for name, one in by_name.items():
                both = name if name == group or group is None else f"{group}, {name}"
                where = {"threshold": one.threshold} if several else {}
                rows += [{**where, **row} for row in tidy(one.metrics, both)]
    return _frame(rows, backend)


def metric_at(m: Metric, *args: Any, **options: Any) -> Any:
    """Ask for one metric of data: ``f1(t, threshold=0.5)``, ``f1(y_true, y_pred)``."""

    # "cluster" is named, so that it is counted with the labels and the scores
    def ask(
        t: Tally, threshold: Any = None, *, cluster: Any = None, **options: Any
    ) -> Any:
        if threshold is None:
            threshold = _verdicts(t, m)
        options["cluster"] = cluster
        found = at_threshold(t, threshold, metrics=[m], **options)
        if isinstance(found, dict):  # several thresholds
            return {cut: ask(t, cut, **options) for cut in found}
        if m.name not in found.metrics:
            raise InputError(
                f"{m.name} depends on the prevalence, which a case-control sample "
                "does not show. Type prevalence=0.01, with the prevalence where it "
                "is used."
            )
        one: Estimate = found.metrics[m.name]
        return replace(one, notes=one.notes or found.notes)

    ask.__name__ = m.name
    return of_tally(weights=True)(ask)(*args, **options)


def _verdicts(t: Tally | Panel, m: Metric) -> float:
    """Take scores that are verdicts, 0 and 1, as such; a panel has clusters beside."""
    scores = set((t.score if isinstance(t, Tally) else t.rows[:, 0]).tolist())
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


def _frame(rows: list[dict[str, Any]], backend: str | None) -> Any:
    names = list(rows[0]) if rows else ["metric", "value", "low", "high"]
    columns = {k: [row[k] for row in rows] for k in names}
    return door("data.frames").native_frame(columns, backend)
