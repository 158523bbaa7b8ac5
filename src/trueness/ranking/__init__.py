"""How good is the ranking, and how sure are we?

Which trade-offs are there (``curves``), how often does a positive stand before a
negative (``auc_intervals``), how good is the part that matters, or the top
(``partial_areas``, ``mean_precision``), what would it cost (``h_measures``), what are
the rates at a cut (``cut_rates``), where does the true curve lie (``bands``,
``likelihood_bands``), what if some cases have no label (``verification``), how many
cases are needed (``sample_sizes``, ``rate_sizes``), and what is the shape behind all of
it (``geometry``, ``gaussian``, ``divergence``)?

How data flow: a tally goes through ``counts.placements`` (pairs won, spread of the
placement values) or ``metrics.sweep`` (every cut) into an ``Estimate`` or a curve.
Cases without a label first meet ``verification``, which says whether they differ and,
when asked, gives each its chance of being positive. ``missed_cases`` says what weighted
cases may have missed; ``resampled_intervals`` holds what the bootstrap intervals share.

Read ``curves``, ``auc_intervals``, ``verification``, then what you need. The maths,
with measured coverage and size, is in ``docs/maths/ranking.md`` and
``docs/maths/ranking_geometry.md``.
"""
