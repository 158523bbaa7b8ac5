"""What does a score mean, as a probability, and do the probabilities keep their word?

Questions
    Which probability does each score stand for? ``calibrate`` (``calibrators``, the
    table ``CALIBRATORS``), ``at_prevalence``, ``save_map`` and ``load_map`` (``maps``).
    What does that gain on cases that the map has not seen? ``calibration_gain``.
    Can the scores be read as probabilities? ``calibration_verdict`` (``verdict``).
    Do the probabilities mean what they say? ``reliability`` (``reliability_curve``),
    ``calibration_line`` and ``calibration_test`` (``slope``),
    ``calibration_error`` and ``calibration_index`` (``errors``).
    How good are they? ``brier`` and ``log_loss`` with their parts (``proper_scores``).

Flow of data
    ::

        Tally --calibrator--> Map --tally.map--> Tally of probabilities
        Tally of probabilities --measure, inference--> losses, line, errors

    A calibrator is a function from a tally to a map, and one entry of ``CALIBRATORS``;
    its class stands under ``register``, its arithmetic is a formula. Calling, saving,
    loading, applying in an engine and the command line follow from that.

Reading order
    ``formulas`` (what a map computes), ``maps`` (the record and its file),
    ``parametric`` and ``calibrators`` (the methods, "auto" and the table); then
    ``forecasts`` (which cases are meant, residuals of bins and their law),
    ``proper_scores``, ``slope``, ``errors``, ``verdict``, ``reliability_curve``,
    ``gain``.

The mathematics is in ``docs/maths/calibration.md``.
"""

from trueness.calibration.maps import register

__all__ = ["register"]
