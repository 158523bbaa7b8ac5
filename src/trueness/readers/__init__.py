"""Do readers do better with one treatment than with another?

Several readers judge the same cases by several treatments (imaging methods, with or
without a program's help); cases, readers and their interplay all vary. A frame becomes
``Readings`` (``design``), each row of them has a result (``endpoints``), the results a
covariance (``covariances``) and a model (``model``), this intervals, tests and notes
(``analysis``), and a study a plan (``planning``). The maths: ``docs/maths/readers.md``.
"""
