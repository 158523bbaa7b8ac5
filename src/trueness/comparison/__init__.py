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

Of a panel (the same cases) influence values are subtracted case by case, of a mapping
of tallies (different cases) variances are added; ``inference`` makes limits and
p-values of both, by the design of the cases. Read ``results.py``, ``paired.py``, then
``dominance.py``; the maths and the measured error rates: ``docs/maths/comparison.md``.
"""
