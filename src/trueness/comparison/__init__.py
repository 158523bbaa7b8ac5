"""Which is better? Everywhere? In every group?

=====================================================  ==========================
Question                                               Function
=====================================================  ==========================
Which of several classifiers ranks better?             ``compare_auc``
... is better at its threshold, by any metric?         ``compare_metric``
... is better by any number that a tally has?          ``compare``
Is one curve above the other, somewhere, everywhere?   ``dominates``
Does a number differ between groups of cases?          ``compare_groups``
How many cases does a paired difference need?          ``plan_auc_difference``
=====================================================  ==========================

For a panel (the same cases), influence values are subtracted case by case. For a
mapping of tallies (different cases), the intervals of both sides are combined.
``inference`` makes intervals and p-values of both, by the sampling design. Read
``results.py``, ``paired.py`` (AUCs), ``at_threshold.py``, ``any_number.py``, then
``dominance.py`` with ``curve_ranges.py`` (where curves of the sample cross),
``redrawing.py`` and ``curve_tests.py`` (what holds in the population). The maths and
the measured error rates: ``docs/maths/comparison.md``.
"""
