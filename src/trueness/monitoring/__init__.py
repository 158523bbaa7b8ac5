"""Is it good enough, and is it still? Contracts, verdicts and watches.

=========================================================  =====================
What is required, in words or in a table?                  ``requirements``
Which contract does a file hold, and is it well formed?    ``contracts``
Between which numbers does a measure lie, one-sided?       ``measures``
Which claims do requirements make about these data?        ``checking``
Does each of them hold, fail, or cannot it be told yet?    ``verdicts``
What do a build server and a pull request want to read?    ``writers``
How much evidence is there against a bound by now?         ``evidence``
Which scores are new: do they rank as the old ones?        ``ranks``
What may be watched, and against which bound?              ``questions``
What is watched, batch by batch?                           ``watching``
What does a batch tell, of each kind?                      ``sums``
The true rate, by judges and a trickle of labels?          ``judged``
In every group, with one alarm for all?                    ``groups``
How is it kept in a file?                                  ``states``
=========================================================  =====================

A gate says *holds* when the whole one-sided interval is on the good side, *fails* when
all of it is on the bad side, and otherwise that it cannot tell yet::

    text, table, TOML --> Requirement --limits(alpha)--> Verdict --> Check

A watch may be looked at after every batch::

    batch --> what tells (n, sum, sum of squares) --> evidence --> alarm, low, high

Read ``verdicts`` first, then ``checking`` and ``measures``; for watches ``evidence``.
What was measured is on the page ``docs/maths/monitoring.md``.
"""
