"""Calls that the pages show, with the type that a checker must find for each answer.

mypy and pyright read this file (``make types``); ``tests/test_typing.py`` runs it and
looks whether the answers are of these types.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_type

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from matplotlib.axes import Axes
from numpy.typing import NDArray

import trueness as tr
from trueness import records as re
from trueness._core.figures import TitledFigure

rng = np.random.default_rng(0)
y = (rng.random(400) < 0.4).astype(int)
a = np.round(1 / (1 + np.exp(-rng.normal(y, 1))), 3)
b = np.round(1 / (1 + np.exp(-rng.normal(y / 2, 1))), 3)
site = np.where(np.arange(400) % 2, "north", "south")
patient = np.arange(400) // 4
w = rng.uniform(0.5, 2, 400)
columns = {"y": y, "a": a, "b": b, "site": site, "patient": patient, "w": w}
pandas, polars = pd.DataFrame(columns), pl.DataFrame(columns)
lazy, arrow = polars.lazy(), pa.table(columns)
relation = duckdb.from_arrow(arrow)

# counting
t = assert_type(tr.tally(y, a), tr.Tally)
p = assert_type(tr.panel(y, {"a": a, "b": b}), tr.Panel)
assert_type(tr.tally(pandas, label="y", score="a"), tr.Tally)
assert_type(tr.tally(lazy, label="y", score="a", cluster="patient"), tr.Tally)
assert_type(tr.tally(y, a, sample_weight=w), tr.Tally)
groups = assert_type(tr.tally(y, a, by=site), dict[Any, tr.Tally])
assert_type(tr.panel(polars, label="y", scores=["a", "b"]), tr.Panel)
assert_type(tr.panel(y, {"a": a, "b": b}, by=site), dict[Any, tr.Panel])
assert_type(p["a"], tr.Tally)
assert_type(p[["a"]], tr.Panel)
assert_type(t + t, tr.Tally)
assert_type(t.without_labels(), tr.Tally)

# one analysis, everything that it can be called with
assert_type(tr.auc(t), re.Estimate)
assert_type(tr.auc(t, level=0.9), re.Estimate)
assert_type(tr.auc(y, a), re.Estimate)
assert_type(tr.auc([0, 1, 1, 0], [0.1, 0.8, 0.2, 0.3], method="delong"), re.Estimate)
assert_type(tr.auc((0, 1), range(2)), re.Estimate)
assert_type(tr.auc(polars["y"], polars["a"], level=0.8), re.Estimate)
assert_type(tr.auc(pandas, label="y", score="a"), re.Estimate)
assert_type(tr.auc(polars, label="y", score="a", level=0.9), re.Estimate)
assert_type(tr.auc(lazy, label="y", score="a"), re.Estimate)
assert_type(tr.auc(arrow, label="y", score="a"), re.Estimate)
assert_type(tr.auc(relation, label="y", score="a"), re.Estimate)
assert_type(tr.auc(columns, label="y", score="a"), re.Estimate)
assert_type(tr.auc(y, a, weight=w), re.Estimate)
assert_type(tr.auc(y, a, sample_weight=w, level=0.9), re.Estimate)
assert_type(tr.auc(y, a, cluster=patient), re.Estimate)
assert_type(tr.auc(y, a, positive=1), re.Estimate)
assert_type(tr.auc(t, sampling="case-control"), re.Estimate)
assert_type(tr.average_precision(t, prevalence=0.1), re.Estimate)
assert_type(tr.auc(p), dict[str, re.Estimate])
assert_type(tr.auc(y, {"a": a, "b": b}), dict[str, re.Estimate])
assert_type(tr.auc(pandas, label="y", score=["a", "b"]), dict[str, re.Estimate])
assert_type(tr.auc(pandas, label="y", scores=["a", "b"]), dict[str, re.Estimate])
assert_type(tr.auc({"north": t, "south": t}), dict[str, re.Estimate])
assert_type(tr.auc(groups), dict[Any, re.Estimate])
assert_type(tr.auc(y, a, by=site), dict[Any, re.Estimate])
assert_type(tr.auc(polars, label="y", score="a", by="site"), dict[Any, re.Estimate])

# ranking
assert_type(tr.partial_auc(y, a, fpr=(0, 0.1)), re.Estimate)
assert_type(tr.average_precision(y, a), re.Estimate)
assert_type(tr.roc(y, a), re.Curve)
assert_type(tr.roc(p), dict[str, re.Curve])
assert_type(tr.precision_recall(t), re.Curve)
assert_type(tr.det(lazy, label="y", score="a"), re.Curve)
assert_type(tr.lift_curve(y, a), re.Curve)
assert_type(tr.roc_band(y, a, level=0.9), re.Band)
assert_type(tr.plan_auc(auc=0.8, half_width=0.05), re.Plan)
assert_type(tr.fermi_dirac(t), re.FermiDirac)
assert_type(tr.fermi_dirac(n=100, n_pos=50, auc=0.9), re.FermiDirac)

# comparison
assert_type(tr.compare_auc(p), re.Comparison)
assert_type(tr.compare_auc(y, {"a": a, "b": b}), re.Comparison)
assert_type(tr.compare_auc(y, {"a": a, "b": b}, margin=0.05), re.Comparison)
assert_type(tr.compare_auc(y, a, b), re.Comparison)
assert_type(tr.compare_auc(y, np.column_stack([a, b])), re.Comparison)
assert_type(tr.compare_auc(pandas, label="y", scores=["a", "b"]), re.Comparison)
assert_type(
    tr.compare_auc(polars, label="y", scores=["a", "b"], by="site"),
    dict[Any, re.Comparison],
)
assert_type(tr.compare_auc(y, {"a": a, "b": b}, cluster=patient), re.Comparison)
assert_type(tr.compare_metric(p, "f1", thresholds=0.5), re.Comparison)
assert_type(tr.compare_groups(groups, lambda x: tr.auc(x).value), re.Comparison)
assert_type(tr.dominates(p), re.Dominance)
assert_type(tr.dominates(y, a, b), re.Dominance)

# thresholds
assert_type(tr.confusion(y, a, 0.5), re.Confusion)
assert_type(tr.confusion(t, threshold=0.5), re.Confusion)
assert_type(tr.best_threshold(y, a, "f1"), re.OperatingPoint)
assert_type(tr.best_threshold(t, "f1", "recall >= 0.6"), re.OperatingPoint)
assert_type(tr.best_threshold(t, maximize=tr.accuracy + tr.recall), re.OperatingPoint)
assert_type(
    tr.best_threshold(pandas, label="y", score="a", subject_to=[tr.recall >= 0.6]),
    re.OperatingPoint,
)
assert_type(tr.best_threshold(p, "f1"), dict[str, re.OperatingPoint])
assert_type(tr.validate_threshold(y, a, "f1", replicates=50), re.Validation)
assert_type(tr.guaranteed_threshold(t, "recall >= 0.6"), re.GuaranteedThreshold)
assert_type(tr.pareto(y, a, ["recall", "precision"]), re.ParetoFront)
assert_type(tr.decision_curve(y, a), re.DecisionCurve)
assert_type(tr.cost_curve(t), re.CostCurve)

# metrics
assert_type(tr.metric("0.7*accuracy + 0.3*recall"), re.Metric)
assert_type(2 * tr.recall - tr.fpr, re.Metric)
assert_type(tr.recall >= 0.9, re.Constraint)
assert_type(tr.sweep(t), re.Confusion)

# calibration
probability = assert_type(tr.calibrate(y, a, method="platt"), re.Map)
assert_type(tr.calibrate(polars, label="y", score="a"), re.Map)
assert_type(probability(a), NDArray[np.float64])
assert_type(t.map(probability), tr.Tally)
assert_type(tr.brier(y, a).value, float)
assert_type(tr.reliability(pandas, label="y", score="a"), re.Reliability)

# several together, and without labels
assert_type(tr.fidel(y, {"a": a, "b": b}).names, tuple[str, ...])
assert_type(tr.mean_score(p)(p.rows), NDArray[np.float64])
three = tr.simulate_panel(300, 100, [0.7, 0.8, 0.9], rng=1)
assert_type(tr.agreement(three), re.Agreement)

# answers
found = tr.auc(y, a)
assert_type(found.value, float)
assert_type(found.low, float)
assert_type(found.to_dict(), dict[str, Any])


def report(data: Mapping[str, tr.Tally] | tr.Tally | tr.Panel) -> None:
    """Show that a union of counts is accepted."""
    assert_type(tr.plots.roc(data, title="ROC", band="pointwise"), Axes)
    pairs = tr.compare_auc(y, {"a": a, "b": b})
    assert_type(tr.plots.comparison(pairs, title="Pairs"), Axes)
    figure = assert_type(tr.plots.comparison.figure_data(pairs), TitledFigure)
    assert_type(tr.plots.roc.figure_data(data), TitledFigure)
    tr.plots.save(figure, "roc.svg")


if TYPE_CHECKING:  # what is wrong is still found
    tr.auc(t, levle=0.9)  # type: ignore[call-overload]
    tr.auc(y, a, level="high")  # type: ignore[call-overload]
    tr.auc(3)  # type: ignore[call-overload]
    tr.best_threshold(y, a, 3)  # type: ignore[call-overload]
    tr.compare_auc(p, margin="small")  # type: ignore[call-overload]
    tr.plots.roc(t, bnad="pointwise")  # type: ignore[call-overload]
    tr.plots.roc(t, title=3)  # type: ignore[call-overload]
    tr.plots.comparison(t)  # type: ignore[arg-type]
