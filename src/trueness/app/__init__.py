"""May I look around first? The workbench: a report that is alive, in the browser.

``trueness app FILE`` serves it on this machine only, by Starlette and uvicorn, which
are imported when this door opens. To be read in this order: ``server`` lists the
addresses and starts; ``guard`` decides who may ask at all; ``files`` holds the files
that the page may open, and ``asked`` reads an address: which columns, which objective,
which constraints. ``bench`` counts a file once and answers: sections are those of
``trueness.report``, moves of the threshold are look-ups. ``jobs`` does what takes long,
with progress and a way to stop it; ``pages`` writes HTML, and ``take`` what a person
takes away, with the command and the Python lines that give the same (``judge_lines``
those about judges).

No number is computed here, and none in the script of the page. The address of a page
holds all that was chosen, so that reload, back and a second tab need nothing else.
"""
