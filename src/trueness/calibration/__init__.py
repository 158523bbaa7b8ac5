"""What does a score mean, as a probability, and can it be believed?

Which probability does each score stand for: ``maps``, ``parametric``, ``calibrators``.
Can scores be read as probabilities: ``verdict``, tests by their names in
``goodness_of_fit``, and tests of rating grades in ``grades``. How far are they off:
``errors``, ``lines``, ``proper_scores``, ``explained``, and the diagram in
``reliability_diagram``. What does calibration gain on cases that the map has not seen:
``gain``. The maths: ``docs/maths/calibration.md``.

Data flow from counts to ``forecasts`` (cases of the target population, ascending by
score), to ``residuals`` of bins or ``lines``, to errors, tests and the verdict.

A calibrator is a function from a tally to a map, and one entry of ``CALIBRATORS``; its
class stands under ``register``, its arithmetic is a formula. Calling, saving, loading,
applying in an engine and the command line follow from that.
"""

from trueness.calibration.explained import nagelkerke_r2
from trueness.calibration.grades import jeffreys_test
from trueness.calibration.maps import register

__all__ = ["jeffreys_test", "nagelkerke_r2", "register"]
