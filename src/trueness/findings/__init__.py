"""What was found? Each question is asked once, and every face shows the same answer.

====================  ==============================================================
``how_good``          how good is it, in all cases and in every group?
``cut``               where should the threshold be: one, two, of groups, promised?
``where_to_cut``      what does every threshold do? The section with the slider
``which_is_better``   which is better, and would they be better together?
``what_scores_mean``  what does a score mean, and what would calibration change?
``trust``             are cases enough, leaves sure, requirements met, is it still good?
``without_labels``    how good are tests and judges, when the truth is not known?
``systems``           which system passes more often, with which treatment?
====================  ==============================================================

A ``Subject`` (``subject``) is counts with a ``Request`` (``request``) about them. A
question takes it and returns a ``Finding`` (``records``): numbers, tables, figure data
and notes. A note is a code with numbers; ``sentences.txt`` has every sentence once,
``notes`` writes it for Python, shell, report and page, and turns those of other rooms.
``page`` puts the findings of a report together, with the answer first.
"""
