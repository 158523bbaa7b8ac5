"""Which classes do answers come as?

Every answer is a frozen record that shows itself, and becomes JSON or a table. Here are
all their classes, for type hints and ``isinstance``; functions make the records.
"""

from pathlib import Path as _Path

from trueness._core.imports import load as _load
from trueness._core.imports import modules_of_names as _modules_of_names

_MODULES = _modules_of_names(_Path(__file__).with_suffix(".pyi"))

__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'trueness.records' has no attribute {name!r}")
    return _load(_MODULES[name], name)
