"""How large is a measure, and how sure are we? The engine, from counts to estimate."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from trueness._core.checks import options as _options
from trueness._core.records import Estimate
from trueness.counts.values import Tally
from trueness.inference.limits import Ends, around, limits, share_limits
from trueness.inference.measure import Measure, Measured
from trueness.inference.notes import notes_of
from trueness.inference.sample import Sample, meant
from trueness.inference.spread import Spread, spread


class Inferred(NamedTuple):
    """A measure of a sample, and how far another sample would be off."""

    measured: Measured
    spread: Spread


def inferred(sample: Sample, measure: Measure) -> Inferred:
    """Measure the counts that are meant, and see how they vary."""
    m = measure(sample.counts)
    u = sample.influence(m.by_neg, m.by_pos)
    classes = (m.by_class or sample.fixed) and sample.imputed is None
    return Inferred(m, spread(sample.cases, u, by_class=classes))


def infer(
    t: Tally, measure: Measure, *, level: float = 0.95, name: str = "", what: str = ""
) -> Estimate:
    """How large is a measure, and how sure are we, by the design of the cases?

    ``what`` names a measure that rests on the share of positives, so that a
    case-control sample needs a prevalence.
    """
    level = _options.fraction(level, "level")
    return estimated(t, inferred(meant(t, what), measure), level, name)


def estimated(t: Tally, found: Inferred, level: float, name: str = "") -> Estimate:
    """Give what was measured of a tally its limits, and what to keep in mind."""
    m, s = found
    e = limited(m.value, s, m.ends, level, name)
    return replace(e, notes=notes_of(t, s, e.method))


def limited(
    value: float,
    s: Spread,
    ends: Ends = (0.0, 1.0),
    level: float = 0.95,
    name: str = "",
    notes: tuple[str, ...] = (),
) -> Estimate:
    """Give a value the limits that its spread leaves between its ends."""
    (low, high), method = limits(value, s, ends, level)
    sd = math.nan if math.isnan(value) else s.sd
    return around(value, low, high, level, method, sd, notes=notes, name=name)


def share_limited(
    value: float,
    s: Spread,
    n: float,
    units: float = math.inf,
    level: float = 0.95,
    name: str = "",
) -> Estimate:
    """Give a share of n cases Wilson's limits, at what its clusters are worth."""
    # as if each case were a cluster, n - 1 is n: Wilson's own variance
    plain = s.plain if math.isinf(units) else s.plain * (n - 1) / n
    ends = share_limits(value, plain, n, units, level)
    return around(value, *ends, level, "wilson", s.sd, name=name)
