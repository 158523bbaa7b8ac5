"""Do probabilities mean what they say, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError
from trueness._core.numbers import level_text
from trueness.calibration.maps import Map
from trueness.calibration.proper_scores import ProperScore
from trueness.calibration.reliability_curve import (
    decomposition_figure,
    map_figure,
    probability_bars,
    reliability_figure,
)
from trueness.calibration.reliability_curve import reliability as corp
from trueness.counts.values import Tally
from trueness.plots._altair import ONE, Panels, spread
from trueness.plots._draw import Captioned, Shown, Source, named, picture
from trueness.plots._theme import SIZE


@picture
def reliability(
    data: Source, *, level: float = 0.95, replicates: int = 500, rng: Any = 0
) -> Shown:
    """Which share of the cases with a score of p is positive? A chart.

    The curve is the isotonic regression of the labels on the scores (CORP), with its
    confidence band in colour. For one classifier, a grey consistency band is added:
    where the curve leaves it, chance does not explain the distance from the diagonal.
    Below, areas show how the scores of negatives and positives are spread.

    Parameters
    ----------
    data
        A tally, a panel, or a mapping from name to tally: labelled cases whose scores
        are probabilities.
    """
    found = {
        name: corp(t, level=level, replicates=replicates, rng=rng)
        for name, t in named(data).items()
    }
    figure = reliability_figure(found)
    if not isinstance(data, Tally):
        return figure
    (calibrated,) = reliability_figure(found, "consistency").bands
    calibrated = replace(calibrated, name="calibrated scores would lie here")
    both = replace(figure, guides=(calibrated, *figure.guides))
    scores: Any = spread(probability_bars(ONE, data.labelled()))
    scores = replace(scores, y=replace(scores.y, title="Share"))
    about = (
        f"Reliability diagram of {found[ONE].n:,} cases: share of positives against "
        f"score, with {level_text(level)} consistency and confidence bands"
    )
    panels = Panels(about, (both, scores), heights=(SIZE, SIZE // 5))
    return Captioned(panels, alone=figure)


@picture
def calibration_maps(maps: Mapping[str, Map], t: Tally, *, bins: int = 12) -> Shown:
    """Which probability does each map give a score? A chart.

    Parameters
    ----------
    maps
        Fitted maps by name, for example of several methods.
    t
        Labelled cases on the same scale; their shares of positives in bins of equally
        many cases are drawn as dots.
    bins
        Number of dots.
    """
    if not isinstance(maps, Mapping) or not maps:
        raise InputError(
            "calibration_maps needs a mapping from name to map; type "
            'calibration_maps({"platt": trueness.calibrate(t, method="platt")}, t).'
        )
    _cases.some_labels(t, "calibration_maps")
    return map_figure(maps, t.labelled(), bins)


@picture
def decomposition(scores: Mapping[str, ProperScore]) -> Shown:
    """Which classifier discriminates better, and which is calibrated better? A chart.

    Each classifier is a dot: discrimination to the right, miscalibration upwards. Lines
    connect points of equal mean loss, which is lowest at the lower right.

    Parameters
    ----------
    scores
        Results of :func:`trueness.brier` or :func:`trueness.log_loss` by name, on the
        same cases (their uncertainty is the same).
    """
    return decomposition_figure(scores)
