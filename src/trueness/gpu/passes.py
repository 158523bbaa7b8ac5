r"""What can be answered by one pass over sorted keys?

The number of negatives below a positive is the place of its key among the sorted keys
of the negatives. Sums of places are whole numbers, so the AUC is exact; the sums of
their squares, from which DeLong's variances follow, are float64. Searches go in chunks,
so that memory does not grow with the number of cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.counts.placements import Placements
from trueness.gpu.counting import CHUNK, DeviceTally
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS, SYNONYMS


def placements_of(x: DeviceTally) -> Placements:
    """Give what the AUC and its interval need: the placement values of both classes."""
    n_pos, n_neg = x.n_pos, x.n_neg
    wins, pos_squares = _sums(x, x.neg, x.pos)
    losses, neg_squares = _sums(x, x.pos, x.neg)
    # of the positives "above or tied"; of the negatives, what is not below or tied
    auc = wins / (2 * n_pos * n_neg)
    pos_var = _variance(wins, pos_squares, n_pos, 2 * n_neg)
    neg_var = _variance(losses, neg_squares, n_neg, 2 * n_pos)
    return Placements(wins, auc, pos_var, neg_var)


def _sums(x: DeviceTally, ordered: Any, wanted: Any) -> tuple[int, float]:
    """Sum twice the places, ties half, and their squares."""
    lib = x.lib
    total, squares = 0, 0.0
    for start in range(0, lib.size(wanted), CHUNK):
        part = wanted[start : start + CHUNK]
        twice = lib.places(ordered, part, "left") + lib.places(ordered, part, "right")
        total += int(twice.sum())
        real = lib.cast(twice, "float64")
        squares += float((real * real).sum())
    return total, squares


def _variance(total: int, squares: float, n: int, scale: int) -> float:
    if n < 2:
        return float("nan")
    mean = total / n
    return max(0.0, (squares - n * mean * mean) / (n - 1)) / scale**2


def auc(x: DeviceTally, *, method: str = "score", level: float = 0.95, **_: Any) -> Any:
    """Give the AUC with its interval; see :func:`trueness.auc`."""
    from trueness.ranking.auc_intervals import AUC_METHODS, Question, answer

    _options.choice(method, AUC_METHODS, "method")
    if method in ("bootstrap", "bca", "fermi-dirac"):
        raise InputError(
            f"method={method!r} needs the tally on the host. Type at_most=100_000 for "
            f'bins, or method="score".'
        )
    level = _options.fraction(level, "level")
    return answer(Question(x, placements_of(x), level, 0, 100), method)


def average_precision(x: DeviceTally, **options: Any) -> Any:
    """Give the average precision; without an interval, which needs a tally."""
    if options:
        raise InputError(
            f"average_precision of scores on a device takes no {next(iter(options))}=. "
            f"Type at_most=100_000 to ask about bins of them."
        )
    lib, total = x.lib, 0.0
    for start in range(0, x.n_pos, CHUNK):
        part = x.pos[start : start + CHUNK]
        tp = x.n_pos - lib.cast(lib.places(x.pos, part, "left"), "float64")
        fp = x.n_neg - lib.cast(lib.places(x.neg, part, "left"), "float64")
        total += float((tp / (tp + fp)).sum())
    value = total / x.n_pos
    note = "An interval needs the tally on the host: type at_most=100_000."
    nan = float("nan")
    return Estimate(
        value, nan, nan, 0.95, "on the device", notes=(note,), name="average precision"
    )


def confusion(x: DeviceTally, threshold: float) -> Confusion:
    """Give the four counts at a threshold."""
    tp, fp = x.flagged(_options.real_number(threshold, "threshold"))
    return Confusion(tp=tp, fp=fp, fn=x.n_pos - tp, tn=x.n_neg - fp)


def at_threshold(x: DeviceTally, threshold: float, **options: Any) -> Any:
    """Give every metric at a threshold, from the counts of the device."""
    from trueness.counts.values import Tally
    from trueness.threshold.at_cut import at_threshold as ask

    c = confusion(x, threshold)
    counts = np.array([[c.tn, c.fp], [c.fn, c.tp]], dtype=np.int64)
    below = np.nextafter(threshold, -np.inf)
    two = Tally([below, threshold], neg=counts[0], pos=counts[1])
    return ask(two, threshold, **options)


def ask(name: str, x: DeviceTally, rest: tuple[Any, ...], options: Any) -> Any:
    """Answer on the device, or say what would have to be copied."""
    if name in METRICS or name in SYNONYMS:
        return at_threshold(x, *rest, metrics=[name], **options)[name]
    if name not in ON_DEVICE:
        size = 8 * x.n / 1e9
        raise InputError(
            f"{name} needs the tally on the host: {x.n:,} cases, up to {size:.1f} GB. "
            f"Type at_most=100_000 for bins with limits, or tally(y, s).to_host()."
        )
    _cases.both_classes(x, name)
    return ON_DEVICE[name](x, *rest, **options)


ON_DEVICE: dict[str, Callable[..., Any]] = {
    "auc": auc,
    "average_precision": average_precision,
    "confusion": confusion,
    "at_threshold": at_threshold,
}
