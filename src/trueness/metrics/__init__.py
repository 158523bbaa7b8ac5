"""How good is a cut?

A tally becomes a ``Confusion`` (four counts at every threshold: ``sweep``), a
``Metric`` (``recall``, ``f1``, ``cost(fp=1, fn=5)``, ...) is a function of it. Metrics
add and scale, and compare into constraints; text is read into the same values.

Read ``confusion`` (the counts), ``algebra`` (what can be said with metrics, ties),
``definitions`` (every metric, once), ``intervals`` (confidence intervals), ``grammar``
(text, and names in sentences). The maths: docs/maths/threshold.md.
"""
