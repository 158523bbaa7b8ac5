"""Are several classifiers better together, and how good is each without labels?

Questions
    How are they combined? ``fidel``, ``wisdom_of_crowds``, ``mean_score``,
    ``best_single`` (``combiners``, the table ``COMBINERS``), also where they err
    together (``correlated``).
    Is the combination better on cases that it has not seen? ``compare_combiners``
    (``crossfit``).
    How good is each where nobody knows the truth? ``agreement`` (``without_labels``).

Flow of data
    ::

        Panel --ranks--> combiner --> map of rows --panel.combine--> Tally

    A combiner is a function from a panel to a map of rows, and one entry of
    ``COMBINERS``. What it makes is a score like any other: curves, thresholds and
    calibration take it from there.

Reading order
    ``rank_tables`` (ranks among a reference), ``correlated`` (the reference and the
    weights for dependent classifiers), ``combiners``, ``without_labels``,
    ``crossfit``.

The mathematics is in ``docs/maths/ensembles.md``.
"""

from trueness.ensembles.correlated import crossing

__all__ = ["crossing"]
