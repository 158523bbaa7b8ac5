"""What was required of these data, and what do they say about it?

``check`` takes requirements as they are typed or written in a contract, makes claims of
them, each with a function from alpha to its one-sided limits, and lets ``verdicts``
decide all claims together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from itertools import combinations
from operator import add
from typing import Any, final

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described, is_several
from trueness._core.numbers import level_text
from trueness.counts.answers import of_counts, refuse
from trueness.counts.values import Panel, Tally
from trueness.evals.attempts import Attempts
from trueness.monitoring.measures import (
    FACTS,
    Interval,
    Limits,
    difference_limits,
    limits_of,
    paired_limits,
    size_limits,
)
from trueness.monitoring.requirements import (
    Requirement,
    contradiction,
    requirement,
    single,
)
from trueness.monitoring.verdicts import (
    Check,
    Claim,
    Verdict,
    decide,
    fact,
    together,
)
from trueness.nogold.rate import prevalence
from trueness.threshold.rule import Rule, confusion


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
        fields (see :class:`trueness.monitoring.requirements.Requirement`); one or many.
        A threshold may be a :class:`trueness.Rule`, or the file of one that was saved.
    baseline
        A tally of other cases (unpaired) for ``not_worse_than="baseline"``; where the
        data are groups, a mapping from group to tally.
    groups
        For requirements with ``by``: from the name of a column to its tallies, or
        panels.
    level
        The confidence level: if the true value is exactly on its bound, the requirement
        is said to hold in at most ``1 - level`` of samples, and to fail in at most as
        many.
    adjust
        ``"holm"``: the level is that of all requirements together; ``"none"``: it is
        that of each requirement by itself.

    Returns
    -------
    Check
        With ``.verdict``, ``.verdicts``, ``.require()`` for tests, ``.to_junit()`` and
        ``.to_markdown()``.

    Notes
    -----
    The limits are those of the analyses themselves (``auc``, ``at_threshold``, ...) at
    level 0.9 for one-sided claims at 0.95. A difference of two independent measures has
    the limits of Zou and Donner (2008). Holm (1979): with k claims not yet decided,
    each is tested at :math:`\alpha / k`.

    Examples
    --------
    >>> import trueness
    >>> t = trueness.Tally([0.9, 0.1], neg=[10, 190], pos=[99, 1])
    >>> c = trueness.check(t, ["recall >= 0.9 at 0.5", "precision >= 0.9 at 0.5"])
    >>> [v.verdict for v in c.verdicts]
    ['holds', 'cannot tell yet']
    """
    whole, spread = _parts(data, baseline)
    named = {by: _each(parts) for by, parts in (groups or {}).items()}
    return check_all(
        whole,
        [requirement(r) for r in _listed(requirements)],
        spread=spread,
        groups=named,
        level=level,
        adjust=adjust,
    )


@final
@dataclass(frozen=True)
class Evidence:
    """What requirements are judged on, of all cases or of one group.

    Attributes
    ----------
    tally : Tally, or Attempts
        The candidate.
    panels : mapping from str to Panel
        The candidate beside each baseline, by its name (paired); under the names of
        judges, joined by commas, or "", their verdicts.
    baseline : Tally, Attempts or None
        A baseline on other cases (unpaired); attempts are paired by item.
    group : str
        The name of the group, for a rule with thresholds of its own for each.
    """

    tally: Any
    panels: Mapping[str, Panel] = field(default_factory=dict)
    baseline: Any = None
    group: str = ""

    @classmethod
    def of(cls, data: Any, baseline: Any = None, group: str = "") -> Evidence:
        """Give a tally, or a panel with its first classifier as the candidate."""
        if isinstance(data, (Tally, Attempts)):
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

    def limits(self, r: Requirement, t: Any = None) -> Limits:
        """Give the limits of what is required, of these cases or of others."""
        t = self.tally if t is None else t
        return limits_of(r.metric, t, self.cut(r), r.fpr)


def check_all(
    whole: Evidence,
    required: Sequence[Requirement],
    *,
    facts: Sequence[Verdict] = (),
    spread: Mapping[str, Evidence] | None = None,
    groups: Mapping[str, Mapping[str, Evidence]] | None = None,
    level: float = 0.95,
    adjust: str = "holm",
) -> Check:
    """Judge requirements that were read, of all cases or of each group.

    ``spread`` are the groups in which everything is required, ``groups`` those of each
    column that a requirement may name.
    """
    if _options.fraction(level, "level") <= 0.5:
        raise InputError(
            f"level must be above 0.5, since a verdict that is wrong more often than "
            f"not is none; found {level:g}. Type level=0.95."
        )
    _options.choice(adjust, ("holm", "none"), "adjust")
    if not required and not facts:
        raise InputError('A check needs requirements; found none. Type ["auc >= 0.8"].')
    against = contradiction(required)
    if against is not None:
        first, second = (str(required[k]) for k in against)
        raise InputError(f"{first} contradicts {second}: nothing can meet both.")
    claims: list[Claim] = []
    known = list(facts)
    asked = {repr(one): one for several in required for one in single(several)}
    for r in asked.values():
        held = {"": whole} if r.judges else _groups(r, whole, spread, groups)
        if r.is_fact:
            known += [_fact(r, group, cases) for group, cases in held.items()]
        elif r.gap_at_most is not None:
            claims += _gap(r, held)
        else:
            claims += [c for g, cases in held.items() for c in _claims(r, g, cases)]
    found = (*known, *decide(claims, 1 - level, adjust))
    notes = _notes(required, whole, adjust, level, len(claims))
    notes += _odd(required, whole.tally)
    return Check(together(found), found, level, adjust, tuple(notes))


def _odd(required: Sequence[Requirement], whole: Any) -> list[str]:
    """Say what was probably not meant: a requirement twice, a threshold far away."""
    times = Counter(map(str, required))
    said = [
        f"{r} was required {n} times; it counts once."
        for r, n in times.items()
        if n > 1
    ]
    if not isinstance(whole, Tally) or not whole.score.size:
        return said
    low, high = whole.score[-1], whole.score[0]
    for cut in dict.fromkeys(
        r.threshold for r in required if isinstance(r.threshold, float)
    ):
        if not low <= cut <= high:
            which = "no score reaches" if cut > high else "all scores are above"
            said.append(
                f"The scores run from {low:.4g} to {high:.4g}: {which} the threshold "
                f"{cut:g}."
            )
    return said


def _listed(given: Any) -> Iterable[Any]:
    if isinstance(given, (str, Mapping, Requirement)):
        return [given]
    if not is_several(given):
        raise InputError(
            f"Requirements are sentences; found {described(given)}. "
            f'Type ["auc >= 0.8"].'
        )
    return list(given)


def _parts(data: Any, baseline: Any) -> tuple[Evidence, Mapping[str, Evidence] | None]:
    """Give the cases as a whole, and by group when they come in groups."""
    if isinstance(data, (Tally, Panel, Attempts)):
        return Evidence.of(data, baseline), None
    counts = isinstance(data, Mapping) and data.values()
    if not counts or not all(isinstance(t, (Tally, Panel, Attempts)) for t in counts):
        raise InputError(
            f"check needs a tally, a panel or a mapping from group to one of these; "
            f"found {described(data)}. Type trueness.check(trueness.tally(y, score), "
            f"...)."
        )
    parts = dict(baseline) if isinstance(baseline, Mapping) else {}
    total = reduce(add, parts.values()) if parts else baseline
    return Evidence.of(reduce(add, counts), total), _each(data, parts)


def _each(
    data: Mapping[Any, Any], baselines: Mapping[Any, Tally] | None = None
) -> dict[str, Evidence]:
    old = baselines or {}
    return {str(g): Evidence.of(x, old.get(g), str(g)) for g, x in data.items()}


def _groups(
    r: Requirement,
    whole: Evidence,
    spread: Mapping[str, Evidence] | None,
    named: Mapping[str, Mapping[str, Evidence]] | None,
) -> Mapping[str, Evidence]:
    by_group = isinstance(r.threshold, Rule) and r.threshold.groups
    if r.by is None and (spread is not None or not by_group):
        return {"": whole} if spread is None else spread
    held = (named or {}).get(str(r.by), spread)
    if held is not None:
        return {f"{r.by}={g}": cases for g, cases in held.items()}
    raise InputError(
        f"{r} needs groups. Pass a mapping from group to tally, as "
        f"trueness.tally(frame, label=..., score=..., by={r.by or 'group'!r}) gives."
    )


def _claims(r: Requirement, group: str, cases: Evidence) -> list[Claim]:
    """Say what a requirement claims about one group."""
    if r.judges:
        return _judged(r, group, cases)
    if r.not_worse_than is not None:
        return [_against(r, group, cases)]
    return _sided(r, group, cases.limits(r))


def _sided(r: Requirement, group: str, limits: Limits, said: str = "") -> list[Claim]:
    """Make a claim of each bound that a requirement has."""
    return [
        Claim(f"{r.metric} {sign} {bound:g}{r.at}", group, bound, side, limits, said)
        for bound, side, sign in ((r.at_least, 1, ">="), (r.at_most, -1, "<="))
        if bound is not None
    ]


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


def _gap(r: Requirement, groups: Mapping[str, Evidence]) -> list[Claim]:
    if len(groups) < 2:
        raise NotEnoughCases(f"{r} needs two groups or more; found {len(groups)}.")
    claims = []
    for a, b in combinations(groups, 2):
        ends = size_limits(difference_limits(*(groups[g].limits(r) for g in (a, b))))
        claims.append(
            Claim(str(r), f"{a} and {b}", float(r.gap_at_most or 0), -1, ends)
        )
    return claims


def _judged(r: Requirement, group: str, cases: Evidence) -> list[Claim]:
    """Judge a rate from the verdicts of judges that err, and the labels there are."""
    data = cases.panels.get(",".join(r.judges), cases.panels.get(""))
    if data is None:
        raise InputError("A rate from judges needs a panel of their verdicts, 0 or 1.")
    refuse(data, "prevalence")
    votes = data[list(r.judges)]
    votes = votes if r.labelled else votes.hide()
    said = f"from {len(r.judges)} judges, {votes.n_pos + votes.n_neg:,} labels"
    found = cache(lambda: prevalence(votes, labelled=r.labelled, rng=0))

    def limits(alpha: float) -> Interval:
        rate = found()
        if not rate.identified:  # verdicts that fit other rates as well decide nothing
            why = f"the verdicts of {votes.n:,} cases {_ALONE}"
            return Interval(rate.value, 0.0, 1.0, votes.n, "judged", why)
        low, high = (float(q) for q in np.quantile(rate.draws, [alpha, 1 - alpha]))
        return Interval(float(np.mean(rate.draws)), low, high, votes.n, "judged")

    return _sided(r, group, limits, said)


_ALONE = (
    "alone do not determine the rate. Label some cases, and state how they were chosen."
)


def _fact(r: Requirement, group: str, cases: Evidence) -> Verdict:
    t = cases.tally
    if r.metric == "flagged":
        c = confusion(t, cases.cut(r))
        value = float(c.tp + c.fp)
    elif r.metric == "missing_scores":
        value = 0.0  # a tally holds none; the command line counts them in the file
    else:
        value = float(FACTS[r.metric](t))
    return fact(r, group, value, round(t.n))


def _notes(
    required: Sequence[Requirement],
    whole: Evidence,
    adjust: str,
    level: float,
    claims: int,
) -> list[str]:
    """Say what is assumed, and what the limits are."""
    items = isinstance(whole.tally, Attempts)
    clusters = whole.tally.cluster if items else whole.tally.grouped
    whose = "Clusters" if clusters is not None else "Items" if items else "Cases"
    notes = [f"{whose} are assumed to be independent, and like future cases."]
    if any(r.judges and r.labelled is None for r in required):
        notes.append(
            "Judges may make the same errors, so that without labels their verdicts "
            "do not determine a rate, and nothing is decided. With labels, state how "
            'these were chosen: labelled = "random".'
        )
    if adjust == "none" and len(required) > 1:
        notes.append(
            "Each requirement is tested on its own, so among many some verdicts are "
            "wrong by chance."
        )
    if whole.baseline is not None:
        notes.append(
            "The baseline was measured on other cases, so the comparison is unpaired."
        )
    if claims and (adjust == "none" or claims == 1):
        notes.append(f"Limits are one-sided, at a level of {level_text(level)}.")
    elif claims:
        notes.append(
            f"Limits are one-sided and allow for {claims} decisions at once (Holm): in "
            f"{level_text(level)} of samples nothing is wrongly said to hold, and in "
            "as many nothing is wrongly said to fail."
        )
    return notes
