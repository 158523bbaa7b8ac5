"""How many negatives, positives and unknowns showed each output?

Which questions this room answers
    What is counted, and when are two counts the same? How are cases resampled, ranked
    against each other, simulated? What may an analysis be asked about?

How data flow through it
    Arrays become a ``Tally`` (one classifier) or a ``Panel`` (several on the same
    cases); every analysis of the other rooms is a function of these two. Placements are
    what rank statistics need of them, replicates what a bootstrap draws from them.

In which order to read it
    ``values`` (Tally and Panel) and ``cases`` (what both share), ``counting``,
    ``sorting`` and ``weighing`` (how arrays become counts), ``rows`` and ``bins`` (what
    merges), ``answers`` (the decorators that let an analysis take data), ``weights``
    (what weighted cases tell), ``heavy_cases`` (what they may have missed),
    ``placements``, ``resampling``, ``simulation``.

The idea in words: docs/one_idea.md.
"""

from trueness.counts.resampling import resample
from trueness.counts.simulation import rank_frequencies

__all__ = ["rank_frequencies", "resample"]
