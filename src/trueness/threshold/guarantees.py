"""Which threshold keeps its promise in the population, not only in the sample?

Constraints are tested in a fixed order of cuts; ``claims`` says by which tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from trueness.metrics.confusion import Confusion, sweep, sweep_counts
from trueness.threshold import cuts as _cuts
from trueness.threshold.claims import Claim, MeanClaim, provable_bound, read_claim
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
from trueness.threshold.rule import Rule
from trueness.threshold.zones import forbid_cuts

# how many times the cases are tried in the search for a sample size, and in which steps
_MOST_TIMES = 1e4
_STEP_OF_TIMES = 1.05


@final
@dataclass(frozen=True, repr=False)
class Proof(Record):
    """The evidence that one constraint holds at a threshold.

    Attributes
    ----------
    level : float
        The confidence with which this constraint, taken alone, holds.
    value, bound : float
        The metric in the sample, and its one-sided confidence bound.
    p_value : float
        The test of the constraint there; exact binomial for proportions.
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
    """A rule that guarantees constraints in the population.

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
        The confusion matrix of the decided cases in that test.
    defer : float
        The proportion of the cases between two thresholds.
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
        """Return the score from which on cases are flagged."""
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
    fixed_sequence: bool = True,
    rng: Seed = 0,
) -> GuaranteedThreshold:
    r"""A threshold that meets constraints in the population, with given confidence.

    A threshold that just meets ``recall >= 0.9`` in a sample fails it in the population
    about half of the time. The threshold returned here fails with a probability of at
    most ``1 - level``, over samples, whatever the distribution of the scores.

    Parameters
    ----------
    data
        Labelled cases, drawn independently from the population of use. For rates of one
        class, only the cases of that class need be.
    subject_to
        A bound on a mean or a quotient of means: ``"recall >= 0.9"``, ``"precision >=
        0.8"``, ``"f1 >= 0.6"``, ``"net_benefit(0.25) >= 0"``, ``"youden >= 0.5"``; or
        several. Bounds on either side, ``["precision above >= 0.9", "npv below >=
        0.99"]``, ask for two thresholds, with the fewest cases between them.
    level
        The probability with which all of them must hold at once.
    maximize, minimize
        Among the thresholds with the guarantee, take the one where this metric is best
        in the sample: the guarantee holds for all of them at once.
    prevalences
        Prevalences in use. Two numbers are a range: the guarantee holds for every
        prevalence in it. The guarantee also allows for the uncertainty of an
        :class:`Estimate`.
    thresholds
        Thresholds that were fixed before looking at these cases: only they are tried.
    fixed_sequence
        Try ``thresholds`` in the order given until one fails, each at the full error
        rate (fixed sequence); or, when False, all of them with the error rate divided
        by their number (Bonferroni).

    Notes
    -----
    Without an objective it returns the threshold closest to the constraint. That is
    the highest for ``recall >= b``, and the lowest for ``fpr <= b`` and ``precision
    >= b``. With
    several constraints it returns the threshold where the weakest evidence is
    strongest. Rates that are monotone in the threshold need no correction. For other
    metrics, half of the cases determine an order of thresholds, and the other half
    tests them in this order until one fails. Tests are exact for proportions of cases,
    and conservative for other means and for weighted sums of recall and fpr. With k
    constraints, each is tested at (1 - ``level``) / k.

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

    constraints = read_scoped_constraints(subject_to, SIDES)
    objective = _read_choice(maximize, minimize)
    has_choice = objective is not None or thresholds is not None
    two_cuts = _asks_for_two_cuts(constraints, has_choice)

    prevalence = prevalence_of_use(data, prevalences)
    metrics = [scoped.metric for scoped in constraints]
    check_prevalence_of_use(data, prevalence, metrics, "guaranteed_threshold")
    notes = notes_on_unlabelled(data)

    labelled = data.labelled()
    # Bonferroni: all constraints hold at once
    alpha = float((1 - as_fraction(level)) / len(constraints))
    fixed_thresholds = None
    if thresholds is not None:
        fixed_thresholds = _read_thresholds(thresholds)
    generator = _options.generator(rng)
    proved = [
        _prove(
            labelled,
            constraint,
            alpha,
            generator,
            prevalence,
            fixed_thresholds,
            fixed_sequence,
        )
        for constraint in constraints
    ]

    if two_cuts:
        upper, lower = _smallest_zone(labelled, proved)
    else:
        upper = lower = _choose(labelled, proved, objective, prevalence)

    # a bound "below" is about the lower threshold, every other about the upper one
    proofs = []
    for proved_cuts in proved:
        place = lower if proved_cuts.scoped.scope == "below" else upper
        proofs.append(_proof(proved_cuts, place, alpha, prevalence))
    weakest = int(np.argmax([proof.p_value for proof in proofs]))
    weakest_proof = proofs[weakest]

    rule, score_range, lower_range = _rule_of_cuts(
        labelled.score, upper, lower if two_cuts else None, fixed_thresholds
    )
    return GuaranteedThreshold(
        rule=rule,
        score_range=score_range,
        lower_range=lower_range,
        constraint=" and ".join(proof.constraint for proof in proofs),
        level=level,
        value=weakest_proof.value,
        bound=weakest_proof.bound,
        p_value=weakest_proof.p_value,
        confusion=_decided_cases(proved[weakest].tested, upper, lower),
        cases=weakest_proof.cases,
        method=weakest_proof.method,
        defer=_proportion_between(labelled, upper, lower),
        proofs=tuple(proofs),
        notes=notes,
    )


def _read_choice(
    maximize: str | Metric | None, minimize: str | Metric | None
) -> Metric | None:
    """Return the metric that chooses among proved thresholds, made to be maximized."""
    if maximize is None and minimize is None:
        return None
    return read_objective(maximize, minimize).maximized


class _RuleOfCuts(NamedTuple):
    """A rule, and the thresholds that make the same upper and the same lower cut."""

    rule: Rule
    score_range: Interval
    lower_range: Interval | None


def _rule_of_cuts(
    score: Floats, upper: int, lower: int | None, fixed_thresholds: Floats | None
) -> _RuleOfCuts:
    """Return the rule that cuts at these places; one threshold without a lower one."""
    threshold = _cuts.threshold_of(score, upper)
    score_range = _cuts.interval_of(score, upper)
    if fixed_thresholds is not None:
        # what was fixed beforehand is what is guaranteed
        threshold = _threshold_inside(fixed_thresholds, score_range)
        score_range = (threshold, threshold)
    if lower is None:
        return _RuleOfCuts(Rule(threshold, None), score_range, None)

    return _RuleOfCuts(
        Rule(threshold, _cuts.threshold_of(score, lower)),
        score_range,
        lower_range=_cuts.interval_of(score, lower),
    )


def _decided_cases(tested: Confusion, upper: int, lower: int) -> Confusion:
    """Return what is right and wrong above the upper and below the lower cut."""
    return Confusion(
        tp=tested.tp[upper],
        fp=tested.fp[upper],
        fn=tested.fn[lower],
        tn=tested.tn[lower],
    )


def _proportion_between(labelled: Tally, upper: int, lower: int) -> float:
    """Return the proportion of the cases between two cuts."""
    cases = labelled.pos + labelled.neg
    return float(cases[upper:lower].sum()) / float(cases.sum())


def _asks_for_two_cuts(
    constraints: Sequence[ScopedConstraint], has_choice: bool
) -> bool:
    """Return whether two thresholds are asked for; refuse what does not go together."""
    if not constraints:
        raise InputError(
            "A guarantee needs a constraint; found none.",
            option="subject_to",
            example="recall >= 0.9",
        )

    plain = [scoped for scoped in constraints if not scoped.scope]
    if len(plain) == len(constraints):
        return False
    if plain:
        raise InputError(
            "A guarantee for two thresholds needs constraints above or below; "
            f"found {plain[0]}.",
            option="subject_to",
            choices=("precision above >= 0.9", "npv below >= 0.99"),
        )
    if has_choice:
        raise InputError(
            "Two guaranteed thresholds always defer the fewest cases. Leave "
            "maximize, minimize and thresholds out.",
            option="maximize",
        )
    return True


def _read_thresholds(thresholds: ArrayLike) -> Floats:
    """Return the thresholds that were fixed beforehand, one or more numbers."""
    numbers = np.atleast_1d(np.asarray(thresholds))
    is_list = numbers.ndim == 1 and numbers.size > 0
    if not is_list or numbers.dtype.kind not in "iuf" or np.isnan(numbers).any():
        raise InputError(
            f"thresholds must be numbers, one or more; found {thresholds!r}.",
            option="thresholds",
            example=[0.2, 0.5, 0.8],
        )
    return numbers.astype(np.float64)


def _threshold_inside(thresholds: Floats, score_range: Interval) -> float:
    """Return the first threshold that makes the cut of this range of scores."""
    low, high = score_range
    return float(thresholds[(low < thresholds) & (thresholds <= high)][0])


class ProvedCuts(NamedTuple):
    """The cuts at which a constraint is proved, in the order in which they are tried.

    ``tested`` are the counts of the cases that test, at every cut.
    """

    scoped: ScopedConstraint
    claim: Claim
    cuts: Ints
    tested: Confusion
    method: str

    def is_proved(self, places: Ints) -> NDArray[np.bool_]:
        """Return at which of these cuts the constraint is proved."""
        return np.isin(places, self.cuts)


def _prove(
    tally: Tally,
    scoped: ScopedConstraint,
    alpha: float,
    rng: np.random.Generator,
    prevalence: UsePrevalence | None,
    thresholds: Floats | None,
    fixed_sequence: bool,
) -> ProvedCuts:
    """Return the cuts at which a constraint is proved, with an error of alpha at most.

    Cuts are tried in an order that does not depend on the cases that test, until one
    fails: the first wrong cut of the order is then one fixed cut, and for any wrong cut
    to pass, that one must. So one test is enough, at the full error rate.
    """
    constraint = scoped.constraint
    claim = read_claim(constraint, prevalence, alpha)
    needs_split = thresholds is None and not claim.direction
    if isinstance(claim, MeanClaim) and claim.is_proportion:
        _check_enough_cases(tally, claim, constraint, alpha, needs_split)

    if thresholds is not None and not fixed_sequence:
        # Bonferroni: all thresholds are tried, none in vain
        order = _places_of_thresholds(tally, thresholds)
        tested = sweep(tally)
        cuts = order[claim.passes(tested[order], alpha / order.size)]
        method = "bonferroni"
    else:
        order, tested, method = _test_order(tally, claim, thresholds, rng)
        # cuts in order, up to the first that fails
        passes = claim.passes(tested[order], alpha)
        cuts = order[np.logical_and.accumulate(passes)]
    if not cuts.size:
        raise _not_proved(tally, claim, constraint, alpha)

    if needs_split and not claim.case_direction:
        # the last one is taken: the cut with the strongest evidence
        cuts = cuts[::-1]

    return ProvedCuts(scoped, claim, cuts, tested, method)


class _TestOrder(NamedTuple):
    """Cuts in the order of the tests, counts of the cases that test, and the method."""

    order: Ints
    tested: Confusion
    method: str


def _test_order(
    tally: Tally,
    claim: Claim,
    thresholds: Floats | None,
    rng: np.random.Generator,
) -> _TestOrder:
    """Return an order of cuts that does not depend on the cases that test them."""
    if thresholds is not None:
        order = _places_of_thresholds(tally, thresholds)
        return _TestOrder(order, sweep(tally), "fixed sequence")
    if claim.direction:
        # from where the proportion is 1 it only falls: the first threshold of the
        # population that breaks the constraint is a fixed one
        order = np.arange(len(tally) + 1)[:: -claim.direction]
        return _TestOrder(order, sweep(tally), "order statistics")

    # one half of the cases chooses the order, the other one tests
    learning_pos = rng.binomial(tally.pos, 0.5)
    learning_neg = rng.binomial(tally.neg, 0.5)
    # cases that choose the order do not test, so the order is fixed for those that do
    order = _order_by_evidence(claim, sweep_counts(learning_pos, learning_neg))
    tested = sweep_counts(tally.pos - learning_pos, tally.neg - learning_neg)
    return _TestOrder(order, tested, "split and fixed sequence")


def _places_of_thresholds(tally: Tally, thresholds: Floats) -> Ints:
    """Return the cut that each threshold makes: how many rows lie at it or above."""
    ascending = tally.score[::-1]
    return tally.score.size - np.searchsorted(ascending, thresholds, side="left")


def _order_by_evidence(claim: Claim, counts: Confusion) -> Ints:
    """Return cuts from the strongest evidence on, towards proportions of more cases."""
    evidence = claim.evidence(counts)
    if not claim.case_direction:
        return np.argsort(-evidence, kind="stable")

    # more cases lie behind a cut that flags more (direction 1), or fewer (-1)
    strongest = int(np.argmax(evidence))
    if claim.case_direction > 0:
        return np.arange(strongest, evidence.size)
    return np.arange(strongest, -1, -1)


def _smallest_zone(tally: Tally, proved: list[ProvedCuts]) -> tuple[int, int]:
    """Return the two proved cuts, upper and lower, with the fewest cases between."""
    places = np.arange(len(tally) + 1)
    constraint_rows = [
        forbid_cuts(proved_cuts.scoped, proved_cuts.is_proved(places))
        for proved_cuts in proved
    ]
    # running sums: their difference is the number of cases between two cuts
    flagged = np.concatenate([[0], np.cumsum(tally.pos + tally.neg)])
    pairs = best_pairs(PairSum(of_upper=flagged, of_lower=-flagged), constraint_rows)
    if pairs is None:
        raise NotEnoughCases(
            "Each constraint can be guaranteed, but the lower threshold would lie "
            "above the upper one. Loosen one of them, or ask for one threshold: leave "
            '"above" and "below" out.',
            option="subject_to",
        )
    return int(pairs.upper[0]), int(pairs.lower[0])


def _choose(
    tally: Tally,
    proved: list[ProvedCuts],
    objective: Metric | None,
    prevalence: UsePrevalence | None,
) -> int:
    """Return one of the cuts at which everything is proved."""
    if objective is None and len(proved) == 1:
        return int(proved[0].cuts[-1])

    places = np.arange(len(tally) + 1)
    allowed = np.all([proved_cuts.is_proved(places) for proved_cuts in proved], axis=0)
    if not allowed.any():
        raise _proved_at_different_cuts(tally, proved)

    if objective is not None:
        prevalence_in_use = None
        if prevalence is not None:
            prevalence_in_use = prevalence.value
        cuts = _cuts.make_cuts(tally.score, sweep(tally), prevalence_in_use)
        best = _cuts.best_cuts([cuts], objective, allowed)
        if best.size:
            return int(_cuts.most_balanced(cuts, best))

    # all must hold: the cut whose least sure constraint is surest
    weakest = np.min(
        [proved_cuts.claim.evidence(proved_cuts.tested) for proved_cuts in proved],
        axis=0,
    )
    return int(np.argmax(np.where(allowed, weakest, -np.inf)))


def _proved_at_different_cuts(tally: Tally, proved: list[ProvedCuts]) -> NotEnoughCases:
    """Return the error for constraints that hold, but never at one threshold."""
    ranges = []
    for proved_cuts in proved:
        # the more cases a cut flags, the lower is its threshold
        ends = np.array([proved_cuts.cuts.max(), proved_cuts.cuts.min()])
        low, high = _cuts.thresholds_of(tally.score, ends)
        ranges.append(f"{proved_cuts.scoped} at thresholds from {low:g} to {high:g}")

    return NotEnoughCases(
        f"Each constraint can be guaranteed, but not at the same threshold: "
        f"{'; '.join(ranges)}. Loosen one of them, or collect more cases.",
        option="subject_to",
    )


def _check_enough_cases(
    tally: Tally, claim: MeanClaim, constraint: Constraint, alpha: float, halved: bool
) -> None:
    """Refuse a proportion of so few cases that even no error would prove nothing."""
    name = claim.name_of_cases
    class_sizes = {"positives": tally.n_pos, "negatives": tally.n_neg}
    available = class_sizes.get(name, tally.n_pos + tally.n_neg)
    needed = claim.fewest_cases(alpha)
    needed_in_all = needed
    if halved:
        # one half of the cases must be enough
        needed_in_all = 2 * needed
    if available >= needed_in_all:
        return

    counted = name if name in class_sizes else "labelled cases"
    in_half = ""
    if halved:
        in_half = f" in the half that tests, so {needed_in_all:,} {counted}"
    raise NotEnoughCases(
        f"{constraint!r} with a confidence of {1 - alpha:.10g} needs at least "
        f"{needed:,} {name}{in_half}, even without any error; there are {available:,} "
        f"{counted}: {needed_in_all - available:,} more are needed."
    )


def _not_proved(
    tally: Tally, claim: Claim, constraint: Constraint, alpha: float
) -> NotEnoughCases | Infeasible:
    """Say how many more cases like these would be proof, or that none would."""
    counts = sweep(tally)
    place = int(np.argmax(claim.evidence(counts)))
    strongest = counts[place]
    metric = constraint.metric.name
    value = float(constraint.metric(strongest))
    where = f"at the threshold {cut_text(_cuts.threshold_of(tally.score, place))}"

    times = _times_as_many_cases(tally, claim, strongest, alpha)
    if times >= _MOST_TIMES:
        return Infeasible(
            f"{constraint!r} is not met in the sample either: {metric} is "
            f"{value:.4g} where the evidence is strongest, {where}. More cases would "
            f"not help.",
            option="subject_to",
        )

    total = tally.n_pos + tally.n_neg
    more_cases = max(1, math.ceil((times - 1) * total))
    return NotEnoughCases(
        f"{constraint!r} cannot be guaranteed from these {total:,} cases, though "
        f"{metric} is {value:.4g} {where}. About {more_cases:,} more cases like "
        f"them are needed."
    )


def _times_as_many_cases(
    tally: Tally, claim: Claim, counts: Confusion, alpha: float
) -> float:
    """Return how many times as many cases like these would prove a claim."""

    def is_enough(times: float) -> bool:
        """Return whether so many times the cases, at the same rates, prove it."""
        positives = math.floor(tally.n_pos * times)
        negatives = math.floor(tally.n_neg * times)
        # the same rates, rounded to the nearest number: rounded against the claim, they
        # would forbid what these cases allow
        tp = round(positives * int(counts.tp) / max(tally.n_pos, 1))
        fp = round(negatives * int(counts.fp) / max(tally.n_neg, 1))
        enlarged = Confusion(tp, fp, positives - tp, negatives - fp)
        return bool(claim.passes(enlarged, alpha))

    times = 1.0
    # one half of the cases tests
    while not is_enough(times / 2) and times < _MOST_TIMES:
        times *= _STEP_OF_TIMES
    return times


def _proof(
    proved: ProvedCuts, cut: int, alpha: float, prevalence: UsePrevalence | None
) -> Proof:
    """Say why the constraint may be trusted at a cut."""
    scoped = proved.scoped
    claim = proved.claim
    counts = proved.tested[cut]
    in_use = counts
    if prevalence is not None:
        in_use = counts.at_prevalence(prevalence.value)
    value = float(scoped.metric(in_use))
    return Proof(
        constraint=str(scoped),
        level=1 - alpha,
        value=value,
        bound=provable_bound(
            scoped.constraint, claim, counts, value, alpha, prevalence
        ),
        p_value=float(claim.p_values(counts)),
        cases=int(claim.cases(counts)),
        method=proved.method,
    )
