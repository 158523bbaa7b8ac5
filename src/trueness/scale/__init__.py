"""What if the rows are too many to be sorted, or never stop coming?

Questions: between which numbers does the exact answer lie when scores were counted in
bins (:func:`trueness.bounds`); what is the exact answer without sorting the rows
(:func:`trueness.exact_auc`, :func:`trueness.exact_threshold`); what has come in so far
(:class:`trueness.Stream`); what does each row score where it is
(:func:`trueness.apply`).

Flow: a binned tally knows counts per bin. ``arrangements`` finds the best and worst
order within the bins (for numbers), ``calibration_bounds`` what calibration can be;
``inner_cuts`` the range of true and false positives of a cut inside a bin,
``envelopes`` and ``isotonic_bounds`` the two curves around the exact one;
``certificates`` attaches its bounds to each analysis. ``refinement`` counts again only
the bins that can change the answer, by ``recounting``. ``streams`` adds batches once
each, ``application`` writes a fitted map as an expression of the engine, ``queries``
counts as a text of SQL (``counting_query``).

Read ``arrangements`` first, then ``inner_cuts``, ``envelopes``, ``certificates``,
``refinement``. Maths: ``docs/maths/scale.md``.
"""
