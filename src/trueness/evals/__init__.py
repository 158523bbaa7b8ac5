"""How good is a system whose verdicts can be trusted, and which one is better?

An item is tried several times, and each attempt passes or fails (exact match, unit
tests). Every answer is a function of how many items passed c of n attempts:
:class:`Attempts` counts (``attempts.py``); ``rates.py`` gives pass rates with the item
as the unit; ``runs.py`` compares and plans; ``ranks.py`` ranks; ``raters.py``
says how far raters agree. Verdicts that err are the subject of ``nogold``.
"""
