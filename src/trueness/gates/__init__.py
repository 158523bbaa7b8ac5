"""Do these predictions meet what was agreed? A check that knows how sure it is.

=========================================================  =====================
What is required, in words or in a table?                  ``requirements``
Which contract does a file hold, and is it well formed?    ``contracts``
Between which numbers does a measure lie, one-sided?       ``measures``
Which claims do requirements make about these data?        ``checking``
Does each of them hold, fail, or cannot it be told yet?    ``verdicts``
What do a build server and a pull request want to read?    ``writers``
=========================================================  =====================

A comparison of a point estimate with a number passes what is worse and stops what is
better, at random. A gate says *holds* when the whole one-sided interval is on the good
side, *fails* when all of it is on the bad side, and otherwise that it cannot tell yet,
with the number of cases that would tell::

    text, table, TOML --> Requirement --limits(alpha)--> Verdict --> Check

Read ``verdicts`` first, then ``checking`` and ``measures``. How often a gate errs when
the truth is exactly on the limit is measured in ``docs/maths/gates.md``.
"""
