r"""Where do I cut, what does it cost, and how far can the choice be trusted?

=============================================================  =======================
Which scores are flagged, deferred, for whom? How good is it?  ``rule``
At which threshold is a metric best, under constraints?        ``operating_point``
Which cuts are worth considering when several metrics count?   ``fronts``
Where do yes and no end, and where should a person look?       ``zones``
Which cut for each group, so that all are treated alike?       ``group_cuts``
What remains of any of these choices on other cases?           ``validation``
Which choice can be made again, and what is measured of it?   ``repeatable_choice``
What does a choice become on bootstrap samples?                ``repeated_choices``
What is a rule worth without the optimism of its choice?       ``corrected_estimates``
Which rule keeps a promise in the population?                  ``guarantees``
What do errors cost, what is acting on the scores worth?       ``costs``
What does a 0-1 program say, and its solver certify?           ``milp``
What is maximised, what is bounded, and among which cases?     ``constraints``
Which prevalence do the cases have in use?                     ``prevalences``
Which metrics are quotients of linear functions of counts?     ``linear_forms``
Which cuts, one of each group, are best together?              ``group_optimum``
How are they searched, exactly?                                ``group_search``
=============================================================  =======================

A tally is swept into the right and wrong cases of every cut (``cuts``); a metric turns
these into numbers, constraints say which cuts are allowed, and what is best among them
becomes a record that holds a :class:`Rule`::

    Tally --all_cuts--> Cuts --metric, constraints--> OperatingPoint --> Rule

Floating point looks first, whole numbers decide; weights are counted in whole units.
Read ``rule`` and ``cuts`` first, then ``operating_point``, ``validation``,
``guarantees`` (its tests are in ``claims``). The searches come last: ``pair_search``,
``milp``, and ``group_search`` with ``group_windows``, ``group_states`` and
``maximum_tree``. The maths is on the page "Operating points"
(``docs/maths/threshold.md``).
"""
