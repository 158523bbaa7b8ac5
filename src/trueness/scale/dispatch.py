"""How does every analysis learn to speak of a binned tally?

One decorator, put on where analyses are exported: without cells nothing happens, with
them the answer gets its bounds. ``certificate.py`` knows them, and is loaded when it is
needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from trueness._core.checks.errors import Infeasible
from trueness.counts.values import Tally

F = TypeVar("F", bound=Callable[..., Any])
_ONLY_BETWEEN = (
    "This tally is binned, and only the cuts between its bins were looked at: "
    "trueness.exact_threshold(frame, ...) looks at all."
)


def over_cells(analysis: F) -> F:
    """Let the answer of an analysis say what the cells of a binned tally leave open."""

    @wraps(analysis)
    def call(*args: Any, **options: Any) -> Any:
        t = args[0] if args else None
        if not isinstance(t, Tally) or not t.binned:
            return analysis(*args, **options)
        from trueness.scale.certificates import certified

        try:
            answer = analysis(*args, **options)
        except Infeasible as err:
            raise Infeasible(f"{err} {_ONLY_BETWEEN}") from None
        given = signature(analysis).bind(*args, **options)
        given.apply_defaults()
        return certified(answer, analysis.__name__, t, given.arguments)

    return call  # type: ignore[return-value]  # same signature, same kind of answer
