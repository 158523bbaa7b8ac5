r"""Do readers do better with one treatment than with another?

====================================================  ====================
Question                                              Function
====================================================  ====================
Which treatment lets readers see more?                ``reader_study``
How many readers and cases does a new study need?     ``plan_readers``
====================================================  ====================

Several readers judge the same cases by several treatments (imaging methods, with or
without a program's help). Cases, readers and their interplay all vary::

    frame ── design.py ──► Readings
          ── model.py (covariances; Obuchowski and Rockette; Behrens and Fisher)
          ── analysis.py (limits, tests, notes; Gallas) ──► ReaderStudy
    ReaderStudy ── planning.py ──► ReaderPlan

Read in this order. The mathematics and the measured error rates are in
``docs/maths/readers.md``.
"""
