"""What do users of scikit-learn expect of a figure? Displays, with bands.

Each has ``from_predictions``, ``from_estimator``, ``from_cv_results``, ``plot(ax=)``,
and the attributes ``line_``, ``band_``, ``ax_`` and ``figure_`` after drawing; after
``from_cv_results`` there is a line for each fold, and ``line_`` is a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, final

import numpy as np
from sklearn.utils import _safe_indexing

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.imports import required
from trueness._core.records import Estimate, as_precise
from trueness.calibration.reliability_curve import reliability
from trueness.counts.folds import Folds
from trueness.counts.values import Tally
from trueness.data.frames import tally
from trueness.ensembles.folds import answer_folds
from trueness.estimators._common import response_of, scores_of, two_labels
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import estimates
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.bands import precision_recall_band, roc_band
from trueness.ranking.curves import precision_recall, roc


class CurveWithBand(NamedTuple):
    """A curve and its band: both coordinates, and the limits at some of them."""

    x: Floats
    y: Floats
    at: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class _Kind:
    """What a kind of display draws of a tally, and what stands beside it."""

    curve: Callable[..., CurveWithBand]
    x: str
    y: str
    value: Callable[[Tally, float], Estimate | None]
    name: str = ""  # of the value, in the legend
    folds: str = ""  # the analysis of folds that gives it
    chance: tuple[Sequence[float], Sequence[float]] | None = None
    steps: str = "default"


@dataclass
class _Display:
    """Curves of one model, or of each fold, with what was estimated."""

    curves: list[CurveWithBand]
    estimate: Estimate | None = None
    estimator_name: str | None = None
    level: float = 0.95
    line_: Any = field(default=None, init=False)
    band_: Any = field(default=None, init=False)
    chance_level_: Any = field(default=None, init=False)
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    _kind = None

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sample_weight: Any = None,
        cluster: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        level: float = 0.95,
        ax: Any = None,
        **drawn: Any,
    ) -> Self:
        """Draw labels and scores.

        Parameters
        ----------
        y_true, y_score
            Labels, and scores that are higher for the positive class.
        sample_weight, cluster, pos_label
            As in :func:`trueness.tally`.
        name
            Name in the legend.
        level
            Confidence level of band and interval.
        ax
            Axes to draw on; new ones when None.
        **drawn
            ``plot_chance_level``, ``band``, ``despine``, ``curve_kwargs``: see
            :meth:`plot`.
        """
        words = {"weight": sample_weight, "cluster": cluster, "positive": pos_label}
        t = tally(y_true, y_score, **{k: v for k, v in words.items() if v is not None})
        made = cls([_of(cls).curve(t, level)], _of(cls).value(t, level), name, level)
        return made.plot(ax=ax, **drawn)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803
        y: Any,
        *,
        response_method: str = "auto",
        name: str | None = None,
        **more: Any,
    ) -> Self:
        """Draw a fitted classifier on cases that it has not seen.

        Parameters
        ----------
        estimator, X, y
            The classifier, and the cases with their labels.
        response_method
            ``"predict_proba"``, ``"decision_function"``, or the first that it has.
        name
            Name in the legend; that of its class when None.
        **more
            As in :meth:`from_predictions`.
        """
        response = response_of(estimator, response_method, "draw it")
        score = scores_of(estimator, X, response)
        more.setdefault("pos_label", estimator.classes_[1])
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, score, name=name, **more)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,  # noqa: N803
        y: Any,
        *,
        response_method: str = "auto",
        name: str | None = None,
        level: float = 0.95,
        ax: Any = None,
        **drawn: Any,
    ) -> Self:
        """Draw every fold of ``sklearn.model_selection.cross_validate``.

        Parameters
        ----------
        cv_results
            Made with ``return_estimator=True`` and ``return_indices=True``.
        X, y
            The cases and labels that were given to it.
        response_method, name, level, ax, **drawn
            As in :meth:`from_estimator` and :meth:`from_predictions`.
        """
        if not {"estimator", "indices"} <= set(cv_results):
            raise InputError(
                "from_cv_results needs the models and the folds. Type "
                "cross_validate(..., return_estimator=True, return_indices=True)."
            )
        y, classes = two_labels(y, cls.__name__)
        parts = []
        for model, at in zip(
            cv_results["estimator"], cv_results["indices"]["test"], strict=True
        ):
            response = response_of(model, response_method, "draw it")
            score = scores_of(model, _safe_indexing(X, at), response)
            parts.append(tally(y[at], score, positive=classes[1]))
        kind, found = _of(cls), None
        if kind.folds:
            found = answer_folds(kind.folds, Folds(tuple(parts)), (), {"level": level})
        curves = [kind.curve(t, level) for t in parts]
        return cls(curves, found, name, level).plot(ax=ax, **drawn)

    def plot(
        self,
        *,
        ax: Any = None,
        plot_chance_level: bool = True,
        band: bool = True,
        despine: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw on axes of matplotlib.

        Parameters
        ----------
        ax
            Axes to draw on; new ones when None.
        plot_chance_level
            Draw what guessing, or a calibrated score, would give.
        band
            Draw the confidence band; folds have none.
        despine
            Leave out the lines at the top and at the right.
        curve_kwargs
            Passed on to ``ax.plot``.
        """
        required("matplotlib", "mpl")
        import matplotlib.pyplot as plt

        kind = _of(type(self))
        ax = plt.subplots()[1] if ax is None else ax
        several = len(self.curves) > 1
        look = {"alpha": 0.5, "linewidth": 1} if several else {}
        lines = []
        for k, c in enumerate(self.curves):
            label = self._label(kind) if not k else None
            style = {"drawstyle": kind.steps, **look, **(curve_kwargs or {})}
            lines += ax.plot(c.x, c.y, label=label, **style)
        if band and not several:
            c, colour = self.curves[0], lines[0].get_color()
            shade = {"color": colour, "alpha": 0.2, "linewidth": 0}
            self.band_ = ax.fill_between(c.at, c.low, c.high, **shade)
        if plot_chance_level and kind.chance is not None:
            (self.chance_level_,) = ax.plot(*kind.chance, "k--", linewidth=1)
        if despine:
            ax.spines[["top", "right"]].set_visible(False)
        ax.set(xlabel=kind.x, ylabel=kind.y, ylim=(-0.01, 1.01))
        if lines[0].get_label()[0] != "_":
            ax.legend()
        self.line_ = lines if several else lines[0]
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label(self, kind: _Kind) -> str | None:
        if self.estimate is None:
            return self.estimator_name
        e = self.estimate
        value, low, high = as_precise(e.value, e.low, e.high)
        text = f"{kind.name} = {value} ({low} to {high})"
        return f"{self.estimator_name} ({text})" if self.estimator_name else text


def _of(cls: type[_Display]) -> _Kind:
    kind: Any = cls._kind
    return kind  # type: ignore[no-any-return]  # every display has one


def _roc(t: Tally, level: float) -> CurveWithBand:
    c, b = roc(t), roc_band(t, level=level)
    return CurveWithBand(c.fpr, c.tpr, b.fpr, b.low, b.high)


def _precision_recall(t: Tally, level: float) -> CurveWithBand:
    c, b = precision_recall(t), precision_recall_band(t, level=level)
    return CurveWithBand(c.recall, c.precision, b.recall, b.low, b.high)


def _calibration(t: Tally, level: float) -> CurveWithBand:
    r = reliability(t, level=level)
    order = np.argsort(r.score)
    columns = (r.score, r.probability, r.score, r.confidence_low, r.confidence_high)
    return CurveWithBand(*(c[order] for c in columns))


def _by_threshold(metric: str, t: Tally, level: float) -> CurveWithBand:
    """Give a metric at every threshold, and its limits at a hundred of them."""
    m = read_metric(metric)
    at = np.unique(t.score[np.linspace(0, len(t) - 1, min(len(t), 100)).astype(int)])
    found = [estimates(t, float(c), [m], level=level)[m.name] for c in at]
    value, low, high = (np.array([getattr(e, k) for e in found])
                        for k in ("value", "low", "high"))  # fmt: skip
    return CurveWithBand(at, value, at, low, high)


@final
class RocDisplay(_Display):
    """The ROC curve with its confidence band, and the AUC with its interval."""

    _kind = _Kind(  # type: ignore[assignment]  # of the class, not of the dataclass
        _roc,
        "False positive rate",
        "True positive rate",
        lambda t, level: auc(t, level=level),
        "AUC",
        "auc",
        ([0, 1], [0, 1]),
    )

    @property
    def fpr(self) -> Any:
        """False positive rates, of folds a list."""
        return _each(self, "x")

    @property
    def tpr(self) -> Any:
        """True positive rates, of folds a list."""
        return _each(self, "y")

    @property
    def roc_auc(self) -> Estimate | None:
        """Give the AUC with its interval."""
        return self.estimate


@final
class PrecisionRecallDisplay(_Display):
    """The precision-recall curve with its band, and the average precision."""

    _kind = _Kind(  # type: ignore[assignment]
        _precision_recall,
        "Recall",
        "Precision",
        lambda t, level: average_precision(t, level=level),
        "AP",
        "average_precision",
        steps="steps-post",
    )

    @property
    def recall(self) -> Any:
        """Recall, of folds a list."""
        return _each(self, "x")

    @property
    def precision(self) -> Any:
        """Precision, of folds a list."""
        return _each(self, "y")

    @property
    def average_precision(self) -> Estimate | None:
        """Give the average precision with its interval."""
        return self.estimate


@final
class CalibrationDisplay(_Display):
    """The calibration curve (isotonic, without bins) with its confidence band."""

    _kind = _Kind(  # type: ignore[assignment]
        _calibration,
        "Score",
        "Share of positives",
        lambda t, level: None,
        chance=([0, 1], [0, 1]),
    )

    @property
    def prob_pred(self) -> Any:
        """Scores, of folds a list."""
        return _each(self, "x")

    @property
    def prob_true(self) -> Any:
        """Share of positives at each score, of folds a list."""
        return _each(self, "y")


@final
class ThresholdDisplay(_Display):
    """Youden's J at every threshold, with its limits at each."""

    _kind = _Kind(  # type: ignore[assignment]
        lambda t, level: _by_threshold("youden", t, level),
        "Threshold",
        "Youden's J",
        lambda t, level: None,
    )

    @property
    def thresholds(self) -> Any:
        """Thresholds, of folds a list."""
        return _each(self, "x")

    @property
    def values(self) -> Any:
        """The metric at each threshold, of folds a list."""
        return _each(self, "y")


def _each(display: _Display, what: str) -> Any:
    found = [getattr(c, what) for c in display.curves]
    return found if len(found) > 1 else found[0]
