"""What do users of scikit-learn expect of a figure? Displays, with bands.

Each has ``from_predictions``, ``from_estimator``, ``from_cv_results``, ``plot(ax=)``,
and the attributes ``line_``, ``band_``, ``chance_level_``, ``ax_`` and ``figure_``
after drawing; after ``from_cv_results`` there is a line for each fold, and ``line_``
is a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from sklearn.utils import _safe_indexing

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.imports import required
from trueness._core.records import Estimate, as_precise
from trueness.calibration.reliability_curve import reliability
from trueness.counts.folds import Folds
from trueness.counts.values import Tally
from trueness.data.frames import tally
from trueness.estimators import _common as common
from trueness.estimators.cross_validation import CrossValidation
from trueness.metrics.definitions import METRICS
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


class _CurveKind(NamedTuple):
    """What a kind of display draws of a tally, and what its parts are called."""

    curve: Callable[[Tally, float], CurveWithBand]
    x: tuple[str, str]  # attribute and title of the axis
    y: tuple[str, str]
    estimate: tuple[str, str, Any] = ("", "", None)  # attribute, short name, analysis
    chance: Callable[[float], Any] | None = None  # of the share of positives
    steps: str = "default"


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


def _youden(t: Tally, level: float) -> CurveWithBand:
    """Give Youden's J at a hundred thresholds, with its limits."""
    m = METRICS["youden"]
    at = np.unique(t.score[np.linspace(0, len(t) - 1, min(len(t), 100)).astype(int)])
    found = [estimates(t, float(c), [m], level=level)[m.name] for c in at]
    value, low, high = np.array([(e.value, e.low, e.high) for e in found]).T
    return CurveWithBand(at, value, at, low, high)


@dataclass
class _Display:
    """Curves of one model, or of each fold, with what was estimated."""

    kind: ClassVar[_CurveKind]
    curves: list[CurveWithBand]
    estimate: Estimate | None = None
    estimator_name: str | None = None
    pos_label: object = None
    prevalence_pos_label: float = np.nan
    line_: Any = field(default=None, init=False)
    band_: Any = field(default=None, init=False)
    chance_level_: Any = field(default=None, init=False)
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    def __getattr__(self, name: str) -> Any:
        """Give a coordinate, of folds a list of them, or the estimate by its name."""
        if name and name == self.kind.estimate[0]:
            return self.estimate
        for k, (own, _) in enumerate((self.kind.x, self.kind.y)):
            if name == own:
                found = [c[k] for c in self.curves]
                return found if len(found) > 1 else found[0]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @classmethod
    def _of(cls, parts: list[Tally], level: float, **about: Any) -> Self:
        data = Folds(tuple(parts)) if len(parts) > 1 else parts[0]
        ask = cls.kind.estimate[2]
        found = ask(data, level=level) if ask else None
        share = sum(t.n_pos for t in parts) / sum(t.n_pos + t.n_neg for t in parts)
        curves = [cls.kind.curve(t, level) for t in parts]
        return cls(curves, found, prevalence_pos_label=share, **about)

    @classmethod
    def from_predictions(
        cls,
        y_true: object,
        y_score: object,
        *,
        sample_weight: object = None,
        cluster: object = None,
        pos_label: object = None,
        name: str | None = None,
        level: float = 0.95,
        ax: object = None,
        **drawn: Any,
    ) -> Self:
        """Draw labels and scores, which are higher for the positive class.

        ``sample_weight``, ``cluster`` and ``pos_label`` are as in
        :func:`trueness.tally`; ``name`` is for the legend; all others go to
        :meth:`plot`.
        """
        given = {"weight": sample_weight, "cluster": cluster, "positive": pos_label}
        words: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        t = tally(y_true, y_score, **words)
        made = cls._of([t], level, estimator_name=name, pos_label=pos_label)
        return made.plot(ax=ax, **drawn)

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object,  # noqa: N803
        y: object,
        *,
        response_method: str = "auto",
        name: str | None = None,
        **more: Any,
    ) -> Self:
        """Draw a fitted classifier on cases that it has not seen.

        ``response_method`` is ``"predict_proba"``, ``"decision_function"``, or the
        first that it has; all others are as in :meth:`from_predictions`.
        """
        response = common.response_of(estimator, response_method, "draw it")
        more["pos_label"] = common.positive_label(y, more.get("pos_label"), "pos_label")
        score = common.scores_of(estimator, X, response, more["pos_label"])
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, score, name=name, **more)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: CrossValidation | Mapping[str, Any],
        X: object = None,  # noqa: N803
        y: object = None,
        *,
        sample_weight: object = None,
        response_method: str = "auto",
        pos_label: object = None,
        name: str | None = None,
        level: float = 0.95,
        ax: object = None,
        **drawn: Any,
    ) -> Self:
        """Draw every fold of :func:`trueness.cross_validate`, or of scikit-learn's.

        Scikit-learn's was called on these cases with ``return_estimator=True`` and
        ``return_indices=True``. All others are as in :meth:`from_estimator`.
        """
        if isinstance(cv_results, CrossValidation):
            folds = cv_results.folds
            if folds.names:
                raise InputError(
                    f"{cls.__name__} draws one model; found {listing(folds.names)}. "
                    "Cross-validate the one to be drawn by itself."
                )
            made = cls._of(list(folds), level, estimator_name=name)
            return made.plot(ax=ax, **drawn)
        if not {"estimator", "indices"} <= set(cv_results):
            raise InputError(
                "from_cv_results needs the models and the folds. Type "
                "cross_validate(..., return_estimator=True, return_indices=True)."
            )
        label, _ = common.two_labels(y, cls.__name__)
        positive = common.positive_label(label, pos_label, "pos_label")
        parts, tests = [], cv_results["indices"]["test"]
        for model, at in zip(cv_results["estimator"], tests, strict=True):
            response = common.response_of(model, response_method, "draw it")
            score = common.scores_of(model, _safe_indexing(X, at), response, positive)
            words: dict[str, Any] = {"positive": positive}
            if sample_weight is not None:
                words["weight"] = np.asarray(sample_weight)[at]
            parts.append(tally(label[at], score, **words))
        made = cls._of(parts, level, estimator_name=name, pos_label=positive)
        return made.plot(ax=ax, **drawn)

    def plot(
        self,
        *,
        ax: object = None,
        plot_chance_level: bool = True,
        band: bool = True,
        despine: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw on axes of matplotlib, new ones when None.

        ``plot_chance_level`` draws what guessing, or a calibrated score, would give,
        ``band`` the confidence band (folds have none); ``despine`` leaves out the lines
        at the top and at the right; ``curve_kwargs`` go to ``ax.plot``.
        """
        required("matplotlib", "mpl")
        import matplotlib.pyplot as plt

        kind = self.kind
        on: Any = plt.subplots()[1] if ax is None else ax
        several = len(self.curves) > 1
        thin = {"alpha": 0.5, "linewidth": 1} if several else {}
        style = {"drawstyle": kind.steps, **thin, **(curve_kwargs or {})}
        lines = [line for c in self.curves for line in on.plot(c.x, c.y, **style)]
        lines[0].set_label(self._label(kind.estimate[1]))
        if band and not several:
            c, shade = self.curves[0], {"alpha": 0.2, "linewidth": 0}
            colour = lines[0].get_color()
            self.band_ = on.fill_between(c.at, c.low, c.high, color=colour, **shade)
        if plot_chance_level and kind.chance is not None:
            ends = kind.chance(self.prevalence_pos_label)
            what = "Chance level" if self.estimate else "Perfectly calibrated"
            look: dict[str, Any] = {"linewidth": 1, "label": what}
            (self.chance_level_,) = on.plot([0, 1], ends, "k--", **look)
        if despine:
            on.spines[["top", "right"]].set_visible(False)
        on.set(xlabel=kind.x[1], ylabel=kind.y[1], ylim=(-0.01, 1.01))
        if on.get_legend_handles_labels()[0]:
            on.legend()
        self.line_ = lines if several else lines[0]
        self.ax_, self.figure_ = on, on.figure
        return self

    def _label(self, short: str) -> str:
        name, e = self.estimator_name or "", self.estimate
        if e is None:
            return name or "_"
        value, low, high = as_precise(e.value, e.low, e.high)
        text = f"{short} = {value} ({low} to {high})"
        return f"{name}\n{text}" if name else text


@final
class RocDisplay(_Display):
    """The ROC curve with its confidence band: ``fpr``, ``tpr``, ``roc_auc``."""

    kind = _CurveKind(
        _roc,
        ("fpr", "False positive rate"),
        ("tpr", "True positive rate"),
        ("roc_auc", "AUC", auc),
        lambda share: [0, 1],
    )


@final
class PrecisionRecallDisplay(_Display):
    """Precision and recall: ``recall``, ``precision``, ``average_precision``."""

    kind = _CurveKind(
        _precision_recall,
        ("recall", "Recall"),
        ("precision", "Precision"),
        ("average_precision", "AP", average_precision),
        lambda share: [share, share],
        steps="steps-post",
    )


@final
class CalibrationDisplay(_Display):
    """The calibration curve, isotonic, without bins: ``prob_pred``, ``prob_true``."""

    kind = _CurveKind(
        _calibration,
        ("prob_pred", "Score"),
        ("prob_true", "Share of positives"),
        chance=lambda share: [0, 1],
    )


@final
class ThresholdDisplay(_Display):
    """Youden's J at every threshold, with its limits: ``thresholds``, ``values``."""

    kind = _CurveKind(_youden, ("thresholds", "Threshold"), ("values", "Youden's J"))
