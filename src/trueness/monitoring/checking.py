"""What was required of these data, and what do they say about it?

``check`` reads requirements and data, ``claims`` says what is claimed about them, and
decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, is_several
from trueness._core.numbers import level_text
from trueness.counts.answers import of_counts
from trueness.counts.values import Panel, Tally, holds_tests
from trueness.evals.attempts import Attempts
from trueness.monitoring.claims import (
    Claim,
    Evidence,
    claims_about_groups,
    decide,
    verdict_on_fact,
)
from trueness.monitoring.one_sided import Counted
from trueness.monitoring.requirements import (
    Requirement,
    contradiction,
    requirement,
    requirement_of_test,
    split_requirement,
)
from trueness.monitoring.verdicts import Check, Verdict
from trueness.threshold.rule import Rule

# the evidence of each group by the name of a column; under "" the groups in which every
# requirement is judged
Groups = Mapping[str, Mapping[str, Evidence]]


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
    r"""Verdicts on requirements (a quality gate), by one-sided confidence intervals.

    Do these predictions meet the requirements, allowing for chance? A requirement
    :math:`\theta \ge b` *holds* when the one-sided 95 % lower confidence bound of
    :math:`\theta` is above :math:`b`, and *fails* when the upper bound is below it.
    Otherwise it cannot be decided yet.

    Parameters
    ----------
    data
        A tally, or labels and scores; attempts at items; or a panel, whose first
        classifier is the candidate and whose others are paired baselines, by name. In a
        mapping from group to one of these, every requirement must hold in each group.
    requirements
        One or many sentences such as ``"auc >= 0.8"`` and ``"recall >= 0.9 at 0.3"``,
        or tables of fields (:class:`trueness.monitoring.requirements.Requirement`). A
        threshold may be a :class:`trueness.Rule`, or the file of one that was saved.
        ``"auc >= 0.8 in every site"`` is required of each group of that column.
        ``"recall >= 0.8 at 0.3 at the next site"`` is required of a new site: the
        prediction interval of :func:`across_sites` decides.
    baseline
        A tally of other cases (unpaired) for ``not_worse_than="baseline"``; for groups,
        a mapping from group to tally.
    groups
        For requirements with ``by``: a mapping from the name of a column to its tallies
        or panels by group.
    level
        A true value exactly on its bound "holds" in about ``1 - level`` of samples, and
        "fails" in as many.
    adjust
        ``"holm"``: the level is that of all requirements jointly (Holm 1979);
        ``"none"``: that of each requirement.

    Notes
    -----
    The interval is that of the analysis, at level 0.9 for one-sided claims at 0.95. For
    two independent measures it is Zou and Donner's (2008). For scores counted in bins,
    the unfavourable end of the certain bounds is used.

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

    evidence_by_column = _read_groups(groups)

    if isinstance(data, Mapping) and data and all(map(_is_counted, data.values())):
        baselines = dict(baseline) if isinstance(baseline, Mapping) else {}
        evidence_by_column[""] = _evidence_of_groups(data, baselines)
        data = reduce(add, data.values())
        if baselines:
            baseline = reduce(add, baselines.values())

    if not _is_counted(data):
        raise InputError(
            "check needs a tally, a panel or a mapping from group to one of these; "
            f"found {described(data)}.",
            example=PythonCode("trueness.check(trueness.tally(y, score), ...)"),
        )

    are_tests = isinstance(data, Tally) and holds_tests(data)
    read = requirement_of_test if are_tests else requirement

    return check_all(
        Evidence.of(data, baseline),
        [read(source) for source in requirements],
        groups=evidence_by_column,
        level=level,
        adjust=adjust,
    )


def _is_counted(data: object) -> bool:
    """Return whether requirements can be judged on these data."""
    return isinstance(data, (Tally, Panel, Attempts))


def _read_groups(groups: Groups | None) -> dict[str, Mapping[str, Evidence]]:
    """Return the evidence of groups by the name of their column."""
    if groups is None:
        return {}

    if not isinstance(groups, Mapping) or not all(
        isinstance(counts_by_group, Mapping) for counts_by_group in groups.values()
    ):
        raise InputError(
            "groups must be a mapping from the name of a column to the tallies of its "
            f"groups; found {described(groups)}.",
            option="groups",
        )

    return {
        column: _evidence_of_groups(counts_by_group, {})
        for column, counts_by_group in groups.items()
    }


def _evidence_of_groups(
    counts_by_group: Mapping[Any, Any], baselines: Mapping[Any, Any]
) -> dict[str, Evidence]:
    """Return the evidence of each group, with the baseline of the same group."""
    return {
        str(group): Evidence.of(counts, baselines.get(group), str(group))
        for group, counts in counts_by_group.items()
    }


def check_all(
    whole_evidence: Evidence,
    requirements: Sequence[Requirement],
    *,
    groups: Groups,
    level: float = 0.95,
    adjust: str = "holm",
) -> Check:
    """Return the verdicts on requirements, for all cases or for each group.

    ``groups`` has the groups of each column that a requirement may name, and under ""
    those in which every requirement is judged.
    """
    if _options.fraction(level, "level") <= 0.5:
        raise InputError(
            f"level must be above 0.5; found {level:g}.",
            option="level",
            example=0.95,
        )

    _options.choice(adjust, ("holm", "none"), "adjust")
    _check_requirements(requirements)

    facts: list[Verdict] = []
    claims: list[Claim] = []
    for required in _split_once(requirements):
        evidence = (
            {"": whole_evidence}
            if required.judges
            else _evidence_for(required, whole_evidence, groups)
        )
        if required.is_fact:
            facts += [
                verdict_on_fact(required, group, group_evidence)
                for group, group_evidence in evidence.items()
            ]
        else:
            claims += claims_about_groups(required, evidence)

    verdicts = [*facts, *decide(claims, 1 - level, adjust)]
    notes = [
        *_notes_on_assumptions(requirements, whole_evidence.tally, adjust),
        *_notes_on_intervals(len(claims), level, adjust),
        *_notes_on_repeats(requirements),
        *_notes_on_thresholds(requirements, whole_evidence.tally),
    ]

    if isinstance(whole_evidence.baseline, Tally):
        notes.append(
            "The baseline was measured on other cases, so the comparison is unpaired."
        )

    return Check.of(verdicts, level, adjust, notes)


def _check_requirements(requirements: Sequence[Requirement]) -> None:
    """Raise an error for no requirements, and for two that exclude each other."""
    if not requirements:
        raise InputError(
            "A check needs requirements, such as 'auc >= 0.8'; found none.",
            option="requirements",
        )

    pair = contradiction(requirements)
    if pair is not None:
        first = requirements[pair[0]]
        second = requirements[pair[1]]
        raise InputError(f"{first} contradicts {second}: nothing can meet both.")


def _split_once(requirements: Sequence[Requirement]) -> list[Requirement]:
    """Return the single requirements, each once, in their order."""
    parts = {}
    for several in requirements:
        for part in split_requirement(several):
            parts[repr(part)] = part
    return list(parts.values())


def _evidence_for(
    required: Requirement, whole_evidence: Evidence, groups: Groups
) -> Mapping[str, Evidence]:
    """Return the evidence for a requirement: that of all cases, or of each group."""
    of_all_groups = groups.get("")
    column = required.by
    if required.next_site and column is None and of_all_groups is None:
        column = _column_of_sites(groups)

    if column is None:
        if of_all_groups is not None:
            return of_all_groups
        has_groups = isinstance(required.threshold, Rule) and required.threshold.groups
        if not has_groups:
            return {"": whole_evidence}

    of_column = groups.get(column or "", of_all_groups)
    if of_column is None:
        required = replace(required, by=column)
        raise InputError(
            f"{required} needs groups, a mapping from group to tally.",
            option="by",
            example=column or "COLUMN",
        )

    return {f"{column}={group}": e for group, e in of_column.items()}


def _column_of_sites(groups: Groups) -> str | None:
    """Return the column of the sites: ``site``, or the only column of groups."""
    if "site" in groups:
        return "site"
    if len(groups) == 1:
        return next(iter(groups))
    return None


def _notes_on_assumptions(
    requirements: Sequence[Requirement], data: Counted, adjust: str
) -> Iterator[str]:
    """Yield notes on the assumptions."""
    if isinstance(data, Attempts):
        units = "Items" if data.cluster is None else "Clusters"
    else:
        units = "Cases" if data.grouped is None else "Clusters"

    yield f"{units} are assumed to be independent, and like future cases."

    if any(required.judges and required.labelled is None for required in requirements):
        yield (
            "Judges may make the same errors, so verdicts without labels do not "
            "determine a rate, and nothing is decided. Label some cases, and state "
            'how they were chosen: labelled = "random".'
        )

    if adjust == "none" and len(requirements) > 1:
        yield (
            "Each requirement is tested separately, so among many some verdicts are "
            "wrong by chance."
        )


def _notes_on_intervals(claims: int, level: float, adjust: str) -> Iterator[str]:
    """Yield a note on the confidence intervals behind the verdicts."""
    if not claims:
        return

    if adjust == "none" or claims == 1:
        yield f"Confidence intervals are one-sided, at a level of {level_text(level)}."
        return

    yield (
        f"Confidence intervals are one-sided and adjusted for {claims} decisions "
        f"(Holm). In {level_text(level)} of samples no requirement wrongly holds, and "
        "in as many none wrongly fails."
    )


def _notes_on_repeats(requirements: Sequence[Requirement]) -> Iterator[str]:
    """Yield a note on each requirement that was stated several times."""
    for text, times in Counter(str(required) for required in requirements).items():
        if times > 1:
            yield f"{text} was required {times} times; it counts once."


def _notes_on_thresholds(
    requirements: Sequence[Requirement], data: Counted
) -> Iterator[str]:
    """Yield a note on each threshold that no score, or every score, reaches."""
    if not isinstance(data, Tally) or not data.score.size:
        return

    lowest = data.score[-1]
    highest = data.score[0]
    thresholds = [
        required.threshold
        for required in requirements
        if isinstance(required.threshold, float)
    ]

    for threshold in dict.fromkeys(thresholds):
        if lowest <= threshold <= highest:
            continue

        scores = "no score reaches"
        if threshold < lowest:
            scores = "all scores are above"

        yield (
            f"The scores run from {lowest:.4g} to {highest:.4g}: {scores} the "
            f"threshold {threshold:g}."
        )
