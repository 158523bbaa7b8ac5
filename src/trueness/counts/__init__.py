"""How many negatives, positives and unknowns showed each output?

Arrays become a ``Tally`` (one classifier) or a ``Panel`` (several on the same cases);
every analysis of the other rooms is a function of these two.

Read ``design`` (how cases came, and which analysis cannot use it), ``values`` (Tally
and Panel) and ``cases`` (what both share), ``counting`` and ``sorting`` (how arrays
become counts, by ``score_keys`` and ``score_table``), ``rows`` (what merges: rows,
bins, clusters), ``answers`` (the decorators that let an analysis take data),
``placements``, ``resampling``, ``folds``. The idea in words: docs/one_idea.md.
"""

from trueness.counts.resampling import rank_frequencies, resample

__all__ = ["rank_frequencies", "resample"]
