"""What can be answered about scores that stay on a device?

``ON_DEVICE`` has the analyses that are made there, exactly: of sorted keys by the sums
of ``merging``, by sums over the scores, or, for a threshold, by looking closer at the
few bins that may hold the best one. Other curves and numbers are those of ``BINS`` bins
and carry their limits; what nothing is known about from bins asks for the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import unwrap
from typing import Any

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.calibration.proper_scores import brier as host_brier
from trueness.calibration.proper_scores import log_loss as host_log_loss
from trueness.counts.values import Tally
from trueness.gpu.counting import DeviceTally
from trueness.gpu.keys import floats_of
from trueness.gpu.merging import CHUNK, area_of, sums_of
from trueness.gpu.panels import DevicePanel, compare_auc
from trueness.gpu.resampling import replicated_aucs
from trueness.inference.limits import percentiles
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS, SYNONYMS
from trueness.ranking.areas import AUC_METHODS, REVERSED, auc_from_moments
from trueness.ranking.areas import average_precision as host_precision
from trueness.scale.certificates import BOUNDED, answer_with_limits
from trueness.scale.refinement import exact_threshold
from trueness.threshold.rule import at_threshold as host_at_threshold

# how many bins stand for the scores where a curve is asked for, and where only the
# width of an interval is: of losses, which change little within a bin, and of precision
BINS, _WIDTH, _TOP = 2**17, 2**14, 2**15
# how many bins a look for the best threshold makes, and how many cases it may copy
_LOOK, _COPY = 2**13, 2**18


def auc(
    x: DeviceTally,
    *,
    method: str = "student",
    level: float = 0.95,
    rng: Any = 0,
    replicates: int = 2000,
) -> Estimate:
    """Give the AUC with its interval; see :func:`trueness.auc`."""
    _options.choice(method, AUC_METHODS, "method")
    if method not in ("student", "bootstrap"):
        raise InputError(
            f"method={method!r} needs the tally on the host. Type at_most=100_000 for "
            f'bins, or method="student".'
        )
    level = _options.fraction(level, "level")
    found = area_of(x)
    if method == "student":
        e = auc_from_moments(found.value, found.n, found.two, found.four, level)
    else:
        number = _options.whole_number(replicates, "replicates", at_least=100)
        note = "Each case was drawn a Poisson number of times, within its class."
        drawn = replicated_aucs(x, number, rng)
        e = percentiles(found.value, drawn, level, (note,), "AUC")
    return replace(e, notes=(REVERSED, *e.notes)) if e.high < 0.5 else e


def average_precision(x: DeviceTally, **options: Any) -> Estimate:
    """Give the average precision; the width of its interval is that of bins."""
    found: Estimate = unwrap(host_precision)(x.coarse(_TOP), **options)
    share, odds = x.design.prevalence, 1.0
    if share is not None:
        odds = (1 - share) / share * x.n_pos / x.n_neg
    value = sums_of(x.lib, x.pos, x.neg, odds).precision / x.n_pos
    moved: Estimate = _moved(found, value, _TOP)
    return moved


def _moved(found: Any, value: float, bins: int) -> Any:
    """Put the exact value in the place of that of bins, and move the interval along."""
    gap = value - found.value
    low = min(max(0.0, found.low + gap), value)
    high = max(found.high + gap, value)
    if found.high <= 1:
        high = min(1.0, high)
    note = f"The value is exact; the width of its interval is that of {bins:,} bins."
    return replace(found, value=value, low=low, high=high, notes=(*found.notes, note))


def _proper_score(host: Callable[..., Any], losses: Callable[..., Any]) -> Any:
    """Add up the losses on the device; the parts of the score are those of bins."""

    def ask(x: DeviceTally, **options: Any) -> Any:
        total = sum(
            float(x.lib.xp.sum(losses(x.lib.xp, floats_of(x.lib, keys, x.kind), up)))
            for part, up in ((x.pos, True), (x.neg, False))
            for keys in (part[k : k + CHUNK] for k in range(0, x.lib.size(part), CHUNK))
        )
        found = answer_with_limits(unwrap(host), (x.coarse(_WIDTH),), options)
        value = total / (x.n_pos + x.n_neg)
        return replace(_moved(found, value, _WIDTH), limits=(value, value))

    return ask


def _squares(xp: Any, p: Any, up: bool) -> Any:
    return (1 - p) ** 2 if up else p * p


def _logs(xp: Any, p: Any, up: bool) -> Any:
    return -xp.log(p) if up else -xp.log1p(-p)


def best_threshold(
    x: DeviceTally,
    maximize: Any = None,
    subject_to: Any = (),
    method: str = "sweep",
    *,
    minimize: Any = None,
) -> Any:
    """Find the best threshold of all; only bins that may hold it are copied."""
    _options.choice(method, ("sweep",), "method")
    return exact_threshold(
        x,
        maximize=maximize,
        subject_to=subject_to,
        minimize=minimize,
        at_most=_LOOK,
        batch=_COPY,
    ).answer


def confusion(x: DeviceTally, threshold: float) -> Confusion:
    """Give the four counts at a threshold."""
    tp, fp = x.flagged(_options.real_number(threshold, "threshold"))
    return Confusion(tp=tp, fp=fp, fn=x.n_pos - tp, tn=x.n_neg - fp)


def at_threshold(x: DeviceTally, threshold: float, **options: Any) -> Any:
    """Give every metric at a threshold, from the counts of the device."""
    c = confusion(x, threshold)
    counts = np.array([[c.tn, c.fp], [c.fn, c.tp]], dtype=np.int64)
    below = np.nextafter(threshold, -np.inf)
    two = Tally([below, threshold], neg=counts[0], pos=counts[1])
    return host_at_threshold(x.designed(two), threshold, **options)


def answer_on_device(
    analysis: Callable[..., Any],
    x: DeviceTally | DevicePanel,
    rest: tuple[Any, ...],
    options: Any,
) -> Any:
    """Answer on the device, from bins with limits, or say what must be copied."""
    name = analysis.__name__
    if isinstance(x, DevicePanel):
        return _of_panel(analysis, x, rest, options)
    if name in METRICS or name in SYNONYMS:
        return at_threshold(x, *rest, metrics=[name], **options)[name]
    if name in ON_DEVICE:
        _cases.both_classes(x, name)
        return ON_DEVICE[name](x, *rest, **options)
    if name in BOUNDED:
        return answer_with_limits(analysis, (x.coarse(BINS), *rest), options)
    size = 8 * x.n / 1e9
    raise InputError(
        f"{name} needs the tally on the host: {x.n:,} cases, up to {size:.1f} GB. "
        f"Type at_most=100_000 for bins with limits, or tally(y, s).to_host()."
    )


def _of_panel(
    analysis: Callable[..., Any], x: DevicePanel, rest: tuple[Any, ...], options: Any
) -> Any:
    """Compare the classifiers, or ask about each of them."""
    if analysis.__name__ == "compare_auc":
        return compare_auc(x, *rest, **options)
    return {
        name: answer_on_device(analysis, t, rest, options)
        for name, t in zip(x.names, x.tallies, strict=True)
    }


ON_DEVICE: dict[str, Callable[..., Any]] = {
    "auc": auc,
    "average_precision": average_precision,
    "best_threshold": best_threshold,
    "brier": _proper_score(host_brier, _squares),
    "log_loss": _proper_score(host_log_loss, _logs),
    "confusion": confusion,
    "at_threshold": at_threshold,
}
