"""Which threshold keeps its promise in the population, not only in the sample?

``guaranteed_threshold`` gives a cut at which constraints hold among all cases of the
kind, with a stated confidence, by tests in a fixed order. What a test of a constraint
is, is in ``risks.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats, Ints
from trueness._core.binomial import exact_end
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError, NotEnoughCases
from trueness._core.numbers import cut_text
from trueness._core.records import Answer, Record
from trueness._core.search import bisect
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally, tally_of_rows
from trueness.metrics.algebra import Constraint, Metric, as_fraction
from trueness.metrics.confusion import Confusion, sweep, swept
from trueness.threshold.cuts import (
    Interval,
    best_cuts,
    interval_of,
    make_cuts,
    most_balanced,
    threshold_of,
)
from trueness.threshold.limits import (
    SIDES,
    ConstraintLike,
    Limit,
    read_limits,
    read_objective,
)
from trueness.threshold.operating_point import left_out
from trueness.threshold.prevalence import (
    Prevalences,
    Share,
    share_in_use,
    stop_unknown_share,
)
from trueness.threshold.risks import Risk, ShareOfCases, read_risk
from trueness.threshold.rule import Rule
from trueness.threshold.search import Sum, best_pairs
from trueness.threshold.zones import forbidding


@final
@dataclass(frozen=True, repr=False)
class Proof(Record):
    """What is the evidence that one constraint holds at a threshold?

    Attributes
    ----------
    constraint : str
        What is guaranteed.
    level : float
        The confidence with which this constraint, taken alone, holds.
    value : float
        The metric in the sample. It is better than the constraint asks by a margin,
        which is the cost of certainty.
    bound : float
        The one-sided confidence limit of the metric at the threshold.
    p_value : float
        The test of the constraint there; exact binomial for shares.
    cases : int
        How many cases the metric is computed from.
    method : str
        "order statistics", "split and fixed sequence", "fixed sequence" or
        "bonferroni".
    """

    constraint: str
    level: float
    value: float
    bound: float
    p_value: float
    cases: int
    method: str


@final
@dataclass(frozen=True, repr=False)
class GuaranteedThreshold(Answer):
    """Which rule guarantees constraints in the population?

    Attributes
    ----------
    rule : Rule
        One threshold, or two with a zone for doubt.
    score_range : (float, float)
        Every (upper) threshold above the first number, up to and including the second,
        has the same guarantee.
    lower_range : (float, float) or None
        The same of a lower threshold.
    constraint : str
        What is guaranteed; several are joined by "and".
    level : float
        The confidence with which all constraints hold at once.
    value, bound, p_value, cases, method
        As in :class:`Proof`; with several constraints, those of the constraint with the
        weakest evidence. ``bound`` is one-sided.
    confusion : Confusion
        The confusion matrix of the decided cases, of those that were used for that
        test.
    defer : float
        The share of the cases between two thresholds.
    proofs : tuple of Proof
        One for each constraint.
    notes : tuple of str
        What to keep in mind.
    """

    rule: Rule
    score_range: Interval
    lower_range: Interval | None
    constraint: str
    level: float
    value: float
    bound: float
    p_value: float
    confusion: Confusion
    cases: int
    method: str
    defer: float = 0.0
    proofs: tuple[Proof, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def threshold(self) -> float:
        """Give the score from which on cases are flagged."""
        return self.rule.cuts()[1]


@of_tally
def guaranteed_threshold(
    data: Tally,
    subject_to: ConstraintLike | Iterable[ConstraintLike],
    *,
    level: float = 0.95,
    maximize: str | Metric | None = None,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
    thresholds: ArrayLike | None = None,
    sequence: bool = True,
    rng: Seed = 0,
) -> GuaranteedThreshold:
    r"""Which rule meets constraints in the population, with given confidence?

    A threshold that just meets ``recall >= 0.9`` in a sample fails it in the population
    about half of the time. The threshold returned here fails with a probability of at
    most ``1 - level``, over samples, whatever the distribution of the scores.

    Parameters
    ----------
    data
        Labelled cases, drawn independently from the population of use (for rates of one
        class it is enough that the cases of each class are).
    subject_to
        A bound on a mean or a quotient of means: ``"recall >= 0.9"``, ``"fpr <=
        0.05"``, ``"precision >= 0.8"``, ``"f1 >= 0.6"``, ``"net_benefit(0.25) >= 0"``,
        ``"youden >= 0.5"``; or several of them. Bounds on either side, ``["precision
        above >= 0.9", "npv below >= 0.99"]``, ask for two thresholds, with the fewest
        cases between them.
    level
        The probability with which all of them must hold at once.
    maximize, minimize
        Of the thresholds with the guarantee, take the one where this metric is best in
        the sample. This choice does not weaken the guarantee, which holds for all of
        them at once.
    prevalences
        Shares of positives where the classifier will be used: two numbers are a range
        (the guarantee holds for every prevalence in it), an :class:`Estimate` has an
        uncertainty that the guarantee allows for. A single one is ``prevalence=``.
    thresholds
        Thresholds that were fixed before looking at these cases. Only they are tried,
        and no cases are set apart to choose an order.
    sequence
        Try ``thresholds`` in the order given until one fails, each at the full error
        rate (fixed sequence); or, when False, all of them with the error rate divided
        by their number (Bonferroni).
    rng
        Seed or generator, for shares that may rise and fall with the threshold
        (precision, npv, accuracy): their cases are split at random.

    Raises
    ------
    NotEnoughCases
        Not even the best outcome with this number of cases would prove the constraint;
        the message says how many more are needed.

    Notes
    -----
    Without an objective the threshold that goes least beyond the constraint is given:
    the highest for ``recall >= b``, the lowest for ``fpr <= b`` and ``precision >= b``;
    with several constraints the one whose weakest evidence is strongest.

    Rates that only rise or only fall with the threshold (recall, fnr, specificity, fpr,
    flagged_rate): from where the constraint certainly holds the threshold moves until
    the exact binomial test no longer rejects. A wrong guarantee needs a rejection at
    the first threshold that fails in the population. That is one fixed threshold, so no
    correction is needed. Other metrics: one half of the cases chooses an order of
    thresholds, the other half tests them in this order until one fails.

    The test is the exact binomial one for a share (recall, precision, accuracy, f1,
    jaccard); that of Hoeffding and Bentkus for other means (f_beta, cost per case, net
    benefit); and exact limits of recall and false positive rate, each with half of the
    error, for youden, balanced_accuracy, likelihood ratios, and every quotient at a
    prevalence of use. The last two are conservative. Of k constraints each is tested at
    (1 - ``level``) / k (Bonferroni), so that any that passes all may be taken.

    References
    ----------
    Angelopoulos et al. 2025, Learn then Test, Ann. Appl. Stat. 19:1641,
    doi:10.1214/24-AOAS1998.
    Bates et al. 2021, J. ACM 68:43, doi:10.1145/3478535.
    Wilks 1941, Ann. Math. Stat. 12:91, doi:10.1214/aoms/1177731788.

    Examples
    --------
    29 positives, none missed, are the fewest that prove a recall of 0.9:
    0.9 ** 29 = 0.047.

    >>> t = Tally([2, 1], pos=[29, 0], neg=[1, 20])
    >>> guaranteed_threshold(t, "recall >= 0.9").threshold
    1.5
    """
    _cases.one_classifier(data, "guaranteed_threshold")
    _cases.some_labels(data, "guaranteed_threshold")
    level = _options.fraction(level, "level")
    asked = read_limits(subject_to, SIDES)
    two = _asks_for_two(asked, maximize, minimize, thresholds)
    share = share_in_use(data, prevalences)
    metrics = [k.asked.metric for k in asked]
    stop_unknown_share(data, share, metrics, "guaranteed_threshold")
    notes = left_out(data)
    t = data.labelled()
    alpha = float((1 - as_fraction(level)) / len(asked))
    given = None if thresholds is None else _given(thresholds, sequence)
    generator = _options.generator(rng)
    proved = [prove(t, k, alpha, generator, share, given) for k in asked]
    if two:
        upper, lower = _smallest_zone(t, proved)
    else:
        upper = lower = _choose(t, proved, _goal(maximize, minimize), share)
    return replace(_result(t, upper, lower, proved, level, 1 - alpha), notes=notes)


def _asks_for_two(
    asked: tuple[Limit, ...], maximize: Any, minimize: Any, thresholds: Any
) -> bool:
    """Are two thresholds asked for? Stops at what does not go together."""
    if not asked:
        raise InputError(
            'A guarantee needs a constraint; found none. Type "recall >= 0.9".'
        )
    sided = [k for k in asked if k.where]
    if not sided:
        return False
    for k in asked:
        if not k.where:
            raise InputError(
                f"A guarantee for two thresholds is about one side; found {k}. "
                'Type "precision above >= 0.9" or "npv below >= 0.99".'
            )
    if any(x is not None for x in (maximize, minimize, thresholds)):
        raise InputError(
            "Of two guaranteed thresholds those with the fewest cases between them are "
            "taken. Leave maximize=, minimize= and thresholds= out."
        )
    return True


def _smallest_zone(t: Tally, proved: list[Proved]) -> tuple[int, int]:
    """Take the two proved cuts with the fewest cases between them.

    The guarantee holds for all of them at once, so that choice does not weaken it.
    """
    places = np.arange(len(t) + 1)
    rows = [forbidding(p.sided, np.isin(places, p.cuts)) for p in proved]
    cases = np.concatenate([[0], np.cumsum(t.pos + t.neg)])
    found = best_pairs(Sum(cases, -cases), rows)
    if found is None:
        raise NotEnoughCases(
            "Each constraint can be guaranteed, but the lower threshold would lie "
            "above the upper one. Loosen one of them, or ask for one threshold: leave "
            '"above" and "below" out.'
        )
    return int(found.first[0]), int(found.second[0])


class _Given(NamedTuple):
    """Thresholds that were fixed beforehand, and how they are tried."""

    at: Floats
    sequence: bool


def _given(thresholds: Any, sequence: bool) -> _Given:
    at = np.atleast_1d(np.asarray(thresholds))
    if at.ndim != 1 or not at.size or at.dtype.kind not in "iuf" or np.isnan(at).any():
        raise InputError(
            f"thresholds must be numbers, one or more; found {thresholds!r}. Type "
            f"thresholds=[0.2, 0.5, 0.8]."
        )
    return _Given(at.astype(np.float64), sequence)


class Proved(NamedTuple):
    """At which cuts a constraint is proved, in the order of trying, and on what."""

    sided: Limit
    risk: Risk
    cuts: Ints
    used: Tally
    method: str
    share: Share | None
    given: _Given | None = None

    @property
    def asked(self) -> Constraint:
        """Give the constraint, whichever side it is about."""
        return self.sided.asked

    def swept(self) -> Confusion:
        """Count the cases that were used for the tests, at every cut."""
        return swept(self.used.pos, self.used.neg)


def prove(
    t: Tally,
    sided: Limit,
    alpha: float,
    rng: np.random.Generator,
    share: Share | None = None,
    given: _Given | None = None,
) -> Proved:
    """Find the cuts at which a constraint is proved with an error of at most alpha."""
    asked = sided.asked
    risk = read_risk(asked, share, alpha)
    if isinstance(risk, ShareOfCases):
        _stop_too_few(t, risk, asked, alpha, split=given is None)
    way, used = risk.monotone(), t
    if given is not None:
        cuts, method = _tried(t, risk, asked, alpha, given)
    elif way:
        # the share moves one way only, so the cuts let through are a ray, and a wrong
        # one is among them only if the test rejects at the first threshold of the
        # population that breaks the constraint: one test, no correction
        cuts = np.flatnonzero(risk.passes(sweep(t), alpha))
        # from where the share is 1 to the last cut before the test fails
        cuts, method = cuts[::-way], "order statistics"
    else:
        cuts, used = _split(t, risk, asked, alpha, rng)
        method = "split and fixed sequence"
    return Proved(sided, risk, cuts, used, method, share, given)


def _tried(
    t: Tally, risk: Risk, asked: Constraint, alpha: float, given: _Given
) -> tuple[Ints, str]:
    """Try thresholds that were fixed beforehand, on all cases."""
    k = t.score.size - np.searchsorted(t.score[::-1], given.at, side="left")
    c = sweep(t)[k]
    if given.sequence:
        met = np.logical_and.accumulate(risk.passes(c, alpha))
    else:
        met = risk.passes(c, alpha / k.size)
    if not met.any():
        raise _not_proved(t, risk, asked, alpha)
    return k[met], "fixed sequence" if given.sequence else "bonferroni"


def _goal(maximize: Any, minimize: Any) -> Metric | None:
    if maximize is None and minimize is None:
        return None
    return read_objective(maximize, minimize)[1]


def _choose(
    t: Tally, proved: list[Proved], goal: Metric | None, share: Share | None
) -> int:
    """Take one of the cuts at which everything is proved."""
    first = proved[0]
    if goal is None and len(proved) == 1:
        return int(first.cuts[-1])
    allowed = np.ones(len(t) + 1, dtype=bool)
    for p in proved:
        allowed &= np.isin(np.arange(len(t) + 1), p.cuts)
    if not allowed.any():
        raise _not_together(t, proved)
    if goal is not None:
        cuts = make_cuts(t.score, sweep(t), None if share is None else share.value)
        best = best_cuts([cuts], goal, allowed)
        if best.size:
            return int(most_balanced(cuts, best))
    # all must hold: the cut whose least sure constraint is surest
    weakest = np.min([p.risk.evidence(p.swept()) for p in proved], axis=0)
    return int(np.argmax(np.where(allowed, weakest, -np.inf)))


def _not_together(t: Tally, proved: list[Proved]) -> NotEnoughCases:
    ranges = [
        f"{p.asked!r} at thresholds from {threshold_of(t.score, int(p.cuts.max())):g} "
        f"to {threshold_of(t.score, int(p.cuts.min())):g}"
        for p in proved
    ]
    return NotEnoughCases(
        f"Each constraint can be guaranteed, but not at the same threshold: "
        f"{'; '.join(ranges)}. Loosen one of them, or collect more cases."
    )


def _stop_too_few(
    t: Tally, risk: ShareOfCases, asked: Constraint, alpha: float, split: bool
) -> None:
    word = risk.words
    sizes = {"positives": t.n_pos, "negatives": t.n_neg}
    found = sizes.get(word, t.n_pos + t.n_neg)
    needed = risk.fewest(alpha)
    # where the cases are split, one half must be enough
    halved = split and not risk.monotone()
    wanted = 2 * needed if halved else needed
    if found >= wanted:
        return
    of = word if word in sizes else "labelled cases"
    split_words = f" in the half that tests, so {wanted:,} {of}" if halved else ""
    raise NotEnoughCases(
        f"{asked!r} with a confidence of {1 - alpha:.10g} needs at least {needed:,} "
        f"{word}{split_words}, even if no error is seen among them; this tally has "
        f"{found:,} {of}: {wanted - found:,} more are needed."
    )


def _split(
    t: Tally, risk: Risk, asked: Constraint, alpha: float, rng: np.random.Generator
) -> tuple[Ints, Tally]:
    """Let one half of the cases choose the order of cuts, and the other test them.

    The order must not depend on the cases that test: then the first wrong cut of the
    order is one fixed cut, and for any wrong cut to pass, that one must.
    """
    pos, neg = rng.binomial(t.pos, 0.5), rng.binomial(t.neg, 0.5)
    # rows of the whole tally, also where a half has no case
    order = _order(risk, swept(pos, neg))
    held = tally_of_rows(t.score, t.neg - neg, t.pos - pos, t.unknown)
    met = risk.passes(swept(held.pos, held.neg)[order], alpha)
    found = order[np.logical_and.accumulate(met)]
    if not found.size:
        raise _not_proved(t, risk, asked, alpha)
    # of metrics without a direction the cut with the strongest evidence is the answer
    return (found if _direction(risk) else found[::-1]), held


def _direction(risk: Risk) -> int:
    """Towards which cuts is the share one of more cases: more flagged, or fewer?"""
    if not isinstance(risk, ShareOfCases):
        return 0
    tp, fp, fn, tn = risk.cells
    if tp and fp and not (fn or tn):
        return 1
    return -1 if fn and tn and not (tp or fp) else 0


def _order(risk: Risk, learned: Confusion) -> Ints:
    """From the strongest evidence on, towards cuts whose share is of more cases."""
    evidence = risk.evidence(learned)
    start = int(np.argmax(evidence))
    way = _direction(risk)
    if way > 0:
        return np.arange(start, evidence.size)
    if way < 0:
        return np.arange(start, -1, -1)
    return np.argsort(-evidence, kind="stable")


def _not_proved(
    t: Tally, risk: Risk, asked: Constraint, alpha: float
) -> NotEnoughCases | Infeasible:
    """Say how many more cases like these would be proof, or that none would."""
    c = sweep(t)
    at = int(np.argmax(risk.evidence(c)))
    here, total = c[at], t.n_pos + t.n_neg
    value = float(asked.metric(here))
    where = f"at the threshold {cut_text(threshold_of(t.score, at))}"
    times, most = 1.0, 1e4
    # one half of the cases tests, so that so many times as many give half of that
    while not risk.passes(_enlarged(here, times / 2), alpha) and times < most:
        times *= 1.05
    if times >= most:
        return Infeasible(
            f"{asked!r} is not met in the sample either: {asked.metric.name} is "
            f"{value:.4g} where the evidence is strongest, {where}. More cases would "
            f"not help."
        )
    more = max(1, math.ceil((times - 1) * total))
    return NotEnoughCases(
        f"{asked!r} cannot be guaranteed from these {total:,} cases, though "
        f"{asked.metric.name} is {value:.4g} {where}. About {more:,} more cases like "
        f"them are needed."
    )


def _enlarged(c: Confusion, times: float) -> Confusion:
    """Give counts as if there were so many times more cases like these."""
    pos, neg = int(c.tp + c.fn), int(c.fp + c.tn)
    p, q = math.floor(pos * times), math.floor(neg * times)
    # rounded against the claim on both sides would forbid what rounding allows
    tp, fp = round(p * int(c.tp) / max(pos, 1)), round(q * int(c.fp) / max(neg, 1))
    return Confusion(tp, fp, p - tp, q - fp)


def _proof(p: Proved, cut: int, level: float) -> Proof:
    """Say why the constraint may be trusted at a cut."""
    c = p.swept()[cut]
    used = c if p.share is None else c.at_prevalence(p.share.value)
    return Proof(
        constraint=str(p.sided),
        level=level,
        value=float(p.asked.metric(used)),
        bound=_limit_at(p, c, 1 - level),
        p_value=float(p.risk.p_values(c)),
        cases=int(p.risk.counts(c)[1]),
        method=p.method,
    )


def _limit_at(p: Proved, c: Confusion, alpha: float) -> float:
    """How far could the bound be moved and still be proved? By bisection.

    For a plain share this is the one-sided limit of Clopper and Pearson (1934).
    """
    m, upward = p.asked.metric, p.asked.upward
    if isinstance(p.risk, ShareOfCases) and p.risk.is_bound(p.asked):
        limit = float(exact_end(*p.risk.counts(c), alpha, low=True))
        return limit if upward else 1 - limit
    here = float(m(c if p.share is None else c.at_prevalence(p.share.value)))

    def proved(bound: float) -> bool:
        moved = Constraint(m, ">=" if upward else "<=", float(bound))
        try:
            return bool(read_risk(moved, p.share, alpha).passes(c, alpha))
        except InputError:  # a bound that cannot be missed, such as 0 for a share
            return False

    # the bound itself is proved; the value of the sample never is, or is the end
    given, end = p.asked.bound, here
    if math.isinf(end):  # a likelihood ratio without an error of one kind
        end = math.copysign(1.0, end) + 2 * given
        while proved(end) and abs(end) < 1e12:
            given, end = end, 2 * end
    return float(bisect(proved, given, end))


def _result(
    t: Tally, upper: int, lower: int, proved: list[Proved], level: float, each: float
) -> GuaranteedThreshold:
    at = [lower if p.sided.where == "below" else upper for p in proved]
    proofs = [_proof(p, k, each) for p, k in zip(proved, at, strict=True)]
    least = int(np.argmax([p.p_value for p in proofs]))
    weakest, given, seen = proofs[least], proved[0].given, proved[least].swept()
    threshold, ends = threshold_of(t.score, upper), interval_of(t.score, upper)
    if given is not None:  # what was fixed beforehand is what is guaranteed
        same = given.at[(ends[0] < given.at) & (given.at <= ends[1])]
        threshold = float(same[0])
        ends = (threshold, threshold)
    two = bool(proved[0].sided.where)
    cases = t.pos + t.neg
    return GuaranteedThreshold(
        rule=Rule(threshold, threshold_of(t.score, lower) if two else None),
        score_range=ends,
        lower_range=interval_of(t.score, lower) if two else None,
        constraint=" and ".join(p.constraint for p in proofs),
        level=level,
        value=weakest.value,
        bound=weakest.bound,
        p_value=weakest.p_value,
        confusion=Confusion(seen.tp[upper], seen.fp[upper], seen.fn[lower],
                            seen.tn[lower]),
        cases=weakest.cases,
        method=weakest.method,
        defer=float(cases[upper:lower].sum()) / float(cases.sum()),
        proofs=tuple(proofs),
    )  # fmt: skip
