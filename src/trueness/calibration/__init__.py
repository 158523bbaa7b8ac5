"""What does a score mean, as a probability, and do the probabilities keep their word?

Which probability does each score stand for: ``calibrate`` (``calibrators``,
``parametric``, the table ``CALIBRATORS``), ``at_prevalence``, ``save_map`` and
``load_map`` (``maps``). Can the scores be read as probabilities, and what does
calibration gain: ``verdict``. Do they mean what they say: ``reliability_curve``,
``slope``, ``errors``. How good are they: ``proper_scores``. Which cases are meant, and
the residuals of bins: ``forecasts``.

::

    Tally --calibrator--> Map --tally.map--> Tally of probabilities
    Tally of probabilities --measure, inference--> losses, line, errors

A calibrator is a function from a tally to a map, and one entry of ``CALIBRATORS``; its
class stands under ``register``, its arithmetic is a formula. Calling,
saving, loading, applying in an engine and the command line follow from that. The
maths: ``docs/maths/calibration.md``.
"""

from trueness.calibration.maps import register

__all__ = ["register"]
