"""How is a verdict shown, and between which numbers does a measure lie, one-sided?

A gate asks the same analyses as everybody: a one-sided limit that errs with probability
``alpha`` is that of the interval at level ``1 - 2 alpha``. Limits are functions of
alpha, since a family of claims is tried at whichever alpha Holm's method leaves for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from math import hypot, inf, isfinite, isnan
from typing import Any, NamedTuple, final
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness.calibration.errors import calibration_error
from trueness.calibration.lines import calibration_line
from trueness.calibration.proper_scores import brier, log_loss
from trueness.comparison.any_number import compare
from trueness.comparison.at_threshold import compare_metric
from trueness.counts.cases import keep_rows, units_drawn
from trueness.counts.design import AT_RANDOM
from trueness.counts.values import Panel, Tally
from trueness.evals.attempts import Attempts, pass_at_k, pass_hat_k, pass_rate
from trueness.evals.runs import compare_runs
from trueness.inference.estimates import estimate_measure
from trueness.inference.sample import MeasuredValue
from trueness.inference.variance import Influence
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import metric
from trueness.metrics.intervals import estimates
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.curves import partial_auc
from trueness.scale.certificates import NOT_KNOWN, bounds
from trueness.threshold.rule import DEFERRED, FLAGGED, Rule, confusion

HOLDS, FAILS, OPEN = "holds", "fails", "cannot tell yet"
_MARK = {FAILS: "❌", OPEN: "❔", HOLDS: "✅"}  # worst first


SITES = "sites"  # what an interval for the next site counts, in place of cases


def prefix(group: str) -> str:
    """Name the group before what is said of it."""
    return f"{group}: " if group else ""


@final
@dataclass(frozen=True, repr=False)
class Verdict(Record):
    """Does one requirement hold, in one group, on one side?

    Attributes
    ----------
    requirement, group : str
        The requirement in words; the group, or empty.
    verdict : {"holds", "fails", "cannot tell yet"}
    value, low, high : float
        What was measured, with one-sided limits at the level of the decision, after
        adjustment for the number of requirements.
    bound : float
        What the value was compared with.
    cases : int
        How many cases the value is based on.
    more : int or None
        How many more cases like these would be enough to decide, where that is known.
    reason : str
        The verdict in a sentence.
    """

    requirement: str
    group: str
    verdict: str
    value: float
    low: float
    high: float
    bound: float
    cases: int
    more: int | None
    reason: str

    def __bool__(self) -> bool:
        """Does the requirement hold? What cannot be decided yet does not."""
        return self.verdict == HOLDS

    @property
    def name(self) -> str:
        """Name the requirement, after its group where it has one."""
        return prefix(self.group) + self.requirement

    @property
    def span(self) -> str:
        """Write the limits; nothing where the value was counted."""
        return "" if self.low == self.high else f"{self.low:.4g} to {self.high:.4g}"


@final
@dataclass(frozen=True, repr=False)
class Check(Record):
    """Do the predictions meet what was required?

    Attributes
    ----------
    verdict : {"holds", "fails", "cannot tell yet"}
        The verdict on all requirements together: the worst.
    verdicts : tuple of Verdict
    level, adjust
        As given to :func:`check`.
    notes : tuple of str
        What was assumed.
    """

    verdict: str
    verdicts: tuple[Verdict, ...]
    level: float
    adjust: str
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, found: Iterable[Verdict], level: float, adjust: str, notes: Iterable[str]
    ) -> Check:
        """Give the answer that several verdicts make together."""
        told = tuple(found)
        words = {v.verdict for v in told}
        worst = next((word for word in _MARK if word in words), HOLDS)
        return cls(worst, told, level, adjust, tuple(notes))

    def __bool__(self) -> bool:
        """Do all requirements hold? ``assert check(...)`` then says what it means."""
        return self.verdict == HOLDS

    @property
    def passed(self) -> bool:
        """Do all requirements hold? False also where one cannot be decided yet."""
        return self.verdict == HOLDS

    def __repr__(self) -> str:
        """Give a line a requirement, worst first, and what was assumed."""
        lines = [f"Check: {self.verdict}"]
        lines += [f"  {v.verdict:<15}  {v.reason}" for v in self.ordered()]
        return "\n".join([*lines, *(f"  {n}" for n in self.notes)])

    def ordered(self) -> list[Verdict]:
        """Give the verdicts, with those that fail first."""
        return [v for word in _MARK for v in self.verdicts if v.verdict == word]

    def require(self, undecided: str = "fail") -> None:
        """Raise an error that lists what does not hold, unless everything holds.

        Parameters
        ----------
        undecided
            ``"fail"``: a requirement that cannot be decided yet also raises the error;
            ``"pass"``: it does not.
        """
        _options.choice(undecided, ("fail", "pass"), "undecided")
        stops = (FAILS, OPEN) if undecided == "fail" else (FAILS,)
        bad = [v for v in self.ordered() if v.verdict in stops]
        if bad:
            said = "\n".join(f"- {v.verdict}: {v.reason}" for v in bad)
            raise AssertionError(
                f"{len(bad)} of {len(self.verdicts)} requirements are not met:\n{said}"
            )

    def to_junit(self) -> str:
        """Give JUnit XML, which build servers read; what is undecided is skipped."""
        count = Counter(v.verdict for v in self.verdicts)
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites><testsuite name="trueness check" tests="{count.total()}" '
            f'failures="{count[FAILS]}" errors="0" skipped="{count[OPEN]}">',
        ]
        tags = {FAILS: "failure", OPEN: "skipped"}
        for v in self.verdicts:
            name = quoteattr(v.name)
            lines.append(f'<testcase classname="trueness.check" name={name}>')
            if v.verdict in tags:
                lines.append(f"<{tags[v.verdict]} message={quoteattr(v.reason)}/>")
            lines.append(f"<system-out>{escape(v.reason)}</system-out></testcase>")
        return "\n".join([*lines, "</testsuite></testsuites>", ""])

    def to_markdown(self, figure: bool = True) -> str:
        """Give a table for a pull request, worst first, with the intervals in letters.

        Parameters
        ----------
        figure
            Draw each interval against its bound: ``[--o--]`` and ``|``.
        """
        lines = [
            f"## Quality: {self.verdict}",
            "",
            "| | requirement | measured | limits | why |",
            "| --- | --- | --- | --- | --- |",
        ]
        for v in self.ordered():
            cells = (v.name, f"{v.value:.4g}", v.span, v.reason)
            row = " | ".join(cell.translate(_ESCAPED) for cell in cells)
            lines.append(f"| {_MARK[v.verdict]} {v.verdict} | {row} |")
        if figure:
            drawn = [v for v in self.ordered() if v.low < v.high]
            longest = max((len(v.name) for v in drawn), default=0)
            bars = [f"{v.name:<{longest}}  {_bar(v)}" for v in drawn]
            lines += ["", "```text", *bars, "```"]
        return "\n".join([*lines, "", *(f"*{n}*" for n in self.notes), ""])


# what Markdown or HTML would read in the cell of a table
_ESCAPED = str.maketrans({mark: f"\\{mark}" for mark in "\\|<>`*_[]"} | {"\n": " "})


def _bar(v: Verdict, width: int = 40) -> str:
    marks = {"[": v.low, "]": v.high, "o": v.value, "|": v.bound}
    marks = {mark: x for mark, x in marks.items() if isfinite(x)}
    low, high = min(marks.values()), max(marks.values())
    pad = 0.05 * (high - low)
    step = (high - low + 2 * pad) / (width - 1)
    place = {mark: round((x - low + pad) / step) for mark, x in marks.items()}
    line = [" "] * width
    first, last = place.get("[", 0), place.get("]", width)
    line[first:last] = "-" * (last - first)
    for mark, at in place.items():
        line[at] = mark
    return "".join(line).rstrip()


class Interval(NamedTuple):
    """A value with its two one-sided limits, and the cases that tell."""

    value: float
    low: float
    high: float
    n: int
    what: str  # which cases tell
    undecided: str = ""  # why nothing can be decided, where that is so


Limits = Callable[[float], Interval]  # of an alpha
Counted = Tally | Attempts

_KINDS: dict[tuple[bool, ...], str] = {
    (True, True, False, False): "flagged",
    (True, False, True, False): "positive",
    (False, True, False, True): "negative",
    (False, False, True, True): "not flagged",
    (True, True, True, False): "flagged or positive",
}


def limits_of(
    name: str, data: Counted, threshold: float | Rule | None, fpr: object = None
) -> Limits:
    """Give the function from alpha to the one-sided limits of what is required."""
    t: Any = data
    if isinstance(threshold, Rule) and getattr(t, "labels_expected", False):
        threshold = _single_threshold(threshold)
    if isinstance(threshold, Rule):  # metrics are those of the cases it decides
        t = threshold.verdicts(t)
        t, threshold = keep_rows(t, t.score != DEFERRED), FLAGGED
    measure, items = measure_of(name), isinstance(t, Attempts)
    if items != of_attempts(name):
        raise InputError(
            f"{name} needs labels and scores; these are attempts at items, of which "
            "pass_rate, pass_at_k(k=5) and pass_hat_k(k=3) may be required."
            if items
            else f"{name} needs attempts at items, as the log of an evaluation has "
            "them; these are labels and scores."
        )

    def limits(alpha: float) -> Interval:
        # rounded: 1 - 0.95 is not quite 0.05, and the estimate is asked at 0.9
        level = round(1 - 2 * alpha, 12)
        if measure is None:
            return _of_metric(name, t, threshold or 0.0, level)
        estimate = measure.ask(t, level=level, **({} if fpr is None else {"fpr": fpr}))
        interval = _interval(estimate, t)
        return allow_for_bins(interval, estimate.bounds, measure.range)

    return cache(limits)


def _single_threshold(rule: Rule) -> float:
    """Return the one threshold of a rule: expected labels need the scores."""
    if rule.groups or rule.defers:
        raise InputError(
            "Expected labels need a rule with one threshold for all cases; found two "
            "of them, or groups.",
            option="unlabelled",
        )
    return float(rule.cuts()[1])


def allow_for_bins(
    interval: Interval,
    bounds: object,
    ends: tuple[float, float] = (-inf, inf),
) -> Interval:
    """Move both ends as far as the bins leave the value open.

    ``bounds`` are those that certainly hold the exact value; None where it is known.
    ``ends`` are the smallest and the largest value that is possible.
    """
    if bounds is None:
        return interval
    if not isinstance(bounds, tuple):
        why = (
            "the scores were counted in bins, and how far these move the value is not "
            "known. Count the scores themselves."
        )
        return interval._replace(undecided=why, low=-inf, high=inf)

    least, most = bounds
    return interval._replace(
        low=max(interval.low - (interval.value - least), ends[0]),
        high=min(interval.high + (most - interval.value), ends[1]),
    )


def _of_metric(name: str, t: Tally, threshold: float, level: float) -> Interval:
    m = metric(name)
    e = estimates(t, threshold, [m], level=level).get(m.name)
    if e is None:
        raise InputError(
            f"{name} depends on the prevalence, which a case-control sample does not "
            "show. State the prevalence that is meant.",
            option="prevalence",
            example=0.01,
        )
    cells: Any = m.ratio.under if m.ratio and m.ratio.under else (1, 1, 1, 1)
    told = _KINDS.get(tuple(bool(k) for k in cells), "labelled")
    if isnan(e.value):
        raise NotEnoughCases(
            f"{name} needs at least one case that is {told}; found none."
        )
    interval = _interval(e, t)
    if t.single_cases and not interval.undecided:
        n = int(confusion(t, threshold).weighed(map(bool, cells)))
        interval = Interval(e.value, e.low, e.high, n, told)
    if not t.binned:
        return interval
    return allow_for_bins(interval, _bounds_at(m, t, threshold), m.range)


def _bounds_at(m: Metric, t: Tally, threshold: float) -> object:
    """Return between which numbers a metric of binned scores lies for certain."""
    if t.design.unlabelled == AT_RANDOM and t.n_unknown > 0:
        return NOT_KNOWN
    certain = bounds(m, t, threshold=threshold)
    return certain.low, certain.high


def _interval(e: Estimate, x: Tally | Panel | Attempts) -> Interval:
    told = units_drawn(x) if not isinstance(x, Attempts) else x.units
    interval = Interval(float(e.value), float(e.low), float(e.high), *told)
    if isnan(e.low) and not isnan(e.value):
        why = "the map of expected labels does not know its own error."
        return interval._replace(undecided=why, low=-inf, high=inf)
    return interval


def paired_limits(
    name: str, a: Panel | Attempts, b: Attempts | None, threshold: float | None
) -> Limits:
    """Limits of a difference on the same cases, or items: first less second.

    ``a`` is a panel of both, without ``b``, or attempts at the items of ``b``.
    """
    measure, items = measure_of(name), isinstance(a, Attempts)
    ask: Callable[..., Any]
    runs: dict[str, Any] = {"first": a, "second": b}
    if items and name == "pass_rate":
        ask = partial(compare_runs, runs)
    elif measure is None and not items:
        ask = partial(compare_metric, a, name, thresholds=threshold)
    elif measure is not None and not items and hasattr(measure.ask, "measure"):
        ask = partial(compare, a, measure.ask)
    else:
        raise InputError(
            f"{name} is not compared case by case; auc, brier, metrics at a threshold "
            "and, of attempts, pass_rate are. A baseline in a file of its own is "
            "compared unpaired."
        )
    pairs = cache(lambda alpha: ask(level=1 - 2 * alpha).pairs)
    return lambda alpha: _interval(pairs(alpha)[0].difference, a)


def difference_limits(a: Limits, b: Limits, *, size: bool = False) -> Limits:
    """Limits of a difference of two independent measures: Zou and Donner (2008).

    Of its size, whichever way it points, each end has half of the error.
    """

    def limits(alpha: float) -> Interval:
        x, y = (limits(alpha / 2 if size else alpha) for limits in (a, b))
        d = x.value - y.value
        low = d - hypot(x.value - x.low, y.high - y.value)
        high = d + hypot(x.high - x.value, y.value - y.low)
        if size:
            d, low, high = abs(d), max(low, -high, 0.0), max(-low, high)
        return Interval(d, low, high, x.n + y.n, x.what)

    return limits


def _share_of_positives(t: Tally, *, level: float) -> Estimate:
    if not t.n_pos + t.n_neg and not t.labels_expected:
        raise NotEnoughCases("prevalence needs labelled cases; found none.")
    if t.design.fixed_classes:
        raise InputError(
            "prevalence is what these cases show of the share of positives; a "
            "case-control sample, or another prevalence, says it beforehand. Leave "
            "this requirement out."
        )

    def measure(x: Tally) -> MeasuredValue:
        n, p = x.n_pos + x.n_neg, x.prevalence
        return MeasuredValue(
            p, Influence(np.full(len(x), -p / n), np.full(len(x), (1 - p) / n))
        )

    return estimate_measure(t, measure, level=level, name="prevalence")


class Measure(NamedTuple):
    """What may be required beside metrics: an entry in ``MEASURES`` is all it needs.

    ``ask(data, level=...)`` gives an estimate; where it has an attribute ``measure``,
    it is compared with a baseline on the same cases, otherwise on others only.
    """

    ask: Callable[..., Any]
    direction: str = "higher"
    range: tuple[float, float] = (0.0, 1.0)


MEASURES = {
    "auc": Measure(auc),
    "partial_auc": Measure(partial(partial_auc, fpr=(0.0, 0.1), corrected=True)),
    "average_precision": Measure(average_precision),
    "brier": Measure(brier, "lower"),
    "log_loss": Measure(log_loss, "lower", (0.0, np.inf)),
    "calibration_error": Measure(
        lambda t, **o: calibration_error(t, **o).debiased, "lower"
    ),
    "calibration_slope": Measure(
        lambda t, **o: calibration_line(t, **o).slope, "none", (-np.inf, np.inf)
    ),
    "prevalence": Measure(_share_of_positives, "none"),
    "pass_rate": Measure(pass_rate),
}
# measures of attempts with a number in their name
_OF_K = {"pass_at_k": pass_at_k, "pass_hat_k": pass_hat_k}
_NAMED_K = re.compile(r"(pass_at_k|pass_hat_k)\((?:k *= *)?([1-9]\d*)\)")


def measure_of(name: str) -> Measure | None:
    """Find a measure by its name; None of a metric of the confusion matrix."""
    if found := _NAMED_K.fullmatch(name):
        return Measure(partial(_OF_K[found[1]], k=int(found[2])))
    return MEASURES.get(name)


def of_attempts(name: str) -> bool:
    """Is it a measure of attempts, and not of labels and scores?"""
    return name == "pass_rate" or _NAMED_K.fullmatch(name) is not None


# facts about the file itself: counted, and so without an interval
FACTS: dict[str, Callable[[Tally], float]] = {
    "cases": lambda t: t.n,
    "labelled": lambda t: t.n_pos + t.n_neg,
    "positives": lambda t: t.n_pos,
    "negatives": lambda t: t.n_neg,
    "unlabelled_share": lambda t: t.n_unknown / t.n if t.n else float("nan"),
    "lowest_score": lambda t: float(t.score[-1]) if t.score.size else float("nan"),
    "highest_score": lambda t: float(t.score[0]) if t.score.size else float("nan"),
    "distinct_scores": lambda t: t.score.size,
}
