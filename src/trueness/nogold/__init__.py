"""What can be said of tests and judges when nobody knows the truth, or only a little?

How good is each test, how common is the condition?   ``fitting`` (``latent_class``)
What is the true rate, by judges and a few labels?    ``rate`` (``prevalence``)
Which system has the higher rate?                     ``rate_comparison``
Which cases to label, and how many?                   ``label_plans``
Which logical combination of the tests is best?       ``combinations``

A panel of 0/1 votes, or a mapping from population to panel, is counted into vote
``patterns``. One ``model``, whose tests may share errors or do not (``shared_errors``),
gives every pattern a probability; one sampler (``sampling``, on ``particles``,
``mixtures`` and ``ridge``) draws from its ``posterior``; ``identification`` says
whether votes determine it. Where there are labels no such model is needed:
``verdicts`` reads them, and ``verdict_regression`` learns the truth given the votes. A
combination is a set of the 2^K patterns: ``search`` finds the best one by one of the
``criteria``, ``formulas`` says it in words, and ``combination_tables`` lists all of
them. The maths is on the pages ``docs/maths/nogold.md`` and ``docs/maths/judges.md``.
"""

from trueness.nogold.combination_tables import all_combinations, combination_front

__all__ = ["all_combinations", "combination_front"]
