"""How good is a cut?

Which questions this room answers
    How many cases are right and wrong at each threshold (``sweep``)? How good is that,
    in any sense that people use (``recall``, ``f1``, ``cost(fp=1, fn=5)``, ...)? What
    does "0.7*accuracy + 0.3*recall" or "recall >= 0.9" mean?

How data flow through it
    A tally becomes a ``Confusion`` (four counts at every threshold), a ``Metric`` is a
    function of it. Metrics add and scale, and compare into constraints; text is read
    into the same values. Where floating point cannot tell two values apart, whole
    numbers do.

In which order to read it
    ``confusion`` (the counts), ``algebra`` (what can be said with metrics),
    ``definitions`` (every metric, once), ``intervals`` (limits), ``grammar`` (text,
    and names in sentences), ``exact`` (ties).

The maths: docs/maths/threshold.md.
"""
