"""What does a score mean, as a probability, and do the probabilities keep their word?

Questions
    Which probability does each score stand for? ``calibrate`` (``calibrators``, the
    table ``CALIBRATORS``), ``at_prevalence``, ``save_map`` and ``load_map`` (``maps``).
    What does that gain on cases that the map has not seen? ``calibration_gain``.
    Do the probabilities mean what they say? ``reliability`` (``reliability_curve``),
    ``calibration_line`` (``slope``), ``calibration_test`` (``hypotheses``),
    ``calibration_error`` (``errors``), ``calibration_index`` (``smooth_curve``).
    How good are they? ``brier`` and ``log_loss`` with their parts (``proper_scores``).

Flow of data
    ::

        Tally --calibrator--> Map --tally.map--> Tally of probabilities
        Tally of probabilities --pooling of counts--> curve, errors, losses

    A calibrator is a function from a tally to a map, and one entry of ``CALIBRATORS``;
    its class stands under ``register``, its arithmetic is a formula. Calling, saving,
    loading, applying in an engine and the command line follow from that.

Reading order
    ``formulas`` (what a map computes), ``maps`` (the record and its file),
    ``parametric``, ``monotone``, ``by_rank`` (the methods), ``blending``
    ("auto"), ``calibrators`` (the table); then ``case_control`` and
    ``forecasts`` (how cases count and what others would have shown), ``inversion``,
    ``likely_curves`` and ``error_intervals``, ``proper_scores``, ``reliability_curve``,
    ``slope``, ``hypotheses``, ``errors``, ``smooth_curve``, ``gain``.

The mathematics is in ``docs/maths/calibration.md``.
"""
