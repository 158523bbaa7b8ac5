"""What may be passed to an analysis, as a type checker sees it?

An analysis is written as a function of counts and of options of its own. The decorators
of ``answers.py`` let it be called with data as well. Here are the types of what they
make, so that mypy, pyright and editors accept what people type and know what comes
back. (Python's types cannot say "these options and those words", so own options are
checked in calls without a word about the data; all of them are checked at run time.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from trueness.counts.values import Panel, Tally

P = ParamSpec("P")
K = TypeVar("K")
D_contra = TypeVar("D_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Array(Protocol):
    """What NumPy can read: an array, a Series, a tensor."""

    def __array__(self) -> Any:
        """Give an array."""


class NamesColumns(Protocol):
    """A frame of pandas, Polars, DuckDB, Spark, Ibis, Narwhals."""

    @property
    def columns(self) -> Any:
        """Give the names, or the columns."""


class NamesArrowColumns(Protocol):
    """A table of Arrow."""

    @property
    def column_names(self) -> Any:
        """Give the names."""


Column = Array | Sequence[Any]
Frame = NamesColumns | NamesArrowColumns | Mapping[str, Column]
Data = Tally | Panel | Mapping[Any, Tally] | Column | Frame | None


class _Decorated(Protocol):
    """What tests and other rooms read of a decorated function."""

    __name__: str
    takes: str

    @property
    def __wrapped__(self) -> Callable[..., Any]: ...


class OfTally(_Decorated, Protocol[P, R]):
    """An analysis of one classifier: an answer for each classifier and each group."""

    @overload  # "by" is never an option of its own
    def __call__(  # type: ignore[overload-overlap]
        self, data: Tally, /, *args: P.args, **own: P.kwargs
    ) -> R: ...
    @overload
    def __call__(
        self, data: Panel, /, *args: P.args, **own: P.kwargs
    ) -> dict[str, R]: ...
    @overload
    def __call__(
        self, data: Mapping[K, Tally], /, *args: P.args, **own: P.kwargs
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self, y_true: Column | None, y_score: Column, /, *args: P.args, **own: P.kwargs
    ) -> R: ...
    @overload
    def __call__(
        self,
        y_true: Column | None,
        y_score: Mapping[K, Column],
        /,
        *args: P.args,
        **own: P.kwargs,
    ) -> dict[K, R]: ...
    @overload
    def __call__(
        self, data: Data, /, *args: Any, by: Column | str, **more: Any
    ) -> dict[Any, R]: ...
    @overload
    def __call__(self, data: Frame, /, *args: Any, score: str, **more: Any) -> R: ...
    @overload
    def __call__(
        self, data: Frame, /, *args: Any, score: list[str], **more: Any
    ) -> dict[str, R]: ...
    @overload
    def __call__(
        self, data: Frame, /, *args: Any, scores: Sequence[str], **more: Any
    ) -> dict[str, R]: ...
    @overload
    def __call__(
        self, data: Tally | Column | None, /, *args: Any, positive: Any, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Tally | Column | None, /, *args: Any, pos_label: Any, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self,
        data: Tally | Column | None,
        /,
        *args: Any,
        count: Column | str,
        **more: Any,
    ) -> R: ...
    @overload
    def __call__(
        self,
        data: Tally | Column | None,
        /,
        *args: Any,
        weight: Column | str,
        **more: Any,
    ) -> R: ...
    @overload
    def __call__(
        self,
        data: Tally | Column | None,
        /,
        *args: Any,
        sample_weight: Column | str,
        **more: Any,
    ) -> R: ...
    @overload
    def __call__(
        self,
        data: Tally | Column | None,
        /,
        *args: Any,
        cluster: Column | str | bool,
        **more: Any,
    ) -> R: ...
    @overload
    def __call__(
        self, data: Tally | Column | None, /, *args: Any, sampling: str, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Tally | Column | None, /, *args: Any, prevalence: float, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Tally | Column | None, /, *args: Any, unlabelled: str, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Tally | Column | None, /, *args: Any, at_most: int, **more: Any
    ) -> R: ...
    @overload  # numbers in place of cases
    def __call__(self, *, n: int, auc: float, **more: Any) -> R: ...


class OfPanel(_Decorated, Protocol[D_contra, P, R]):
    """An analysis of several classifiers on the same cases, and for each group."""

    @overload
    def __call__(self, data: D_contra, /, *args: P.args, **own: P.kwargs) -> R: ...
    @overload
    def __call__(
        self,
        y_true: Column | None,
        scores: Mapping[Any, Column] | Column,
        /,
        *args: P.args,
        **own: P.kwargs,
    ) -> R: ...
    @overload
    def __call__(
        self, y_true: Column | None, a: Column, b: Column, /, *args: Any, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, by: Column | str, **more: Any
    ) -> dict[Any, R]: ...
    @overload
    def __call__(
        self, data: Frame, /, *args: Any, score: str | list[str], **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Frame, /, *args: Any, scores: Sequence[str], **more: Any
    ) -> R: ...
    @overload
    def __call__(self, data: Any, /, *args: Any, positive: Any, **more: Any) -> R: ...
    @overload
    def __call__(self, data: Any, /, *args: Any, pos_label: Any, **more: Any) -> R: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, count: Column | str, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, weight: Column | str, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, sample_weight: Column | str, **more: Any
    ) -> R: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, cluster: Column | str | bool, **more: Any
    ) -> R: ...
    @overload
    def __call__(self, data: Any, /, *args: Any, sampling: str, **more: Any) -> R: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, prevalence: float, **more: Any
    ) -> R: ...
    @overload
    def __call__(self, data: Any, /, *args: Any, unlabelled: str, **more: Any) -> R: ...
    @overload
    def __call__(self, data: Any, /, *args: Any, at_most: int, **more: Any) -> R: ...


class OfCounts(_Decorated, Protocol[D_contra, P, R_co]):
    """A figure, a report or a comparison of groups: one answer, whatever is passed."""

    @overload
    def __call__(self, data: D_contra, /, *args: P.args, **own: P.kwargs) -> R_co: ...
    @overload
    def __call__(
        self,
        y_true: Column | None,
        scores: Mapping[Any, Column] | Column,
        /,
        *args: P.args,
        **own: P.kwargs,
    ) -> R_co: ...
    @overload
    def __call__(
        self, y_true: Column | None, a: Column, b: Column, /, *args: Any, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, by: Column | str, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Frame, /, *args: Any, score: str | list[str], **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Frame, /, *args: Any, scores: Sequence[str], **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, positive: Any, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, pos_label: Any, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, count: Column | str, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, weight: Column | str, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, sample_weight: Column | str, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, cluster: Column | str | bool, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, sampling: str, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, prevalence: float, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(
        self, data: Any, /, *args: Any, unlabelled: str, **more: Any
    ) -> R_co: ...
    @overload
    def __call__(self, data: Any, /, *args: Any, at_most: int, **more: Any) -> R_co: ...
