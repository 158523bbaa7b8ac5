r"""How good are the models that a cross-validation trains, and the one refitted on all?

*The models trained on these folds* are tested on cases that are new to them. *The model
refitted on all cases* is another one, and folds share training cases, so that their
interval is too short for it; nested cross-validation says how far both are apart.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations_with_replacement, permutations
from math import ceil
from statistics import NormalDist
from typing import Any, cast, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
    cross_val_predict,
)
from sklearn.utils import _safe_indexing

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.checks.words import listing, nearest
from trueness._core.progress import steps
from trueness._core.records import Estimate, Record, native_frame
from trueness.calibration.proper_scores import brier, log_loss
from trueness.counts.folds import Folds
from trueness.counts.values import Tally
from trueness.data.frames import panel as count_panel
from trueness.data.frames import tally as count_tally
from trueness.ensembles.crossfit import MeasuredFolds
from trueness.estimators import classifiers as common
from trueness.inference.estimates import (
    estimate_from_variance,
    estimate_measure,
    estimate_over_folds,
    evaluate_measure,
)
from trueness.inference.sample import Measure, MeasuredValue, apply_design
from trueness.inference.variance import variance_of_mean
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.grammar import one_or_more
from trueness.metrics.intervals import metric_measure
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.planning import Plan
from trueness.threshold.operating_point import best_threshold

ON_FOLDS = "the models trained on these folds, each tested on the cases left out"
REFITTED = "the model refitted on all cases"
# measures of the whole ranking; all other names are metrics at the threshold
MEASURES: dict[str, Any] = {
    "auc": auc,
    "average_precision": average_precision,
    "brier": brier,
    "log_loss": log_loss,
}
Splits = list[tuple[Array, Array]]  # of the cases: to train on, to test on
Values = Mapping[str, Estimate] | Mapping[str, Mapping[str, Estimate]]


@final
@dataclass(frozen=True, repr=False)
class CrossValidation(Record):
    """How good are models that were trained on folds?

    Attributes
    ----------
    values : mapping from metric to Estimate
        Means over the folds, about the models trained on them; with several models a
        mapping from model to these.
    refitted : mapping, or None
        The same about the model refitted on all cases, by nested cross-validation; None
        without ``repeats``.
    folds : Folds
        The counts of each fold, for other questions: ``compare_auc(found.folds)``.
    threshold : float
        Scores of at least this are flagged, in metrics that need a threshold.
    """

    values: Values
    refitted: Values | None
    folds: Folds
    threshold: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Write a line for each number, under what it speaks of."""
        lines = [f"CrossValidation of {len(self.folds)} folds"]
        for about, values in ((ON_FOLDS, self.values), (REFITTED, self.refitted)):
            if values is not None:
                lines += [f"  About {about}:", *_lines(values)]
        return "\n".join([*lines, *(f"  Note: {n}" for n in self.notes)])

    def plan(
        self, metric: str = "auc", *, power: float = 0.9, level: float = 0.95
    ) -> Plan:
        """How many cases would tell two models apart, if they differ as they did here?

        ``power`` is the wanted probability that the interval of the paired difference,
        whose standard error shrinks with the root of the number of cases, excludes 0.
        """
        if len(self.folds.names) != 2:
            raise InputError(
                "A plan needs two models that were trained on the same folds; found "
                f"{len(self.folds.names) or 1}. Type cross_validate({{'a': ..., 'b': "
                "...}, X, y)."
            )
        power = _options.fraction(power, "power")
        level = _options.fraction(level, "level")
        title, measure = _measure(metric, self.threshold)
        pair = MeasuredFolds(self.folds, _asking(measure), title, level).contrast(0, 1)
        if not pair.value or not pair.standard_error:
            raise InputError(
                f"The two models do not differ in {title} on these folds: no number of "
                "cases is enough."
            )
        normal, cases = NormalDist(), [p.labelled() for p in self.folds]
        z = normal.inv_cdf((1 + level) / 2)
        now, pos = (sum(float(getattr(p, k)) for p in cases) for k in ("n", "n_pos"))
        n = ceil(
            now * ((z + normal.inv_cdf(power)) * pair.standard_error / pair.value) ** 2
        )
        sd, share = pair.standard_error * math.sqrt(now / n), pos / now
        reached = normal.cdf(abs(pair.value) / sd - z)
        sizes = (n, round(n * share), n - round(n * share), n)
        what, d = f"difference of {title}", pair.value
        given = (share, level, "cohort", "folds")
        return Plan(*sizes, sd, z * sd, reached, what, d, 0.0, *given)

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with a row for each number."""
        rows = [
            (about, model, name, e.value, e.low, e.high)
            for about, values in (("folds", self.values), ("refitted", self.refitted))
            if values is not None
            for model, each in _by_model(values).items()
            for name, e in each.items()
        ]
        heads = ("about", "model", "metric", "value", "low", "high")
        columns = map(list, zip(*rows, strict=True))
        return native_frame(dict(zip(heads, columns, strict=True)), backend)


def _by_model(values: Any) -> dict[str, Mapping[str, Estimate]]:
    several = all(isinstance(v, Mapping) for v in values.values())
    return dict(values) if several else {"": values}


def _lines(values: Values) -> list[str]:
    return [
        f"    {model + ': ' if model else ''}{e}".partition("\n")[0]
        for model, each in _by_model(values).items()
        for e in each.values()
    ]


def cross_validate(
    estimator: object,
    X: object,  # noqa: N803
    y: object,
    *,
    cv: object = 5,
    metrics: str | Iterable[str] = ("auc", "accuracy", "brier"),
    cluster: object = None,
    sample_weight: object = None,
    positive: object = None,
    threshold: float | None = None,
    repeats: int = 0,
    n_jobs: int | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> CrossValidation:
    """How good is this kind of model, by cross-validation, and how sure are we?

    Parameters
    ----------
    estimator
        A classifier of scikit-learn, or a mapping from name to classifier: all are
        trained on the same folds, for :func:`compare_auc` of ``found.folds``.
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
    models trained on these folds, has limits by influence values within folds (LeDell
    et al. 2015, Electron. J. Stat. 9:1583; Bayle et al. 2020, NeurIPS 33:16339). About
    the refitted one nested cross-validation (Bates et al. 2023, J. Am. Stat. Assoc.
    119:1434) adds what the models of different folds differ by, and removes the bias of
    smaller training sets. Bates et al. treat means of losses; for areas their errors
    and standard errors of a fold are those of its area.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = cross_validate(GaussianNB(), X, y, metrics="auc")
    >>> found.values["auc"]
    AUC 0.987 (95 % CI 0.978 to 0.993)
    """
    level = _options.fraction(level, "level")
    number = _options.whole_number(repeats, "repeats")
    labels, classes = common.two_labels(y, "cross_validate")
    positive = common.positive_label(labels, positive)
    models = estimator if isinstance(estimator, Mapping) else {"": estimator}
    given = {"cluster": cluster, "weight": sample_weight}
    columns = {k: np.asarray(v) for k, v in given.items() if v is not None}
    _columns.same_length(y=labels, **columns)

    def counted(scores: Mapping[str, Floats], at: Array) -> Any:
        words: Any = {"positive": positive, **{k: v[at] for k, v in columns.items()}}
        if [*scores] == [""]:
            return count_tally(labels[at], scores[""], **words)
        return count_panel(labels[at], scores, **words)

    names = one_or_more(metrics, "metrics must be names", '["auc", "recall"]')
    splits = _splits(cv, X, labels, cluster)
    response = {
        k: common.response_of(m, "auto", "cross-validate") for k, m in models.items()
    }
    if threshold is None:
        threshold = 0.0 if "decision_function" in response.values() else 0.5
    threshold = _options.real_number(threshold, "threshold")
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    scores, how = {}, {"cv": splits, "n_jobs": n_jobs, "params": weight}
    for k, m in models.items():
        found = cross_val_predict(clone(m), X, labels, method=response[k], **how)
        scores[k] = np.asarray(common.score_of(found, bool(classes[1] == positive)))
    parts = (counted({k: s[at] for k, s in scores.items()}, at) for _, at in splits)
    folds = Folds(tuple(parts))
    asked = {name: _measure(name, threshold) for name in names}
    values = {
        model: {
            n: estimate_over_folds(
                folds[model] if model else folds, m, level=level, name=title
            )
            for n, (title, m) in asked.items()
        }
        for model in models
    }

    def trained(model: str, without: list[Array]) -> Callable[[Array], Tally]:
        train = np.setdiff1d(np.arange(len(labels)), np.concatenate(without))
        words = {k: np.asarray(w)[train] for k, w in weight.items()}
        rows, made = _safe_indexing(X, train), clone(models[model])
        made.fit(rows, labels[train], **words)

        def tested(at: Array) -> Tally:
            rows = _safe_indexing(X, at)
            score = common.scores_of(made, rows, response[model], positive)
            return cast("Tally", counted({"": score}, at))

        return tested

    again = None
    if number:
        seeds = _options.generator(rng).integers(0, 2**31, number).tolist()
        drawn = [[at for _, at in _splits(len(splits), X, labels, cluster, seed)]
                 for seed in seeds]  # fmt: skip
        again = {k: _nested(partial(trained, k), drawn, asked, level) for k in models}
    # where models hang on single cases; 50 a feature were enough
    few = len(labels) < 50 * (*np.shape(cast("Any", X)), 1)[1]
    plain = not isinstance(estimator, Mapping)
    return CrossValidation(
        values[""] if plain else values,
        again[""] if again is not None and plain else again,
        folds,
        threshold,
        notes=((_NOT_REFITTED,) * (not number)) + ((_TOGETHER,) * few),
    )


_NOT_REFITTED = (
    "These limits are about the models trained on the folds. Those of the model "
    "refitted on all cases are wider: type repeats=10."
)
_TOGETHER = (
    "With few cases for each feature the errors of folds go together, and these "
    "limits are too short: with 5 cases a feature they held the truth in .82 to .91 "
    "of samples, with 20 in .93 to .95. Those of repeats=10 held it in .93 to .97."
)


def _asking(measure: Measure) -> Any:
    """Give a measure the shape of an analysis, which a comparison takes."""

    def ask(t: Tally, *, level: float = 0.95) -> Any:
        return estimate_measure(t, measure, level=level)

    ask.measure = measure  # type: ignore[attr-defined]
    return ask


def _splits(
    cv: Any,
    X: object,  # noqa: N803
    y: Array,
    groups: object,
    seed: int | None = None,
) -> Splits:
    """Make the folds, each case in one of them."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        cv = kind(int(cv), shuffle=seed is not None, random_state=seed)
    splitter = check_cv(cv, y, classifier=True)
    with warnings.catch_warnings():  # folds that ignore clusters are refused later
        warnings.filterwarnings("ignore", "The groups parameter is ignored")
        splits = list(splitter.split(X, y, groups))
    tested = np.concatenate([test for _, test in splits])
    if len(splits) < 2 or not np.array_equal(np.sort(tested), np.arange(len(y))):
        raise InputError(
            "cross_validate needs folds that hold each case once, as KFold and "
            "StratifiedGroupKFold give them. Repeats are asked for by repeats=."
        )
    return splits


def _measure(name: str, threshold: float) -> tuple[str, Measure]:
    """Read a metric: its title, and its value and influence of a tally."""
    if name in MEASURES:
        title = "AUC" if name == "auc" else name.replace("_", " ")
        return title, MEASURES[name].measure
    try:
        chosen = read_metric(name)
    except InputError as err:
        raise InputError(
            f"metrics takes {listing(MEASURES)}, and those at a threshold."
            f"{nearest(name, MEASURES) or f' {err}'}"
        ) from None

    def measure(t: Tally) -> MeasuredValue:
        return metric_measure(chosen, t.score >= threshold, t)

    return chosen.name, measure


def _nested(
    trained: Callable[[list[Array]], Callable[[Array], Tally]],
    drawn: list[list[Array]],
    asked: Mapping[str, tuple[str, Measure]],
    level: float,
) -> dict[str, Estimate]:
    """Estimate the error of a cross-validation as a forecast of the refitted model.

    ``trained`` gives, of a model trained without some folds, the counts of others;
    ``drawn`` are the folds of each repeat.
    """
    k, found = len(drawn[0]), defaultdict(list)
    for parts in steps(drawn, "Nested cross-validation"):
        tallies: dict[tuple[int, int], Tally] = {}
        for i, j in combinations_with_replacement(range(k), 2):
            # a model without two folds serves either of them; i = j is the outer one
            tested = trained([parts[i], parts[j]])
            tallies |= {(a, b): tested(parts[a]) for a, b in {(i, j), (j, i)}}
        for name, (_, measure) in asked.items():
            folds = [
                evaluate_measure(apply_design(tallies[j, j]), measure) for j in range(k)
            ]
            outer = np.array([m.value for m in folds])
            each = np.full((k, k), np.nan)
            for i, j in permutations(range(k), 2):
                each[i, j] = measure(apply_design(tallies[i, j]).target_counts).value
            # Bates et al. (2023), algorithm 1: of the folds beside j, by models without
            inner = np.nanmean(each, axis=0)
            naive = variance_of_mean([m.variance_estimate for m in folds])
            within = np.mean([m.variance_estimate.variance for m in folds])
            error = np.mean((inner - outer) ** 2) - within
            numbers = inner.mean(), outer.mean(), error, naive.variance
            found[name].append((numbers, naive, folds[0].ends))
    made = {}
    for name, rows in found.items():  # sec. 4.3 and 4.4
        _, s, ends = rows[0]
        nested, plain, error, alone = np.mean([r[0] for r in rows], axis=0).tolist()
        # the error is kept between that of independent folds and that of one fold
        variance = min(max((k - 1) / k * error, alone), k * alone)
        # models of nested folds see fewer cases; the difference is carried on to all
        value = nested - (1 + (k - 2) / k) * (nested - plain)
        value = min(max(value, ends[0]), ends[1])
        s = replace(s, variance=variance, uncorrected_variance=variance)
        made[name] = estimate_from_variance(value, s, ends, level, asked[name][0])
    return made


def metric_scorer(
    metric: str | Metric,
    *,
    subject_to: str | Constraint | Iterable[str | Constraint] = (),
    prevalence: float | None = None,
    response_method: str | tuple[str, ...] = ("decision_function", "predict_proba"),
) -> Any:
    """How good is a model at its best threshold under constraints, as a scorer?

    "Recall at a precision of 0.9" is ``metric_scorer("recall", subject_to="precision >=
    0.9")``. The threshold is chosen on the same fold that it is evaluated on, which is
    right for comparing models, but optimistic as a forecast.

    Parameters
    ----------
    metric
        Any metric of Trueness, or text. A metric that is better when lower is
        minimised; scikit-learn then gets its negative, as with its own losses.
    subject_to
        Constraints. A fold in which no threshold meets them gets the worst possible
        value of the metric, so that a search can go on.
    prevalence, response_method
        The share of positives where the model is used, if it differs from that in the
        data; which outputs of the model are taken as scores.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(400, random_state=0)
    >>> scoring = metric_scorer("recall", subject_to="precision >= 0.9")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scoring, cv=3).shape
    (3,)
    """
    chosen = read_metric(metric)
    read_constraints(subject_to)
    asked: Any = {"metric": chosen, "subject_to": subject_to, "prevalence": prevalence}
    return make_scorer(
        partial(_best_value, **asked),
        response_method=response_method,
        greater_is_better=chosen.direction != "lower",
    )


def _best_value(
    y_true: ArrayLike,
    y_score: Floats,
    metric: Metric,
    subject_to: str | Constraint | Iterable[str | Constraint],
    prevalence: float | None,
) -> float:
    y = np.asarray(y_true)
    # scikit-learn hands over the score of the larger label
    t = common.tally_of(y, y_score, np.unique(y)[-1]).with_design(prevalence=prevalence)
    lower = metric.direction == "lower"
    aim: dict[str, Any] = {"minimize": metric} if lower else {"maximize": metric}
    try:
        found = best_threshold(t, subject_to=subject_to, **aim)
        return float(found.value)
    except Infeasible:
        worst = metric.range[1] if lower else metric.range[0]
        return float(worst) if math.isfinite(worst) else math.nan
