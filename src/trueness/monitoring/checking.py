"""What was required of these data, and what do they say about it?

``check`` makes claims of requirements, each with a function from alpha to its one-sided
limits, and decides all of them together: a truth exactly on its bound is called either
way in about 5 % of samples, and so errs each family of several requirements or groups,
of what is said to hold and of what is said to fail (Holm).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import combinations
from operator import add
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.words import described, is_several
from trueness._core.numbers import level_text
from trueness.counts.answers import of_counts, refuse
from trueness.counts.values import Panel, Tally, holds_tests
from trueness.evals.attempts import Attempts
from trueness.monitoring.next_site import next_site_limits
from trueness.monitoring.requirements import (
    Requirement,
    contradiction,
    requirement,
    requirement_of_test,
    single,
)
from trueness.monitoring.verdicts import (
    FACTS,
    FAILS,
    HOLDS,
    OPEN,
    SITES,
    Check,
    Counted,
    Interval,
    Limits,
    Verdict,
    difference_limits,
    limits_of,
    paired_limits,
    prefix,
)  # fmt: skip
from trueness.nogold.rate import prevalence
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.rule import Rule, confusion

# facts about the size of the sample, which say nothing against the predictions
NUMBERS_OF_CASES = ("cases", "labelled", "positives", "negatives")


@of_counts
def check(
    data: Any,
    requirements: Any,
    *,
    baseline: Any = None,
    groups: Mapping[str, Mapping[Any, Any]] | None = None,
    level: float = 0.95,
    adjust: str = "holm",
) -> Check:
    r"""Do these predictions meet the requirements, allowing for chance?

    A requirement :math:`\theta \ge b` *holds* when the one-sided 95 % lower limit of
    :math:`\theta` is above :math:`b`, *fails* when the upper limit is below it, and
    otherwise it cannot be decided yet.

    Parameters
    ----------
    data
        A tally, or labels and scores; attempts at items; a panel, whose first
        classifier is the candidate and whose others are baselines by their names
        (paired); or a mapping from group to one of these, where every requirement must
        hold in each group.
    requirements
        Sentences such as ``"auc >= 0.8"`` and ``"recall >= 0.9 at 0.3"``, or tables of
        fields (:class:`trueness.monitoring.requirements.Requirement`); one or many. A
        threshold may be a :class:`trueness.Rule`, or the file of one that was saved.
        ``"auc >= 0.8 in every site"`` is required of each group of that column, and
        ``"recall >= 0.8 at 0.3 at the next site"`` of a site that was not seen: the
        prediction interval of :func:`across_sites` decides.
    baseline
        A tally of other cases (unpaired) for ``not_worse_than="baseline"``; where the
        data are groups, a mapping from group to tally.
    groups
        For requirements with ``by``: from the name of a column to its tallies, or
        panels.
    level
        A truth exactly on its bound is said to hold in about ``1 - level`` of samples,
        and to fail in about as many.
    adjust
        ``"holm"``: the level is that of all requirements together (Holm 1979);
        ``"none"``: it is that of each requirement by itself.

    Notes
    -----
    The interval is that of the analysis at level 0.9 for one-sided claims at 0.95; of
    two independent measures that of Zou and Donner (2008). Where scores were counted in
    bins, its ends move to the unfavourable end of the certain bounds.

    Examples
    --------
    >>> import trueness
    >>> t = trueness.Tally([0.9, 0.1], neg=[10, 190], pos=[99, 1])
    >>> c = trueness.check(t, ["recall >= 0.9 at 0.5", "precision >= 0.9 at 0.5"])
    >>> [v.verdict for v in c.verdicts]
    ['holds', 'cannot tell yet']
    """
    if isinstance(requirements, (str, Mapping, Requirement)):
        requirements = [requirements]
    if not is_several(requirements):
        raise InputError(
            f"Requirements are sentences; found {described(requirements)}.",
            example=PythonCode('["auc >= 0.8"]'),
        )
    kinds = (Tally, Panel, Attempts)
    of_columns = {} if groups is None else groups
    if not isinstance(of_columns, Mapping) or not all(
        isinstance(x, Mapping) for x in of_columns.values()
    ):
        raise InputError(
            "groups must be a mapping from the name of a column to the tallies of its "
            f"groups; found {described(groups)}."
        )
    named = {by: _each(x) for by, x in of_columns.items()}
    parts = data.values() if isinstance(data, Mapping) else ()
    if parts and all(isinstance(t, kinds) for t in parts):
        old = dict(baseline) if isinstance(baseline, Mapping) else {}
        named[""] = _each(data, old)
        data = reduce(add, parts)
        baseline = reduce(add, old.values()) if old else baseline
    if not isinstance(data, kinds):
        raise InputError(
            "check needs a tally, a panel or a mapping from group to one of these; "
            f"found {described(data)}.",
            example=PythonCode("trueness.check(trueness.tally(y, score), ...)"),
        )
    tests = isinstance(data, Tally) and holds_tests(data)
    required = [
        requirement_of_test(r) if tests else requirement(r) for r in requirements
    ]
    whole = Evidence.of(data, baseline)
    return check_all(whole, required, groups=named, level=level, adjust=adjust)


@final
@dataclass(frozen=True)
class Evidence:
    """What requirements are judged on, of all cases or of one group.

    ``panels`` has the candidate beside each baseline, by its name (paired), and under
    the names of judges, joined by commas, or "", their verdicts. ``baseline`` is on
    other cases (unpaired), but attempts are paired by item. ``missing`` is the share of
    the rows of a file without a score.
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
        """Give a tally, or a panel with its first classifier as the candidate."""
        if not isinstance(data, Panel):
            return cls(data, {}, baseline, group)
        first, *others = data.names
        panels = {n: data[[first, n]] for n in others} | {"": data}
        if len(others) == 1 and baseline is None:
            panels["baseline"] = panels[others[0]]
        return cls(data[first], panels, baseline, group)

    def cut(self, r: Requirement) -> float | Rule | None:
        """Where are the scores of this group cut? A rule only where it defers some."""
        if not isinstance(r.threshold, Rule):
            return r.threshold
        lower, upper = r.threshold.cuts(self.group)
        return upper if lower == upper else Rule(upper, lower)

    def limits(self, r: Requirement, t: Counted | None = None) -> Limits:
        """Give the limits of what is required, of these cases or of others."""
        t = self.tally if t is None else t
        return limits_of(r.metric, t, self.cut(r), r.fpr)


def _each(
    data: Mapping[Any, Any], baselines: Mapping[Any, Any] | None = None
) -> dict[str, Evidence]:
    old = baselines or {}
    return {str(g): Evidence.of(x, old.get(g), str(g)) for g, x in data.items()}


def check_all(
    whole: Evidence,
    required: Sequence[Requirement],
    *,
    groups: Mapping[str, Mapping[str, Evidence]],
    level: float = 0.95,
    adjust: str = "holm",
) -> Check:
    """Judge requirements that were read, of all cases or of each group.

    ``groups`` has those of each column that a requirement may name, and under "" those
    in which everything is required.
    """
    if _options.fraction(level, "level") <= 0.5:
        raise InputError(
            "level must be above 0.5, since a verdict that is wrong more often than "
            f"not is none; found {level:g}.",
            option="level",
            example=0.95,
        )
    _options.choice(adjust, ("holm", "none"), "adjust")
    if not required:
        raise InputError(
            "A check needs requirements, such as 'auc >= 0.8'; found none."
        )
    against = contradiction(required)
    if against is not None:
        first, second = (str(required[k]) for k in against)
        raise InputError(f"{first} contradicts {second}: nothing can meet both.")
    known: list[Verdict] = []
    claims: list[Claim] = []
    asked = {repr(one): one for several in required for one in single(several)}
    for r in asked.values():
        held = {"": whole} if r.judges else _groups(r, whole, groups)
        if r.next_site:
            claims += _claims_on_next_site(r, held)
        elif r.is_fact:
            known += [_fact(r, group, cases) for group, cases in held.items()]
        elif r.gap_at_most is not None:
            claims += _gap(r, held)
        else:
            claims += [c for g, cases in held.items() for c in _claims(r, g, cases)]
    found = [*known, *decide(claims, 1 - level, adjust)]
    notes = list(_notes(required, whole.tally, len(claims), level, adjust))
    if isinstance(whole.baseline, Tally):
        notes.append(
            "The baseline was measured on other cases, so the comparison is unpaired."
        )
    return Check.of(found, level, adjust, notes)


def _groups(
    r: Requirement, whole: Evidence, groups: Mapping[str, Mapping[str, Evidence]]
) -> Mapping[str, Evidence]:
    every = groups.get("")
    if r.next_site and r.by is None and every is None:
        r = replace(r, by=_column_of_sites(groups))
    by_group = isinstance(r.threshold, Rule) and r.threshold.groups
    if r.by is None and (every is not None or not by_group):
        return {"": whole} if every is None else every
    held = groups.get(r.by or "", every)
    if held is not None:
        return {f"{r.by}={g}": cases for g, cases in held.items()}
    raise InputError(
        f"{r} needs groups, a mapping from group to tally.",
        option="by",
        example=r.by or "COLUMN",
    )


def _column_of_sites(groups: Mapping[str, Mapping[str, Evidence]]) -> str | None:
    """Return the column that tells sites apart: ``site``, or the only one."""
    if "site" in groups or len(groups) != 1:
        return "site" if "site" in groups else None
    return next(iter(groups))


def _claims(r: Requirement, group: str, cases: Evidence) -> Iterator[Claim]:
    """Say what a requirement claims about one group, a claim for each bound."""
    if r.not_worse_than is not None:
        yield _against(r, group, cases)
        return
    limits, said = _judged(r, cases) if r.judges else (cases.limits(r), "")
    for text, bound, side in r.bounds():
        yield Claim(text, group, bound, side, limits, said)


def _claims_on_next_site(
    r: Requirement, groups: Mapping[str, Evidence]
) -> Iterator[Claim]:
    """Return what a requirement claims about a site that was not seen."""
    if "" in groups:
        raise InputError(
            f"{r} needs data of several sites; found no column that distinguishes "
            "them.",
            option="by",
        )
    counts_by_site = {name: cases.tally for name, cases in groups.items()}
    limits = next_site_limits(r, counts_by_site)
    for text, bound, side in r.bounds():
        yield Claim(text, "", bound, side, limits, "prediction interval")


def _against(r: Requirement, group: str, cases: Evidence) -> Claim:
    side = -1 if r.lower_is_better else 1
    named = str(r.not_worse_than)
    if named in cases.panels:
        cut = cases.cut(r)
        if isinstance(cut, Rule):
            raise InputError(
                f"{r}: classifiers are compared on the same cases, and a rule that "
                "defers leaves other cases to each. Give one threshold."
            )
        limits = paired_limits(r.metric, cases.panels[named], None, cut)
        how = "paired: the same cases"
    elif isinstance(cases.baseline, Attempts) and isinstance(cases.tally, Attempts):
        limits = paired_limits(r.metric, cases.tally, cases.baseline, None)
        how = "paired: the same items"
    elif isinstance(cases.baseline, Tally):
        limits = difference_limits(cases.limits(r), cases.limits(r, cases.baseline))
        how = "unpaired: other cases than the baseline's"
    else:
        where = f" in {group}" if group else ""
        raise InputError(
            f"{r} needs a baseline{where}: a tally of other cases, or the scores of "
            f"{named!r} on the same cases, in a panel or as a column of the file."
        )
    return Claim(str(r), group, -side * r.margin, side, limits, f"difference, {how}")


def _gap(r: Requirement, groups: Mapping[str, Evidence]) -> Iterator[Claim]:
    if len(groups) < 2:
        raise NotEnoughCases(f"{r} needs two groups or more; found {len(groups)}.")
    own = {g: cases.limits(r) for g, cases in groups.items()}
    for a, b in combinations(own, 2):
        ends = difference_limits(own[a], own[b], size=True)
        yield Claim(str(r), f"{a} and {b}", r.gap_at_most or 0.0, -1, ends)


def _judged(r: Requirement, cases: Evidence) -> tuple[Limits, str]:
    """Judge a rate from the verdicts of judges that err, and the labels there are."""
    data = cases.panels.get(",".join(r.judges), cases.panels.get(""))
    if data is None:
        raise InputError("A rate from judges needs a panel of their verdicts, 0 or 1.")
    refuse(data, "prevalence")
    votes = data[list(r.judges)]
    votes = votes if r.labelled else votes.without_labels()
    found = cache(lambda: prevalence(votes, labelled=r.labelled, rng=0))

    def limits(alpha: float) -> Interval:
        rate = found()
        if not rate.identified:  # verdicts that fit other rates as well decide nothing
            why = (
                f"the verdicts of {votes.n:,} cases alone do not determine the rate. "
                "Label some cases, and state how they were chosen."
            )
            return Interval(rate.value, 0.0, 1.0, votes.n, "judged", why)
        low, high = (float(q) for q in np.quantile(rate.draws, [alpha, 1 - alpha]))
        return Interval(float(np.mean(rate.draws)), low, high, votes.n, "judged")

    labels = votes.n_pos + votes.n_neg
    return limits, f"from {len(r.judges)} judges, {labels:,} labels"


def _fact(r: Requirement, group: str, cases: Evidence) -> Verdict:
    """Judge what was counted: it is so, or it is not."""
    t = cases.tally
    if r.metric == "flagged":
        c = confusion(t, cases.cut(r))
        x = float(c.tp + c.fp)
    else:
        x = float(FACTS[r.metric](t)) if r.metric in FACTS else cases.missing
    low = -math.inf if r.at_least is None else r.at_least
    high = math.inf if r.at_most is None else r.at_most
    bound = r.bounds()[0][1]
    reason = f"{prefix(group)}{r}: {x:,.6g} in this file."
    if r.metric in NUMBERS_OF_CASES and x < low:
        # too few cases are no fault of the predictions: more of them will tell
        more = math.ceil(low - x)
        reason = f"{reason} About {more:,} more are needed."
        return Verdict(str(r), group, OPEN, x, x, x, bound, round(t.n), more, reason)
    word = HOLDS if low <= x <= high else FAILS
    return Verdict(str(r), group, word, x, x, x, bound, round(t.n), None, reason)


def _notes(
    required: Sequence[Requirement], t: Counted, claims: int, level: float, adjust: str
) -> Iterable[str]:
    """Say what is assumed, what the limits are, and what was probably not meant."""
    whose = "Items" if isinstance(t, Attempts) else "Cases"
    clusters = t.cluster if isinstance(t, Attempts) else t.grouped
    whose = whose if clusters is None else "Clusters"
    yield f"{whose} are assumed to be independent, and like future cases."
    if any(r.judges and r.labelled is None for r in required):
        yield (
            "Judges may make the same errors, so that without labels their verdicts "
            "do not determine a rate, and nothing is decided. With labels, state how "
            'these were chosen: labelled = "random".'
        )
    if adjust == "none" and len(required) > 1:
        yield (
            "Each requirement is tested on its own, so among many some verdicts are "
            "wrong by chance."
        )
    if claims and (adjust == "none" or claims == 1):
        yield f"Limits are one-sided, at a level of {level_text(level)}."
    elif claims:
        yield (
            f"Limits are one-sided and allow for {claims} decisions at once (Holm): in "
            f"{level_text(level)} of samples nothing is wrongly said to hold, and in "
            "as many nothing is wrongly said to fail."
        )
    for text, n in Counter(map(str, required)).items():
        if n > 1:
            yield f"{text} was required {n} times; it counts once."
    if not isinstance(t, Tally) or not t.score.size:
        return
    low, high = t.score[-1], t.score[0]
    cuts = (r.threshold for r in required if isinstance(r.threshold, float))
    for cut in dict.fromkeys(cuts):
        if not low <= cut <= high:
            which = "no score reaches" if cut > high else "all scores are above"
            run = f"The scores run from {low:.4g} to {high:.4g}"
            yield f"{run}: {which} the threshold {cut:g}."


class Claim(NamedTuple):
    """One comparison with one bound: ``side`` is +1 when more is better."""

    text: str
    group: str
    bound: float
    side: int
    limits: Limits
    said: str = ""  # what the numbers are of, when not of the metric itself


def decide(claims: Sequence[Claim], alpha: float, adjust: str) -> list[Verdict]:
    """Try each claim both ways, by the steps of Holm (1979).

    With k claims left each is tried at alpha / k, until none is decided.
    """
    told: dict[int, tuple[str, float]] = {}  # the word, and the alpha of its limits
    for way, word in ((-1, FAILS), (1, HOLDS)):
        left = set(range(len(claims)))
        while left:
            level = alpha if adjust == "none" else alpha / len(left)
            new = {k for k in left if _beyond(claims[k], level, way)}
            told |= {k: (OPEN, level) for k in left if told.get(k, (OPEN,))[0] == OPEN}
            told |= dict.fromkeys(new, (word, level))
            if not new:
                break
            left -= new
    return [_verdict(c, *told[k]) for k, c in enumerate(claims)]


def _beyond(claim: Claim, alpha: float, way: int) -> bool:
    """Is the whole one-sided interval on the good (way 1) or the bad (-1) side?"""
    try:
        i = claim.limits(alpha)
    except NotEnoughCases as err:
        where = f"In {claim.group.replace('=', ' = ', 1)}: " if claim.group else ""
        raise err.rephrased(message=f"{where}{err.message}") from None
    return i.low > claim.bound if claim.side * way > 0 else i.high < claim.bound


def _verdict(c: Claim, verdict: str, alpha: float) -> Verdict:
    i, more = c.limits(alpha), None
    away = abs(i.value - c.bound)
    reach = i.value - i.low if i.value > c.bound else i.high - i.value
    # of sites the distance ends at how far they differ, however many there are
    shrinks = not i.undecided and i.what != SITES
    if verdict == OPEN and away and 0 < reach < math.inf and shrinks:
        # the distance from value to limit shrinks with the root of the cases
        more = max(1, math.ceil(i.n * ((reach / away) ** 2 - 1)))
    told = (c.bound, i.n, more, _reason(c, verdict, i, more))
    return Verdict(c.text, c.group, verdict, i.value, i.low, i.high, *told)


def _reason(c: Claim, verdict: str, i: Interval, more: int | None) -> str:
    head = f"{prefix(c.group)}{c.text}{f' ({c.said})' if c.said else ''}: "
    if i.undecided:
        return f"{head}{i.undecided}"
    kind = "" if i.what == "labelled" else f"{i.what} "
    lower = (c.side > 0) == (verdict != FAILS)
    limit = f"lower limit {i.low:.4g}" if lower else f"upper limit {i.high:.4g}"
    ask = ""
    if i.what == SITES:
        return f"{head}mean {i.value:.4g} over {i.n:,} sites, {limit}."
    if more is not None:
        ask = f"; about {more:,} more such cases would be enough to decide"
    elif verdict == OPEN:
        ask = "; the value is on the bound, so perhaps no number of cases is enough"
    return f"{head}measured {i.value:.4g} in {i.n:,} {kind}cases, {limit}{ask}."


def first_contract(
    t: Tally, label: str, score: str, *, positive: object = None, missing: float = 0.0
) -> str:
    """Write a contract that new samples of the same model meet in 19 of 20 cases."""
    cut = float(f"{best_threshold(t, maximize='youden').threshold:.6g}")
    named = {"label": label, "score": score, "positive": positive}
    lines = [
        "# What these predictions must keep, written from the data. The bounds leave",
        "# room: 19 of 20 new samples of as many cases from the same model prove all",
        "# of them. Change them to what you need.",
        *(f"{key} = {_toml(x)}" for key, x in named.items() if x is not None),
        *_table("positives", at_least=max(1, t.n_pos // 2)),
        *_table("auc", at_least=_with_room(t, "auc")),
    ]
    if math.isfinite(cut):
        why = (
            f"\n# The threshold {cut:.6g} has the largest recall + specificity in these"
        )
        lines += [why, "# cases (Youden's J). Put the one that you use in its place."]
        for name in ("recall", "precision"):
            low = _with_room(t, name, cut)
            lines += _table(name, threshold=f"{cut:.6g}", at_least=low)
    if t.score[-1] >= 0 and t.score[0] <= 1:
        lines += _table("lowest_score", at_least=0) + _table("highest_score", at_most=1)
    if missing:
        most = f"{math.ceil(missing * 1000) / 1000:g}"
        lines += _table("missing_scores", at_most=most)
    return "\n".join([*lines, ""])


def _table(metric: str, **bounds: object) -> list[str]:
    fields = (f"{name} = {bound}" for name, bound in bounds.items())
    return [f'\n[[require]]\nmetric = "{metric}"', *fields]


def _with_room(t: Tally, metric: str, threshold: float | None = None) -> float:
    """Give a bound that 19 of 20 new samples prove, rounded down.

    With reach r from a value to its limit, the value of a new sample of the same size
    is not more than r times the root of 2 below this one, since both vary, and its
    limit is r below it. Three requirements share the 5 %, as Holm's first step has it.
    """
    found = limits_of(metric, t, threshold)(0.05 / 3)
    low = found.value - (found.value - found.low) * (1 + math.sqrt(2))
    return math.floor(max(low, 0.0) * 1000) / 1000 if math.isfinite(low) else 0.0


def _toml(value: object) -> str:
    """Write a value as TOML does: JSON's escapes are TOML's, but for one control."""
    plain = getattr(value, "item", lambda: value)()
    plain = plain if isinstance(plain, (bool, int, float)) else str(plain)
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
