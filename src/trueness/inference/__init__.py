"""How sure are we? One engine for every measure and every way that cases come.

Which questions this room answers
    What would another sample have shown of this number, or of this difference?

How data flow through it
    A measure is a function of counts that gives its value, its ends and its influence
    values: how far one more case at each score would move it. ``sample`` says which
    counts a design means (another prevalence, labels missing at random); ``spread``
    turns influence values into a variance and degrees of freedom, for independent,
    weighted and clustered cases; ``limits`` makes the interval. Nothing above this room
    makes limits in another way, but for the bootstrap of curves and choices, posterior
    draws without a gold standard, and sequences that are watched.

In which order to read it
    ``sample`` (measures and what they see), ``spread``, ``limits`` (up to the
    estimate), ``differences``, ``statistics`` (numbers that a person brings),
    ``verification``.

The formulas, their papers and where they fall short: docs/maths/inference.md.
"""
