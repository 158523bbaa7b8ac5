r"""Cross-validation with confidence intervals.

*The models trained on these folds* are tested on cases that are new to them. *The model
refitted on all cases* is another one, and folds share training cases, so that their
interval is too short for it; nested cross-validation (``nested``) says how far both are
apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, cast, final

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from trueness._core.arrays import Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, listing, nearest
from trueness._core.data_types import Column, Features, LabelValue
from trueness._core.records import Estimate, Record, native_frame
from trueness.calibration.proper_scores import brier, log_loss
from trueness.counts.answers import measured_by
from trueness.counts.folds import Folds
from trueness.counts.values import Panel, Tally
from trueness.ensembles.fold_analyses import MeasuredFolds
from trueness.estimators import classifiers as common
from trueness.estimators.model_types import FoldsOrSplitter, OneOrMoreClassifiers
from trueness.estimators.nested import NamedMeasure, nested_cross_validation
from trueness.estimators.training import Split, TrainingData
from trueness.inference.estimates import estimate_measure, estimate_over_folds
from trueness.inference.sample import Measure, MeasuredValue
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.grammar import one_or_more
from trueness.metrics.intervals import metric_measure
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.planning import Plan

ON_FOLDS = "the models trained on these folds, each tested on the cases left out"
REFITTED = "the model refitted on all cases"
# measures of the whole ranking; all other names are metrics at the threshold
MEASURES: dict[str, Any] = {
    "auc": auc,
    "average_precision": average_precision,
    "brier": brier,
    "log_loss": log_loss,
}
Values = Mapping[str, Estimate] | Mapping[str, Mapping[str, Estimate]]

# the name of a model that is not one of several
_ONLY_MODEL = ""
# below so many cases a feature, models depend on single cases
_ENOUGH_CASES_PER_FEATURE = 50
_NOT_REFITTED = (
    "These intervals describe the models trained on the folds. For the model "
    "refitted on all cases, set repeats=10; its intervals are wider."
)
_ERRORS_CORRELATE = (
    "With few cases per feature the errors of folds are correlated, and these "
    "intervals are too short. With 5 cases per feature they covered the truth in 82 "
    "to 91 % of simulated samples, with 20 in 93 to 95 %. With 10 repeats the "
    "coverage was 93 to 97 %."
)


@final
@dataclass(frozen=True, repr=False)
class CrossValidation(Record):
    """Performance of models that were trained on folds.

    ``result["auc"]`` is the estimate of a metric; with several models, ``result["a"]``
    holds the estimates of one of them.

    Attributes
    ----------
    values : mapping from metric to Estimate
        Means over the folds, for the models trained on them. With several models, a
        mapping from model to such a mapping.
    refitted : mapping, or None
        The same for the model refitted on all cases, by nested cross-validation; None
        without ``repeats``.
    folds : Folds
        The counts of each fold, for other questions: ``compare_auc(result.folds)``.
    threshold : float
        The threshold of metrics that need one.
    """

    values: Values
    refitted: Values | None
    folds: Folds
    threshold: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    _estimators: Sequence[Any] | Mapping[str, Any] = field(
        default=(), kw_only=True, compare=False
    )

    @property
    def estimators(self) -> Any:
        """The trained models, one for each fold; of several, a mapping by name."""
        return self._estimators

    def __getitem__(self, name: str) -> Any:
        """Return the estimate of a metric; of several models, the estimates of one."""
        if name not in self.values:
            raise KeyError(f"There is no {name!r}; there are {listing(self.values)}.")
        return self.values[name]

    def __repr__(self) -> str:
        """Write a line for each number, under what it speaks of."""
        lines = [f"CrossValidation of {len(self.folds)} folds"]
        lines += [f"  About {ON_FOLDS}:", *_lines_of_values(self.values)]
        if self.refitted is not None:
            lines += [f"  About {REFITTED}:", *_lines_of_values(self.refitted)]
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def plan(
        self, metric: str = "auc", *, power: float = 0.9, level: float = 0.95
    ) -> Plan:
        """Sample size that would tell two models apart, if they differ as here.

        ``power`` is the probability that the interval of the paired difference excludes
        0. Its standard error shrinks with the square root of the number of cases.
        """
        if len(self.folds.names) != 2:
            raise InputError(
                "A plan needs two models that were trained on the same folds; found "
                f"{len(self.folds.names) or 1}.",
                example=PythonCode("cross_validate({'a': ..., 'b': ...}, X, y)"),
            )

        power = _options.fraction(power, "power")
        level = _options.fraction(level, "level")
        named_measure = _read_measure(metric, self.threshold)
        measured_folds = MeasuredFolds(
            self.folds, _as_analysis(named_measure.measure), named_measure.title, level
        )
        difference = measured_folds.contrast(0, 1)

        if not difference.value or not difference.standard_error:
            raise InputError(
                f"The two models do not differ in {named_measure.title} on these "
                "folds, so no sample size can show a difference."
            )

        labelled = [fold.labelled() for fold in self.folds]
        cases_now = sum(float(fold.n) for fold in labelled)
        prevalence = sum(float(fold.n_pos) for fold in labelled) / cases_now

        normal = NormalDist()
        quantile = normal.inv_cdf((1 + level) / 2)
        standard_errors_wanted = quantile + normal.inv_cdf(power)
        n = math.ceil(
            cases_now
            * (standard_errors_wanted * difference.standard_error / difference.value)
            ** 2
        )
        standard_error = difference.standard_error * math.sqrt(cases_now / n)
        n_pos = round(n * prevalence)

        return Plan(
            n=n,
            n_pos=n_pos,
            n_neg=n - n_pos,
            denominator=n,
            se=standard_error,
            half_width=quantile * standard_error,
            power=normal.cdf(abs(difference.value) / standard_error - quantile),
            measure=f"difference of {named_measure.title}",
            value=difference.value,
            null=0.0,
            prevalence=prevalence,
            level=level,
            sampling="cohort",
            model="folds",
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with a row for each number."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("about", "model", "metric", "value", "low", "high")
        }

        for about, values in (("folds", self.values), ("refitted", self.refitted)):
            if values is None:
                continue

            for model, estimates in _by_model(values).items():
                for metric, estimate in estimates.items():
                    columns["about"].append(about)
                    columns["model"].append(model)
                    columns["metric"].append(metric)
                    columns["value"].append(estimate.value)
                    columns["low"].append(estimate.low)
                    columns["high"].append(estimate.high)

        return native_frame(columns, backend)


def _by_model(values: Values) -> Mapping[str, Mapping[str, Estimate]]:
    """Return estimates by model, also where there is one model only."""
    if all(isinstance(value, Mapping) for value in values.values()):
        return cast("Mapping[str, Mapping[str, Estimate]]", values)
    return {_ONLY_MODEL: cast("Mapping[str, Estimate]", values)}


def _lines_of_values(values: Values) -> list[str]:
    """Return a line for each estimate, without its notes."""
    lines = []
    for model, estimates in _by_model(values).items():
        head = f"{model}: " if model else ""
        for estimate in estimates.values():
            first_line, _, _ = str(estimate).partition("\n")
            lines.append(f"    {head}{first_line}")

    return lines


def cross_validate(
    estimator: OneOrMoreClassifiers,
    X: Features,  # noqa: N803
    y: Column,
    *,
    cv: FoldsOrSplitter = 5,
    metrics: str | Iterable[str] = ("auc", "accuracy", "brier"),
    cluster: Column | None = None,
    sample_weight: Column | None = None,
    positive: LabelValue = None,
    threshold: float | None = None,
    repeats: int = 0,
    n_jobs: int | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> CrossValidation:
    """Cross-validation of a classifier, with confidence intervals.

    How good is this kind of model?

    Parameters
    ----------
    estimator
        A classifier of scikit-learn, or a mapping from name to classifier: all are
        trained on the same folds, for :func:`compare_auc` of ``.folds``.
    X, y
        Cases and their labels, which have two different values.
    cv
        Number of folds, or a splitter; with ``cluster`` one that keeps clusters
        together (``StratifiedGroupKFold``, the default then).
    metrics
        ``"auc"``, ``"average_precision"``, ``"brier"``, ``"log_loss"``, or any metric
        at the threshold: ``"accuracy"``, ``"recall"``, ``"f1"``.
    cluster, sample_weight
        Of each case: which belong together, and so into one fold; their weights, for
        training and for testing.
    positive
        The label that counts as positive, as in :func:`tally`.
    threshold
        Where metrics cut; 0.5 for probabilities and 0 for decision values when None.
    repeats
        Repeats of nested cross-validation, which is about the model refitted on all
        cases; each trains K (K + 1)/2 models of K folds. 10 is a start, 50 is steady.
    n_jobs
        Models trained at the same time.
    level, rng
        Confidence level of the intervals; seed of nested cross-validation.

    Notes
    -----
    Values are averaged over the folds and not pooled. The first answer, about the
    models trained on these folds, has intervals by influence values within folds
    (LeDell et al. 2015, Electron. J. Stat. 9:1583; Bayle et al. 2020, NeurIPS
    33:16339). For the refitted model, nested cross-validation (Bates et al. 2023, J.
    Am. Stat. Assoc. 119:1434) adds the variance between models of different folds, and
    removes the bias of smaller training sets. Bates et al. treat means of losses; for
    areas their errors and standard errors of a fold are those of its area.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> cross_validate(GaussianNB(), X, y, metrics="auc")["auc"]
    AUC 0.987 (95 % CI 0.973 to 0.994)
    """
    level = _options.fraction(level, "level")
    repeats = _options.whole_number(repeats, "repeats")
    data = _read_cases(X, y, positive, cluster, sample_weight)
    several_models = isinstance(estimator, Mapping)
    models: Mapping[str, Any] = {_ONLY_MODEL: estimator}
    if several_models:
        models = cast("Mapping[str, Any]", estimator)

    responses = {}
    for name, model in models.items():
        responses[name] = common.response_of(model, "auto", "cross-validate")

    if threshold is None:
        threshold = 0.0 if "decision_function" in responses.values() else 0.5

    threshold = _options.real_number(threshold, "threshold")
    measures = {}
    for name in one_or_more(metrics, "metrics", "names", ["auc", "recall"]):
        measures[name] = _read_measure(name, threshold)

    splits = data.splits(cv)
    fitted_folds = {}
    for name, model in models.items():
        fitted_folds[name] = _fit_folds(data, model, responses[name], splits, n_jobs)

    folds = _count_folds(data, splits, fitted_folds)
    values = {name: _values_of_model(folds, name, measures, level) for name in models}

    refitted = None
    if repeats:
        seeds = _options.generator(rng).integers(0, 2**31, repeats).tolist()
        splits_of_repeats = [data.splits(len(splits), seed) for seed in seeds]
        refitted = {}
        for name, model in models.items():
            refitted[name] = nested_cross_validation(
                data, model, responses[name], splits_of_repeats, measures, level
            )

    estimators = {name: [fold.model for fold in fitted_folds[name]] for name in models}
    notes = _notes(data, repeats)

    if several_models:
        return CrossValidation(
            values, refitted, folds, threshold, notes=notes, _estimators=estimators
        )

    # of one model without the mapping from its name
    return CrossValidation(
        values[_ONLY_MODEL],
        None if refitted is None else refitted[_ONLY_MODEL],
        folds,
        threshold,
        notes=notes,
        _estimators=estimators[_ONLY_MODEL],
    )


def _read_cases(
    X: Features,  # noqa: N803
    y: Column,
    positive: LabelValue,
    cluster: Column | None,
    sample_weight: Column | None,
) -> TrainingData:
    """Read labels, clusters and weights, one of each case."""
    labels, _ = common.two_labels(y, "cross_validate")
    columns = {
        name: np.asarray(column)
        for name, column in (("cluster", cluster), ("weight", sample_weight))
        if column is not None
    }
    _columns.same_length(y=labels, **columns)

    return TrainingData(
        X=X,
        labels=labels,
        positive=common.positive_label(labels, positive),
        cluster=columns.get("cluster"),
        weight=columns.get("weight"),
    )


@dataclass(frozen=True)
class _FittedFold:
    """A model trained without a fold, and its scores of that fold."""

    model: Any
    score: Floats


def _fit_folds(
    data: TrainingData,
    model: Any,
    response: str,
    splits: Sequence[Split],
    n_jobs: int | None,
) -> list[_FittedFold]:
    """Train a model without each fold, and score that fold."""
    folds: list[_FittedFold] = Parallel(n_jobs=n_jobs)(
        delayed(_fit_fold)(data, model, response, split) for split in splits
    )
    return folds


def _fit_fold(
    data: TrainingData, model: Any, response: str, split: Split
) -> _FittedFold:
    """Train a model without one fold, and score that fold."""
    trained_model = data.fit(model, split.train)
    return _FittedFold(trained_model, data.score(trained_model, response, split))


def _count_folds(
    data: TrainingData,
    splits: Sequence[Split],
    fitted_folds: Mapping[str, Sequence[_FittedFold]],
) -> Folds:
    """Count the scores of each fold, by one model or by several."""
    counts: list[Tally | Panel] = []
    for number, split in enumerate(splits):
        scores = {name: folds[number].score for name, folds in fitted_folds.items()}
        if _ONLY_MODEL in scores:
            counts.append(data.count_tally(scores[_ONLY_MODEL], split.test))
        else:
            counts.append(data.count_panel(scores, split.test))

    return Folds(tuple(counts))


def _values_of_model(
    folds: Folds, model: str, measures: Mapping[str, NamedMeasure], level: float
) -> dict[str, Estimate]:
    """Estimate each measure of one model, as a mean over the folds."""
    folds_of_model = folds if model == _ONLY_MODEL else folds[model]
    return {
        name: estimate_over_folds(
            folds_of_model, named_measure.measure, level=level, name=named_measure.title
        )
        for name, named_measure in measures.items()
    }


def _notes(data: TrainingData, repeats: int) -> tuple[str, ...]:
    """Say which model the intervals are about, and where they are too short."""
    shape = np.shape(data.X)
    features = shape[1] if len(shape) > 1 else 1
    notes = []

    if not repeats:
        notes.append(_NOT_REFITTED)
    if len(data.labels) < _ENOUGH_CASES_PER_FEATURE * features:
        notes.append(_ERRORS_CORRELATE)

    return tuple(notes)


def _as_analysis(measure: Measure) -> Any:
    """Return a measure in the shape of an analysis, which a comparison takes."""

    @measured_by(measure)
    def analysis(tally: Tally, *, level: float = 0.95) -> Any:
        return estimate_measure(tally, measure, level=level)

    return analysis


def _read_measure(name: str, threshold: float) -> NamedMeasure:
    """Read the name of a measure, or of a metric at the threshold."""
    if name in MEASURES:
        title = "AUC" if name == "auc" else name.replace("_", " ")
        return NamedMeasure(title, MEASURES[name].measure)

    try:
        metric = read_metric(name)
    except InputError:
        raise InputError(
            "metrics must be names of measures, or metrics at a threshold; found "
            f"{described(name)}.{nearest(name, MEASURES)}",
            option="metrics",
            choices=MEASURES,
        ) from None

    def measure_at_threshold(tally: Tally) -> MeasuredValue:
        return metric_measure(metric, tally.score >= threshold, tally)

    return NamedMeasure(metric.name, measure_at_threshold)
