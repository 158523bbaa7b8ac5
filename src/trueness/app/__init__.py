"""May I look around first? The workbench: a report that is alive, in the browser.

``trueness app FILE`` serves it on this machine only, by Starlette and uvicorn. To be
read in this order: ``server`` lists the addresses and starts; ``access`` decides who
may ask, and how long is waited for; ``files`` holds the files that the page may open;
``address`` reads which columns, objective and constraints an address names.
``session`` counts a file once and answers: sections are the findings of the report,
moves of the threshold are look-ups. ``jobs`` does what takes long, with progress and a
way to stop it; ``pages`` writes HTML and figures, ``lines`` the command and the lines
of Python that give the same.

No number is computed here, and none in the script of the page. The address of a page
holds all that was chosen, so that reload, back and a second tab need nothing else.
"""
