"""What can be said of tests and judges when nobody knows the truth, or only a little?

Questions
---------
How good is each test, how common is the condition?   ``fitting`` (``latent_class``)
The same without a prior.                             ``maximum`` (``latent_maximum``),
                                                      ``profile``
Do the tests err together?                            ``shared_errors``,
                                                      ``dependence``
Does one classifier repeat another?                   ``copies``
Could any amount of data answer this?                 ``identifiability``
Which model predicts new cases best?                  ``predictive``, ``arviz_door``
What is the true rate, by judges and a few labels?    ``rate`` (``prevalence``)
How good are the judges, how many are they worth?     ``judges``
Which system has the higher rate?                     ``rate_comparison``
Which cases to label, and how many?                   ``label_plans``
Which logical combination of the tests is best?       the room ``combinations``

How data flow
-------------
A panel of 0/1 votes, or a mapping from population to panel, is counted into vote
patterns (``model.Patterns``). A model (``model.Independent``, or ``dependent`` with a
``random_effect``, ``covariances`` or ``difficulty``; ``from_labels`` where labels
answer, whatever the errors look like) gives every pattern a probability;
the room ``sampling`` draws from its posterior; the draws are summarised in a
``LatentPosterior``, which says in ``notes`` what it assumes and what the data say about
that. Where there are labels, ``rate`` needs no such model: it learns the truth given
the votes (``truth_given_votes``) and averages over all cases (``verdicts`` reads them;
``rate_by_truth`` where labels were chosen by truth; ``paired_rates`` where systems
answered the same items).

Read ``model`` first, then ``fitting``, ``posterior``, ``identifiability``,
``dependence`` with ``pair_tests``; ``sampling`` and ``combinations`` can be read on
their own. The maths is on the page ``docs/maths/nogold.md``.
"""
