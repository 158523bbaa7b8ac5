"""How sure are we? One engine for every measure and every way that cases come.

A measure is a function of counts that gives its value, its ends and its influence
values: how far one more case at each score would move it. ``sample`` says which counts
a design means; ``spread`` turns influence values into a variance and degrees of
freedom; ``limits`` makes the interval. Nothing above this room makes limits in another
way, but for the bootstrap of curves and choices, posterior draws without a gold
standard, and sequences that are watched.

Read on with ``differences`` (also of numbers that a person brings) and
``verification``. The formulas, their papers and where they fall short:
docs/maths/inference.md.
"""
