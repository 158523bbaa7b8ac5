"""What scikit-learn passes: the types of models, of splitters, of seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np


class Classifier(Protocol):
    """A classifier with the methods of scikit-learn."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Return what trains it on cases and their labels."""


@runtime_checkable
class Splitter(Protocol):
    """What divides cases into folds: ``StratifiedKFold`` and the like."""

    @property
    def split(self) -> Callable[..., Any]:
        """Return what yields the cases to train on and those to test on."""


FoldsOrSplitter: TypeAlias = int | Splitter | Iterable[Any] | None
"""A number of folds, a splitter, or the folds themselves."""

RandomState: TypeAlias = int | np.random.RandomState | None
"""A seed, or a generator, as scikit-learn takes them."""

NamedClassifiers: TypeAlias = Sequence[Classifier | tuple[str, Classifier]]
"""Several models, each by itself or with its name."""

OneOrMoreClassifiers: TypeAlias = Classifier | Mapping[str, Classifier]
"""A model, or several by their names."""
