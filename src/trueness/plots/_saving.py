"""Figure data written to a file: SVG and HTML by our own drawing, PNG and PDF by
matplotlib at print size.
"""

from __future__ import annotations

import os

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described as value_in_words
from trueness._core.figures import TitledFigure
from trueness._core.files import replacing
from trueness.plots._matplotlib import PRINT_DPI, print_figure

DRAWN_BY_MATPLOTLIB = ("png", "pdf")
FORMATS = ("svg", "html", *DRAWN_BY_MATPLOTLIB)


def save(figure: TitledFigure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, all or nothing; the ending decides the format.

    SVG and HTML show the numbers of the point under the pointer, without a script. PNG
    and PDF have the size of a column of a journal, PNG with 300 dots per inch.

    Parameters
    ----------
    figure
        Figure data, from ``figure_data`` of any function of ``trueness.plots``.
    path
        A name that ends in .svg, .html, .png or .pdf.

    Examples
    --------
    >>> from trueness import plots
    >>> figure = plots.roc.figure_data([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.8])
    >>> plots.save(figure, "roc.html")  # doctest: +SKIP
    """
    if not isinstance(figure, TitledFigure):
        raise InputError(
            "save needs figure data, for example plots.roc.figure_data(y_true, "
            f"y_score); found {value_in_words(figure)}. Axes of matplotlib save "
            'themselves: ax.figure.savefig("roc.pdf").',
            option="figure",
        )

    ending = _options.file_path(path, "save").suffix.lower().lstrip(".")
    _options.choice(ending, FORMATS, "the ending of the file name")

    with replacing(path) as temporary:
        if ending in DRAWN_BY_MATPLOTLIB:
            metadata = {"Title": figure.title or figure.description}
            print_figure(figure).savefig(
                temporary, format=ending, dpi=PRINT_DPI, metadata=metadata
            )
        else:
            from trueness.reports.figure_files import figure_html, figure_svg

            text = figure_svg(figure) if ending == "svg" else figure_html(figure)
            temporary.write_text(text, encoding="utf-8")
