"""What can be said of tests and judges when nobody knows the truth, or only a little?

Questions
---------
How good is each test, how common is the condition?   ``fitting`` (``latent_class``)
Do the tests err together?                            its evidence of both models
Could any amount of data answer this?                 its ``identified``
What is the true rate, by judges and a few labels?    ``rate`` (``prevalence``)
How good are the judges, how many are they worth?     ``verdicts``
Which system has the higher rate?                     ``rate_comparison``
Which cases to label, and how many?                   ``label_plans``
Which logical combination of the tests is best?       the room ``combinations``

How data flow
-------------
A panel of 0/1 votes, or a mapping from population to panel, is counted into vote
patterns. One model (``model``), whose tests may share errors or do not, gives every
pattern a probability; one sampler (``sampling``) draws from its posterior and gives its
evidence; the draws are summarised in a ``LatentPosterior`` (``posterior``), which says
in ``notes`` what it assumes. Where there are labels no such model is needed:
``truth_given_votes`` learns the truth given the votes and averages over all cases, the
same way for ``latent_class`` and ``prevalence`` (``verdicts`` reads them).

Read ``model`` first, then ``sampling``, ``fitting`` and ``posterior``; then
``truth_given_votes`` and ``rate``. The maths is on the page ``docs/maths/nogold.md``.
"""

from trueness.nogold.combinations.table import (
    all_combinations,
    combination_front,
)

__all__ = ["all_combinations", "combination_front"]
