"""How good is one cut, and how sure are we?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from trueness._core.binomial import wilson
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.doors import door
from trueness._core.records import Answer, Estimate
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.counts.weights import remark
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import estimates, on_scale
from trueness.ranking.auc_intervals import student_quantile
from trueness.ranking.verification import AT_RANDOM, Imputed, impute, remarks

_NAMES = ("recall", "specificity", "precision", "npv")


@final
@dataclass(frozen=True, repr=False)
class Rates(Answer):
    """How good is one threshold, and how sure are we?

    Attributes
    ----------
    threshold : float
        A case is flagged when its score is this or more.
    recall, specificity : Estimate
        Share of the positives that are flagged (sensitivity), and share of the
        negatives that are not.
    precision, npv : Estimate
        Share of positives among the flagged cases (PPV), and share of negatives among
        the others (NPV); NaN, with the interval [0, 1], where there are no such cases.
        None for a case-control sample without a prevalence, since both depend on it.
    prevalence : float
        The share of positives at which precision and npv are reported; NaN where it is
        unknown.
    notes : tuple of str
        What to keep in mind.
    """

    threshold: float
    recall: Estimate
    specificity: Estimate
    precision: Estimate | None
    npv: Estimate | None
    prevalence: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)


@of_tally(weights=True)
def rates(
    t: Tally,
    threshold: float,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    unlabelled: str = "left out",
    level: float = 0.95,
) -> Rates:
    r"""Which share of positives is found, and which share of the flagged is right?

    .. math:: \mathrm{recall} = \frac{tp}{tp + fn}, \quad
              \mathrm{specificity} = \frac{tn}{tn + fp}, \quad
              \mathrm{precision} = \frac{tp}{tp + fp}, \quad
              \mathrm{npv} = \frac{tn}{tn + fn}

    Parameters
    ----------
    t
        The counts.
    threshold
        A case is flagged when its score is this or more. The threshold must not have
        been chosen on these cases: see :func:`validate_threshold` for one that was.
    prevalence
        Share of positives at which precision and npv are reported, taken as known; that
        of the sample when None.
    sampling
        ``"cohort"``: cases as they came. ``"case-control"``: a fixed number of each
        class by design; precision and npv are then left out unless ``prevalence`` is
        given.
    unlabelled
        Cases without a label are ``"left out"``, or ``"missing at random"`` given the
        score, as in :func:`auc` (Begg and Greenes).
    level
        Confidence level of the intervals.

    Returns
    -------
    Rates
        Four estimates with Wilson's intervals. At a given prevalence, the intervals of
        precision and npv combine those of recall and specificity on the logit scale.
        With labels missing at random, all intervals come from influence values.

    References
    ----------
    Wilson (1927), J. Am. Stat. Assoc. 22:209, doi:10.1080/01621459.1927.10502953;
    Begg, Greenes (1983), Biometrics 39:207, doi:10.2307/2530820;
    Zou, Donner (2008), Stat. Med. 27:1693, doi:10.1002/sim.3095

    Examples
    --------
    >>> found = rates(Tally([2, 1], pos=[9, 1], neg=[2, 8]), threshold=2)
    >>> found.recall, found.specificity.value
    (recall 0.900 (95 % CI 0.596 to 0.982, wilson method), 0.8)
    """
    cut = _options.real_number(threshold, "threshold")
    level = _options.fraction(level, "level")
    _options.choice(sampling, ("cohort", "case-control"), "sampling")
    share = None if prevalence is None else _options.fraction(prevalence, "prevalence")
    _cases.both_classes(t, "rates")
    notes = remarks(t, unlabelled) + remark(t)
    x = impute(t) if unlabelled == AT_RANDOM and t.n_unknown else None
    if x is None:
        found, own = _counted(t.labelled(), cut, level), t.prevalence
    else:
        found = [expected(x, METRICS[k], cut, level) for k in _NAMES]
        own = x.n_pos / (x.n_pos + x.n_neg)
    if share is not None:
        found, own = _carried(found[0], found[1], share, level), share
    recall, specificity, precision, npv = (
        replace(e, name=name) for e, name in zip(found, _NAMES, strict=True)
    )
    if share is None and sampling == "case-control":
        return Rates(cut, recall, specificity, None, None, math.nan, notes=notes)
    return Rates(cut, recall, specificity, precision, npv, own, notes=notes)


def _counted(t: Tally, cut: float, level: float) -> list[Estimate]:
    """Count: recall, specificity, precision, npv with Wilson's intervals."""
    if t.weighted:  # the same shares, as at_threshold gives them
        at = door("threshold.at_cut").at_threshold
        found = at(t, cut, metrics=_NAMES, level=level).metrics
        return [found[k] for k in _NAMES]
    above = t.score >= cut
    tp, fp = int(t.pos[above].sum()), int(t.neg[above].sum())
    fn, tn = t.n_pos - tp, t.n_neg - fp
    parts = ((tp, tp + fn), (tn, tn + fp), (tp, tp + fp), (tn, tn + fn))
    return [share_estimate(y, n, level) for y, n in parts]


def share_estimate(y: int, n: int, level: float) -> Estimate:
    """How large is a share that ``y`` of ``n`` cases belong to? Wilson's interval."""
    low, high = wilson(y, n, level)
    if not n:
        return Estimate(math.nan, 0.0, 1.0, level, "no cases")
    value = y / n
    sd = math.sqrt(value * (1 - value) / n)
    return Estimate(value, float(low), float(high), level, "wilson", sd)


def _carried(
    recall: Estimate, specificity: Estimate, share: float, level: float
) -> list[Estimate]:
    """Give precision and npv at a known prevalence too, from the two rates.

    The odds of precision are odds(prevalence) * recall / (1 - specificity): a product,
    so distances on the log scale are added as squares (variance estimates recovery).
    """
    odds = share / (1 - share)
    precision = _quotient(recall, specificity, odds, level)
    npv = _quotient(specificity, recall, 1 / odds, level)
    return [recall, specificity, precision, npv]


def _quotient(hit: Estimate, rest: Estimate, odds: float, level: float) -> Estimate:
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.log([hit.value, hit.low, hit.high])
        down = np.log(1 - np.array([rest.value, rest.high, rest.low]))
        centre = math.log(odds) + up[0] - down[0]
        low = centre - np.hypot(up[0] - up[1], down[2] - down[0])
        high = centre + np.hypot(up[2] - up[0], down[0] - down[1])
        # 0 of 0 flagged: nothing is known but that a precision lies in [0, 1]
        low, high = np.where(np.isnan([low, high]), [-np.inf, np.inf], [low, high])
        value, low, high = 1 / (1 + np.exp(-np.array([centre, low, high])))
    return Estimate(float(value), float(low), float(high), level, "mover")


# of all cases, the part by which a cell is moved to see what a metric makes of it
_STEP = 1e-6


def expected(
    x: Imputed, m: Metric, cut: float, level: float, prevalence: float | None = None
) -> Estimate:
    r"""How large is a metric at a cut where labels are missing at random?

    The cells hold expected counts. A case moves the metric by its derivative by the
    cell that the case is in, the number of all cases taken as given; ``Imputed.sd``
    adds what a label says of the cases without one. The interval has Student's
    quantile, on the scale on which the ends of the metric's range are infinitely far;
    at such an end it is that of as many cases as had a label.
    """
    above = x.tally.score >= cut
    parts = (x.pos, x.neg)
    cells = np.array([p[side].sum() for side in (above, ~above) for p in parts])
    whole = Confusion(*cells).at_prevalence(prevalence)
    value, name = float(m(whole)), m.name
    if math.isnan(value):
        return Estimate(value, *m.range, level, "no cases", name=name)
    # a central difference, where the cell holds enough to take some of it away
    step = _STEP * cells.sum()
    back = np.where(cells > step, -1.0, 0.0)
    moved = cells + step * np.concatenate([np.eye(4), np.diag(back)])
    moved *= cells.sum() / moved.sum(axis=1, keepdims=True)
    values = m(Confusion(*moved.T).at_prevalence(prevalence))
    with np.errstate(invalid="ignore"):  # a ratio may be infinite, its error unknown
        slope = (values[:4] - values[4:]) / (step * (1 - back))
        sd = x.sd(*(np.where(above, slope[i], slope[i + 2]) for i in (0, 1)))
    few = min(x.tally.n_pos, x.tally.n_neg)
    half = float(student_quantile(few - 1.0 + 4, level)) * sd
    low, high = on_scale(value, half, m.range)
    if not (sd > 0 and m.range[0] < value < m.range[1]):
        known = cells * (x.tally.n_pos + x.tally.n_neg) / x.tally.n
        as_many = estimates(Confusion(*known), [m], level=level, prevalence=prevalence)
        low, high = as_many[name].low, as_many[name].high
    ends = min(low, value), max(high, value)
    return Estimate(value, *ends, level, AT_RANDOM, sd, name=name)
