"""How good is a classifier as a ranking, and how sure are we?

``auc`` is the whole area, ``partial_auc`` the part of the curve that matters,
``average_precision`` the quality of the top. Each is a measure of counts, with its
influence values by formula; ``inference`` makes the limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from statistics import NormalDist
from typing import Any

import numpy as np

from trueness._core.arrays import BLOCK, Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.numbers import about
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally, refuse
from trueness.counts.placements import twice_wins
from trueness.counts.resampling import Seed, auc_replicates, bootstrap
from trueness.counts.values import Tally
from trueness.inference.limits import infer, limited, notes_of, percentiles
from trueness.inference.sample import InBlocks, Measure, Measured, meant
from trueness.inference.spread import Spread, Stratum, joined
from trueness.inference.verification import remarks

Range = tuple[float, float]


@of_tally
def auc(
    data: Tally,
    *,
    method: str = "student",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    r"""How often does a positive case have a higher score than a negative one?

    .. math:: A = P(s_+ > s_-) + \tfrac12 P(s_+ = s_-)

    Parameters
    ----------
    data
        The counts, or labels and scores.
    method
        ``"student"`` (the default): Wilson's form of DeLong's variance with Student's
        quantile; it follows the design of the cases. To reproduce other software and
        old papers: ``"delong"`` (a normal interval on the plain scale, as pROC has it),
        ``"hanley-mcneil"``, ``"fermi-dirac"`` and ``"bootstrap"`` (percentiles).

    Returns
    -------
    Estimate
        Its ``notes`` say when the score ranks the wrong way round and what was done
        with cases without a label.

    Warns
    -----
    DoubtfulAssumption
        When cases without a label are left out though their scores differ from those of
        the labelled cases.

    Notes
    -----
    The value is a whole number of half pairs divided once by the number of pairs, so it
    is exact. The limits are all A with
    :math:`(\hat A - A)^2 \le t_\nu^2\,V A(1-A) / [\hat A(1-\hat A)]`, with DeLong's
    variance V, or Obuchowski's (1997) of clusters. An AUC of 0 or 1 shows no spread;
    then the limit is Wilson's of a kind of cases that was not seen and ranks last
    (method ``"unseen"``). The time is O(m) for m distinct scores.

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44:837, doi:10.2307/2531595;
    Hanley, McNeil (1982), Radiology 143:29, doi:10.1148/radiology.143.1.7063747;
    Obuchowski (1997), Biometrics 53:567, doi:10.2307/2533958;
    Begg, Greenes (1983), Biometrics 39:207, doi:10.2307/2530820;
    Kim et al. (2021), doi:10.1073/pnas.2100761118

    Examples
    --------
    >>> auc(Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])).value  # 5.5 of 6 pairs
    0.9166666666666666
    >>> auc(Tally([2, 1], pos=[9, 0], neg=[0, 9])).low  # 9 / (9 + 1.96^2)
    0.7008549515804561
    """
    _cases.both_classes(data, "auc")
    _options.choice(method, AUC_METHODS, "method")
    notes = remarks(data)
    found = _limited(data, method, level, rng, replicates)
    if found.high < 0.5:
        notes = (REVERSED, *notes)
    return replace(found, name="AUC", notes=(*notes, *found.notes))


REVERSED = (
    "The whole interval lies below one half: this score ranks the wrong way round, "
    "positives below negatives. If a low score means positive, reverse it with "
    "tally.map(lambda s: -s); if the other label is the positive one, pass "
    "positive=... to trueness.tally."
)


def auc_measure(t: Tally) -> Measured:
    r"""Give the AUC and its influence values, which are the placement values.

    With :math:`V_i` the share of negatives that a positive at row i beats and
    :math:`W_i` the share of positives that beat a negative there (ties one half),

    .. math:: u^+_i = \frac{V_i - A}{N_1}, \qquad u^-_i = \frac{W_i - A}{N_0}

    DeLong et al. (1988).
    """
    sums = ([c[b].sum().item() for b in blocks(len(t))] for c in (t.neg, t.pos))
    # negatives, and positives, above each block of rows
    neg_met, pos_met = ([*accumulate(each, initial=0)] for each in sums)
    a = twice_wins(t) / (2 * t.n_pos * t.n_neg)
    pairs = 2.0 * t.n_neg * t.n_pos

    def by_neg(b: slice) -> Floats:
        pos, above = t.pos[b], 2 * pos_met[b.start // BLOCK] - 2 * t.n_pos * a
        return np.asarray((2 * np.cumsum(pos) - pos + above) / pairs)

    def by_pos(b: slice) -> Floats:
        neg, below = t.neg[b], 2 * t.n_neg * (1 - a) - 2 * neg_met[b.start // BLOCK]
        return np.asarray((neg - 2 * np.cumsum(neg) + below) / pairs)

    u: Any = InBlocks(len(t), by_neg)
    v: Any = InBlocks(len(t), by_pos)
    return Measured(min(max(a, 0.0), 1.0), u, v, by_class=True)


def auc_from_moments(
    value: float,
    n: tuple[float, float],
    two: tuple[float, float],
    four: tuple[float, float],
    level: float = 0.95,
) -> Estimate:
    """Give the answer of :func:`auc` from sums that were made elsewhere, as on a GPU.

    Of negatives, then of positives: their number, and the sums of squares and of
    fourth powers of their placement values about the AUC.
    """
    s = auc_spread(n, two, four)
    found = limited(value, s, level=level, name="AUC")
    # without counts there are no weights or clusters to speak of
    return replace(found, notes=notes_of(Tally(), s, found.method))


def auc_spread(
    n: tuple[float, float], two: tuple[float, float], four: tuple[float, float]
) -> Spread:
    """How far does an AUC vary? From the sums that :func:`auc_from_moments` takes."""
    sums = zip(n, two, four, strict=True)
    parts = [Stratum(float(k), q / k**2, f / k**4) for k, q, f in sums]
    return joined(parts, min(n))


def _limited(
    t: Tally, method: str, level: float, rng: Seed, replicates: int
) -> Estimate:
    """Give the AUC the limits of a method."""
    if method == "bootstrap":
        refuse(t, 'method="bootstrap"', {"unlabelled": "It draws labelled cases."})
        number = _options.whole_number(replicates, "replicates", at_least=100)
        value = auc_measure(t.labelled()).value
        return percentiles(value, auc_replicates(t, number, rng), level, notes_of(t))
    found = infer(t, auc_measure, level=level)
    sd, a = found.sd, found.value
    if method in ("hanley-mcneil", "fermi-dirac"):
        refuse(t, f'method="{method}"', _WHOLE)
        if method == "hanley-mcneil":
            sd = math.sqrt(pair_variance(a, *exponential_spread(a), t.n_pos, t.n_neg))
        elif 0 < a < 1:
            # loads SciPy, which the others do without
            from trueness.fermi.distribution import fermi_dirac

            sd = fermi_dirac(t).auc_se
    # the normal interval on the plain scale, within [0, 1]
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    if method == "student" or not half > 0:
        return found
    low, high = max(0.0, a - half), min(1.0, a + half)
    given: Any = {"low": low, "high": high, "method": method, "sd": sd}
    return replace(found, **given, notes=notes_of(t))


_WHOLE = dict.fromkeys(("weight", "cluster", "unlabelled"), "It counts single cases.")
AUC_METHODS = ("student", "delong", "hanley-mcneil", "fermi-dirac", "bootstrap")
auc.measure = auc_measure  # type: ignore[attr-defined]  # estimate and compare read it


def exponential_spread(a: Any) -> tuple[Any, Any]:
    """How far do placement values spread when both classes are exponential?

    Variances of the placement values of positives and negatives, P100 - A^2 and
    P110 - A^2, by Hanley and McNeil (1982): P100 = 2 A^2 / (1 + A), P110 = A / (2 - A).
    """
    b = 1 - a
    return a * a * b / (1 + a), a * b * b / (1 + b)


def pair_variance(a: Any, pos_var: Any, neg_var: Any, n_pos: Any, n_neg: Any) -> Any:
    r"""How far does an AUC vary, given the spread of the placement values?

    .. math:: \sigma^2 = \frac{A(1-A) + (N_1-1)(P_{110}-A^2) + (N_0-1)(P_{100}-A^2)}
                              {N_1 N_0}

    Kim et al. (2021), eq. 18.
    """
    total = a * (1 - a) + (n_pos - 1) * neg_var + (n_neg - 1) * pos_var
    return total / n_pos / n_neg


@of_tally
def average_precision(
    data: Tally,
    *,
    method: str = "student",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    r"""What is the mean precision (PPV) at the scores of the positive cases?

    .. math:: AP = \sum_k (R_k - R_{k-1}) P_k

    Parameters
    ----------
    data
        The counts, or labels and scores; at another prevalence where one is given.
    method
        ``"student"`` (from influence values, as for :func:`auc`) or ``"bootstrap"``
        (percentiles, which lie too high when positives are few).

    Notes
    -----
    The value is a sum over distinct scores without interpolation: tied cases share one
    precision; that of a random classifier is about the prevalence. It is too high on
    average when positives are few, since every positive is itself among the cases
    flagged at its own score.

    References
    ----------
    Boyd, Eng, Page (2013), ECML PKDD, 451, doi:10.1007/978-3-642-40994-3_29

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])
    >>> average_precision(t).value  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    _cases.both_classes(data, "average_precision")
    found = _estimated(
        data, (average_precision_measure, average_precisions), method, level,
        rng, replicates, what="average_precision",
    )  # fmt: skip
    return replace(
        found, name="average precision", notes=(*found.notes, *_few_negatives(data))
    )


def _few_negatives(t: Tally) -> tuple[str, ...]:
    """Say where the top of the ranking rests on few negatives that count a lot."""
    share = t.design.prevalence
    if share is None:
        return ()
    each = (1 - share) / share * t.n_pos / t.n_neg
    if each <= 2:
        return ()
    return (
        f"At this prevalence a negative counts for as much as {about(each)} positives: "
        "the top of the ranking rests on few negatives. Average precision is then too "
        "high on average, and its limits hold less often than they say; collect more "
        "negatives.",
    )


def average_precision_measure(t: Tally) -> Measured:
    r"""Give the average precision and its influence values.

    With precision :math:`P_k = T_k / F_k` (positives and cases flagged at row k),

    .. math:: u^-_i = -\sum_{k \ge i} \frac{p_k}{N_1} \frac{P_k}{F_k}, \qquad
              u^+_i = \frac{P_i - AP}{N_1} + \sum_{k \ge i}
              \frac{p_k}{N_1} \frac{1 - P_k}{F_k}

    The derivative of AP by a case: it is flagged at its own cut and at all lower ones.
    """
    pos, n_pos = t.pos, t.n_pos
    flagged = np.cumsum(pos + t.neg, dtype=np.float64)
    found = np.cumsum(pos, dtype=np.float64)
    # a row of cases without a label, at the top, flags nobody
    precision = np.divide(found, flagged, out=np.zeros(len(t)), where=flagged > 0)
    value = float(pos @ precision) / n_pos
    share = np.divide(pos, n_pos * flagged, out=np.zeros(len(t)), where=flagged > 0)
    fall = _from_here_on(share * precision)
    by_pos = (precision - value) / n_pos + _from_here_on(share) - fall
    return Measured(min(value, 1.0), -fall, by_pos)


average_precision.measure = average_precision_measure  # type: ignore[attr-defined]


def _from_here_on(values: Floats) -> Floats:
    return np.asarray(np.cumsum(values[::-1])[::-1])


def average_precisions(neg: Array, pos: Array) -> Floats:
    """Give the average precision of each row of counts (r, m)."""
    tp, flagged = np.cumsum(pos, axis=1), np.cumsum(neg + pos, axis=1)
    zero = np.zeros(flagged.shape)
    precision = np.divide(tp, flagged, out=zero, where=flagged > 0)
    total, found = (pos * precision).sum(axis=1), tp[:, -1]
    # a replicate may hold no positive
    out = np.full(total.shape, np.nan)
    return np.asarray(np.divide(total, found, out=out, where=found > 0))


def _estimated(
    t: Tally,
    measures: tuple[Measure, Callable[[Array, Array], Floats]],
    method: str,
    level: float,
    rng: Seed,
    replicates: int,
    *,
    what: str = "",
    stratified: bool = False,
) -> Estimate:
    """Give a measure, of one and of many rows of counts, the limits of a method."""
    _options.choice(method, ("student", "bootstrap"), "method")
    notes = remarks(t, stacklevel=5)
    if method == "student":
        found = infer(t, measures[0], level=level, what=what)
        return replace(found, notes=(*notes, *found.notes))
    sample = meant(t, what)
    refuse(t, 'method="bootstrap"', {"unlabelled": "It draws labelled cases."})
    number = _options.whole_number(replicates, "replicates", at_least=100)

    def scaled(neg: Array, pos: Array) -> Floats:
        if not sample.fixed:
            return measures[1](neg, pos)
        # drawn as cases, then counted at the prevalence that is meant
        total = (sample.counts.n_neg, sample.counts.n_pos)
        made = (
            c * (n / np.maximum(c.sum(axis=1, keepdims=True), 1e-300))
            for c, n in zip((neg, pos), total, strict=True)
        )
        return measures[1](*made)

    apart = stratified or sample.fixed
    values = bootstrap(sample.cases, scaled, number, rng, stratified=apart)
    value = measures[0](sample.counts).value
    return percentiles(value, values, level, (*notes, *notes_of(t)))


@of_tally
def partial_auc(
    data: Tally,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    max_fpr: float | None = None,
    corrected: bool = False,
    method: str = "student",
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 2000,
) -> Estimate:
    r"""How good is a classifier over the part of the ROC curve that matters?

    .. math:: \int_{f_0}^{f_1} \mathrm{tpr}\,d\mathrm{fpr}, \qquad
              \int_{t_0}^{t_1} (1 - \mathrm{fpr})\,d\mathrm{tpr}, \qquad
              \int_{f_0}^{f_1} [\min(\mathrm{tpr}, t_1) - t_0]_+\,d\mathrm{fpr}

    Parameters
    ----------
    data
        The counts, or labels and scores.
    fpr
        Range of false positive rates, for example (0, 0.1).
    tpr
        Range of true positive rates (sensitivities). Given alone, the area is that to
        the right of the curve: specificity integrated over this range. Given with
        ``fpr``, it is the area under the curve inside the rectangle (two-way).
    max_fpr
        Instead of ``fpr=(0, max_fpr)``.
    corrected
        Whether to give the area on McClish's scale: 1/2 for a random classifier, 1 for
        an ideal one.
    method
        ``"student"`` (from influence values, as for :func:`auc`) or ``"bootstrap"``
        (percentiles).

    Returns
    -------
    Estimate
        The area, at most that of the rectangle. With ``corrected`` it is in [0, 1]:
        below 1/2 where the curve lies under the diagonal. Ties are straight lines.

    References
    ----------
    McClish (1989), Med. Decis. Making 9:190, doi:10.1177/0272989X8900900307;
    Yang, Lu, Lyu, Hu (2019), Stat. Med. 38:1855, for the two-way area.

    Examples
    --------
    >>> t = Tally([3, 2, 1], pos=[2, 1, 1], neg=[0, 1, 3])
    >>> partial_auc(t, fpr=(0, 0.25)).value  # 0.25 * (0.5 + 0.75) / 2
    0.15625
    """
    _cases.both_classes(data, "partial_auc")
    measures = partial_area_measure(fpr, tpr, max_fpr, corrected=corrected)
    asked = (data, measures, method, level, rng, replicates)
    name = "partial AUC, McClish" if corrected else "partial AUC"
    return replace(_estimated(*asked, stratified=True), name=name)


def partial_area(t: Tally, **part: Any) -> float:
    """How large is the area inside? The value of :func:`partial_auc` alone."""
    return partial_area_measure(**part)[0](t.labelled()).value


def partial_area_measure(
    fpr: Range | None = None,
    tpr: Range | None = None,
    max_fpr: float | None = None,
    *,
    corrected: bool = False,
) -> tuple[Measure, Callable[[Array, Array], Floats]]:
    r"""Give the area inside a rectangle, as a measure and for many rows of counts.

    A case moves the corners :math:`(x_k, y_k)` of the curve, and the area by the strip
    between the old curve and the new one, where it lies inside the rectangle:

    .. math:: dF = \int_{\text{inside}} (\delta y\,dx - \delta x\,dy), \qquad
              \delta x_k = \frac{[k \ge i] - x_k}{N_0}
    """
    if max_fpr is not None:
        if fpr is not None:
            raise InputError(
                "partial_auc was given fpr= and max_fpr=, which mean the same. Leave "
                "one of them out."
            )
        fpr = (0.0, _options.fraction(max_fpr, "max_fpr", ends="(]"))
    if fpr is None and tpr is None:
        raise InputError(
            "partial_auc needs a part of the curve; found none. Type fpr=(0, 0.1), "
            "tpr=(0.9, 1) or both."
        )
    part = _range(fpr, "fpr"), _range(tpr, "tpr")
    best = math.prod(high - low for low, high in part)
    shift, factor = _mcclish(part, best) if corrected else (0.0, 1.0)
    ends = (0.0, 1.0 if corrected else best)

    def many(neg: Array, pos: Array) -> Floats:
        area = _inside(_steps(neg), _steps(pos), part)[0]
        return np.clip(shift + factor * area, *ends)

    def measure(t: Tally) -> Measured:
        x, y = _steps(t.neg[None]), _steps(t.pos[None])
        area, a, b = _inside(x, y, part)
        last = (b * b - a * a) / 2
        first = (b - a) - last
        moved: list[Any] = []
        for place, step, n in ((x, -np.diff(y), t.n_neg), (y, np.diff(x), t.n_pos)):
            pull = np.zeros(place.shape[1])
            pull[:-1] += (step * first)[0]
            pull[1:] += (step * last)[0]
            each = (_from_here_on(pull)[1:] - float(pull @ place[0])) / n
            moved.append(factor * each)
        value = float(np.clip(shift + factor * area, *ends)[0])
        return Measured(value, moved[0], moved[1], ends, by_class=True)

    return measure, many


# a narrower range than this is lost in the rounding of the rates
_NARROW = 1e-9


def _range(value: Any, what: str) -> Range:
    if value is None:
        return 0.0, 1.0
    low, high = _options.share_range(value, what)
    if high - low < _NARROW:
        raise InputError(
            f"{what} must be at least {_NARROW:g} wide; found ({low!r}, {high!r}). "
            "For the rate at one threshold see trueness.roc."
        )
    return low, high


def _steps(count: Array) -> Floats:
    """Give cumulative shares, with a zero in front."""
    total = np.zeros((len(count), count.shape[1] + 1))
    np.cumsum(count, axis=1, out=total[:, 1:])
    with np.errstate(invalid="ignore"):  # clusters that were drawn may lack a class
        total /= total[:, -1:]
    return total


def _inside(x: Floats, y: Floats, part: tuple[Range, Range]) -> tuple[Floats, ...]:
    """Give the area under curves in a rectangle, and the part of each segment inside.

    A segment is inside from a share a of its length to a share b.
    """
    dx, dy = np.diff(x), np.diff(y)
    shares = []
    for start, step, (low, high) in zip((x, y), (dx, dy), part, strict=True):
        start, flat = start[:, :-1], step <= 0
        # at the very top a case more below it still takes the curve down
        over = (start >= high) & (high < 1)
        size = np.where(flat, 1.0, step)
        enters = np.where(flat, start < low, (low - start) / size)
        leaves = np.where(flat, ~over, (high - start) / size)
        shares += [np.clip(enters, 0, 1), np.clip(leaves, 0, 1)]
    right, left, up, out = shares
    a, b = np.maximum(right, up), np.minimum(left, out)
    b = np.maximum(a, b)
    (_, _), (low, high) = part
    under = (b - a) * (y[:, :-1] - low) + dy * (b * b - a * a) / 2
    above = np.maximum(left - np.maximum(right, out), 0.0)
    area = np.einsum("rm,rm->r", dx, under + (high - low) * above)
    return np.asarray(area), a, b


def _mcclish(part: tuple[Range, Range], best: float) -> tuple[float, float]:
    """Give shift and factor that take chance to 1/2 and the ideal to 1."""
    line = np.array([[0.0, 1.0]])
    chance = float(_inside(line, line, part)[0][0])
    if best - chance <= _NARROW * best:
        raise InputError(
            "corrected=True compares with a random classifier, which in this part of "
            "the ROC plane is as good as an ideal one. Leave corrected out, or choose "
            "a part that reaches above the diagonal."
        )
    factor = 0.5 / (best - chance)
    return 0.5 - factor * chance, factor
