"""Which is better? Everywhere? In every group? With clustered cases?

=====================================================  ==========================
Question                                               Function
=====================================================  ==========================
Which of several classifiers ranks better?             ``compare_auc``
... is better at its threshold, by any metric?         ``compare_metric``
... is better by any number that a tally has?          ``compare_statistic``
Is one curve above the other, somewhere, everywhere?   ``dominates``
Does a new model move cases the right way?             ``nri``, ``idi``
Does a number differ between groups of cases?          ``compare_groups``
How many cases does a paired difference need?          ``plan_auc_difference``
How sure are we when the cases of a cluster are alike? ``cluster_bootstrap``
=====================================================  ==========================

A panel (the same cases) is compared case by case, a mapping of tallies (different
cases) by the sums of their variances::

    Panel ─┬─ placement values ── aucs.py, contrasts.py ─┐
           ├─ votes, redrawn ──── paired.py             ─┼─► Pair, Comparison
    tallies ── redrawn ────────── groups.py, redraws.py ─┘   (results.py)
    Panel, two tallies ── curves, redrawn ── dominance.py ─► Dominance
    Panel of risks ─────────────── reclassification.py ───► Reclassification

Read ``results.py`` and ``contrasts.py`` (tests for few cases) first, then ``aucs.py``,
``redraws.py``, ``paired.py`` (its twins for weighted and clustered cases are
``weights.py`` and ``clusters.py``), ``groups.py`` and ``dominance.py``. The mathematics
and the measured error rates are in ``docs/maths/comparison.md``.
"""
