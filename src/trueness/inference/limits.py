"""Between which numbers does it lie? The one interval, and Wilson's of a share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import options as _options
from trueness._core.numbers import about
from trueness._core.records import Estimate
from trueness.counts.cases import Cases
from trueness.counts.folds import Folds
from trueness.counts.values import Tally
from trueness.inference.sample import Measure, Sample, centred, meant
from trueness.inference.spread import Spread, kish, spread

Ends = tuple[float, float]


def student(df: float, level: float) -> float:
    """Within how many standard errors lies a share ``level`` of Student's law?

    For many degrees of freedom by Fisher and Cornish's series, whose error is then
    below 1e-15 of it: SciPy, which takes longer to load than to count a million rows,
    is left alone.
    """
    if df > 1e6:
        z = NormalDist().inv_cdf((1 + level) / 2)
        # Abramowitz and Stegun, eq. 26.7.5
        one, two = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
        return z + one / df + two / df**2
    from scipy.special import stdtrit

    return float(stdtrit(max(df, 1.0), (1 + level) / 2))


def score_limits(share: float, n: float, quantile: float) -> Ends:
    r"""Give Wilson's limits of a number between 0 and 1, of n equal cases.

    All p with :math:`(\hat p - p)^2 \le t^2\,p(1-p)/n`.
    """
    k = quantile**2 / n if n > 0 else math.inf
    if not math.isfinite(k):
        return 0.0, 1.0
    centre = share + k / 2
    half = math.sqrt(k * share * (1 - share) + k * k / 4)
    low, high = (centre - half) / (1 + k), (centre + half) / (1 + k)
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def on_scale(value: float, half: float, ends: Ends) -> Ends:
    """Carry a distance to a scale without ends: the logarithm, or the log odds."""
    (lowest, highest), below, above = ends, value - ends[0], ends[1] - value
    if not (below > 0 and above > 0) or (math.isinf(below) and math.isinf(above)):
        return value - half, value + half
    # the slope of log(below / above), where one of them may be infinite
    f = math.exp(min(half * (1 / below + 1 / above), 700.0))
    if math.isinf(above):
        return lowest + below / f, lowest + below * f
    if math.isinf(below):
        return highest - above * f, highest - above / f
    share = (below / (below + above * g) for g in (f, 1 / f))
    low, high = (lowest + (highest - lowest) * p for p in share)
    return low, high


def limits(value: float, s: Spread, ends: Ends, level: float) -> tuple[Ends, str]:
    r"""Make the limits of a value, and say how.

    Between two ends a and b, Wilson's limits of :math:`p = (\theta - a)/(b - a)` at as
    many cases as the variance V of p is worth, with Student's quantile:

    .. math:: (\hat p - p)^2 \le t_\nu^2\,\frac{p(1-p)}{n^*}, \qquad
              n^* = \frac{\hat p(1-\hat p)}{V}

    With one end Student's interval on the logarithmic scale, without ends on the plain
    one. Where nothing varied, n* is the number of cases in which a kind that was not
    seen could be: Wilson's limit of none of them.
    """
    if math.isnan(value):
        return (math.nan, math.nan), "student"
    inside = ends[0] < value < ends[1]
    varied = inside and s.variance > 0
    wide = ends[1] - ends[0]
    if not math.isfinite(wide):
        if not varied:
            return ends, "unseen"
        return on_scale(value, student(s.df, level) * s.sd, ends), "student"
    share = (value - ends[0]) / wide
    if varied:
        n, t = share * (1 - share) * wide**2 / s.variance, student(s.df, level)
    else:
        n, t = s.units, NormalDist().inv_cdf((1 + level) / 2)
    low, high = score_limits(share, n, t)
    made = ends[0] + wide * low, ends[0] + wide * high
    return made, "student" if varied else "unseen"


def around(
    value: float,
    low: float,
    high: float,
    level: float = 0.95,
    method: str = "",
    sd: float = math.nan,
    *,
    name: str = "",
    notes: tuple[str, ...] = (),
) -> Estimate:
    """Put limits about a value, which they hold: every estimate is made here."""
    value = float(value)
    ends = min(float(low), value), max(float(high), value)
    return Estimate(value, *ends, level, method, float(sd), notes=notes, name=name)


def percentiles(
    value: float,
    values: Floats,
    level: float,
    notes: tuple[str, ...] = (),
    name: str = "",
) -> Estimate:
    """Give a value with the middle part of its bootstrap replicates."""
    level = _options.fraction(level, "level")
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    found = value, low, high, level, "bootstrap", values.std(ddof=1)
    return around(*found, notes=notes, name=name)


def share_limits(
    share: float, variance: float, n: float, units: float, level: float
) -> Ends:
    r"""Give Wilson's interval of a share, at the effective number of cases.

    .. math:: n^* = \min\Big(n, \frac{p(1-p)}{V}\Big)
              \Big(\frac{t_{n-1}}{t_{C-1}}\Big)^2

    of n equal cases (Kish's of weighted ones) in C clusters (``units``; infinitely many
    where each case is drawn by itself), with V the variance of the share with n in
    place of n - 1. Of counted independent cases :math:`n^* = n`, and
    this is Wilson's interval itself.

    References
    ----------
    Wilson (1927), J. Am. Stat. Assoc. 22:209; Korn, Graubard (1998), Surv. Methodol.
    24:193; Franco, Little, Louis, Slud (2019), J. Surv. Stat. Methodol. 7:334
    """
    if not n > 0:
        return math.nan, math.nan
    number = effective_number(share * (1 - share), variance, n, units, level)
    return score_limits(share, number, NormalDist().inv_cdf((1 + level) / 2))


def share_units(
    x: Cases, neg: Array, pos: Array, variance: float, varied: bool
) -> tuple[float, float, float]:
    """Give what ``share_limits`` needs to know of a share of some rows' cases.

    The variance with n in place of n - 1; as how many equal cases those negatives and
    positives count; and how many clusters have any of them.
    """
    chosen = zip((x.neg, x.pos), x.squares, (neg, pos), strict=False)
    sums = [(float(w[at].sum()), float(q[at].sum())) for w, q, at in chosen]
    n, c = kish(*map(sum, zip(*sums, strict=True))), x.grouped
    if c is None:
        return variance, n, math.inf
    weight = c.per_cluster(c.counts[0] * neg[c.row] + c.counts[1] * pos[c.row])
    if not varied:  # no case differs: a cluster may have them all or none
        n = kish(float(weight.sum()), float((weight**2).sum()))
    # as if each case were a cluster, n - 1 is n: Wilson's own variance
    return variance * (n - 1) / n, n, float((weight > 0).sum())


def effective_number(
    of_one: float, variance: float, n: float, units: float, level: float
) -> float:
    """Count the independent equal cases that vary as much as the mean of n.

    ``of_one`` is the variance of one case.
    """
    number = min(n, of_one / variance) if of_one > 0 and variance > 0 else n
    if units < 2:  # the cluster is what was drawn
        return min(number, 1.0)
    if units < n:
        number *= (student(n - 1, level) / student(units - 1, level)) ** 2
    return number


# fewer clusters leave the variance itself uncertain (Cameron, Miller 2015, sec. VI)
FEW_CLUSTERS = 15
# with so few degrees of freedom a handful of cases decides the limits
_FEW_FREEDOM = 5.0


def _alike(x: Cases) -> bool:
    """Is the weight the same at every score, as far as sums can tell?"""
    least, most, rows = math.inf, 0.0, 0
    for weight, square in zip(x.counts[:3], x.squares, strict=True):
        for b in blocks(len(weight)):  # of unequal ones the first block tells
            each = square[b][weight[b] > 0] / weight[b][weight[b] > 0]
            least = float(each.min(initial=least))
            most, rows = float(each.max(initial=most)), rows + each.size
            if most - least > 1e-9 * most:
                return False
    return rows > 2


def notes_of(x: Cases, s: Spread | None = None, method: str = "") -> tuple[str, ...]:
    """Say what limits of these cases assume, and where they know little."""
    found, c = [], x.grouped
    if x.squares[0] is not x.neg and not _alike(x):
        neg, pos = map(about, x.equal_cases)
        found.append(
            f"Cases are weighted: the positives carry as much information as {pos} "
            f"equally weighted ones, the negatives as {neg}. The limits assume that "
            "weights were fixed beforehand."
        )
    if c is not None:
        kinds = np.add.reduce(c.counts[:3]), *c.counts[:2]
        numbers = [int((c.per_cluster(k) > 0).sum()) for k in kinds]
        number = min(numbers)
        words = ("", " with negatives", " with positives")[numbers.index(number)]
        many = f"are only {number} clusters" if number > 1 else "is only one cluster"
        if number < FEW_CLUSTERS:
            found.append(
                f"There {many}{words}: limits of fewer than {FEW_CLUSTERS} are "
                "uncertain themselves."
            )
    if method == "unseen" and s is not None and math.isnan(s.variance):
        found.append(
            "A single case or cluster decides and shows no spread: the limits are as "
            "wide as those of one case."
        )
    elif method == "unseen":
        found.append(
            "Nothing varied in this sample: the limits say how far a kind of cases "
            "that was not seen could move the value."
        )
    elif s is not None and s.df < _FEW_FREEDOM:
        found.append(
            f"A few cases decide these limits ({s.df:.1f} degrees of freedom): they "
            "may be off by more than they say."
        )
    return tuple(found)


class Side(NamedTuple):
    """A value, and what its limits are made of: alone, or one side of a difference."""

    value: float
    spread: Spread
    ends: Ends = (0.0, 1.0)
    by_class: bool = False
    # of a negative, a positive, ... of each row; none where groups were left out
    influence: tuple[Any, ...] = ()
    estimate: Any = None

    def reach(self, tail: float) -> tuple[float, float]:
        """How far away are its limits, below and above?"""
        low, high = limits(self.value, self.spread, self.ends, 1 - 2 * tail)[0]
        return self.value - low, high - self.value


def inferred(sample: Sample, measure: Measure) -> Side:
    """Measure the counts that are meant, and see how the cases drawn move the value."""
    m, x = measure(sample.counts), sample.cases
    u: tuple[Any, ...] = m.by_neg, m.by_pos
    if sample.scale != (1.0, 1.0):
        u = u[0] * sample.scale[0], u[1] * sample.scale[1]
    if sample.fixed:  # a class of fixed size moves nothing by its size
        u = centred(u[0], x.neg), centred(u[1], x.pos)
    if sample.imputed is not None:
        u = sample.imputed[2](*u)
    classes = (m.by_class or sample.fixed) and sample.imputed is None
    return Side(m.value, spread(x, *u, by_class=classes), m.ends, m.by_class, u)


def infer(
    t: Tally, measure: Measure, *, level: float = 0.95, name: str = "", what: str = ""
) -> Estimate:
    """How large is a measure, and how sure are we? ``what`` as in ``meant``."""
    level = _options.fraction(level, "level")
    m = inferred(meant(t, what), measure)
    return limited(m.value, m.spread, m.ends, level, name, t)


def limited(
    value: float,
    s: Spread,
    ends: Ends = (0.0, 1.0),
    level: float = 0.95,
    name: str = "",
    cases: Cases | None = None,
) -> Estimate:
    """Give a value the limits that its spread leaves between its ends.

    With ``cases``, notes say what the limits of these assume.
    """
    (low, high), method = limits(value, s, ends, level)
    sd = math.nan if math.isnan(value) else s.sd
    notes = () if cases is None else notes_of(cases, s, method)
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


def infer_folds(
    data: Folds,
    measure: Measure,
    *,
    level: float = 0.95,
    name: str = "",
    what: str = "",
) -> Any:
    """How large is a measure on average over the folds, and how sure are we?"""
    level = _options.fraction(level, "level")
    if data.names:
        words: Any = {"level": level, "name": name, "what": what}
        return {k: infer_folds(data[k], measure, **words) for k in data.names}
    found = [inferred(meant(t, what), measure) for t in data]
    value = math.fsum(m.value for m in found) / len(found)
    s = averaged([m.spread for m in found])
    return limited(value, s, found[0].ends, level, name)


def averaged(parts: Sequence[Spread]) -> Spread:
    """Give the spread of a mean over independent parts (Satterthwaite 1946)."""
    k = len(parts)
    variance = math.fsum(s.variance for s in parts) / k**2
    doubt = math.fsum(s.variance**2 / s.df for s in parts if s.variance > 0) / k**4
    units, plain = sum(s.units for s in parts), sum(s.plain for s in parts) / k**2
    df = variance**2 / doubt if doubt > 0 else math.inf
    silent = () if variance > 0 else (units,)
    return Spread(variance, df, units, plain, silent)
