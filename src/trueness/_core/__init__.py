"""What does every room need?

Array types and blocks (``arrays``), answers as frozen records (``records``), what a
figure shows (``figures``), checks of input with their words (``checks``), modules that
are opened by name (``imports``), numbers and names in writing (``numbers``, ``names``),
files (``files``), progress (``progress``), warnings (``warn``), solvers (``solvers``)
and the binomial law (``binomial``). Nothing here knows what a classifier is. Read
``records`` first.
"""
