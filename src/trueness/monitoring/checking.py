"""What was required of these data, and what do they say about it?

``check`` takes requirements as they are typed or written in a contract, makes claims of
them, each with a function from alpha to its one-sided limits, and lets ``verdicts``
decide all claims together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described, is_several
from trueness._core.numbers import level_text
from trueness.counts.answers import of_counts, refuse
from trueness.counts.values import Panel, Tally
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
    UNDETERMINED,
    Check,
    Claim,
    Verdict,
    decide,
    fact,
    together,
)
from trueness.nogold.rate import prevalence
from trueness.threshold.at_cut import confusion


@of_counts
def check(
    data: Any,
    requirements: Any,
    *,
    baseline: Any = None,
    groups: Mapping[str, Mapping[Any, Tally]] | None = None,
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
        A tally, or labels and scores; a mapping from group to tally, where every
        requirement must hold in each group; or a panel, whose first classifier is the
        candidate and whose others are baselines by their names (paired).
    requirements
        Sentences such as ``"auc >= 0.8"`` and ``"recall >= 0.9 at 0.3"``, or tables of
        fields (see :class:`trueness.monitoring.requirements.Requirement`); one or many.
    baseline
        A tally of other cases (unpaired) for ``not_worse_than="baseline"``.
    groups
        For requirements with ``by``: from the name of the column to its tallies.
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
    whole, spread = _parts(data)
    panels: dict[str, Panel] = {}
    if isinstance(data, Panel):
        first = data.names[0]
        panels = {n: data[[first, n]] for n in data.names[1:]} | {"": data}
        if len(data.names) == 2 and baseline is None:
            panels["baseline"] = panels[data.names[1]]
    return check_all(
        whole,
        [requirement(r) for r in _listed(requirements)],
        panels=panels,
        baseline=baseline,
        spread=spread,
        groups=groups,
        level=level,
        adjust=adjust,
    )


def check_all(
    whole: Tally,
    asked: Sequence[Requirement],
    *,
    panels: Mapping[str, Panel],
    facts: Sequence[Verdict] = (),
    baseline: Tally | None = None,
    spread: Mapping[Any, Tally] | None = None,
    groups: Mapping[str, Mapping[Any, Tally]] | None = None,
    level: float = 0.95,
    adjust: str = "holm",
) -> Check:
    """Judge requirements that were read; ``panels`` are named by their baseline."""
    if _options.fraction(level, "level") <= 0.5:
        raise InputError(
            f"level must be above 0.5, since a verdict that is wrong more often than "
            f"not is none; found {level:g}. Type level=0.95."
        )
    _options.choice(adjust, ("holm", "none"), "adjust")
    if not asked and not facts:
        raise InputError('A check needs requirements; found none. Type ["auc >= 0.8"].')
    against = contradiction(asked)
    if against is not None:
        first, second = (str(asked[k]) for k in against)
        raise InputError(f"{first} contradicts {second}: nothing can meet both.")
    claims: list[Claim] = []
    known = list(facts)
    for r in dict.fromkeys(one for several in asked for one in single(several)):
        if r.judges:
            claims += _judged(r, panels)
        elif r.not_worse_than is not None:
            claims.append(_against(r, whole, panels, baseline))
        else:
            held = _groups(r, whole, spread, groups)
            if r.is_fact:
                known += _facts(r, held)
            elif r.gap_at_most is not None:
                claims += _gap(r, held)
            else:
                claims += [c for n, t in held.items() for c in _bounds(r, n, t)]
    found = (*known, *decide(claims, 1 - level, adjust))
    notes = [
        *_notes(asked, baseline, adjust, whole),
        *_sure(level, adjust, len(claims)),
    ]
    notes += _odd(asked, whole)
    return Check(together(found), found, level, adjust, tuple(notes))


def _odd(asked: Sequence[Requirement], whole: Tally) -> list[str]:
    """Say what was probably not meant: a requirement twice, a threshold far away."""
    said = []
    for r, times in Counter(asked).items():
        if times > 1:
            said.append(f"{r} was required {times} times; it counts once.")
    for cut in dict.fromkeys(r.threshold for r in asked if r.threshold is not None):
        if whole.score.size and not whole.score[-1] <= cut <= whole.score[0]:
            which = (
                "no score reaches" if cut > whole.score[0] else "all scores are above"
            )
            ends = f"{whole.score[-1]:.4g} to {whole.score[0]:.4g}"
            said.append(f"The scores run from {ends}: {which} the threshold {cut:g}.")
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


def _parts(data: Any) -> tuple[Tally, Mapping[Any, Tally] | None]:
    """Give the candidate's tally as a whole, and by group when it comes in groups."""
    if isinstance(data, Tally):
        return data, None
    if isinstance(data, Panel):
        return data[data.names[0]], None
    if isinstance(data, Mapping) and all(isinstance(t, Tally) for t in data.values()):
        tallies = list(data.values())
        if not tallies:
            raise InputError("A check needs cases; found an empty mapping of groups.")
        whole = tallies[0]
        for t in tallies[1:]:
            whole = whole + t
        return whole, data
    raise InputError(
        f"check needs a tally, a panel or a mapping from group to tally; found "
        f"{type(data).__name__}. Type trueness.check(trueness.tally(y, score), ...)."
    )


def _groups(
    r: Requirement,
    whole: Tally,
    spread: Mapping[Any, Tally] | None,
    named: Mapping[str, Mapping[Any, Tally]] | None,
) -> dict[str, Tally]:
    if r.by is None:
        return {"": whole} if spread is None else {str(g): t for g, t in spread.items()}
    if named and r.by in named:
        return {f"{r.by}={g}": t for g, t in named[r.by].items()}
    if spread is not None:
        return {f"{r.by}={g}": t for g, t in spread.items()}
    raise InputError(
        f"{r} needs groups. Pass a mapping from group to tally, as "
        f"trueness.tally(frame, label=..., score=..., by={r.by!r}) gives."
    )


def _bounds(r: Requirement, group: str, t: Tally) -> list[Claim]:
    return _sided(r, group, _limits(r, t))


def _limits(r: Requirement, t: Tally) -> Limits:
    return limits_of(r.metric, t, r.threshold, r.fpr)


def _sided(r: Requirement, group: str, limits: Limits, said: str = "") -> list[Claim]:
    """Make a claim of each bound that a requirement has."""
    at = "" if r.threshold is None else f" at {r.threshold:g}"
    return [
        Claim(f"{r.metric} {sign} {bound:g}{at}", group, bound, side, limits, said)
        for bound, side, sign in ((r.at_least, 1, ">="), (r.at_most, -1, "<="))
        if bound is not None
    ]


def _against(
    r: Requirement, whole: Tally, panels: Mapping[str, Panel], baseline: Any
) -> Claim:
    side = -1 if r.lower_is_better else 1
    named = str(r.not_worse_than)
    if named in panels:
        limits = paired_limits(r.metric, panels[named], r.threshold)
        how = "paired: the same cases"
    elif isinstance(baseline, Tally):
        limits = difference_limits(_limits(r, whole), _limits(r, baseline))
        how = "unpaired: other cases than the baseline's"
    else:
        raise InputError(
            f"{r} needs a baseline: a tally of other cases, or the scores of "
            f"{named!r} on the same cases, in a panel or as a column of the file."
        )
    return Claim(str(r), "", -side * r.margin, side, limits, f"difference, {how}")


def _gap(r: Requirement, groups: dict[str, Tally]) -> list[Claim]:
    if len(groups) < 2:
        raise NotEnoughCases(f"{r} needs two groups or more; found {len(groups)}.")
    claims = []
    for a, b in combinations(groups, 2):
        ends = difference_limits(*(_limits(r, groups[g]) for g in (a, b)))
        both = f"{a} and {b}"
        claims.append(
            Claim(str(r), both, float(r.gap_at_most or 0), -1, size_limits(ends))
        )
    return claims


def _judged(r: Requirement, panels: Mapping[str, Panel]) -> list[Claim]:
    """Judge a rate from the verdicts of judges that err, and the labels there are."""
    data = panels.get(",".join(r.judges), panels.get(""))
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
            return Interval(rate.value, 0.0, 1.0, votes.n, UNDETERMINED)
        low, high = (float(q) for q in np.quantile(rate.draws, [alpha, 1 - alpha]))
        return Interval(float(np.mean(rate.draws)), low, high, votes.n, "judged")

    return _sided(r, "", limits, said)


def _facts(r: Requirement, groups: dict[str, Tally]) -> list[Verdict]:
    out = []
    for group, t in groups.items():
        if r.metric == "flagged":
            c = confusion(t, r.threshold or 0.0)
            value = float(c.tp + c.fp)
        elif r.metric == "missing_scores":
            value = 0.0  # a tally holds none; the command line counts them in the file
        else:
            value = float(FACTS[r.metric](t))
        out.append(fact(r, group, value, round(t.n)))
    return out


def _sure(level: float, adjust: str, claims: int) -> list[str]:
    """Say what the limits are."""
    if not claims:
        return []
    if adjust == "none" or claims == 1:
        return [f"Limits are one-sided, at a level of {level_text(level)}."]
    return [
        f"Limits are one-sided and allow for {claims} decisions at once (Holm): in "
        f"{level_text(level)} of samples nothing is wrongly said to hold, and in as "
        "many nothing is wrongly said to fail."
    ]


def _notes(
    asked: Sequence[Requirement], baseline: Any, adjust: str, whole: Tally
) -> list[str]:
    whose = "Cases" if whole.grouped is None else "Clusters"
    notes = [f"{whose} are assumed to be independent, and like future cases."]
    if any(r.judges and r.labelled is None for r in asked):
        notes.append(
            "Judges may make the same errors, so that without labels their verdicts "
            "do not determine a rate, and nothing is decided. With labels, state how "
            'these were chosen: labelled = "random".'
        )
    if adjust == "none" and len(asked) > 1:
        notes.append(
            "Each requirement is tested on its own, so among many some verdicts are "
            "wrong by chance."
        )
    if baseline is not None:
        notes.append(
            "The baseline was measured on other cases, so the comparison is unpaired."
        )
    return notes
