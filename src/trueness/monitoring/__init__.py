"""Is it good enough, and is it still? Contracts, verdicts and watches.

=========================================================  =====================
What is required, in words or in a table?                  ``requirements``
Which contract does a file hold, and is it well formed?    ``contracts``
Between which numbers does a measure lie, one-sided?       ``measures``
Which claims do requirements make about these data?        ``checking``
Does each of them hold, fail, or cannot it be told yet?    ``verdicts``
Has it changed, at any time? Bets, promise and limits      ``detectors``
What does a batch tell, of each kind?                      ``kinds``
Which cases are new, and how is a watch kept in a file?    ``states``
What is watched, batch by batch and in every group?        ``watching``
What may be watched, and against which bound?              ``questions``
=========================================================  =====================

A gate says *holds* when the whole one-sided interval is on the good side, *fails* when
all of it is on the bad side, and otherwise that it cannot tell yet::

    text, table, TOML --> Requirement --limits(alpha)--> Verdict --> Check

A watch may be looked at after every batch::

    batch --> numbers that tell --> bets --> detector --> alarm, since when, how large

Read ``verdicts`` first, then ``checking`` and ``measures``; for watches ``detectors``.
What was measured is on the page ``docs/maths/monitoring.md``.
"""
