"""Which threshold keeps its promise in the population, not only in the sample?

``guaranteed_threshold`` gives a cut at which constraints on rates hold among all cases
of the kind, with a stated confidence, by exact binomial tests in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.binomial import at_least
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError, NotEnoughCases
from trueness._core.records import Answer, Record
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric, as_fraction
from trueness.metrics.confusion import Confusion, sweep
from trueness.metrics.grammar import constraints as read_constraints
from trueness.threshold.cuts import (
    Interval,
    best_cuts,
    interval_of,
    make_cuts,
    most_balanced,
    threshold_of,
)
from trueness.threshold.operating_point import read_objective
from trueness.threshold.validation import is_share, share_counts

Coefficients = tuple[float, float, float, float]


@final
@dataclass(frozen=True, repr=False)
class Proof(Record):
    """Why may one constraint be trusted at a cut?

    Attributes
    ----------
    constraint : str
        What is guaranteed.
    confidence : float
        How surely, this one alone.
    value : float
        The metric in the sample: further than the bound, by the price of certainty.
    bound : float
        The one-sided confidence limit of the metric at the cut.
    p_value : float
        The exact binomial test of the constraint there.
    cases : int
        Cases that the rate is a share of.
    method : str
        "order statistics" or "split and fixed sequence".
    """

    constraint: str
    confidence: float
    value: float
    bound: float
    p_value: float
    cases: int
    method: str


@final
@dataclass(frozen=True, repr=False)
class GuaranteedThreshold(Answer):
    """Where to cut so that constraints hold in the population?

    Attributes
    ----------
    threshold : float
        Flag a case when ``score >= threshold``.
    interval : (float, float)
        Every threshold above the first number, up to and including the second, has the
        same guarantee.
    constraint : str
        What is guaranteed; several are joined by "and".
    confidence : float
        How surely, all of it together.
    value, bound, p_value, cases, method
        As in :class:`Proof`; of several constraints that of the one with the weakest
        evidence.
    confusion : Confusion
        Right and wrong cases at the cut, of those that were used for that test.
    proofs : tuple of Proof
        One for each constraint.
    """

    threshold: float
    interval: Interval
    constraint: str
    confidence: float
    value: float
    bound: float
    p_value: float
    confusion: Confusion
    cases: int
    method: str
    proofs: tuple[Proof, ...] = ()


class _Test(NamedTuple):
    """A bound on a share: y of n cases, of which more than ``bound`` are wanted.

    "At most b" is asked of the others: their share, at least 1 - b.
    """

    over: Coefficients
    under: Coefficients
    bound: float

    def counts(self, c: Confusion) -> tuple[Ints, Ints]:
        parts = (c.tp, c.fp, c.fn, c.tn)
        y = sum(n for n, w in zip(parts, self.over, strict=True) if w)
        of = sum(n for n, w in zip(parts, self.under, strict=True) if w)
        return np.asarray(y), np.asarray(of)

    def p_values(self, c: Confusion) -> Floats:
        """How likely is such a share when the bound is just missed? Exact tails."""
        y, n = self.counts(c)
        return np.where(n > 0, at_least(y, n, self.bound), 1.0)


@of_tally
def guaranteed_threshold(
    t: Tally,
    constraint: str | Constraint | Iterable[str | Constraint],
    *,
    confidence: float = 0.95,
    maximize: str | Metric | None = None,
    minimize: str | Metric | None = None,
    rng: Seed = 0,
) -> GuaranteedThreshold:
    r"""At which threshold do constraints hold in the population, and how surely?

    A cut that just meets ``recall >= 0.9`` in a sample fails it in the population about
    half of the time. The cut returned here fails with a probability of at most
    ``1 - confidence``, over samples, whatever the distribution of the scores.

    Parameters
    ----------
    t
        Labelled cases, drawn independently from the population of use (for rates of one
        class it is enough that each class is).
    constraint
        A bound on a share of cases: ``"recall >= 0.9"``, ``"fpr <= 0.05"``,
        ``"precision >= 0.8"``; or several of them.
    confidence
        With which probability all of them must hold at once.
    maximize, minimize
        Which of the cuts with the guarantee to take: where this metric is best in the
        sample. That costs nothing: the guarantee holds for all of them at once.
    rng
        Seed or generator, for shares that may rise and fall with the threshold
        (precision, npv, accuracy): their cases are split at random.

    Returns
    -------
    GuaranteedThreshold
        Without an objective, of the cuts with the guarantee the one that asks least
        beyond it: the highest threshold for ``recall >= b``, the lowest for ``fpr <=
        b`` and ``precision >= b``; of several constraints the cut whose weakest
        evidence is strongest.

    Raises
    ------
    NotEnoughCases
        Not even the best outcome with these cases would be proof; the message says how
        many more are needed.

    Notes
    -----
    Rates that only rise or only fall with the threshold (recall, fnr, specificity, fpr,
    flagged_rate): starting where the constraint surely holds, the threshold moves until
    the exact binomial test no longer rejects. An error needs a rejection at the first
    threshold in the population at which the constraint fails, which is one fixed
    threshold: no correction is needed, however many are tried.

    Other shares: one half of the cases chooses an order of cuts (from the one with the
    strongest evidence towards more flagged cases), the other half tests them in this
    order until one fails: fixed-sequence testing.

    Several constraints, k of them: each is tested at :math:`\alpha / k` with
    :math:`\alpha` = 1 - ``confidence``. With :math:`E_j` the event that constraint j
    fails at any cut that its own tests let through, :math:`P(E_j) \le \alpha / k` by
    the above, so :math:`P(\bigcup_j E_j) \le \alpha` (Bonferroni). Outside of it every
    cut that all tests let through meets all constraints, whichever is then chosen.

    References
    ----------
    Angelopoulos et al. 2025, Learn then Test, Ann. Appl. Stat. 19:1641,
    doi:10.1214/24-AOAS1998.
    Wilks 1941, Ann. Math. Stat. 12:91, doi:10.1214/aoms/1177731788.

    Examples
    --------
    29 positives, none missed, are the fewest that prove a recall of 0.9:
    0.9 ** 29 = 0.047.

    >>> t = Tally([2, 1], pos=[29, 0], neg=[1, 20])
    >>> guaranteed_threshold(t, "recall >= 0.9").threshold
    1.5
    """
    _cases.one_classifier(t, "guaranteed_threshold")
    confidence = _options.fraction(confidence, "confidence")
    asked = read_constraints(constraint)
    if not asked:
        raise InputError(
            'A guarantee needs a constraint; found none. Type "recall >= 0.9".'
        )
    t = t.labelled()
    alpha = (1 - as_fraction(confidence)) / len(asked)
    generator = _options.generator(rng)
    proved = [_proved(t, c, float(alpha), generator) for c in asked]
    cut = _choose(t, proved, _goal(maximize, minimize))
    return _result(t, cut, proved, confidence, float(1 - alpha))


class _Proved(NamedTuple):
    """At which cuts a constraint is proved, in the order of trying, and on what."""

    asked: Constraint
    test: _Test
    cuts: Ints
    used: Tally
    method: str

    def swept(self) -> Confusion:
        """Count the cases that were used for the tests, at every cut."""
        return _sweep_rows(self.used.pos, self.used.neg)


def _proved(
    t: Tally, asked: Constraint, alpha: float, rng: np.random.Generator
) -> _Proved:
    test = _read(asked)
    _stop_too_few(t, test, asked, alpha)
    way = _monotone(test)
    if way:
        # the share moves one way only, so the cuts let through are a ray, and a wrong
        # one is among them only if the test rejects at the first threshold of the
        # population that breaks the constraint: one test, no correction
        cuts = np.flatnonzero(test.p_values(sweep(t)) <= alpha)
        # from where the share is 1 to the last cut before the test fails
        return _Proved(asked, test, cuts[::-way], t, "order statistics")
    cuts, used = _split(t, test, asked, alpha, rng)
    return _Proved(asked, test, cuts, used, "split and fixed sequence")


def _goal(maximize: Any, minimize: Any) -> Metric | None:
    if maximize is None and minimize is None:
        return None
    return read_objective("accuracy" if maximize is None else maximize, minimize)[1]


def _choose(t: Tally, proved: list[_Proved], goal: Metric | None) -> int:
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
        cuts = make_cuts(t.score, sweep(t), None)
        best = best_cuts(cuts, goal, allowed)
        if best.size:
            return int(most_balanced(cuts, best))
    weakest = np.max([p.test.p_values(p.swept()) for p in proved], axis=0)
    return int(np.argmin(np.where(allowed, weakest, np.inf)))


def _not_together(t: Tally, proved: list[_Proved]) -> NotEnoughCases:
    ranges = [
        f"{p.asked!r} at thresholds from {threshold_of(t.score, int(p.cuts.max())):.6g}"
        f" to {threshold_of(t.score, int(p.cuts.min())):.6g}"
        for p in proved
    ]
    return NotEnoughCases(
        f"Each constraint can be guaranteed, but not at the same threshold: "
        f"{'; '.join(ranges)}. Loosen one of them, or collect more cases."
    )


def _read(asked: Constraint) -> _Test:
    """Ask for "at least": fpr <= b is specificity >= 1 - b."""
    m, bound = asked.metric, as_fraction(asked.bound)
    if not is_share(m, None):
        raise InputError(
            f"A guarantee needs a bound on a share of cases, such as recall, fpr, "
            f"precision or accuracy; found {asked!r}. For other metrics see "
            f"trueness.validate_threshold."
        )
    if not 0 < bound < 1:
        raise InputError(
            f"A guarantee needs a bound between 0 and 1; found {asked!r}. No number of "
            f"cases can prove that a share is 0 or 1."
        )
    assert m.ratio is not None  # noqa: S101 - it is a share
    assert m.ratio.under is not None  # noqa: S101
    over, under = m.ratio.over, m.ratio.under
    if asked.sign in ("<=", "<"):
        rest = (u - o for o, u in zip(over, under, strict=True))
        over, bound = tuple(rest), 1 - bound  # type: ignore[assignment]
    return _Test(over, under, float(bound))


def _monotone(test: _Test) -> int:
    """Does the share rise (1) or fall (-1) as more is flagged, or neither (0)?"""
    if test.under not in ((1, 0, 1, 0), (0, 1, 0, 1), (1, 1, 1, 1)):
        return 0
    tp, fp, fn, tn = test.over
    if not (fn or tn):
        return 1
    return 0 if tp or fp else -1


def _fewest(test: _Test, alpha: float) -> int:
    """How many cases are proof when all of them are right?"""
    n = max(1, math.floor(math.log(alpha) / math.log(test.bound)) - 1)
    while at_least(np.array(n), n, test.bound) > alpha:
        n += 1
    return n


_WORDS: dict[Coefficients, str] = {
    (1, 0, 1, 0): "positives",
    (0, 1, 0, 1): "negatives",
    (1, 1, 1, 1): "labelled cases",
    (1, 1, 0, 0): "flagged cases",
    (0, 0, 1, 1): "cases that are not flagged",
}


def _stop_too_few(t: Tally, test: _Test, asked: Constraint, alpha: float) -> None:
    word = _WORDS.get(test.under, "cases")
    sizes = {"positives": t.n_pos, "negatives": t.n_neg}
    found = sizes.get(word, t.n_pos + t.n_neg)
    needed = _fewest(test, alpha)
    # where the cases are split, one half must be enough
    wanted = needed if _monotone(test) else 2 * needed
    if found >= wanted:
        return
    of = word if word in sizes else "labelled cases"
    split = "" if _monotone(test) else f" in the half that tests, so {wanted:,} {of}"
    raise NotEnoughCases(
        f"{asked!r} with a confidence of {1 - alpha:.10g} needs at least {needed:,} "
        f"{word}{split}, even if no error is seen among them; this tally has "
        f"{found:,} {of}: {wanted - found:,} more are needed."
    )


def _split(
    t: Tally, test: _Test, asked: Constraint, alpha: float, rng: np.random.Generator
) -> tuple[Ints, Tally]:
    """Let one half of the cases choose the order of cuts, and the other test them.

    The order must not depend on the cases that test: then the first wrong cut of the
    order is one fixed cut, and for any wrong cut to pass, that one must.
    """
    pos, neg = rng.binomial(t.pos, 0.5), rng.binomial(t.neg, 0.5)
    order = _order(test, _sweep_rows(pos, neg))
    held = Tally._canonical(t.score, t.neg - neg, t.pos - pos, t.unknown)
    p = test.p_values(_sweep_rows(held.pos, held.neg))[order]
    failed = np.flatnonzero(p > alpha)
    passed = int(failed[0]) if failed.size else p.size
    if passed == 0:
        raise _not_proved(t, test, asked, alpha)
    return order[:passed], held


def _sweep_rows(pos: Ints, neg: Ints) -> Confusion:
    """Count at the cuts of the whole tally, also where a half has no case."""
    tp, fp = (np.concatenate([[0], np.cumsum(n)]) for n in (pos, neg))
    return Confusion(tp, fp, tp[-1] - tp, fp[-1] - fp)


def _order(test: _Test, learned: Confusion) -> Ints:
    """From the strongest evidence on, towards cuts whose share is of more cases."""
    p = test.p_values(learned)
    start = int(np.argmin(p))
    if test.under == (1, 1, 0, 0):
        return np.arange(start, p.size)
    if test.under == (0, 0, 1, 1):
        return np.arange(start, -1, -1)
    return np.array([start])


def _not_proved(
    t: Tally, test: _Test, asked: Constraint, alpha: float
) -> NotEnoughCases | Infeasible:
    """Say how many more cases like these would be proof, or that none would."""
    c = sweep(t)
    at = int(np.argmin(test.p_values(c)))
    y, n = (int(v[at]) for v in test.counts(c))
    upward = asked.sign in (">=", ">")
    shown = (y / n if upward else 1 - y / n) if n else math.nan
    if not n or y / n <= test.bound:
        return Infeasible(
            f"{asked!r} is not met in the sample either: {asked.metric.name} is "
            f"{shown:.4g} where the evidence is strongest, at the threshold "
            f"{threshold_of(t.score, at):.6g}. More cases would not help."
        )
    times = _enough(test, y / n, alpha) / max(n / 2, 1)
    more = max(1, math.ceil((max(times, 1) - 1) * (t.n_pos + t.n_neg)))
    return NotEnoughCases(
        f"{asked!r} cannot be guaranteed from these {t.n_pos + t.n_neg:,} cases, "
        f"though {asked.metric.name} is {shown:.4g} at the threshold "
        f"{threshold_of(t.score, at):.6g}. About {more:,} more cases like them are "
        f"needed."
    )


def _enough(test: _Test, share: float, alpha: float) -> int:
    """How many cases prove the bound when this share of them is right?"""
    n = _fewest(test, alpha)
    while at_least(np.array(math.floor(share * n)), n, test.bound) > alpha:
        n = math.ceil(1.05 * n)
    return n


def _proof(p: _Proved, cut: int, confidence: float) -> Proof:
    from scipy.special import betaincinv

    c = p.swept()[cut]
    y, n = (int(v) for v in p.test.counts(c))
    # Clopper and Pearson 1934: the one-sided limit
    limit = float(betaincinv(y, n - y + 1, 1 - confidence)) if y else 0.0
    counted, of = share_counts(p.asked.metric, c)
    return Proof(
        constraint=repr(p.asked),
        confidence=confidence,
        value=int(counted) / int(of),
        bound=limit if p.asked.sign in (">=", ">") else 1 - limit,
        p_value=float(p.test.p_values(c)),
        cases=n,
        method=p.method,
    )


def _result(
    t: Tally, cut: int, proved: list[_Proved], confidence: float, each: float
) -> GuaranteedThreshold:
    proofs = [_proof(p, cut, each) for p in proved]
    at = int(np.argmax([p.p_value for p in proofs]))
    weakest = proofs[at]
    return GuaranteedThreshold(
        threshold=threshold_of(t.score, cut),
        interval=interval_of(t.score, cut),
        constraint=" and ".join(p.constraint for p in proofs),
        confidence=confidence,
        value=weakest.value,
        bound=weakest.bound,
        p_value=weakest.p_value,
        confusion=proved[at].swept()[cut],
        cases=weakest.cases,
        method=weakest.method,
        proofs=tuple(proofs),
    )
