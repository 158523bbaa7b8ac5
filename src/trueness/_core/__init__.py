"""What does every room need?

Array types and blocks (``arrays``), answers as frozen records (``records``, ``html``),
checks of input with their words (``checks``), modules that are opened by name
(``imports``), progress (``progress``), lines with few points (``polyline``), binomial
numbers without ``scipy.stats`` (``binomial``). Nothing here knows what a classifier is.
Read ``records`` first, then ``checks``.
"""
