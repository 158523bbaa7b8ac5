"""How many negatives, positives and unknowns showed each output?

Which questions this room answers
    What is counted, and when are two counts the same? How are cases resampled, ranked
    against each other, simulated? What may an analysis be asked about?

How data flow through it
    Arrays become a ``Tally`` (one classifier) or a ``Panel`` (several on the same
    cases); every analysis of the other rooms is a function of these two. Placements are
    what rank statistics need of them, replicates what a bootstrap draws from them.

In which order to read it
    ``design`` (how cases came, and which analysis cannot use it), ``values`` (Tally and
    Panel) and ``cases`` (what both share), ``counting`` and ``sorting`` (how arrays
    become counts), ``rows`` (what merges: rows, bins, clusters), ``answers`` (the
    decorators that let an analysis take data), ``placements``, ``resampling``,
    ``simulation``, ``folds``.

The idea in words: docs/one_idea.md.
"""

from trueness.counts.resampling import resample
from trueness.counts.simulation import rank_frequencies

__all__ = ["rank_frequencies", "resample"]
