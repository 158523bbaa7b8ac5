"""What was found? Each question is asked once, and every face shows the same answer.

====================  ==============================================================
``how_good``          how good is it, in all cases and in every group?
``where_to_cut``      where should the threshold be?
``which_is_better``   which is better, and would they be better together?
``what_scores_mean``  what does a score mean, and what would calibration change?
``trust``             are the cases enough, the bins fine enough, the leaves sure?
``without_labels``    how good is each test, when nobody knows the truth?
``judges``            what is the true rate behind the verdicts of judges?
====================  ==============================================================

A ``Subject`` (``subject``) is counts with what is asked of them. A question takes it
and gives a ``Finding`` (``records``): numbers, tables, figure data and notes. A note is
a code with numbers; ``notes`` has every sentence once, for Python, shell, report and
page. ``page`` puts the findings of a report together, with the answer first; ``slider``
holds every number that moves with the threshold.
"""
