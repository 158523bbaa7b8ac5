"""Which claims do requirements make about these data, and which of them hold?

A claim is one comparison with one bound; its one-sided interval is a function of
alpha. All claims are decided together (Holm). Where a true value lies exactly on its
bound, about 5 % of samples decide the claim, either way. A family of several
requirements or groups errs as rarely, in what it says holds and in what it says fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness.counts.answers import refuse
from trueness.counts.values import Panel, Tally
from trueness.evals.attempts import Attempts
from trueness.monitoring.measures import FACTS
from trueness.monitoring.next_site import next_site_interval
from trueness.monitoring.one_sided import (
    SITES,
    Counted,
    Interval,
    IntervalAt,
    difference_interval,
    gap_interval,
    one_sided_interval,
    paired_interval,
    paired_interval_of_attempts,
)
from trueness.monitoring.requirements import Requirement
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN, Verdict, prefix
from trueness.nogold.rate import Rate, prevalence
from trueness.threshold.rule import Rule, confusion, rule_of

# facts about the size of the sample, which say nothing against the predictions
NUMBERS_OF_CASES = ("cases", "labelled", "positives", "negatives")


@final
@dataclass(frozen=True)
class Evidence:
    """The data on which requirements are judged: all cases, or one group.

    ``panels`` has the candidate beside each baseline, by its name (paired), and under
    the names of judges, joined by commas, or "", their verdicts. ``baseline`` is on
    other cases (unpaired), but attempts are paired by item. ``missing`` is the
    proportion of the rows of a file without a score.
    """

    tally: Any  # a Tally, or Attempts
    panels: Mapping[str, Panel] = field(default_factory=dict)
    baseline: Counted | None = None
    group: str = ""
    missing: float = 0.0

    @classmethod
    def of(
        cls, data: Counted | Panel, baseline: Counted | None = None, group: str = ""
    ) -> Evidence:
        """Return the evidence of a tally, or of a panel with the candidate first."""
        if not isinstance(data, Panel):
            return cls(data, {}, baseline, group)

        candidate, *others = data.names
        panels = {name: data[[candidate, name]] for name in others}
        if len(others) == 1 and baseline is None:
            panels["baseline"] = panels[others[0]]

        panels[""] = data
        return cls(data[candidate], panels, baseline, group)

    def threshold(self, required: Requirement) -> float | Rule | None:
        """Return the threshold of this group; a rule only if it defers cases."""
        if not isinstance(required.threshold, Rule):
            return required.threshold
        lower, upper = required.threshold.cuts(self.group)
        return upper if lower == upper else Rule(upper, lower)

    def interval(self, required: Requirement) -> IntervalAt:
        """Return the interval, by alpha, of the required measure."""
        return one_sided_interval(
            required.metric, self.tally, self.threshold(required), required.fpr
        )

    def interval_of_baseline(
        self, required: Requirement, baseline: Counted
    ) -> IntervalAt:
        """Return the interval, by alpha, of the same measure of a baseline."""
        return one_sided_interval(
            required.metric, baseline, self.threshold(required), required.fpr
        )


class Claim(NamedTuple):
    """A comparison with one bound: ``side`` is 1 if more is better, -1 if less is."""

    text: str
    group: str
    bound: float
    side: int
    interval_at: IntervalAt
    subject: str = ""  # what the numbers are of, when not of the metric itself


def claims_about_groups(
    required: Requirement, groups: Mapping[str, Evidence]
) -> Iterator[Claim]:
    """Yield the claims of a requirement about these groups."""
    if required.next_site:
        yield from _claims_about_next_site(required, groups)
    elif required.gap_at_most is not None:
        yield from _claims_about_gaps(required, required.gap_at_most, groups)
    else:
        for group, evidence in groups.items():
            yield from _claims_about_group(required, group, evidence)


def _claims_about_group(
    required: Requirement, group: str, evidence: Evidence
) -> Iterator[Claim]:
    """Yield the claims of a requirement about one group, one for each bound."""
    if required.not_worse_than is not None:
        yield _claim_against_baseline(
            required, required.not_worse_than, group, evidence
        )
        return

    subject = ""
    if required.judges:
        interval_at, subject = _interval_by_judges(required, evidence)
    else:
        interval_at = evidence.interval(required)

    for text, bound, side in required.bounds():
        yield Claim(text, group, bound, side, interval_at, subject)


def _claims_about_next_site(
    required: Requirement, groups: Mapping[str, Evidence]
) -> Iterator[Claim]:
    """Yield the claims of a requirement about the next site."""
    if "" in groups:
        raise InputError(
            f"{required} needs data of several sites; found no column that "
            "distinguishes them.",
            option="by",
        )

    counts_by_site = {name: evidence.tally for name, evidence in groups.items()}
    interval_at = next_site_interval(required, counts_by_site)

    for text, bound, side in required.bounds():
        yield Claim(text, "", bound, side, interval_at, "prediction interval")


def _claims_about_gaps(
    required: Requirement, largest_gap: float, groups: Mapping[str, Evidence]
) -> Iterator[Claim]:
    """Yield a claim for every two groups: they differ by no more than this."""
    if len(groups) < 2:
        raise NotEnoughCases(
            f"{required} needs two groups or more; found {len(groups)}."
        )

    by_group = {
        group: evidence.interval(required) for group, evidence in groups.items()
    }
    for first, second in combinations(by_group, 2):
        gap = gap_interval(by_group[first], by_group[second])
        yield Claim(str(required), f"{first} and {second}", largest_gap, -1, gap)


def _claim_against_baseline(
    required: Requirement, name: str, group: str, evidence: Evidence
) -> Claim:
    """Return the claim that the candidate is not worse than a baseline."""
    if name in evidence.panels:
        threshold = evidence.threshold(required)
        if isinstance(threshold, Rule):
            raise InputError(
                f"{required}: a rule that defers cases cannot be compared with a "
                "baseline. Set one threshold."
            )
        interval_at = paired_interval(required.metric, evidence.panels[name], threshold)
        design = "paired: the same cases"
    elif isinstance(evidence.baseline, Attempts) and isinstance(
        evidence.tally, Attempts
    ):
        interval_at = paired_interval_of_attempts(
            required.metric, evidence.tally, evidence.baseline
        )
        design = "paired: the same items"
    elif isinstance(evidence.baseline, Tally):
        of_baseline = evidence.interval_of_baseline(required, evidence.baseline)
        interval_at = difference_interval(evidence.interval(required), of_baseline)
        design = "unpaired: not the cases of the baseline"
    else:
        where = f" in {group}" if group else ""
        raise InputError(
            f"{required} needs a baseline{where}: a tally of other cases, or a "
            f"column with the scores of {name!r} on the same cases."
        )

    side = -1 if required.lower_is_better else 1

    return Claim(
        text=str(required),
        group=group,
        bound=-side * required.margin,
        side=side,
        interval_at=interval_at,
        subject=f"difference, {design}",
    )


def _interval_by_judges(
    required: Requirement, evidence: Evidence
) -> tuple[IntervalAt, str]:
    """Return the interval, by alpha, of a rate from judges, and a text on its data."""
    panel = evidence.panels.get(",".join(required.judges), evidence.panels.get(""))
    if panel is None:
        raise InputError("A rate from judges needs a panel of their verdicts, 0 or 1.")

    refuse(panel, "prevalence")
    votes = panel[list(required.judges)]
    if not required.labelled:
        votes = votes.without_labels()

    @cache
    def rate() -> Rate:
        """Return the rate; it is slow, so it is computed once for all alphas."""
        answer: Rate = prevalence(votes, labelled=required.labelled, rng=0)
        return answer

    labels = votes.n_pos + votes.n_neg
    subject = f"from {len(required.judges)} judges, {labels:,} labels"
    return lambda alpha: _interval_of_rate(rate(), alpha), subject


def _interval_of_rate(rate: Rate, alpha: float) -> Interval:
    """Return the interval of a rate from judges: quantiles of its draws."""
    # verdicts that fit several rates decide nothing
    if not rate.identified:
        reason = (
            f"the verdicts on {rate.cases:,} cases alone do not determine the rate. "
            "Label some cases, and state how they were chosen."
        )
        return Interval(rate.value, 0.0, 1.0, rate.cases, "judged", reason)

    low, high = np.quantile(rate.draws, [alpha, 1 - alpha])
    mean = float(np.mean(rate.draws))
    return Interval(mean, float(low), float(high), rate.cases, "judged")


def verdict_on_fact(required: Requirement, group: str, evidence: Evidence) -> Verdict:
    """Return the verdict on a fact, which was counted and has no interval."""
    value = _count_fact(required, evidence)
    low = -math.inf if required.at_least is None else required.at_least
    high = math.inf if required.at_most is None else required.at_most
    reason = f"{prefix(group)}{required}: {value:,.6g} in this file."
    more_cases = None

    if required.metric in NUMBERS_OF_CASES and value < low:
        # too few cases say nothing against the predictions: more are needed to decide
        verdict = OPEN
        more_cases = math.ceil(low - value)
        reason = f"{reason} About {more_cases:,} more are needed."
    elif low <= value <= high:
        verdict = HOLDS
    else:
        verdict = FAILS

    return Verdict(
        requirement=str(required),
        group=group,
        verdict=verdict,
        value=value,
        low=value,
        high=value,
        bound=required.bounds()[0].value,
        cases=round(evidence.tally.n),
        cases_needed=more_cases,
        reason=reason,
    )


def _count_fact(required: Requirement, evidence: Evidence) -> float:
    """Return the value of a fact about the file."""
    if required.metric == "flagged":
        cells = confusion(evidence.tally, rule_of(evidence.threshold(required)))
        return float(cells.tp + cells.fp)
    if required.metric in FACTS:
        return float(FACTS[required.metric](evidence.tally))
    return evidence.missing


def decide(claims: Sequence[Claim], alpha: float, adjust: str) -> list[Verdict]:
    """Return the verdict on each claim, tested on both sides by Holm's steps (1979)."""
    failed = _decide_one_way(claims, alpha, adjust, side_of_bound=-1)
    held = _decide_one_way(claims, alpha, adjust, side_of_bound=1)

    verdicts = []
    for place, claim in enumerate(claims):
        if place in held.alpha_of_decided:
            verdict = _verdict(claim, HOLDS, held.alpha_of_decided[place])
        elif place in failed.alpha_of_decided:
            verdict = _verdict(claim, FAILS, failed.alpha_of_decided[place])
        else:
            verdict = _verdict(claim, OPEN, held.last_alpha)
        verdicts.append(verdict)

    return verdicts


class _Decisions(NamedTuple):
    """The alpha of each claim that was decided one way, and the last alpha tried."""

    alpha_of_decided: dict[int, float]  # by the place of the claim
    last_alpha: float


def _decide_one_way(
    claims: Sequence[Claim], alpha: float, adjust: str, *, side_of_bound: int
) -> _Decisions:
    """Return the claims that are on the good side (1) or the bad side (-1) of a bound.

    While k claims are left, each is tested at alpha / k, until none is decided.
    """
    decided: dict[int, float] = {}
    remaining = set(range(len(claims)))
    alpha_of_each = alpha

    while remaining:
        if adjust == "holm":
            alpha_of_each = alpha / len(remaining)
        beyond = {
            k for k in remaining if _is_beyond(claims[k], alpha_of_each, side_of_bound)
        }
        if not beyond:
            break
        decided |= dict.fromkeys(beyond, alpha_of_each)
        remaining -= beyond

    return _Decisions(decided, alpha_of_each)


def _is_beyond(claim: Claim, alpha: float, side_of_bound: int) -> bool:
    """Return whether the one-sided interval is on the good (1) or the bad side (-1)."""
    try:
        interval = claim.interval_at(alpha)
    except NotEnoughCases as err:
        where = f"In {claim.group.replace('=', ' = ', 1)}: " if claim.group else ""
        raise err.rephrased(message=f"{where}{err.message}") from None

    if claim.side * side_of_bound > 0:
        return interval.low > claim.bound
    return interval.high < claim.bound


def _verdict(claim: Claim, verdict: str, alpha: float) -> Verdict:
    """Return the verdict on a claim, with the interval that decided it."""
    interval = claim.interval_at(alpha)
    cases_needed = None
    if verdict == OPEN:
        cases_needed = _cases_to_decide(claim, interval)

    return Verdict(
        requirement=claim.text,
        group=claim.group,
        verdict=verdict,
        value=interval.value,
        low=interval.low,
        high=interval.high,
        bound=claim.bound,
        cases=interval.n,
        cases_needed=cases_needed,
        reason=_reason(claim, verdict, interval, cases_needed),
    )


def _cases_to_decide(claim: Claim, interval: Interval) -> int | None:
    """Return how many more cases would decide a claim; None if unknown.

    The distance from a value to the end of its interval shrinks with the root of the
    number of cases.
    """
    # with more sites the distance does not shrink below their differences
    if interval.undecided or interval.what == SITES:
        return None

    to_bound = abs(interval.value - claim.bound)
    to_end = interval.high - interval.value
    if interval.value > claim.bound:
        to_end = interval.value - interval.low

    if not to_bound or not 0 < to_end < math.inf:
        return None
    return max(1, math.ceil(interval.n * ((to_end / to_bound) ** 2 - 1)))


def _reason(
    claim: Claim, verdict: str, interval: Interval, more_cases: int | None
) -> str:
    """Return the sentence that explains a verdict."""
    subject = ""
    if claim.subject:
        subject = f" ({claim.subject})"
    head = f"{prefix(claim.group)}{claim.text}{subject}: "
    if interval.undecided:
        return f"{head}{interval.undecided}"

    # the end of the interval that decided, or that did not reach the bound
    end = f"upper bound {interval.high:.4g}"
    if (claim.side > 0) == (verdict != FAILS):
        end = f"lower bound {interval.low:.4g}"
    if interval.what == SITES:
        return f"{head}mean {interval.value:.4g} over {interval.n:,} sites, {end}."

    cases = f"{interval.what} cases"
    if interval.what == "labelled":
        cases = "cases"
    measured = f"measured {interval.value:.4g} in {interval.n:,} {cases}"

    advice = ""
    if more_cases is not None:
        advice = f"; about {more_cases:,} more such cases would decide it"
    elif verdict == OPEN:
        advice = "; the value is at the bound, so more cases may not decide it"

    return f"{head}{measured}, {end}{advice}."
