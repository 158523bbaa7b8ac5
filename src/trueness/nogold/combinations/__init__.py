"""Which logical combination of tests is best, and what is it worth?

A combination is a set of the 2^K vote patterns. Read ``search`` (what "best" means, and
the best set), ``best`` (the answers, and tables of them) and ``words`` (a set as people
say it); the maths is in ``docs/maths/nogold.md``.
"""
