"""A score for each leaf, as a map that is saved and applied like a calibrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError
from trueness.calibration.maps import Formula, Map, freeze, register


@register("leaves")
@final
@dataclass(frozen=True, repr=False, eq=False)
class LeafMap(Map):
    """The score of each leaf: its estimated probability of a positive.

    Made by ``leaves.map("blend")``. A call takes names or numbers of leaves and returns
    their scores; a leaf without cases gets ``default``.

    Attributes
    ----------
    node : tuple of str
        The leaves, as text.
    score, confidence : array (J,)
        Probability of a positive, and the level of confidence P(C), of each leaf.
    default : float
        The score of a leaf without cases: the prevalence.
    method : str
        The estimate behind the scores: "mle", "emle" or "blend".
    """

    node: tuple[str, ...]
    score: Floats
    confidence: Floats
    default: float
    method: str

    def __post_init__(self) -> None:
        freeze(self, "score", "confidence")

        if not len(self.node) == self.score.size == self.confidence.size:
            raise InputError(
                "A map of leaves needs a score and a level for each; found "
                f"{len(self.node)}, {self.score.size} and {self.confidence.size}."
            )

        numbers = np.array([*self.score, *self.confidence, self.default])
        if not ((numbers >= 0) & (numbers <= 1)).all():
            raise InputError("it returns probabilities below 0 or above 1.")

    @property
    def reads_names(self) -> bool:
        """Return True: leaves have names."""
        return True

    @property
    def expression(self) -> Formula:
        """Raise an error: a map that looks names up has no expression."""
        raise InputError(
            "A map of leaves looks names up; it has no expression in a score."
        )

    def __call__(self, score: ArrayLike) -> Floats:
        """Return the score of each leaf, by its name or number."""
        return self._look_up(score, self.score, self.default)

    def confidence_of(self, node: ArrayLike) -> Floats:
        """Return P(C) of each leaf; 1/2 for a leaf that was never seen."""
        return self._look_up(node, self.confidence, 0.5)

    def __repr__(self) -> str:
        """Return the number of leaves, and the probability of any other node."""
        return (
            f"LeafMap: {len(self.node):,} leaves by {self.method}; a leaf that was "
            f"never seen gets {self.default:.4g}"
        )

    def _look_up(self, node: ArrayLike, values: Floats, default: float) -> Floats:
        """Return the value of each leaf; ``default`` for a leaf never seen."""
        names = np.asarray(node)
        by_name = dict(zip(self.node, values.tolist(), strict=True))
        looked_up = [by_name.get(text, default) for text in leaf_texts(names.ravel())]
        return np.array(looked_up, dtype=np.float64).reshape(names.shape)


def leaf_texts(names: Array) -> list[str]:
    """Return leaves as text: 3 and 3.0 are one leaf, as files write either.

    >>> leaf_texts(np.array([3.0, 2.5])), leaf_texts(np.array(["3", "sunny"]))
    (['3', '2.5'], ['3', 'sunny'])
    """
    return [_leaf_text(name) for name in names.tolist()]


def _leaf_text(name: object) -> str:
    """Return the name of a leaf as text; 3.0 is 3."""
    if isinstance(name, float) and name.is_integer():
        return str(int(name))
    return str(name)
