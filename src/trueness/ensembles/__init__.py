"""Are several classifiers better together, and how good is each without labels?

A combiner is a function from a panel to a map of rows, and one entry of ``COMBINERS``;
what ``panel.combine`` makes of it is a tally like any other. Read ``ranked_columns``
and ``ranks`` first, then ``combiners`` and ``correlated`` (for classifiers that err
together), ``moments`` and ``without_labels``, last ``fold_analyses`` and ``crossfit``
(better on new cases?). Maths: ``docs/maths/ensembles.md``.
"""

from trueness.ensembles.ranks import crossing_correlation

__all__ = ["crossing_correlation"]
