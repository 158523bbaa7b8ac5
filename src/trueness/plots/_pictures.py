"""The decorators of figures: what each is given, checked and drawn.

A function of ``trueness.plots`` returns figure data. ``picture`` turns it into a
function that draws these on axes of matplotlib; ``picture_of`` does the same for
figures of data, which take labels and scores, frames and groups as analyses do. Both
keep the function itself as ``figure_data``, for renderers without matplotlib.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.options import takes_them
from trueness._core.checks.words import described as value_in_words
from trueness._core.figures import FigureData, TitledFigure, described
from trueness._core.names import documented
from trueness.counts.answers import OfCounts, of_counts
from trueness.counts.values import Panel, Tally
from trueness.plots._matplotlib import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE = "classifier"  # the name of a tally, which has none

P = ParamSpec("P")
D = TypeVar("D")
D_contra = TypeVar("D_contra", contravariant=True)
Source = Tally | Panel | Mapping[Any, Tally]
Shown = FigureData | TitledFigure

# which analyses return the records that figures show
_MADE_BY = {
    "Dominance": "dominates",
    "Comparison": "compare_auc compare_metric",
    "CombinerComparison": "compare_combiners",
    "FiDEL | CorrelatedFiDEL": "fidel",
    "ReaderStudy": "reader_study",
    "Check": "check",
    "Watch": "watch",
    "Leaderboard | Mapping[str, Estimate]": "leaderboard",
    "Rate": "prevalence",
    "LatentPosterior": "latent_class",
    "Mapping[str, Rate]": "prevalence",
    "GuaranteedThreshold": "guaranteed_threshold",
    "Plan": "plan_auc",
    "AcrossSites": "across_sites",
    "SummaryROC": "summary_roc",
}


class Style(TypedDict, total=False):
    """What every figure takes besides: a title, and axes of matplotlib."""

    title: str
    ax: Axes | None


class Picture(Protocol[P]):
    """A figure: a call draws it, ``figure_data`` returns what it shows."""

    __name__: str

    def __call__(self, *args: P.args, **options: P.kwargs) -> Axes:
        """Draw the figure on ``ax``, or on new axes, and return the axes."""

    def figure_data(self, *args: P.args, **options: P.kwargs) -> TitledFigure:
        """Return what the figure shows, without drawing it."""


class PictureOf(OfCounts[D_contra, P, "Axes", "Axes"], Protocol[D_contra, P]):
    """A figure of data, which takes what analyses take."""

    @property
    def figure_data(self) -> OfCounts[D_contra, P, TitledFigure, TitledFigure]:
        """Return what the figure shows, without drawing it."""


def picture(make: Callable[P, Shown]) -> Picture[P]:
    """Draw the figure data that a function returns."""
    show, figure_data = _drawing_and_data(make)
    show.figure_data = figure_data
    parameters = show.__signature__.parameters
    show.__doc__ = documented(make.__doc__, parameters, _source_of_kind(parameters))
    return cast("Picture[P]", show)


def picture_of(make: Callable[Concatenate[D, P], Shown]) -> PictureOf[D, P]:
    """Draw a figure of data, which are counted as for an analysis."""
    show, figure_data = _drawing_and_data(make)
    answering: Any = of_counts(show)
    answering.figure_data = of_counts(figure_data)
    return cast("PictureOf[D, P]", answering)


def _drawing_and_data(make: Callable[..., Shown]) -> tuple[Any, Any]:
    """Return the function that draws, and the one that returns titled figure data."""
    signature = _signature_with_style(make)
    hints = get_type_hints(make)

    @wraps(make)
    def figure_data(*args: Any, title: str = "", **options: Any) -> TitledFigure:
        options.pop("ax", None)
        takes_them(show, args, options)
        values = {"title": title, **signature.bind(*args, **options).arguments}
        _check_kinds(make.__name__, values, hints, signature)
        return _titled(make(*args, **options), title)

    @wraps(make)
    def show(*args: Any, ax: Axes | None = None, **options: Any) -> Axes:
        _check_axes(make.__name__, ax)
        return draw(figure_data(*args, **options), ax)

    for function in (show, figure_data):
        cast("Any", function).__signature__ = signature

    return show, figure_data


def _signature_with_style(make: Callable[..., Shown]) -> inspect.Signature:
    """Return the signature with ``title`` and ``ax`` in place of ``**style``."""
    parameters = dict(inspect.signature(make).parameters)
    parameters.pop("style", None)

    for name, default in {"title": "", "ax": None}.items():
        parameters[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default
        )

    return inspect.Signature([*parameters.values()])


def _titled(figure: Shown, title: str) -> TitledFigure:
    """Add the title, and a description where the figure has none."""
    if not isinstance(figure, TitledFigure):
        figure = TitledFigure(figure)
    return TitledFigure(
        figure.data,
        title or figure.title,
        figure.description or described(figure.data),
    )


def _check_axes(name: str, ax: Axes | None) -> None:
    if ax is not None and not hasattr(ax, "plot"):
        raise InputError(
            f"plots.{name} draws on axes of matplotlib; found {value_in_words(ax)}. "
            "Leave ax out for new axes.",
            example=PythonCode("fig, ax = matplotlib.pyplot.subplots()"),
        )


def _check_kinds(
    name: str,
    values: Mapping[str, object],
    hints: Mapping[str, object],
    signature: inspect.Signature,
) -> None:
    """Stop at a record or a text of the wrong kind; data are checked when counted."""
    for option, value in values.items():
        hint = hints.get(option, str)
        if option == "data" or _matches_hint(value, hint):
            continue

        annotation = str(signature.parameters[option].annotation)
        maker = _MADE_BY.get(annotation, "").split()
        advice = f" Type trueness.{maker[0]}(...)." if maker else ""
        raise InputError(
            f"plots.{name} needs {option} to be {_kind_in_words(hint)}; "
            f"found {value_in_words(value)}.{advice}",
            option=option,
        )


def _matches_hint(value: object, hint: object) -> bool:
    """Return whether a value is of the kind that the annotation says."""
    if get_origin(hint) in (Union, UnionType):
        return any(_matches_hint(value, part) for part in get_args(hint))

    if get_origin(hint) is Mapping:
        inner = get_args(hint)[1]
        return isinstance(value, Mapping) and all(
            _matches_hint(part, inner) for part in value.values()
        )

    # numbers are checked where they are used, with their range
    if hint in (Any, float, int, bool) or not isinstance(hint, type):
        return True
    return isinstance(value, hint)


def _kind_in_words(hint: object) -> str:
    if get_origin(hint) is Mapping:
        return f"a mapping from name to {_kind_in_words(get_args(hint)[1])}"
    if get_args(hint):
        return " or ".join(_kind_in_words(part) for part in get_args(hint))
    names: dict[object, str] = {str: "text", type(None): "None", Any: "what it shows"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def _source_of_kind(parameters: Mapping[str, inspect.Parameter]) -> dict[str, str]:
    """Say of each record which analysis returns it."""
    sentences = {}
    for name, parameter in parameters.items():
        makers = _MADE_BY.get(str(parameter.annotation), "").split()
        if makers:
            calls = " or ".join(f":func:`trueness.{maker}`" for maker in makers)
            sentences[name] = f"From {calls}."

    return sentences


def named(x: Source) -> dict[str, Tally]:
    """Give every classifier of a tally, a panel or a mapping a name."""
    if isinstance(x, Tally):
        return {ONE: x}
    if isinstance(x, Panel):
        return {name: x[name] for name in x.names}
    if (
        isinstance(x, Mapping)
        and x
        and all(isinstance(value, Tally) for value in x.values())
    ):
        return {str(name): value for name, value in x.items()}

    if isinstance(x, Mapping) and not x:
        raise NotEnoughCases(
            "A figure needs a classifier or a group with positive and negative cases; "
            "found none."
        )

    raise InputError(
        "A figure needs a tally, a panel or a mapping from name to tally; found "
        f"{type(x).__name__}.",
        example=PythonCode("trueness.tally(y_true, y_score)"),
    )
