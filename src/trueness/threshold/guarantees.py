"""Which threshold keeps its promise in the population, not only in the sample?

Constraints are tested in a fixed order of cuts; ``risks.py`` says by which tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError, NotEnoughCases
from trueness._core.numbers import cut_text
from trueness._core.records import Answer, Record
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric, as_fraction
from trueness.metrics.confusion import Confusion, sweep, swept
from trueness.threshold import cuts as _cuts
from trueness.threshold.constraints import (
    SIDES,
    ConstraintLike,
    ScopedConstraint,
    read_objective,
    read_scoped_constraints,
)
from trueness.threshold.cuts import Interval
from trueness.threshold.operating_point import notes_on_unlabelled
from trueness.threshold.pair_search import PairSum, best_pairs
from trueness.threshold.prevalences import (
    Prevalences,
    UsePrevalence,
    check_prevalence_of_use,
    prevalence_of_use,
)
from trueness.threshold.risks import Claim, MeanClaim, limit_of, read_claim
from trueness.threshold.rule import Rule
from trueness.threshold.zones import forbid_cuts


@final
@dataclass(frozen=True, repr=False)
class Proof(Record):
    """What is the evidence that one constraint holds at a threshold?

    Attributes
    ----------
    level : float
        The confidence with which this constraint, taken alone, holds.
    value, bound : float
        The metric in the sample, and its one-sided confidence limit.
    p_value : float
        The test of the constraint there; exact binomial for shares.
    cases : int
        How many cases the metric is computed from.
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
    score_range, lower_range : (float, float)
        Every (upper, or lower) threshold above the first number, up to and including
        the second, has the same guarantee.
    level : float
        The confidence with which all constraints hold at once.
    value, bound, p_value, cases, method
        As in :class:`Proof`, of the constraint with the weakest evidence.
    confusion : Confusion
        The decided ones of the cases that were used for that test.
    defer : float
        The share of the cases between two thresholds.
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
        A bound on a mean or a quotient of means: ``"recall >= 0.9"``, ``"precision >=
        0.8"``, ``"f1 >= 0.6"``, ``"net_benefit(0.25) >= 0"``, ``"youden >= 0.5"``; or
        several. Bounds on either side, ``["precision above >= 0.9", "npv below >=
        0.99"]``, ask for two thresholds, with the fewest cases between them.
    level
        The probability with which all of them must hold at once.
    maximize, minimize
        Of the thresholds with the guarantee take the one where this metric is best in
        the sample: the guarantee holds for all of them at once.
    prevalences
        Shares of positives in use: two numbers are a range (the guarantee holds for
        every prevalence in it), an :class:`Estimate` has an uncertainty that the
        guarantee allows for.
    thresholds
        Thresholds that were fixed before looking at these cases: only they are tried.
    sequence
        Try ``thresholds`` in the order given until one fails, each at the full error
        rate (fixed sequence); or, when False, all of them with the error rate divided
        by their number (Bonferroni).

    Notes
    -----
    Without an objective the threshold that goes least beyond the constraint is given:
    the highest for ``recall >= b``, the lowest for ``fpr <= b`` and ``precision >= b``;
    with several constraints the one whose weakest evidence is strongest. Rates that
    only rise or only fall with the threshold need no correction; for other metrics one
    half of the cases chooses an order of thresholds, and the other half tests them
    until one fails. Tests are exact for shares of cases, and conservative for other
    means and for weighted sums of recall and fpr. Of k constraints each is tested at
    (1 - ``level``) / k.

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
    asked = read_scoped_constraints(subject_to, SIDES)
    objective = None
    if maximize is not None or minimize is not None:
        objective = read_objective(maximize, minimize)[1]
    two = _asks_for_two(asked, objective is not None or thresholds is not None)
    share = prevalence_of_use(data, prevalences)
    check_prevalence_of_use(
        data, share, [k.metric for k in asked], "guaranteed_threshold"
    )
    notes = notes_on_unlabelled(data)
    t = data.labelled()
    alpha = float((1 - as_fraction(level)) / len(asked))
    given = None if thresholds is None else _given(thresholds)
    generator = _options.generator(rng)
    proved = [
        _prove(t, k, alpha, generator, share, given, sequence or given is None)
        for k in asked
    ]
    if two:
        upper, lower = _smallest_zone(t, proved)
    else:
        upper = lower = _choose(t, proved, objective, share)
    proofs = [
        _proof(p, lower if p[0].scope == "below" else upper, alpha, share)
        for p in proved
    ]
    least = int(np.argmax([p.p_value for p in proofs]))
    weakest, seen = proofs[least], proved[least][3]
    threshold = _cuts.threshold_of(t.score, upper)
    ends = _cuts.interval_of(t.score, upper)
    if given is not None:  # what was fixed beforehand is what is guaranteed
        threshold = float(given[(ends[0] < given) & (given <= ends[1])][0])
        ends = (threshold, threshold)
    cases = t.pos + t.neg
    return GuaranteedThreshold(
        rule=Rule(threshold, _cuts.threshold_of(t.score, lower) if two else None),
        score_range=ends,
        lower_range=_cuts.interval_of(t.score, lower) if two else None,
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
        notes=notes,
    )  # fmt: skip


def _asks_for_two(asked: tuple[ScopedConstraint, ...], more: bool) -> bool:
    """Are two thresholds asked for? Stops at what does not go together."""
    sided = [k for k in asked if k.scope]
    if not asked:
        raise InputError(
            'A guarantee needs a constraint; found none. Type "recall >= 0.9".'
        )
    if sided and len(sided) < len(asked):
        plain = next(k for k in asked if not k.scope)
        raise InputError(
            f"A guarantee for two thresholds is about one side; found {plain}. "
            'Type "precision above >= 0.9" or "npv below >= 0.99".'
        )
    if sided and more:
        raise InputError(
            "Of two guaranteed thresholds those with the fewest cases between them are "
            "taken. Leave maximize=, minimize= and thresholds= out."
        )
    return bool(sided)


def _given(thresholds: ArrayLike) -> Floats:
    at = np.atleast_1d(np.asarray(thresholds))
    if at.ndim != 1 or not at.size or at.dtype.kind not in "iuf" or np.isnan(at).any():
        raise InputError(
            f"thresholds must be numbers, one or more; found {thresholds!r}. Type "
            f"thresholds=[0.2, 0.5, 0.8]."
        )
    return at.astype(np.float64)


# a constraint, as a claim; the cuts at which it is proved, in the order of trying; the
# cases of the tests, at every cut; and how they were tested
Proved = tuple[ScopedConstraint, Claim, Ints, Confusion, str]


def _prove(
    t: Tally,
    sided: ScopedConstraint,
    alpha: float,
    rng: np.random.Generator,
    share: UsePrevalence | None,
    given: Floats | None,
    sequence: bool,
) -> Proved:
    """Find the cuts at which a constraint is proved with an error of at most alpha.

    Cuts are tried in an order that does not depend on the cases that test, until one
    fails: the first wrong cut of the order is then one fixed cut, and for any wrong cut
    to pass, that one must. So one test is enough, at the full error rate.
    """
    asked = sided.constraint
    claim = read_claim(asked, share, alpha)
    if isinstance(claim, MeanClaim) and claim.is_share:
        _stop_too_few(t, claim, asked, alpha, halved=given is None and not claim.way)
    seen, method = sweep(t), "order statistics"
    if given is not None:
        order = t.score.size - np.searchsorted(t.score[::-1], given, side="left")
        method = "fixed sequence" if sequence else "bonferroni"
    elif claim.way:
        # from where the share is 1 it only falls: the first threshold of the population
        # that breaks the constraint is a fixed one
        order = np.arange(len(t) + 1)[:: -claim.way]
    else:
        # one half of the cases chooses the order, the other one tests
        pos, neg = rng.binomial(t.pos, 0.5), rng.binomial(t.neg, 0.5)
        order = _order(claim, swept(pos, neg))
        seen, method = swept(t.pos - pos, t.neg - neg), "split and fixed sequence"
    met = claim.passes(seen[order], alpha if sequence else alpha / order.size)
    cuts = order[np.logical_and.accumulate(met) if sequence else met]
    if not cuts.size:
        raise _not_proved(t, claim, asked, alpha)
    if method.startswith("split") and not claim.towards:
        cuts = cuts[::-1]  # the answer is the cut with the strongest evidence
    return sided, claim, cuts, seen, method


def _order(claim: Claim, learned: Confusion) -> Ints:
    """From the strongest evidence on, towards cuts whose share is of more cases."""
    evidence = claim.evidence(learned)
    if not claim.towards:
        return np.argsort(-evidence, kind="stable")
    start = int(np.argmax(evidence))
    end = evidence.size if claim.towards > 0 else -1
    return np.arange(start, end, claim.towards)


def _smallest_zone(t: Tally, proved: list[Proved]) -> tuple[int, int]:
    """Take the two proved cuts with the fewest cases between them."""
    places = np.arange(len(t) + 1)
    rows = [forbid_cuts(k, np.isin(places, cuts)) for k, _, cuts, *_ in proved]
    cases = np.concatenate([[0], np.cumsum(t.pos + t.neg)])
    found = best_pairs(PairSum(cases, -cases), rows)
    if found is None:
        raise NotEnoughCases(
            "Each constraint can be guaranteed, but the lower threshold would lie "
            "above the upper one. Loosen one of them, or ask for one threshold: leave "
            '"above" and "below" out.'
        )
    return int(found[0][0]), int(found[1][0])


def _choose(
    t: Tally, proved: list[Proved], goal: Metric | None, share: UsePrevalence | None
) -> int:
    """Take one of the cuts at which everything is proved."""
    if goal is None and len(proved) == 1:
        return int(proved[0][2][-1])
    places = np.arange(len(t) + 1)
    allowed = np.all([np.isin(places, cuts) for _, _, cuts, *_ in proved], axis=0)
    if not allowed.any():
        ranges = []
        for k, _, cuts, *_ in proved:
            low, high = _cuts.thresholds_of(t.score, np.array([cuts.max(), cuts.min()]))
            ranges.append(f"{k} at thresholds from {low:g} to {high:g}")
        raise NotEnoughCases(
            f"Each constraint can be guaranteed, but not at the same threshold: "
            f"{'; '.join(ranges)}. Loosen one of them, or collect more cases."
        )
    if goal is not None:
        used = None if share is None else share.value
        every = _cuts.make_cuts(t.score, sweep(t), used)
        best = _cuts.best_cuts([every], goal, allowed)
        if best.size:
            return int(_cuts.most_balanced(every, best))
    # all must hold: the cut whose least sure constraint is surest
    weakest = np.min([claim.evidence(c) for _, claim, _, c, _ in proved], axis=0)
    return int(np.argmax(np.where(allowed, weakest, -np.inf)))


def _stop_too_few(
    t: Tally, claim: MeanClaim, asked: Constraint, alpha: float, halved: bool
) -> None:
    word, needed = claim.words, claim.fewest(alpha)
    sizes = {"positives": t.n_pos, "negatives": t.n_neg}
    found = sizes.get(word, t.n_pos + t.n_neg)
    wanted = 2 * needed if halved else needed  # one half must be enough
    if found >= wanted:
        return
    of = word if word in sizes else "labelled cases"
    split_words = f" in the half that tests, so {wanted:,} {of}" if halved else ""
    raise NotEnoughCases(
        f"{asked!r} with a confidence of {1 - alpha:.10g} needs at least {needed:,} "
        f"{word}{split_words}, even if no error is seen among them; there are "
        f"{found:,} {of}: {wanted - found:,} more are needed."
    )


def _not_proved(
    t: Tally, claim: Claim, asked: Constraint, alpha: float
) -> NotEnoughCases | Infeasible:
    """Say how many more cases like these would be proof, or that none would."""
    c = sweep(t)
    at = int(np.argmax(claim.evidence(c)))
    here, total = c[at], t.n_pos + t.n_neg
    value = float(asked.metric(here))
    where = f"at the threshold {cut_text(_cuts.threshold_of(t.score, at))}"

    def enough(times: float) -> bool:
        p, q = math.floor(t.n_pos * times), math.floor(t.n_neg * times)
        # rounded against the claim on both sides would forbid what rounding allows
        tp = round(p * int(here.tp) / max(t.n_pos, 1))
        fp = round(q * int(here.fp) / max(t.n_neg, 1))
        return bool(claim.passes(Confusion(tp, fp, p - tp, q - fp), alpha))

    times, most = 1.0, 1e4
    while not enough(times / 2) and times < most:  # one half of the cases tests
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


def _proof(p: Proved, cut: int, alpha: float, share: UsePrevalence | None) -> Proof:
    """Say why the constraint may be trusted at a cut."""
    k, claim, _, seen, method = p
    c = seen[cut]
    value = float(k.metric(c if share is None else c.at_prevalence(share.value)))
    bound = limit_of(k.constraint, claim, c, value, alpha, share)
    p_value, cases = float(claim.p_values(c)), int(claim.cases(c))
    return Proof(str(k), 1 - alpha, value, bound, p_value, cases, method)
