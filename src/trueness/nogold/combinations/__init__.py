"""Which logical combination of tests is best, and what is it worth?

The draws of a posterior give each of the 2^K vote patterns a probability in positives
and one in negatives. A combination is a set of patterns.

``best``              the best set on average, or most often; its price (``cost_rule``)
``criteria``          what "best" means, and what shape that has
``one_draw``          the best set when the rates are known: fronts and prefixes
``on_average``        the best set on average over the draws, by ``branch_and_bound``
                      for forms that are ``quadratic``, a ``minimum`` or a ``quotient``
``table``             all combinations of few tests; those that no other one beats
``words``             a set of patterns as people say it: "A or (B and C)"

Read ``best``, ``criteria`` and ``one_draw``, then ``branch_and_bound``. The maths is in
``docs/maths/nogold.md``, section "Combinations".
"""
