"""What do users of scikit-learn expect of a figure? Displays, with bands.

Each has ``from_predictions``, ``from_estimator``, ``from_cv_results``, ``plot(ax=)``,
and the attributes ``line_``, ``band_``, ``chance_level_``, ``ax_`` and ``figure_``
after drawing; of folds ``line_`` is a list, and so are the coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    Self,
    TypedDict,
    Unpack,
    final,
)

import numpy as np
from sklearn.utils import _safe_indexing

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import listing
from trueness._core.data_types import Column, Features, LabelValue
from trueness._core.figures import Axis, Curves, Line, TitledFigure, guide, span
from trueness._core.records import Estimate, as_precise
from trueness.calibration.reliability_diagram import reliability
from trueness.counts.folds import Folds
from trueness.counts.values import Tally
from trueness.data.frames import tally
from trueness.estimators import classifiers as common
from trueness.estimators.cross_validation import CrossValidation
from trueness.estimators.model_types import Classifier
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import estimates
from trueness.plots._matplotlib import draw
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.bands import precision_recall_band, roc_band
from trueness.ranking.curves import precision_recall, roc

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

CURVE = "curve"
_MOST_THRESHOLDS = 100


class _DrawnCurve(NamedTuple):
    """Both coordinates of a curve, and of its band: where, and from low to high."""

    across: Floats
    up: Floats
    band_across: Floats
    low: Floats
    high: Floats


class _Number(NamedTuple):
    """A number that goes with a curve: its attribute, short name and analysis."""

    attribute: str
    short_name: str
    analysis: Any


class PlotOptions(TypedDict, total=False):
    """What the methods that draw pass on to ``plot``, beside the axes."""

    plot_chance_level: bool
    band: bool
    despine: bool
    curve_kwargs: Mapping[str, Any] | None


class PredictionOptions(PlotOptions, total=False):
    """What drawing a classifier passes on, beside the label and the name."""

    sample_weight: Column | None
    cluster: Column | None
    level: float
    ax: Axes | None


class _Display(ABC):
    """Curves of one model, or of each fold, with what was estimated."""

    # attributes and titles of the axes
    _x: ClassVar[tuple[str, str]]
    _y: ClassVar[tuple[str, str]]
    # the number in the legend
    _number: ClassVar[_Number | None] = None
    _steps: ClassVar[bool] = False
    estimate: Estimate | None = None
    line_: Line2D | list[Line2D] | None = None
    band_: Collection | None = None
    chance_level_: Line2D | None = None
    ax_: Axes | None = None
    figure_: Figure | SubFigure | None = None

    def __init__(
        self,
        tallies: Sequence[Tally],
        level: float,
        name: str | None = None,
        pos_label: LabelValue = None,
    ) -> None:
        self.estimator_name = name
        self.pos_label = pos_label
        positives = sum(t.n_pos for t in tallies)
        cases = sum(t.n_pos + t.n_neg for t in tallies)
        self.prevalence_pos_label = positives / cases

        if self._number is not None:
            data = Folds(tuple(tallies)) if len(tallies) > 1 else tallies[0]
            self.estimate = self._number.analysis(data, level=level)

        self.curves: list[_DrawnCurve] = [self._curve(t, level) for t in tallies]

    @abstractmethod
    def _curve(self, t: Tally, level: float) -> _DrawnCurve:
        """Return the curve of a tally, with its band at a confidence level."""

    def _chance(self) -> list[float] | None:
        """Return the heights of the dashed line at both ends, where there is one."""
        return None

    def __getattr__(self, name: str) -> Any:
        """Return a coordinate, of folds a list of them, or the estimate by its name."""
        if self._number is not None and name == self._number.attribute:
            return self.estimate

        coordinates = []
        if name == self._x[0]:
            coordinates = [curve.across for curve in self.curves]
        elif name == self._y[0]:
            coordinates = [curve.up for curve in self.curves]

        if len(coordinates) > 1:
            return coordinates
        if coordinates:
            return coordinates[0]

        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @classmethod
    def from_predictions(
        cls,
        y_true: Column,
        y_score: Column,
        *,
        sample_weight: Column | None = None,
        cluster: Column | None = None,
        pos_label: LabelValue = None,
        name: str | None = None,
        level: float = 0.95,
        ax: Axes | None = None,
        **plot_options: Unpack[PlotOptions],
    ) -> Self:
        """Return the display of labels and scores, drawn.

        Scores are higher for the positive class.

        ``sample_weight``, ``cluster`` and ``pos_label`` are as in
        :func:`trueness.tally`; ``name`` is for the legend; all others go to
        :meth:`plot`.
        """
        counts = tally(
            y_true, y_score, weight=sample_weight, cluster=cluster, positive=pos_label
        )
        return cls([counts], level, name, pos_label).plot(ax=ax, **plot_options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: Features,  # noqa: N803
        y: Column,
        *,
        response_method: str = "auto",
        pos_label: LabelValue = None,
        name: str | None = None,
        **options: Unpack[PredictionOptions],
    ) -> Self:
        """Draw a fitted classifier on cases that it has not seen.

        ``response_method`` is ``"predict_proba"``, ``"decision_function"``, or the
        first that it has; all others are as in :meth:`from_predictions`.
        """
        response = common.response_of(estimator, response_method, "draw it")
        positive = common.positive_label(y, pos_label, "pos_label")
        score = common.scores_of(estimator, X, response, positive)
        if name is None:
            name = type(estimator).__name__

        return cls.from_predictions(y, score, pos_label=positive, name=name, **options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: CrossValidation | Mapping[str, Any],
        X: Features | None = None,  # noqa: N803
        y: Column | None = None,
        *,
        sample_weight: Column | None = None,
        response_method: str = "auto",
        pos_label: LabelValue = None,
        name: str | None = None,
        level: float = 0.95,
        ax: Axes | None = None,
        **plot_options: Unpack[PlotOptions],
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
            return cls(folds.parts, level, name).plot(ax=ax, **plot_options)

        if not {"estimator", "indices"} <= set(cv_results):
            raise InputError(
                "from_cv_results needs the models and the folds.",
                example=PythonCode(
                    "cross_validate(..., return_estimator=True, return_indices=True)"
                ),
            )

        label, _ = common.two_labels(y, cls.__name__)
        positive = common.positive_label(label, pos_label, "pos_label")
        tallies = []
        tests = cv_results["indices"]["test"]

        for model, test in zip(cv_results["estimator"], tests, strict=True):
            response = common.response_of(model, response_method, "draw it")
            rows = _safe_indexing(X, test)
            score = common.scores_of(model, rows, response, positive)
            columns: dict[str, Any] = {"positive": positive}
            if sample_weight is not None:
                columns["weight"] = np.asarray(sample_weight)[test]
            tallies.append(tally(label[test], score, **columns))

        return cls(tallies, level, name, positive).plot(ax=ax, **plot_options)

    def figure_data(
        self, *, plot_chance_level: bool = True, band: bool = True
    ) -> Curves:
        """Return what is drawn: curves of one model or of each fold."""
        x = Axis(*self._x)
        y = Axis(*self._y, low=-0.01, high=1.01)
        several = len(self.curves) > 1

        lines = []
        for number, curve in enumerate(self.curves, start=1):
            name = f"fold {number}" if several else CURVE
            lines.append(self._line(name, curve, x, y))

        bands = []
        if band and not several:
            (curve,) = self.curves
            columns = {x.name: curve.band_across, "low": curve.low, "high": curve.high}
            bands.append(Line(CURVE, columns))

        guides = self._guides(x, y) if plot_chance_level else []
        if x.name == "thresholds":
            thresholds = np.concatenate([curve.across for curve in self.curves])
            x = span(x.name, x.title, thresholds)

        return Curves(y.title, x, y, tuple(lines), tuple(bands), tuple(guides))

    def _line(self, name: str, curve: _DrawnCurve, x: Axis, y: Axis) -> Line:
        across = curve.across
        up = curve.up
        if self._steps:
            across, up = _as_steps(across, up)
        return Line(name, {x.name: across, y.name: up})

    def _guides(self, x: Axis, y: Axis) -> list[Line]:
        """Return the line of a guess, or of a calibrated score; some have none."""
        heights = self._chance()
        if heights is None:
            return []
        name = "Chance level" if self.estimate else "Perfectly calibrated"
        return [guide(x, y, [0, 1], heights, name)]

    def plot(
        self,
        *,
        ax: Axes | None = None,
        plot_chance_level: bool = True,
        band: bool = True,
        despine: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw on axes of matplotlib, new ones when None.

        ``plot_chance_level`` draws what guessing, or a calibrated score, would give,
        ``band`` the confidence band (folds have none); ``despine`` leaves out the lines
        at the top and at the right; ``curve_kwargs`` are properties of the lines.
        """
        figure = self.figure_data(plot_chance_level=plot_chance_level, band=band)
        artists_before = set() if ax is None else set(ax.get_children())
        axes = draw(TitledFigure(figure), ax)
        new_lines = [line for line in axes.lines if line not in artists_before]
        new_areas = [area for area in axes.collections if area not in artists_before]
        self.chance_level_ = new_lines.pop(0) if figure.guides else None
        self.band_ = new_areas[0] if figure.bands else None
        self.line_ = new_lines if len(self.curves) > 1 else new_lines[0]
        self._style_lines(new_lines, curve_kwargs or {})

        if despine:
            axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()

        self.ax_ = axes
        self.figure_ = axes.figure

        return self

    def _style_lines(self, lines: Sequence[Any], properties: Mapping[str, Any]) -> None:
        """Name the first line, and draw those of folds thin."""
        if len(lines) > 1:
            for line in lines:
                line.set(alpha=0.5, linewidth=1, linestyle="-", label="_fold")

        for line in lines:
            line.set(**properties)

        lines[0].set_label(self._label() or "_")
        if self.band_ is not None:
            self.band_.set_label("_band")

    def _label(self) -> str:
        """Return name, and estimate with its interval, for the legend."""
        lines = []
        if self.estimator_name:
            lines.append(self.estimator_name)

        if self._number is not None and self.estimate is not None:
            estimate = self.estimate
            value, low, high = as_precise(estimate.value, estimate.low, estimate.high)
            lines.append(f"{self._number.short_name} = {value} ({low} to {high})")

        return "\n".join(lines)


def _as_steps(across: Floats, up: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a line whose height is kept up to the next point."""
    return across.repeat(2)[1:], up.repeat(2)[:-1]


@final
class RocDisplay(_Display):
    """The ROC curve with its confidence band: ``fpr``, ``tpr``, ``roc_auc``."""

    _x = ("fpr", "False positive rate")
    _y = ("tpr", "True positive rate")
    _number = _Number("roc_auc", "AUC", auc)

    def _curve(self, t: Tally, level: float) -> _DrawnCurve:
        curve = roc(t)
        band = roc_band(t, level=level)
        return _DrawnCurve(curve.fpr, curve.tpr, band.fpr, band.low, band.high)

    def _chance(self) -> list[float]:
        return [0.0, 1.0]


@final
class PrecisionRecallDisplay(_Display):
    """Precision and recall: ``recall``, ``precision``, ``average_precision``."""

    _x = ("recall", "Recall")
    _y = ("precision", "Precision")
    _number = _Number("average_precision", "AP", average_precision)
    _steps = True

    def _curve(self, t: Tally, level: float) -> _DrawnCurve:
        curve = precision_recall(t)
        band = precision_recall_band(t, level=level)
        return _DrawnCurve(
            curve.recall, curve.precision, band.recall, band.low, band.high
        )

    def _chance(self) -> list[float]:
        return [self.prevalence_pos_label] * 2


@final
class CalibrationDisplay(_Display):
    """The calibration curve, isotonic, without bins: ``prob_pred``, ``prob_true``."""

    _x = ("prob_pred", "Score")
    _y = ("prob_true", "Proportion of positives")

    def _curve(self, t: Tally, level: float) -> _DrawnCurve:
        diagram = reliability(t, level=level)
        ascending = np.argsort(diagram.score)
        score = diagram.score[ascending]

        return _DrawnCurve(
            across=score,
            up=diagram.probability[ascending],
            band_across=score,
            low=diagram.confidence_low[ascending],
            high=diagram.confidence_high[ascending],
        )

    def _chance(self) -> list[float]:
        return [0.0, 1.0]


@final
class ThresholdDisplay(_Display):
    """Youden's J at a hundred thresholds, with a band: ``thresholds``, ``values``."""

    _x = ("thresholds", "Threshold")
    _y = ("values", "Youden's J")

    def _curve(self, t: Tally, level: float) -> _DrawnCurve:
        youden = METRICS["youden"]
        # evenly spaced in rank: each threshold costs an estimate with its interval
        number_of_thresholds = min(len(t), _MOST_THRESHOLDS)
        rows = np.linspace(0, len(t) - 1, number_of_thresholds).astype(int)
        thresholds = np.unique(t.score[rows])
        values = [
            estimates(t, float(cut), [youden], level=level)[youden.name]
            for cut in thresholds
        ]

        return _DrawnCurve(
            across=thresholds,
            up=np.array([estimate.value for estimate in values]),
            band_across=thresholds,
            low=np.array([estimate.low for estimate in values]),
            high=np.array([estimate.high for estimate in values]),
        )
