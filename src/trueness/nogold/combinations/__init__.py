"""Which logical combination of tests is best, and what is it worth?

The draws of a posterior give each of the 2^K vote patterns a probability in positives
and one in negatives. A combination is a set of patterns.

Read ``criteria`` (what "best" means), ``search`` (the best set in a draw and on
average), ``best`` (the answers; its price), ``table`` (all combinations of few tests;
those that no other one beats) and ``words`` (a set of patterns as people say it). The
maths is in ``docs/maths/nogold.md``, section "Combinations".
"""
