"""Which leaves can be trusted, how useful are they, and how many cases do they lack?

Many leaves are looked at, and the best-looking ones are picked out. So a leaf is called
trusted only if the sign test finds its majority with all leaves taken into account
(Benjamini and Hochberg 1995), and the intervals of trusted leaves allow for having been
picked out (Benjamini and Yekutieli 2005). Cases that a tree was grown on show neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, final

import numpy as np
from scipy.special import betainc

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.binomial import at_least
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.data_types import LabelValue
from trueness._core.figures import Intervals, html_table
from trueness._core.numbers import chance, counted, p_is
from trueness._core.records import Record, brief, shown
from trueness._core.solvers import bisect
from trueness.trees.levels import (
    TOP_METHODS,
    TreeLevels,
    confidence_level,
    majority_interval,
    plan_leaf,
    tree_levels,
    utility_level,
)

# Zhang (2024), section 3, recommendation 2: the least cases of a leaf for each estimate
RECOMMENDED_CASES = {"blend": 20, "mle": 40, "emle": 40}
MAX_LINES = 40  # of a report on a terminal
MAX_ROWS = 100  # of a report in a notebook
MAX_CASES = 1e6  # beyond, the number that a leaf needs is a bound
BISECTIONS = 40  # which leave less than 1e-6 of a case


@final
@dataclass(frozen=True, repr=False)
class LeafReport(Record):
    r"""Report on leaves: which can be trusted, and how many more cases the others need.

    Attributes
    ----------
    node, n, majority : array (J,)
        The leaves, their labelled cases, and "positive", "negative" or "tie".
    mle, emle, blend, low, high : array (J,)
        Estimates of the larger class probability, see
        :func:`trueness.top_probability`, and its interval.
    confidence, utility : array (J,)
        P(C) and P(U) of the leaf with its n cases, at the estimate ``method``; where
        all cases agree, at (n + 1) / (n + 2), and for a single case at 1/2.
    confidence_low, confidence_high, utility_low, utility_high : array (J,)
        P(C) and P(U) at the ends of the interval.
    p_adjusted : array (J,)
        P-value of the two-sided sign test that both classes are equally likely in the
        leaf, adjusted for the number of leaves (Benjamini and Hochberg 1995).
    verdict, cases_needed : array (J,)
        "contradicted": most of these cases are not of the class that the tree predicts
        (only for cases that the tree was not grown on). "trust": P(C) reaches
        ``required_confidence``, and the adjusted p-value is at most 1 minus that.
        "untested": the same, but on cases that the tree was grown on, which is no
        evidence. "coin
        toss": the counts do not differ from a coin's,
        :math:`(\mathrm{pos}-\mathrm{neg})^2 \le n`. "thin": all others. How many more
        cases the leaf needs, if its estimate is right; infinite in a tie, NaN without a
        case.
    tree : TreeLevels
        P(C) and P(U) of the whole tree, whose leaves get their cases at random.
    required_confidence, level, trusted_level, method, note
        Wanted level of confidence; level of the intervals; level of each interval of a
        trusted leaf; estimate behind the levels; and the cases that the leaves were
        counted on. With R of J leaves trusted, ``trusted_level`` is 1 - (1 - ``level``)
        R / J, so that on average ``level`` of these intervals hold (Benjamini and
        Yekutieli 2005; NaN for R = 0).
    predicted, rule, p_value : array (J,)
        The prediction of the tree in each leaf, the condition for its cases, and an
        exact one-sided p-value. It tests that the predicted class has at least half of
        the cases.
    classes : array (2,)
        Names of the negative and the positive class, if known.
    """

    node: Array
    n: Ints
    majority: Array
    mle: Floats
    emle: Floats
    blend: Floats
    low: Floats
    high: Floats
    confidence: Floats
    confidence_low: Floats
    confidence_high: Floats
    utility: Floats
    utility_low: Floats
    utility_high: Floats
    p_adjusted: Floats
    verdict: Array
    cases_needed: Floats
    tree: TreeLevels
    required_confidence: float
    level: float
    trusted_level: float
    method: str
    note: str = ""
    predicted: Array | None = None
    p_value: Floats | None = None
    rule: Array | None = None
    classes: Array | None = None

    def __repr__(self) -> str:
        """Write one line a leaf, the first forty, and one for the tree."""
        lines = [text_table(*leaf_table(self, MAX_LINES))]
        if self.node.size > MAX_LINES:
            lines.append(f"... {self.node.size - MAX_LINES:,} more leaves")
        return "\n".join([*lines, *_foot(self)])

    def _repr_html_(self) -> str:
        foot = "".join(f"<p>{line}</p>" for line in _foot(self))
        return html_table(*leaf_table(self, MAX_ROWS)) + foot


def report_on_leaves(
    node: Array,
    neg: Ints,
    pos: Ints,
    *,
    confidence: float,
    level: float,
    method: str,
    empty: str | float,
    fresh: bool,
) -> LeafReport:
    """Return the report on leaves with these labelled cases; options are checked."""
    n = neg + pos
    total = int(n.sum())
    estimates = {name: estimate(pos, n) for name, estimate in TOP_METHODS.items()}
    probability = probability_for_levels(neg, pos, estimates[method])
    confidence_of_leaves = confidence_level(n, probability)

    # the true majority may not be the one that was seen: the sign test, leaf by leaf
    adjusted = benjamini_hochberg(_sign_test_p_values(neg, pos))
    significant = adjusted <= 1 - confidence
    passes = significant & (confidence_of_leaves >= confidence)
    # no more than a coin's standard deviation from half: the emle of p is 1/2
    is_coin = ((2 * pos - n) ** 2 <= n) & (n != 1)
    trusted = passes & ~is_coin & fresh

    low, high = majority_interval(pos, n, level)
    trusted_level = math.nan
    if trusted.any():
        # Benjamini and Yekutieli (2005): selected intervals are wider
        trusted_level = 1 - (1 - level) * trusted.sum() / (n > 0).sum()
        trusted_low, trusted_high = majority_interval(pos, n, trusted_level)
        low = np.where(trusted, trusted_low, low)
        high = np.where(trusted, trusted_high, high)

    more_cases = _more_cases(neg, pos, estimates[method], confidence, significant)
    # a leaf that passes lacks none, any other at least one
    more_cases = np.where(passes & ~is_coin, 0.0, np.maximum(more_cases, 1.0))
    passed = "trust" if fresh else "untested"

    return LeafReport(
        node=node,
        n=n,
        majority=np.select([pos > neg, pos < neg], ["positive", "negative"], "tie"),
        **estimates,
        low=low,
        high=high,
        confidence=confidence_of_leaves,
        confidence_low=confidence_level(n, low),
        confidence_high=confidence_level(n, high),
        utility=utility_level(n, probability),
        utility_low=utility_level(n, low),
        utility_high=utility_level(n, high),
        p_adjusted=adjusted,
        verdict=np.select([is_coin, passes], ["coin toss", passed], "thin"),
        cases_needed=more_cases,
        tree=tree_levels(total, n / total, probability, empty),
        required_confidence=confidence,
        level=level,
        trusted_level=float(trusted_level),
        method=method,
        note=FRESH if fresh else GROWN,
    )


FRESH = "The leaves are assumed to be chosen without these cases, as for held-out data."
GROWN = (
    "The tree was grown on these cases. Its splits were chosen because they looked "
    "good on them, so the levels are too high and no leaf is called trusted. Count the "
    "leaves on cases that were held out."
)


def probability_for_levels(neg: Ints, pos: Ints, estimate: Floats) -> Floats:
    """Return the class probability behind P(C) and P(U) of each leaf."""
    n = neg + pos
    # Laplace's rule of succession, where the cases cannot show that others exist
    all_agree = (pos == n) | (neg == n)
    probability = np.where(all_agree, (n + 1) / (n + 2), estimate)

    # 1/2 where there is no estimate: a leaf without a case, or with a single one, which
    # is a majority of 1 whatever the truth is
    return np.where(np.isnan(estimate) | (n == 1), 0.5, probability)


def _sign_test_p_values(neg: Ints, pos: Ints) -> Floats:
    """Return the exact two-sided p-value of equal classes; NaN without a case."""
    n = neg + pos
    # the majority is seen in the same cases, so that both tails count
    p_value = np.minimum(1.0, 2 * at_least(np.maximum(pos, neg), n, 0.5))
    return np.where(n > 0, p_value, np.nan)


def benjamini_hochberg(p_value: Floats) -> Floats:
    """Return p-values adjusted for their number; NaN stays, and does not count.

    The smallest false discovery rate at which each is rejected (Benjamini and Hochberg
    1995, doi:10.1111/j.2517-6161.1995.tb02031.x).

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, np.nan])).round(3).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    adjusted = np.full(p_value.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p_value))
    ascending = tested[np.argsort(p_value[tested], kind="stable")]
    # p_(i) m / i
    scaled = p_value[ascending] * tested.size / np.arange(1, tested.size + 1)
    # a p-value is rejected wherever a larger one is
    adjusted[ascending] = np.minimum.accumulate(scaled[::-1])[::-1]

    return adjusted


def _more_cases(
    neg: Ints, pos: Ints, estimate: Floats, level: float, significant: Array
) -> Floats:
    """Return how many cases each leaf lacks if its estimate is right."""
    n = neg + pos
    # the first of the others would be tested at this level (Benjamini and Hochberg)
    tested = max(int((n > 0).sum()), 1)
    significance_level = (1 - level) * min(1.0, (significant.sum() + 1) / tested)

    distinct, place = np.unique(estimate, return_inverse=True)
    for_level = np.array(
        [_cases_for_level(probabilities, level) for probabilities in distinct]
    )
    for_test = _cases_for_sign_test(distinct, significance_level)
    needed = np.maximum(for_level, for_test)[place]

    return np.where(n == 0, np.nan, np.maximum(needed - n, 0.0))


def _cases_for_level(probability: float, level: float) -> float:
    """Return how many cases reach this P(C); infinitely many where p is 1/2."""
    if math.isnan(probability):
        return 1.0
    try:
        return float(plan_leaf(probability, confidence=level))
    except NotEnoughCases:  # p = 1/2: no number of cases finds a majority
        return math.inf


def _cases_for_sign_test(probability: Floats, significance_level: float) -> Floats:
    """Return how many cases with such a majority are significant by the sign test."""
    # one case does not estimate p (NaN): assume that all others would agree with it
    majority = np.where(np.isnan(probability), 1.0, probability)
    excess = np.maximum(majority - 0.5, 1e-9)
    # Hoeffding (1963): the tail is at most exp(-2 n (p - 1/2)^2)
    surely_enough = np.ceil(math.log(2 / significance_level) / (2 * excess**2)) + 1

    def too_few(cases: Floats) -> Array:
        in_majority = majority * cases
        # the upper binomial tail, for a majority that need not be whole
        tail = betainc(in_majority, cases - in_majority + 1, 0.5)
        return np.asarray(2 * tail > significance_level)

    # of very many cases the bound is near enough, and the tail takes long to sum
    countable = surely_enough < MAX_CASES
    upper_end = np.where(countable, surely_enough, 1.0)
    cases = np.ceil(bisect(too_few, 1.0, upper_end, BISECTIONS) - 1e-6)
    cases = np.where(countable, cases, surely_enough)

    return np.where(majority > 0.5, cases, np.inf)


def report_beside_prediction(
    report: LeafReport,
    *,
    neg: Ints,
    pos: Ints,
    predicted: Array,
    positive: LabelValue,
    fresh: bool,
) -> LeafReport:
    """Return the report with leaves that contradict the tree's prediction first.

    Contradictions are tested on fresh cases only: the tree was not grown on them.
    """
    n = neg + pos
    agree = np.where(predicted == positive, pos, neg)
    p_value = np.where(n > 0, at_least(n - agree, n, 0.5), np.nan)
    contradicted = (2 * agree < n) & fresh
    verdict = np.where(contradicted, "contradicted", report.verdict)
    report = replace(report, predicted=predicted, p_value=p_value, verdict=verdict)

    # contradicted leaves first, the smallest p-value on top
    order = np.lexsort((np.where(contradicted, p_value, 0.0), ~contradicted))
    by_leaf = {
        field.name: getattr(report, field.name)[order]
        for field in fields(report)
        if field.name != "classes"
        and isinstance(getattr(report, field.name), np.ndarray)
    }
    return replace(report, **by_leaf)


def text_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as text, in columns of equal width."""
    table = [head, *([brief(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())

    return "\n".join(lines)


LEAF_NUMBERS = (
    "node",
    "n",
    "majority",
    "probability",
    "low",
    "high",
    "confidence",
    "utility",
    "utility_low",
    "utility_high",
    "p_adjusted",
    "verdict",
    "cases_needed",
)


def leaf_numbers(report: LeafReport) -> list[dict[str, Any]]:
    """Return the numbers of each leaf, for programs."""
    names = [*LEAF_NUMBERS]

    if report.rule is not None:
        names.append("rule")

    # the probability is that of the chosen method
    column_names = [report.method if name == "probability" else name for name in names]
    columns = [np.asarray(getattr(report, name)).tolist() for name in column_names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


LEAF_HEAD = (
    "leaf",
    "cases",
    "majority",
    "proportion",
    "P(C)",
    "P(U)",
    "verdict",
    "cases needed",
)


def leaf_table(
    report: LeafReport, max_rows: int | None = None
) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns, and a row for each leaf.

    The last column is the rule of the path, where the report has rules.
    """
    head = [*LEAF_HEAD]

    if report.rule is not None:
        head.append("rule")

    rows = [
        _leaf_row(report, leaf, numbers)
        for leaf, numbers in enumerate(leaf_numbers(report)[:max_rows])
    ]
    return head, rows


def _leaf_row(report: LeafReport, leaf: int, numbers: dict[str, Any]) -> list[Any]:
    """Return the row of one leaf, with its rule where it is known."""
    majority = numbers["majority"]
    if report.classes is not None and majority != "tie":
        majority = str(report.classes[int(majority == "positive")])

    verdict = numbers["verdict"]
    if verdict == "contradicted" and report.predicted is not None:
        p_value = np.nan if report.p_value is None else report.p_value[leaf]
        verdict += f": predicts {report.predicted[leaf]}, {p_is(p_value)}"

    proportion = f"{numbers['probability']:.3f}"
    interval = f"{numbers['low']:.3f} to {numbers['high']:.3f}"
    utility = chance(numbers["utility"], 3)
    ends = f"{numbers['utility_low']:.3f} to {numbers['utility_high']:.3f}"
    row = [
        str(numbers["node"]),
        numbers["n"],
        majority,
        f"{proportion} ({interval})",
        chance(numbers["confidence"], 4),
        f"{utility} ({ends})",
        verdict,
        _cases_needed(numbers["cases_needed"]),
    ]

    if "rule" in numbers:
        row.append(numbers["rule"])

    return row


def _cases_needed(more_cases: float) -> str:
    """Return how many cases a leaf lacks, as text; "" where it lacks none."""
    if more_cases == 0:
        return ""
    return f"{more_cases:,.0f}" if np.isfinite(more_cases) else "never enough"


def _foot(report: LeafReport) -> list[str]:
    """Return the lines below the table: levels of the tree, and notes."""
    tree = report.tree
    line = (
        f"tree of {tree.n:,} cases: P(C) {chance(tree.confidence, 3)}, "
        f"P(U) {chance(tree.utility, 3)}; {_number_trusted(report)} of "
        f"{report.node.size} leaves trusted at {report.required_confidence:g}"
    )
    lines = [line, *_few_cases(report)]

    if report.note:
        lines.append(report.note)

    return lines


def _number_trusted(report: LeafReport) -> int:
    """Return how many leaves can be trusted."""
    return int((report.verdict == "trust").sum())


def _few_cases(report: LeafReport) -> list[str]:
    """Return a note on leaves that are smaller than the paper recommends."""
    recommended = RECOMMENDED_CASES[report.method]
    small = int((report.n < recommended).sum())
    if not small:
        return []

    have = "has" if small == 1 else "have"
    leaves = counted(report.node.size, "leaf", "leaves")

    return [
        f"{small} of {leaves} {have} fewer than {recommended} cases, which Zhang "
        f"(2024) recommends as the least for the {report.method} estimate."
    ]


def leaf_sentences(report: LeafReport) -> list[str]:
    """Return sentences on the leaves that can be trusted, and on the columns."""
    false_discovery = 100 * (1 - report.required_confidence)
    sentences = [
        f"{_number_trusted(report)} of "
        f"{counted(report.node.size, 'leaf', 'leaves')} can be trusted.",
        "In a trusted leaf the observed majority is the true majority with a "
        f"probability P(C) of {report.required_confidence:g} or more.",
        f"Of all leaves called trusted, at most {false_discovery:.3g} % are "
        "expected to have no true majority (Benjamini and Hochberg 1995).",
        "P(U) is the probability that a new case has the label of the majority.",
    ]

    if _number_trusted(report):
        sentences.append(
            "Intervals of trusted leaves are adjusted for the selection (Benjamini "
            "and Yekutieli 2005)."
        )

    sentences += [
        "A 'thin' leaf has too few cases; 'cases needed' is the number still missing.",
        f"The whole tree: P(C) {chance(report.tree.confidence, 4)}, "
        f"P(U) {chance(report.tree.utility, 4)}.",
        *_few_cases(report),
    ]
    return sentences


def leaf_figure(report: LeafReport) -> Intervals:
    """Return the figure of the majority of each leaf, with its interval."""
    return Intervals(
        "Proportion of the majority",
        "proportion of the majority",
        tuple(shown(node, 30) for node in report.node.tolist()),
        getattr(report, report.method),
        report.low,
        report.high,
        keys=("leaf", "share"),
        more={
            "confidence": report.confidence,
            "cases": report.n,
            "verdict": report.verdict,
        },
    )
