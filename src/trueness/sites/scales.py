"""An unbounded scale, on which the values of sites are assumed to be normal.

Between two ends it is the log odds, with one end the logarithm, without ends the value
itself. The variance of a value follows by the delta method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trueness._core.arrays import Floats
from trueness.inference.intervals import Ends

UNBOUNDED: Ends = (-math.inf, math.inf)


@dataclass(frozen=True)
class OpenScale:
    """The unbounded scale of a measure, by the ends that the measure has."""

    ends: Ends

    @property
    def name(self) -> str:
        """Return the name of the scale."""
        lowest, highest = self.ends
        if math.isfinite(lowest) and math.isfinite(highest):
            return "log odds"
        if math.isinf(lowest) and math.isinf(highest):
            return "identity"
        return "logarithm"

    def position(self, value: float) -> float:
        """Return the place of a value on the scale; infinite at an end."""
        below, above = self._distances(value)
        if self.name == "identity":
            return value
        if self.name == "log odds":
            return _log(below) - _log(above)
        return _log(below) if math.isfinite(below) else -_log(above)

    def slope(self, value: float) -> float:
        """Return how far the place moves with the value."""
        if self.name == "identity":
            return 1.0
        below, above = self._distances(value)
        # the slope of log(below) - log(above), where one of both may be infinite
        return 1 / below + 1 / above

    def value(self, position: float) -> float:
        """Return the value at a place on the scale."""
        return float(self.values(np.array(position)))

    def values(self, positions: Floats) -> Floats:
        """Return the values at places on the scale."""
        from scipy.special import expit

        lowest, highest = self.ends

        if self.name == "identity":
            return positions
        if self.name == "log odds":
            return np.asarray(lowest + (highest - lowest) * expit(positions))
        if math.isfinite(lowest):
            return np.asarray(lowest + np.exp(positions))
        return np.asarray(highest - np.exp(-positions))

    def _distances(self, value: float) -> tuple[float, float]:
        """Return how far a value lies above the lowest, and below the highest."""
        lowest, highest = self.ends
        return value - lowest, highest - value


def _log(distance: float) -> float:
    """Return the logarithm, minus infinity at zero."""
    return math.log(distance) if distance > 0 else -math.inf
