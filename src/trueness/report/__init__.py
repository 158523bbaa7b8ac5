"""What do I send to my boss? The door for Jinja2.

``html(data)`` gives a report as text, ``write(data, path)`` one self-contained file: no
network, no foreign script, under 2 MB.
"""

from __future__ import annotations

import os
from typing import Any

from trueness._core.doors import installed as _installed
from trueness.counts.answers import of_counts
from trueness.counts.values import Panel, Tally
from trueness.data.storage import replacing

_installed("jinja2", "report")  # says what to install, which the next line does not
from trueness.report.page import render  # noqa: E402
from trueness.report.summary import summarise  # noqa: E402

__all__ = ["html", "write"]


@of_counts
def html(data: Panel | Tally, **wishes: Any) -> str:
    """What can be said about these classifiers, as one HTML page?

    Parameters
    ----------
    data
        A tally, or a panel of several classifiers on the same cases.
    wishes
        See :func:`trueness.report.write`.
    """
    from trueness import __version__

    return render(summarise(data, **wishes), __version__)


@of_counts
def write(data: Panel | Tally, path: str | os.PathLike[str], **wishes: Any) -> None:
    """Write a report to a file, all or nothing.

    Parameters
    ----------
    data
        A tally, or a panel of several classifiers on the same cases.
    path
        Name of the file, usually ending in .html.
    wishes
        Any of ``title``, ``source`` (words for the head of the page), ``maximize`` or
        ``minimize`` and ``subject_to`` (as in ``best_threshold``), ``cost`` (a mapping
        with ``fp`` and ``fn``), ``groups`` (a mapping from group to panel or tally, as
        ``by=`` gives), ``level`` of all intervals, and ``rng``.
    """
    text = html(data, **wishes)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
