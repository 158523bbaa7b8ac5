r"""Where do I cut, what does it cost, and how far can the choice be trusted?

=============================================================  =======================
At which threshold is a metric best, under constraints?        ``operating_point``
What if the prevalence of use is a range, or an estimate?      ``prevalence``
Which cuts are worth considering when several metrics count?   ``fronts``
What do errors cost, what is acting on the scores worth?       ``costs``
Where do yes and no end, and where should a person look?       ``zones``, ``pairs``
Which cut for each group, so that all are treated alike?       ``group_cuts``
How is it said how far groups may differ?                      ``group_limits``
What does it cost to let groups differ less?                   ``gap_prices``
What remains of the choice on other cases?                     ``validation``
What becomes of any choice that is made again?                 ``repetition``
Which cut keeps a promise in the population?                   ``guarantees``, ``risks``
What does a 0-1 program say, and its solver certify?           ``milp``
Which metrics are sums of counts, or quotients of such sums?   ``forms``
=============================================================  =======================

A tally is swept into the right and wrong cases of every cut (``cuts``); a metric turns
these into numbers, constraints say which cuts are allowed, and what is best among them
becomes a record::

    Tally --all_cuts--> Cuts --pose--> Problem --best_cuts--> Found --> OperatingPoint

Floating point looks first, whole numbers decide. Read ``cuts`` first, all others stand
on it; then ``operating_point``, ``validation``, ``guarantees``; ``milp`` last. The
maths is on the page "Operating points" (``docs/maths/threshold.md``).
"""
