"""What may be watched, and against which bound? Questions that begin a watch.

A question is read as a requirement is; its bound is a number, or that of a baseline
with its doubt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_one, is_several
from trueness.counts.answers import whole_cases
from trueness.counts.values import Tally
from trueness.metrics.algebra import Metric
from trueness.monitoring.batches import pack_counts
from trueness.monitoring.detectors import kind_of
from trueness.monitoring.one_sided import one_sided_interval
from trueness.monitoring.requirements import Requirement, requirement
from trueness.monitoring.states import State, WatchQuestion, read_state
from trueness.monitoring.watching import Watch
from trueness.threshold.rule import Rule, RuleOrThreshold, rule_of

_PROMISE = re.compile(
    r"one (?:in (?P<number>[\d.,]+) |an? )(?P<unit>look|day|week|month|year)s?"
    r"(?: of (?P<pace>hourly|daily|weekly|monthly) looks)?"
)
_DAYS = {"day": 1.0, "week": 7.0, "month": 365 / 12, "year": 365.0}
_LOOKS_A_DAY = {"hourly": 24.0, "daily": 1.0, "weekly": 1 / 7, "monthly": 12 / 365}


@whole_cases
def watch(
    metric: str,
    *,
    threshold: float | Rule | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    baseline: Tally | None = None,
    margin: float = 0.0,
    near: float | None = None,
    judges: Sequence[str] | None = None,
    by: str | None = None,
    groups: Sequence[str] | None = None,
    false_alarms: str | float = "one in 20 years",
    level: float = 0.95,
    rng: int = 0,
) -> Watch:
    r"""Watch on a metric over time (drift alarm), with a guaranteed false alarm rate.

    Is the classifier still good? If not, an alarm is raised. A change is detected
    equally fast after a long stable period, and the rate of false alarms is guaranteed
    for batches of any size.

    Parameters
    ----------
    metric
        A metric that is a proportion of cases (recall, precision, npv, accuracy, f1),
        with ``threshold``; ``"flagged_rate"`` with ``threshold``, which needs no
        labels; ``"auc"``; ``"brier"``; ``"calibration"`` (are the scores near ``near``,
        or all scores, calibrated?); ``"scores"`` (have they changed? no labels needed);
        ``"prevalence"`` with ``judges``: the true rate behind their verdicts, with
        labels for a few cases chosen at random. Or a requirement as in a contract:
        ``"recall >= 0.9 at 0.5"``, ``"auc >= 0.8 by site"``.
    threshold
        Cases with at least this score are flagged: a number, a rule with one threshold,
        or a result with such a rule.
    at_least, at_most
        The bound; give one of the two.
    baseline, margin
        In place of a bound: not worse than in this tally by more than the margin,
        allowing for its uncertainty. For ``"scores"``: what to compare with.
    near
        For ``"calibration"``: scores within 0.05 of this.
    judges
        For ``"prevalence"``: the columns with the verdicts.
    by
        A column of groups: each group is watched, with one alarm for all. Batches are
        then mappings from group to tally, or frames with this column.
    groups
        The names of the groups, if known: each has an equal part of the false alarms.
    false_alarms
        Their rate: ``"one in 20 years"`` of daily looks, ``"one in 5 years of weekly
        looks"``, ``"one in 1000 looks"``, or the mean number of looks between two of
        them.
    level
        The confidence level of the intervals, and of the interval for a change.
    rng
        Seed for ties among ranks, and for the random order of cases.

    Notes
    -----
    A mixture of Shiryaev-Roberts e-detectors (Shin, Ramdas and Rinaldo 2024). The mean
    number of looks between false alarms is at least c. The probability of one within m
    looks is at most m / c: 5 % in a year for one in 20 years. Cases are assumed to be
    exchangeable as long as nothing has changed.

    Examples
    --------
    >>> import trueness
    >>> w = trueness.watch("recall", threshold=0.5, at_least=0.9)
    >>> good = trueness.Tally([1.0, 0.0], neg=[5, 95], pos=[46, 4])
    >>> for day in range(30):
    ...     _ = w.update(good, name=f"day {day}")
    >>> w.alarm
    False
    >>> bad = trueness.Tally([1.0, 0.0], neg=[5, 95], pos=[40, 10])
    >>> for day in range(30, 35):
    ...     _ = w.update(bad, name=f"day {day}")
    >>> w.since, w.change.most_likely
    ('day 34', 'day 30')
    """
    level = _options.fraction(level, "level")

    if _is_sentence(metric):
        required = _read_sentence(metric)
        metric = required.metric
        threshold = required.threshold
        by = by or required.by
        at_least = required.at_least
        at_most = required.at_most

    kind = kind_of(metric)
    _check_columns(judges, by, groups)

    if baseline is not None:
        _cases.one_classifier(baseline, "watch")
    if near is not None:
        near = _options.fraction(near, "near", ends="[]")
    if threshold is not None:
        threshold = _one_threshold(threshold)

    question: WatchQuestion = {
        "metric": metric,
        "threshold": threshold,
        "side": 1,
        "bound": None,
        "near": near,
        "level": level,
        "mean_time": looks_between(false_alarms),
        "rng": _options.whole_number(rng, "rng"),
        "judges": list(judges or ()),
        "by": by,
        "named": None if groups is None else _group_names(groups),
        "columns": {},
    }

    if kind.bound:
        margin = _options.real_number(margin, "margin")
        side, bound = _read_bound(question, at_least, at_most, baseline, margin)
        question["side"] = side
        question["bound"] = bound
    elif at_least is not None or at_most is not None:
        raise InputError(f"A watch on {metric} has no bound; leave it out.")

    new_watch = Watch(question)

    if metric == "scores" and baseline is not None and baseline.n:
        new_watch.content["state"]["baseline"] = pack_counts(baseline)

    return _check_question(new_watch)


def _read_sentence(sentence: str) -> Requirement:
    """Return the requirement in a sentence, as in a contract."""
    required = requirement(sentence)
    if required.next_site:
        raise InputError(
            f"A watch monitors incoming cases, not the next site; found {required}. "
            "Use a check for sites."
        )

    return required


def _check_columns(
    judges: Sequence[str] | None, by: str | None, groups: Sequence[str] | None
) -> None:
    """Raise an error unless judges are a list, and groups have a column."""
    if isinstance(judges, str) or not isinstance(judges, (Sequence, type(None))):
        raise InputError(
            f"judges is a list of columns; found {described(judges)}.", option="judges"
        )
    if (by is not None or groups is not None) and not isinstance(by, str):
        raise InputError(
            f"by names the column of the groups; found {described(by)}.", option="by"
        )


def _one_threshold(threshold: RuleOrThreshold) -> float:
    """Return the one threshold of a number, a rule, or an answer with a rule."""
    rule = rule_of(threshold)
    if rule.groups or rule.defers:
        raise InputError(
            f"A watch needs one threshold for all cases; found {rule!r}.",
            option="threshold",
        )

    return _options.real_number(rule.cuts()[1], "threshold")


def _is_sentence(metric: str | Metric | Requirement) -> bool:
    """Return whether this is a requirement, such as "recall >= 0.9", and not a name."""
    if isinstance(metric, Requirement):
        return True
    return isinstance(metric, str) and bool(set("<>") & {*metric})


def _group_names(groups: Sequence[str] | None) -> list[str]:
    """Return the names of the expected groups."""
    members = [*groups] if is_several(groups) else []
    names = [str(group) for group in members if is_one(group)]
    if not names or len(names) != len(members):
        raise InputError(
            f"groups is a list of the names of groups; found {described(groups)}.",
            option="groups",
        )

    return names


def looks_between(false_alarms: str | float) -> float:
    """Return the mean number of looks between two false alarms, from a rate."""
    looks = None
    if isinstance(false_alarms, str):
        looks = _read_promise(false_alarms)
    elif isinstance(false_alarms, (int, float)) and not isinstance(false_alarms, bool):
        looks = _options.real_number(false_alarms, "false_alarms")

    if looks is None or not 2 <= looks < 1e15:
        raise InputError(
            f'false_alarms must be a rate such as "one in 20 years", "one in 5 years '
            f'of weekly looks" or "one in 1000 looks" (2 or more); found '
            f"{described(false_alarms)}.",
            option="false_alarms",
        )

    return looks


def _read_promise(text: str) -> float | None:
    """Return the number of looks in a text such as "one in 5 years of weekly looks"."""
    match = _PROMISE.fullmatch(" ".join(text.lower().split()))
    if match is None:
        return None

    number = float((match["number"] or "1").replace(",", ""))
    looks_a_day = _LOOKS_A_DAY[match["pace"] or "daily"]
    days = _DAYS.get(match["unit"], 1 / looks_a_day)

    return number * days * looks_a_day


def load_watch(path: str | os.PathLike[str]) -> Watch:
    """Read a watch from a file that its ``save`` wrote.

    Parameters
    ----------
    path
        A JSON or Parquet file, from ``save``.
    """
    return _watch_of_file(read_state(path))


def _watch_of_file(content: dict[str, Any]) -> Watch:
    """Return the watch in a file, with the watches of its groups."""
    groups = {name: _watch_of_file(group) for name, group in content["groups"].items()}
    try:
        return _check_question(Watch(content["about"], content["state"], groups))
    except InputError as err:
        raise InputError(
            f"The file holds a watch that cannot be continued: {err.message} Restore "
            "it from a copy, or begin a new watch in another file."
        ) from None


def _check_question(watch: Watch) -> Watch:
    """Return the watch; raise an error if it cannot work as stated."""
    question: WatchQuestion = watch.content["about"]
    state: State = watch.content["state"]
    metric = question["metric"]
    has_judges = bool(question["judges"])
    kind = kind_of(metric)

    if (metric == "prevalence") != has_judges:
        raise InputError(
            "A watch on prevalence needs judges, the columns of their verdicts; other "
            "watches take none.",
            option="judges",
            example=["a", "b"],
        )

    if kind.proportion and question["threshold"] is None:
        raise InputError(
            f"{metric} needs a threshold: which scores are flagged?",
            option="threshold",
            example=0.5,
        )

    if metric == "scores" and question["by"] is not None:
        raise InputError("Begin a watch for each group, with its own baseline.")
    if metric == "scores" and state["baseline"] is None:
        raise InputError(
            "A watch on scores needs a baseline to compare with.", option="baseline"
        )

    waiting = state["waiting"]
    of_other_kind = waiting is not None and isinstance(waiting, list) != has_judges
    if of_other_kind or kind.bound != (question["bound"] is not None):
        raise InputError(f"the state is not that of a watch on {metric}.")
    return watch


def _read_bound(
    question: WatchQuestion,
    at_least: float | None,
    at_most: float | None,
    baseline: Tally | None,
    margin: float,
) -> tuple[int, float]:
    """Return the good side (1 above, -1 below) and the bound, perhaps of a baseline."""
    if sum(value is not None for value in (at_least, at_most, baseline)) != 1:
        raise InputError("Give one of at_least, at_most and baseline.")
    if at_least is not None:
        return 1, _options.fraction(at_least, "at_least", ends="[]")
    if baseline is None:
        return -1, _options.fraction(at_most, "at_most", ends="[]")
    if question["metric"] == "prevalence":
        raise InputError("A rate from judges is watched with at_least or at_most.")

    metric = question["metric"]
    threshold = question["threshold"]

    # the flagged proportion of all cases, with a label or without
    if metric == "flagged_rate":
        baseline = Tally(baseline.score, baseline.neg + baseline.pos + baseline.unknown)

    as_requirement = requirement(
        Requirement(
            metric, threshold=threshold, not_worse_than="baseline", margin=margin
        )
    )
    interval = one_sided_interval(metric, baseline, threshold)(1 - question["level"])

    if as_requirement.lower_is_better:
        return -1, min(interval.high + margin, 1.0)
    return 1, max(interval.low - margin, 0.0)
