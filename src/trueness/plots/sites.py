"""Does it hold at every site, and at the next one? Forest plot and ROC plane."""

from __future__ import annotations

from typing import Unpack

from trueness._core.figures import TitledFigure
from trueness._core.numbers import level_text
from trueness.plots._pictures import Shown, Style, picture
from trueness.sites.across import AcrossSites
from trueness.sites.figures import forest_figure, plane_figure
from trueness.sites.summary_curve import SummaryROC


@picture
def site_forest(across: AcrossSites, **style: Unpack[Style]) -> Shown:
    """Forest plot of sites: how good is it at each, on average, and at the next?

    The last row is the prediction interval for a new site.
    """
    level = level_text(across.level)
    about = f"{across.measure} of each site with its {level} interval."
    if across.prediction is not None:
        about += (
            " Then the mean over sites, and the prediction interval for a new site, "
            f"from {across.prediction.low:.3g} to {across.prediction.high:.3g}."
        )

    return TitledFigure(forest_figure(across), description=about)


@picture
def summary_plane(summary: SummaryROC, **style: Unpack[Style]) -> Shown:
    """Sites in the ROC plane, and where the next one will lie.

    Summary point, summary ROC curve, confidence region and prediction region.
    """
    about = (
        f"Sensitivity and specificity of {len(summary.sites)} sites, with the summary "
        f"point at a sensitivity of {summary.sensitivity.value:.3g} and a specificity "
        f"of {summary.specificity.value:.3g}."
    )
    return TitledFigure(plane_figure(summary), description=about)
