"""Is this input usable, and if not, what should be typed instead?

A message has three parts: what was needed, what was found (name, value, how many,
first places) and what to type instead. Analyses call one line. Read in this order:
``errors`` (which error is meant), ``words`` (how values and near misses are written),
``columns`` (scores, labels, counts), ``options`` (numbers and choices), ``cases``
(enough cases for the question). Checks that serve one room live in that room.
"""
