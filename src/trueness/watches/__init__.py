"""Is it still good, today and every day? Checks that may be repeated at will.

====================================================  =================
How much evidence is there against a bound by now?    ``evidence``
Which scores are new: do they rank as the old ones?   ``ranks``
What may be watched, and against which bound?         ``questions``
What is watched, batch by batch?                      ``watching``
What does a batch tell, of each kind?                 ``sums``
The true rate, by judges and a trickle of labels?     ``judged``
In every group, with one alarm for all?               ``groups``
How is it kept in a file?                             ``states``
====================================================  =================

Who looks every day until something is "significant" will find it. Here every number is
an *e-process*: whatever is watched, and whenever one looks or stops, it exceeds 20 in
at most 5 % of all streams that are as they should be (Ville 1939)::

    batch --> what tells (n, sum, sum of squares) --> evidence --> alarm, low, high

Read ``evidence`` first. What was measured is on the page ``docs/maths/watches.md``.
"""
