"""What can be answered about scores that stay on a device?

``ON_DEVICE`` has the analyses that are made there, exactly: of sorted keys by the sums
of ``arrays``, by sums over the scores, or, for a threshold, by looking closer at the
few bins that may hold the best one. Other curves and numbers are those of ``BINS`` bins
and carry their limits; what nothing is known about from bins asks for the host.

The bootstrap draws a case a Poisson number of times with mean 1: a replicate is a
running sum of the weights of the negatives, looked up at the places of the positives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import unwrap
from typing import Any, cast, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.records import Estimate
from trueness.calibration.proper_scores import brier as host_brier
from trueness.calibration.proper_scores import log_loss as host_log_loss
from trueness.comparison.results import together
from trueness.counts.design import PLAIN, Design
from trueness.counts.values import Tally
from trueness.gpu.arrays import (
    CHUNK,
    KEYS,
    Area,
    Library,
    Tensor,
    area_of,
    float_name,
    floats_of,
    keys_of,
    library_of,
    same_device,
    sums_of,
    twice_below,
)
from trueness.gpu.counting import DeviceTally, read_labels, sorted_keys
from trueness.gpu.kernels import kernels_for
from trueness.gpu.precision import average_precision_estimate, weight_of_negative
from trueness.inference.differences import Difference
from trueness.inference.estimates import EvaluatedMeasure, estimate_from_replicates
from trueness.inference.sample import check_prevalence_known
from trueness.inference.variance import Stratum, combine_strata
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS, SYNONYMS
from trueness.ranking.areas import (
    AUC_METHODS,
    REVERSED,
    PlacementMoments,
    auc_from_moments,
    auc_variance_from_moments,
    notes_on_few_negatives,
)
from trueness.ranking.areas import average_precision as host_precision
from trueness.scale.certificates import BOUNDED, answer_with_limits
from trueness.scale.refinement import exact_threshold
from trueness.threshold.rule import at_threshold as host_at_threshold

# how many bins stand for the scores where a curve is asked for, and where only the
# width of an interval is: of losses, which change little within a bin, and of precision
BINS, _WIDTH, _TOP = 2**17, 2**14, 2**15
# how many bins a look for the best threshold makes, and how many cases it may copy
_LOOK, _COPY = 2**12, 2**16
_BLOCK = 1024
# 2^32 times the distribution function of a Poisson number with mean 1
_SHARES = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(12)])
_STEPS = np.round(_SHARES * 2**32).astype(np.int64)


def auc(
    data: DeviceTally,
    *,
    method: str = "newcombe",
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
    replicates: int = 2000,
) -> Estimate:
    """Give the AUC with its interval; see :func:`trueness.auc`."""
    _options.choice(method, AUC_METHODS, "method")
    if method not in ("newcombe", "bootstrap"):
        raise InputError(
            f"The method {method!r} needs the tally on the host. On a device there are "
            "bins (option at_most), or another method.",
            option="method",
            example="newcombe",
        )
    level = _options.fraction(level, "level")
    found = area_of(data.lib, data.neg, data.pos)
    if method == "newcombe":
        e = auc_from_moments(found.value, *_moments(found), level)
    else:
        number = _options.whole_number(replicates, "replicates", at_least=100)
        note = "Each case was drawn a Poisson number of times, within its class."
        drawn = replicated_aucs(data, number, rng)
        e = estimate_from_replicates(
            found.value, drawn, level, notes=(note,), name="AUC"
        )
    return replace(e, notes=(REVERSED, *e.notes)) if e.high < 0.5 else e


def _moments(area: Area) -> tuple[PlacementMoments, PlacementMoments]:
    """Return the sums over placement values, of negatives and of positives."""
    of_negatives, of_positives = zip(area.n, area.two, area.four, strict=True)
    return PlacementMoments(*of_negatives), PlacementMoments(*of_positives)


def average_precision(
    data: DeviceTally, *, method: str = "wilson", level: float = 0.95, **options: Any
) -> Estimate:
    """Return the average precision; the bootstrap and its notes are those of bins."""
    level = _options.fraction(level, "level")
    if method != "wilson" or data.n_unknown:
        of_bins: Estimate = unwrap(host_precision)(
            data.bin(_TOP), method=method, level=level, **options
        )
    if method != "wilson":
        odds = weight_of_negative(data)
        value = sums_of(data.lib, data.pos, data.neg, odds)[-1] / data.n_pos
        return _moved(of_bins, value, _TOP)

    # asks the design of these cases for no more than its fields
    check_prevalence_known(cast("Any", data), "average_precision")
    estimate = average_precision_estimate(data, level)
    if data.n_unknown:
        return replace(estimate, notes=of_bins.notes)
    few = notes_on_few_negatives(data.n_pos, data.n_neg, data.design.prevalence)
    return replace(estimate, notes=(*estimate.notes, *few))


def _moved(found: Estimate, value: float, bins: int) -> Estimate:
    """Put the exact value in the place of that of bins, and move the interval along."""
    gap = value - found.value
    low = min(max(0.0, found.low + gap), value)
    high = max(found.high + gap, value)
    if found.high <= 1:
        high = min(1.0, high)
    note = f"The value is exact; its interval was computed from {bins:,} bins."
    return replace(found, value=value, low=low, high=high, notes=(*found.notes, note))


def _proper_score(host: Callable[..., Any], losses: Callable[..., Any]) -> Any:
    """Add up the losses on the device; the parts of the score are those of bins."""

    def ask(x: DeviceTally, **options: Any) -> Any:
        total = sum(
            float(x.lib.xp.sum(losses(x.lib.xp, floats_of(x.lib, keys, x.kind), up)))
            for part, up in ((x.pos, True), (x.neg, False))
            for keys in (part[k : k + CHUNK] for k in range(0, x.lib.size(part), CHUNK))
        )
        found = answer_with_limits(unwrap(host), (x.bin(_WIDTH),), options)
        value = total / (x.n_pos + x.n_neg)
        return replace(_moved(found, value, _WIDTH), bounds=(value, value))

    return ask


def best_threshold(
    data: DeviceTally, *aim: Any, method: str = "sweep", **choice: Any
) -> Any:
    """Find the best threshold of all; only bins that may hold it are copied."""
    _options.choice(method, ("sweep",), "method")
    choice |= dict(zip(("maximize", "subject_to"), aim, strict=False))
    return exact_threshold(data, **choice, at_most=_LOOK, batch=_COPY).answer


def confusion(data: DeviceTally, threshold: float) -> Confusion:
    """Give the four counts at a threshold."""
    tp, fp = data.flagged(_options.real_number(threshold, "threshold"))
    return Confusion(tp=tp, fp=fp, fn=data.n_pos - tp, tn=data.n_neg - fp)


def at_threshold(data: DeviceTally, threshold: float, **options: Any) -> Any:
    """Give every metric at a threshold, from the counts of the device."""
    c = confusion(data, threshold)
    counts = np.array([[c.tn, c.fp], [c.fn, c.tp]], dtype=np.int64)
    below = np.nextafter(threshold, -np.inf)
    two = Tally([below, threshold], neg=counts[0], pos=counts[1])
    return host_at_threshold(data.designed(two), threshold, **options)


@final
@dataclass(frozen=True, eq=False, repr=False)
class DevicePanel:
    """Which scores did each classifier give the same labelled cases, on a device?"""

    lib: Library
    names: tuple[str, ...]
    scores: list[Any]
    positive: Any
    design: Design = PLAIN

    def answer_analysis(
        self,
        analysis: Callable[..., Any],
        rest: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Answer for each classifier on the device."""
        return answer_on_device(analysis, self, rest, options)

    def with_design(self, **words: object) -> DevicePanel:
        """Say how the cases came; see :meth:`trueness.Panel.with_design`."""
        return replace(self, design=self.design.with_words(words))

    @cached_property
    def tallies(self) -> list[DeviceTally]:
        """Give the sorted keys of each classifier."""
        found = []
        for s in self.scores:
            kind = float_name(s)
            parts = sorted_keys(self.lib, s, self.positive, None, kind)
            found.append(DeviceTally(self.lib, *parts, kind, self.design).finite())
        return found

    @property
    def n_pos(self) -> int:
        """How many positive cases?"""
        return self.tallies[0].n_pos

    @property
    def n_neg(self) -> int:
        """How many negative cases?"""
        return self.tallies[0].n_neg

    @property
    def rows(self) -> Floats:
        """Copy the scores to the host, one column for each classifier."""
        columns = [self.lib.host(self.lib.cast(s, "float64")) for s in self.scores]
        return np.stack(columns, axis=1)


def device_panel(
    y_true: Tensor | None, scores: Mapping[str, Any], positive: object
) -> DevicePanel:
    """Take the scores of several classifiers where they are."""
    first = next(iter(scores.values()))
    lib = library_of(first)
    if lib is None or y_true is None:
        raise InputError("Several scores on a device need labels on the same device.")
    columns = []
    for s in scores.values():
        same_device(first, s)
        s = s.detach() if lib.name == "torch" else s
        # 16 bits are few distinct scores: in 32 they are sorted like the others
        wide = KEYS[float_name(s)] == "int16"
        columns.append(lib.cast(s.reshape(-1), "float32") if wide else s.reshape(-1))
    labels = [read_labels(lib, y_true, s, positive) for s in columns]
    is_pos, known = labels[0]
    if known is not None:
        is_pos, columns = is_pos[known], [s[known] for s in columns]
    return DevicePanel(lib, tuple(map(str, scores)), columns, is_pos)


def compare_auc(
    data: DevicePanel, *, margin: float | None = None, level: float = 0.95
) -> Any:
    """Compare areas of the same cases; see :func:`trueness.compare_auc`."""
    _cases.at_least_two(data.names, "compare_auc")
    _cases.both_classes(data, "compare_auc")
    level = _options.fraction(level, "level")
    areas = [area_of(t.lib, t.neg, t.pos) for t in data.tallies]
    each = [auc_from_moments(a.value, *_moments(a), level) for a in areas]
    values = dict(zip(data.names, each, strict=True))
    wins = np.array([a.wins for a in areas], dtype=np.float64)
    gap = wins[:, None] - wins
    n_neg, n_pos = data.n_neg, data.n_pos
    down = _difference_powers(data, ~data.positive, "pos", -gap / n_neg)
    up = _difference_powers(data, data.positive, "neg", gap / n_pos)

    sides = [
        EvaluatedMeasure(a.value, auc_variance_from_moments(*_moments(a)))
        for a in areas
    ]

    def contrast(i: int, j: int) -> Difference:
        # the influence of a case: twice the difference of its placements, over pairs
        scale = 2 * n_neg * n_pos
        powers = (n_neg, *down[:, i, j]), (n_pos, *up[:, i, j])
        parts = [Stratum(n, two / scale**2, four / scale**4) for n, two, four in powers]
        return Difference.between(
            sides[i], sides[j], combine_strata(parts, min(n_neg, n_pos))
        )

    return together(values, contrast, margin=margin, paired=True, method="AUC")


def _difference_powers(
    x: DevicePanel, chosen: Tensor, other: str, mean: Floats
) -> Floats:
    """Add up squares and fourth powers of differences of twice the placements."""
    size, pairs = len(x.names), list(zip(x.scores, x.tallies, strict=True))
    columns = [(getattr(t, other), keys_of(x.lib, s[chosen], t.kind)) for s, t in pairs]
    total = np.zeros((2, size, size))
    for start in range(0, x.lib.size(columns[0][1]), CHUNK):
        part = slice(start, start + CHUNK)
        twice = [twice_below(x.lib, keys[part], others) for others, keys in columns]
        for i in range(size):
            for j in range(i + 1, size):
                gap = x.lib.cast(twice[i] - twice[j], "float64")
                square = (gap - float(mean[i, j])) ** 2
                total[0, i, j] += float(x.lib.xp.sum(square))
                total[1, i, j] += float(x.lib.xp.sum(square * square))
    return np.asarray(total + total.transpose(0, 2, 1))


def replicated_aucs(x: DeviceTally, replicates: int, rng: object) -> Floats:
    """Give the AUC of each replicate."""
    lib, xp = x.lib, x.lib.xp
    left, right = (lib.places(x.neg, x.pos, side) for side in ("left", "right"))
    seeds = _options.generator(rng).integers(2**31, size=(replicates, 2)).tolist()
    draw = _drawn_by_kernel if kernels_for(x.pos) else _drawn
    found = lib.host(xp.stack(draw(x, left, right, seeds))).astype(np.float64)
    wins, n_pos, n_neg = found[(found > 0).all(axis=1)].T
    return np.asarray(wins / (2 * n_neg * n_pos))


def _drawn(
    x: DeviceTally, left: Tensor, right: Tensor, seeds: list[list[int]]
) -> list[Any]:
    """Give twice the pairs won, the positives and the negatives of each replicate."""
    xp, found = x.lib.xp, []
    for first, second in seeds:
        neg, pos = _poisson(x, x.n_neg, first), _poisson(x, x.n_pos, second)
        upto = xp.cumulative_sum(neg, include_initial=True)
        # a pair won counts twice, a tie once: negatives below, plus those at or below
        wins = xp.sum((upto[left] + upto[right]) * pos)
        found.append(xp.stack([wins, xp.sum(pos), upto[-1]]))
    return found


def _poisson(x: DeviceTally, n: int, seed: int) -> Any:
    if x.lib.name == "cupy":
        return x.lib.xp.random.RandomState(seed).poisson(1.0, n)
    torch = x.lib.xp
    generator = torch.Generator(x.pos.device).manual_seed(seed)
    ones = torch.ones(n, dtype=torch.float32, device=x.pos.device)
    return torch.poisson(ones, generator=generator).to(torch.int64)


def _drawn_by_kernel(
    x: DeviceTally, left: Tensor, right: Tensor, seeds: list[list[int]]
) -> list[Any]:
    torch, kernels, found = x.lib.xp, kernels_for(x.pos), []
    steps = torch.asarray(_STEPS, device=x.pos.device)
    sizes = {"STEPS": _STEPS.size, "BLOCK": _BLOCK}
    drawn = x.pos.new_empty(x.n_neg, dtype=torch.int32)
    # a replicate draws about as many as there are, far from the end of 32 bits
    whole = torch.int32 if x.n_neg < 2**30 else torch.int64
    upto = drawn.to(whole)
    grids = [(-(-n // _BLOCK),) for n in (x.n_neg, x.n_pos)]
    with torch.cuda.device(drawn.device):
        for first, second in seeds:
            kernels.weights[grids[0]](drawn, steps, x.n_neg, first, **sizes)
            torch.cumsum(drawn, 0, dtype=whole, out=upto)
            out = x.pos.new_zeros(3, dtype=torch.int64)
            out[2] = upto[-1]
            kernels.wins[grids[1]](
                *(upto, left, right, steps, out, x.n_pos, second), **sizes
            )
            found.append(out)
    return found


def answer_on_device(
    analysis: Callable[..., Any],
    x: DeviceTally | DevicePanel,
    rest: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Answer on the device, from bins with limits, or say what must be copied."""
    name = analysis.__name__
    if isinstance(x, DevicePanel):
        if name == "compare_auc":
            return compare_auc(x, *rest, **options)
        each = [answer_on_device(analysis, t, rest, options) for t in x.tallies]
        return dict(zip(x.names, each, strict=True))
    if name in METRICS or name in SYNONYMS:
        return at_threshold(x, *rest, metrics=[name], **options)[name]
    if name in ON_DEVICE:
        _cases.both_classes(x, name)
        return ON_DEVICE[name](x, *rest, **options)
    if name in BOUNDED:
        return answer_with_limits(analysis, (x.bin(BINS), *rest), options)
    size = 8 * x.n / 1e9
    raise InputError(
        f"{name} needs the tally on the host: {x.n:,} cases, up to {size:.1f} GB. "
        "Bins give bounds on the exact answer.",
        example=PythonCode("at_most=100_000 for bins, or tally(y, s).to_host()"),
    )


ON_DEVICE: dict[str, Callable[..., Any]] = {
    "auc": auc,
    "average_precision": average_precision,
    "best_threshold": best_threshold,
    "brier": _proper_score(host_brier, lambda xp, p, up: (1 - p) ** 2 if up else p * p),
    "log_loss": _proper_score(
        host_log_loss, lambda xp, p, up: -xp.log(p) if up else -xp.log1p(-p)
    ),
    "confusion": confusion,
    "at_threshold": at_threshold,
}
