"""Which frame does a person get? One of the library that they use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError

_BACKENDS = ("pandas", "polars", "pyarrow", "modin", "dict")


def native_frame(columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """Make a frame of the wanted library from columns.

    None: of the library that is in use, pandas before Polars before Arrow.
    """
    if backend is None:
        used = [k for k in ("pandas", "polars", "pyarrow") if k in sys.modules]
        backend = used[0] if used else "pandas"
    _options.choice(backend, _BACKENDS, "backend")
    if backend == "dict":
        return {k: np.asarray(v).tolist() for k, v in columns.items()}
    import narwhals as nw

    library: Any = backend
    try:
        return nw.from_dict(dict(columns), backend=library).to_native()
    except ModuleNotFoundError:
        raise InputError(
            f"A {backend} frame needs {backend}, which is not installed. Type "
            f"pip install {backend}, or to_frame('dict')."
        ) from None
