"""How good is a system whose verdicts can be trusted, and which one is better?

An item is tried several times, and each attempt passes or fails (exact match, unit
tests). Every answer is a function of how many items passed c of n attempts:
:class:`Attempts` counts and gives pass rates (``attempts.py``); ``runs.py`` compares,
ranks and plans; ``wins.py`` counts wins and ties; ``raters.py`` says how far
raters agree. Verdicts that err are the
subject of ``nogold``.
"""
