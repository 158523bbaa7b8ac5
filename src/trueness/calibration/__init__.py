"""What does a score mean, as a probability, and do the probabilities keep their word?

Which probability does each score stand for: ``calibrators``, ``parametric``, ``maps``.
Can scores be read as probabilities, and what does calibration gain: ``verdict``. How
far are they off: ``forecasts``, ``errors``, ``proper_scores``. The maths:
``docs/maths/calibration.md``.

A calibrator is a function from a tally to a map, and one entry of ``CALIBRATORS``; its
class stands under ``register``, its arithmetic is a formula. Calling, saving, loading,
applying in an engine and the command line follow from that.
"""

from trueness.calibration.maps import register

__all__ = ["register"]
