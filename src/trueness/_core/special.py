"""SciPy's special functions, imported when the first of them is called.

``scipy.special`` takes twice as long to import as NumPy. Modules that every command
loads call these functions seldom: ``trueness evaluate`` needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trueness._core.imports import load

if TYPE_CHECKING:
    from scipy.special import (
        betainc,
        betaincinv,
        expit,
        ndtr,
        ndtri,
        rel_entr,
        xlog1py,
        xlogy,
    )
else:

    def __getattr__(name: str) -> Any:
        function = load("scipy.special", name)
        globals()[name] = function  # the next call finds it here
        return function


__all__ = [
    "betainc",
    "betaincinv",
    "expit",
    "ndtr",
    "ndtri",
    "rel_entr",
    "xlog1py",
    "xlogy",
]
