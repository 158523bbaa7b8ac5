"""How do options keep their old names?"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from trueness._core.checks.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])


def renamed(**new_names: str) -> Callable[[F], F]:
    """Let callers go on using the old name of an option: ``old="new"``.

    >>> @renamed(number="replicates")
    ... def draws(replicates=10):
    ...     return replicates
    >>> draws(number=3), draws(replicates=4)
    (3, 4)
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            for old, new in new_names.items():
                if old in options:
                    if new in options:
                        raise InputError(
                            f"{old} is the old name of {new}: both were given. Leave "
                            f"{old} out."
                        )
                    options[new] = options.pop(old)
            return function(*args, **options)

        return call  # type: ignore[return-value]  # same signature, one word more

    return decorate
