"""What does a score mean, as a probability?

``calibrate`` fits one of the methods in ``CALIBRATORS`` to labelled cases and gives a
map from score to probability: a frozen record that ``tally.map`` applies, and that can
be saved, loaded and carried to another prevalence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any

from trueness._core.checks import options as _options
from trueness.calibration.blending import auto
from trueness.calibration.by_rank import binormal, fermi_dirac_map
from trueness.calibration.maps import Map
from trueness.calibration.monotone import histogram, isotonic, venn_abers
from trueness.calibration.parametric import beta, platt, temperature
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally


@of_tally
def calibrate(t: Tally, *, method: str = "auto", **options: Any) -> Map:
    """Which probability does each score stand for?

    Parameters
    ----------
    t
        Labelled cases that the classifier was *not* trained on (for training cases see
        :class:`trueness.estimators.Calibrator`). Unknowns are not used.
    method
        A name from ``trueness.CALIBRATORS``.
    **options
        Passed on to the method, for example ``bins=20`` to "histogram".

    Returns
    -------
    Map
        Called with scores it gives probabilities; ``t.map(c)`` is the calibrated tally,
        ``c.save_map(path)`` keeps it.

    Examples
    --------
    >>> t = Tally([1, 2, 3], neg=[3, 2, 1], pos=[1, 2, 3])
    >>> calibrate(t, method="isotonic")([1, 2, 3])
    array([0.25, 0.5 , 0.75])
    """
    fit = CALIBRATORS[_options.choice(method, CALIBRATORS, "method")]
    known = [name for name in signature(fit).parameters if name != "t"]
    _options.options(options, known, f"method={method!r}")
    return fit(t, **options)


# one line a method: a function from a tally to a map
CALIBRATORS: Mapping[str, Callable[..., Map]] = MappingProxyType(
    {
        "auto": auto,
        "fermi-dirac": fermi_dirac_map,
        "platt": platt,
        "isotonic": isotonic,
        "beta": beta,
        "temperature": temperature,
        "venn-abers": venn_abers,
        "binormal": binormal,
        "histogram": histogram,
    }
)
