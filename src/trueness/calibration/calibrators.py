"""What does a score mean as a probability?

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
from trueness.calibration.forecasts import fixed_share
from trueness.calibration.maps import Map, at_prevalence, takes_weights
from trueness.calibration.monotone import histogram, isotonic, venn_abers
from trueness.calibration.parametric import beta, platt, temperature
from trueness.counts.answers import of_tally, refuse_weights
from trueness.counts.values import Tally


@of_tally(weights=True)
def calibrate(
    t: Tally,
    *,
    method: str = "auto",
    prevalence: float | None = None,
    sampling: str = "cohort",
    **options: Any,
) -> Map:
    """Which probability does each score stand for?

    Parameters
    ----------
    t
        Labelled cases that the classifier was *not* trained on (for training cases see
        :class:`trueness.estimators.Calibrator`). Unknowns are not used.
    method
        A name from ``trueness.CALIBRATORS``. For weighted cases, "isotonic", "platt",
        "beta", "temperature" and "histogram" are available; "auto" is then "beta" for
        scores from 0 to 1, and "platt" for others.
    prevalence
        Share of positives where the map will be used: the map is fitted to the cases as
        they are, and then converted to that prevalence
        (:func:`trueness.at_prevalence`).
    sampling
        How the cases were sampled: ``"cohort"`` or ``"case-control"``, which needs
        ``prevalence``.
    **options
        Passed on to the method, for example ``bins=20`` to "histogram".

    Returns
    -------
    Map
        Called with scores it gives probabilities; ``t.map(c)`` is the calibrated tally,
        and ``c.save_map(path)`` saves the map.

    Examples
    --------
    >>> t = Tally([1, 2, 3], neg=[3, 2, 1], pos=[1, 2, 3])
    >>> calibrate(t, method="isotonic")([1, 2, 3])
    array([0.25, 0.5 , 0.75])
    """
    fit = CALIBRATORS[_options.choice(method, CALIBRATORS, "method")]
    if t.weighted and not takes_weights(fit):
        if method != "auto":
            able = [name for name, fit in CALIBRATORS.items() if takes_weights(fit)]
            why = f"It is fitted case by case; {', '.join(able)} take weights."
            refuse_weights(t, f"calibrate(method={method!r})", why)
        fit = beta if len(t) and 0 <= t.score[-1] <= t.score[0] <= 1 else platt
    known = [name for name in signature(fit).parameters if name != "t"]
    _options.options(options, known, f"method={method!r}")
    share = fixed_share(t, sampling, prevalence, "calibrate")
    fitted = fit(t, **options)
    if share is None:
        return fitted
    return at_prevalence(fitted, share.n_pos / (share.n_pos + share.n_neg), share.share)


# one line a method: a function from a tally to a map; it says itself, by ``of_sums``,
# whether it takes weights
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
