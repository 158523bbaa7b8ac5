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
def site_forest(found: AcrossSites, **look: Unpack[Style]) -> Shown:
    """How good is it at each site, on average, and at the next? A forest plot.

    The last row is the prediction interval for a new site.
    """
    level = level_text(found.level)
    about = f"{found.measure} of each site with its {level} interval."
    if found.prediction is not None:
        about += (
            " Then the mean over sites, and the prediction interval for a new site, "
            f"from {found.prediction.low:.3g} to {found.prediction.high:.3g}."
        )
    return TitledFigure(forest_figure(found), description=about)


@picture
def summary_plane(found: SummaryROC, **look: Unpack[Style]) -> Shown:
    """Where do sites lie in the ROC plane, and where will the next one lie?

    Summary point, summary ROC curve, confidence region and prediction region.
    """
    about = (
        f"Sensitivity and specificity of {len(found.sites)} sites, with the summary "
        f"point at a sensitivity of {found.sensitivity.value:.3g} and a specificity of "
        f"{found.specificity.value:.3g}."
    )
    return TitledFigure(plane_figure(found), description=about)
