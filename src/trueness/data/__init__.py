"""How do rows of any kind become counts, and counts a file?

Questions: how is a frame of any library, a file or a table in a warehouse counted
(:func:`trueness.tally`, :func:`trueness.panel`, :func:`trueness.leaves`,
:func:`trueness.scan`); how are counts kept (:func:`trueness.read_tally`,
:func:`trueness.read_panel`).

Flow: ``frames`` has the functions that people call; ``row_counts`` takes arrays, or the
columns of a frame, through ``columns`` into ``counts``. A lazy frame is counted by its
own engine (``engines``), by streaming batches of one score column (``streaming``), or
into bins when it has too many scores (``engine_bins``). A path becomes a lazy frame in
``files``, a colleague's CSV in ``text_files``, and ``cleaning`` says what its words
mean. Columns that nobody named are found in ``column_roles``, from facts about a frame
(``frame_tables``) or a file (``relation_tables``). The log of an evaluation becomes a
table of verdicts in ``verdict_logs``, by one function of ``log_formats`` per program.
``storage`` recognises counts that somebody else made, and writes counts as a whole.

Read ``frames`` first, then ``row_counts``, ``columns``, ``engines``, ``files``. Maths:
none but exact counting; ``docs/maths/scale.md`` says what bins cost.
"""
