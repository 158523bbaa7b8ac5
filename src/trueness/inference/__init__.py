"""How sure are we? One engine for every measure and every sampling design.

A measure is a function of counts that returns its value, the ends of its range and its
influence values: how far one more case at each score would move it.

    variance      from influence values to a variance and its degrees of freedom
    intervals     from a variance to a confidence interval; proportions by Wilson
    verification  cases without a label: tested, or imputed by score
    sample        from the sampling design to the counts of the target population
    estimates     evaluates a measure, and returns it with interval and notes
    jackknife     the same for any statistic of your own
    differences   of two estimates: intervals, p-values, Hotelling's test

Each builds on those above it: read them in this order. No room above makes intervals in
another way, but for the bootstrap of curves and choices, posterior draws without a gold
standard, and sequences that are watched. The formulas, their papers and where they fall
short: docs/maths/inference.md.
"""
