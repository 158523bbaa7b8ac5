"""Which treatment lets readers see more? Limits and tests of means and differences."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.frames import native_frame
from trueness._core.numbers import counted, p_is
from trueness._core.records import Estimate, Record, brief
from trueness.comparison.results import Pair, adjusted, asked_margin, judged
from trueness.inference.limits import around, limits, on_scale
from trueness.inference.spread import Spread
from trueness.metrics.algebra import Metric
from trueness.readers import model as _model
from trueness.readers.design import Endpoint, Readings, endpoint, enough, readings
from trueness.readers.model import (
    COVARIANCES,
    ReaderComponents,
    ReaderModel,
    ReaderSpread,
    StudyQuestion,
    denominator,
    kernel_of,
    one_shot,
    quantile,
)


@final
@dataclass(frozen=True, repr=False)
class ReaderStudy(Record):
    """Which treatment lets readers see more, and could that be chance?

    Attributes
    ----------
    treatments, readers : tuple of str
        Their names.
    results : array (treatments, readers)
        The endpoint of every reader with every treatment; NaN where there is none.
    means, pairs : tuple of Estimate, tuple of Pair
        Mean of each treatment over the readers; differences, with p-values.
    statistic, df1, df2, p_value : float
        Test that all treatments are equal: F (chi-squared over df1 with fixed readers)
        and degrees of freedom (by Behrens and Fisher, those of the mean square in its
        denominator); NaN with one treatment.
    components : ReaderComponents
        What varies; :func:`plan_readers` starts from it.
    n_pos, n_neg : int
        Cases of the study.
    design, assumed : str
        Fully crossed, or what is nested; which of readers and cases are random.
    metric, method, level : str, str, float
        The endpoint, how it was analysed, and the level of the intervals.
    groups : int
        Groups of readers without a common case: 1 when the design is crossed, as many
        as readers when each has cases of their own, between them in a split plot.
    """

    treatments: tuple[str, ...]
    readers: tuple[str, ...]
    results: Floats
    means: tuple[Estimate, ...]
    pairs: tuple[Pair, ...]
    statistic: float
    df1: int
    df2: float
    p_value: float
    components: ReaderComponents
    n_pos: int
    n_neg: int
    design: str
    assumed: str
    metric: str
    method: str
    level: float
    notes: tuple[str, ...]
    groups: int = 1

    def __repr__(self) -> str:
        """Write the means, the differences and the test in lines."""
        lines = [
            f"ReaderStudy: {self.metric}, {counted(len(self.readers), 'reader')}, "
            f"{self.n_pos} + {self.n_neg} cases, {self.design}; {self.assumed}; "
            f"{self.method}"
        ]
        both = zip(self.treatments, self.means, strict=True)
        lines += [f"  {name}: {mean}" for name, mean in both]
        lines += [f"  {pair}" for pair in self.pairs]
        if self.pairs:
            test = (
                f"F {brief(self.statistic)} on {self.df1} and {brief(self.df2)} degrees"
            )
            if math.isinf(self.df2):
                many = counted(self.df1, "degree")
                test = f"chi-squared {brief(self.df1 * self.statistic)} on {many}"
            lines.append(f"  all equal? {p_is(self.p_value)} ({test} of freedom)")
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with one row per treatment and reader."""
        i, j = np.nonzero(np.isfinite(self.results))
        columns = {
            "treatment": [self.treatments[k] for k in i],
            "reader": [self.readers[k] for k in j],
            "value": self.results[i, j].tolist(),
        }
        return native_frame(columns, backend)


def reader_study(
    data: Any,
    *,
    reader: Any = "reader",
    treatment: Any = "treatment",
    case: Any = "case",
    label: Any = "label",
    score: Any = "score",
    positive: Any = None,
    metric: Metric | str = "auc",
    threshold: float | None = None,
    readers: str = "random",
    cases: str = "random",
    covariance: str = "jackknife",
    method: str = "obuchowski-rockette",
    margin: float | None = None,
    pairs: str = "own",
    scale: str = "plain",
    reference: str = "student",
    level: float = 0.95,
) -> ReaderStudy:
    r"""Which treatment lets readers see more, and could that be chance?

    .. math:: F = \frac{MS_T}{MS_{TR} + J \max(\mathrm{Cov}_2 - \mathrm{Cov}_3, 0)}

    The design (crossed, cases or readers nested) is found from who read which cases.
    ``docs/maths/readers.md`` has all formulas.

    Parameters
    ----------
    data
        One row per reading: a frame of any library, or a mapping of columns.
    reader, treatment, case, label, score
        Names of the columns (or columns): who read, by which treatment, which case, its
        truth, and the rating.
    positive
        Which label is positive; when None, the labels are 0 and 1, and 1 is positive.
    metric
        ``"auc"``, or any metric at a threshold: ``"recall"``, ``"specificity"``,
        ``"f1"``.
    threshold
        The threshold of such a metric: positive when the score is at least this.
    readers, cases
        ``"random"``: the result applies to readers (cases) like these; ``"fixed"``: to
        these alone.
    covariance
        ``"jackknife"``, ``"delong"`` or ``"unbiased"``.
    method
        ``"obuchowski-rockette"``, or ``"gallas"``: the one-shot U-statistic variance,
        with Hillis' degrees of freedom (random readers and cases).
    margin
        Adds tests of non-inferiority and of equivalence to every pair of treatments.
    pairs
        Where some of three treatments share more cases, or have more readers, than
        others: ``"own"`` gives each pair the variance of its own cases and readers,
        ``"pooled"`` gives all pairs that of the test of all, as MRMCaov does.
    scale
        ``"plain"``: limits are symmetric around means and differences, as published.
        ``"logit"``: on the logit scale, and never nearer than the plain ones; tests
        against a margin then keep their level near an AUC of 1 too.
    reference
        ``"student"``: Student's distribution on Hillis' degrees of freedom, as
        published. ``"behrens-fisher"``: for two to four readers, with whom published
        tests reject too many true hypotheses.
    level
        Confidence level of the intervals.

    References
    ----------
    Obuchowski, Rockette (1995), Commun. Stat. Simul. 24:285,
    doi:10.1080/03610919508813243; Hillis (2007), Stat. Med. 26:596,
    doi:10.1002/sim.2532; Hillis (2014), Stat. Med. 33:330, doi:10.1002/sim.5926;
    Gallas (2006), Acad. Radiol. 13:353, doi:10.1016/j.acra.2005.11.030

    Examples
    --------
    >>> rows = {"reader": [], "treatment": [], "case": [], "label": [], "score": []}
    >>> for r in "ab":
    ...     for t in "XY":
    ...         for c in range(6):
    ...             wrong = c == 3 and (r + t) in ("aY", "bX", "bY")
    ...             reading = [r, t, c, int(c > 2), (c > 2) - 1.5 * wrong]
    ...             for k, v in zip(rows, reading):
    ...                 rows[k].append(v)
    >>> found = reader_study(rows)
    >>> [round(m.value, 4) for m in found.means]  # (1 + 6/9) / 2 and 6/9
    [0.8333, 0.6667]
    """
    level = _options.fraction(level, "level")
    wanted = asked_margin(margin)
    given = {"readers": readers, "cases": cases, "covariance": covariance,
             "method": method, "pairs": pairs, "scale": scale,
             "reference": reference}  # fmt: skip
    for what, value in given.items():
        _options.choice(value, _CHOICES[what], what)
    columns = {"reader": reader, "treatment": treatment, "case": case,
               "label": label, "score": score}  # fmt: skip
    x = readings(data, columns, positive)
    enough(x)
    end, gallas = endpoint(metric, threshold), method == "gallas"
    if gallas:
        kernel_of(end, method)
    chosen = COVARIANCES["unbiased" if gallas else covariance]
    m = _model.fit_model(x, end, chosen)
    pooled, logit = pairs == "pooled", scale == "logit"
    alone = not (pooled or x.shares_evenly)
    number = (len(x.readers),) * 2 if cases == "fixed" else x.number
    asked = StudyQuestion(
        readers, cases, level, wanted, alone, pooled, logit, reference, number
    )
    _possible(m, asked, method)
    words = ["gallas"] if gallas else [method, covariance]
    words += ["logit"] * logit + [reference] * (reference != "student")
    how, several = ", ".join(words), range(len(x.treatments))
    means = tuple(_mean(m, k, asked, end, how) for k in several)
    found, made = [], []
    for a, b in combinations(several, 2):
        d = _difference(m, asked, (a, b))
        if alone:  # one covariance for all pairs would fit none of them
            part = _model.fit_model(x.of_treatments((a, b)), end, chosen)
            d = _difference(part, asked, (0, 1))
        if gallas:
            d = d._replace(sd=one_shot(x, end, (a, b)))
        found.append(d)
        # it has all that ``judged`` asks of a contrast
        c: Any = _tested(d, means[a], means[b], asked, end)
        made.append(judged(x.treatments[a], x.treatments[b], c, how, level, wanted))
    test = _equality(m, asked)
    if len(made) == 1:
        test = (*test[:3], made[0].p_value)
    return ReaderStudy(
        *(x.treatments, x.readers, m.table, means, adjusted(made), *test),
        *(m.components, *x.number, x.design, f"{readers} readers, {cases} cases"),
        *(end.name, how, level, _notes(x, m, asked, end, found), x.groups),
    )


_CHOICES: dict[str, Collection[str]] = {
    "readers": ("random", "fixed"),
    "cases": ("random", "fixed"),
    "covariance": COVARIANCES,
    "method": ("obuchowski-rockette", "gallas"),
    "pairs": ("own", "pooled"),
    "scale": ("plain", "logit"),
    "reference": ("student", "behrens-fisher"),
}


def _possible(m: ReaderModel, asked: StudyQuestion, method: str) -> None:
    fixed, few = "fixed" in (asked.readers, asked.cases), min(m.per_treatment)
    if asked.readers == "random" and few < 2:
        raise NotEnoughCases(
            f"Random readers need at least two readers with each treatment; found {few}"
            '. Type readers="fixed" for a result about these readers alone.'
        )
    impossible = {
        "With fixed readers and fixed cases nothing varies; one of them must be "
        '"random".': asked.readers == asked.cases == "fixed",
        'method="gallas" is for random readers and cases; type '
        'method="obuchowski-rockette".': method == "gallas" and fixed,
        'reference="behrens-fisher" has limits on the plain scale only; leave scale= '
        "out.": asked.logit and asked.reference != "student",
    }
    for text, holds in impossible.items():
        if holds:
            raise InputError(text)


def _equality(m: ReaderModel, asked: StudyQuestion) -> tuple[float, int, float, float]:
    """Test that all treatments are equal: F, degrees of freedom, p-value."""
    df1 = len(m.table) - 1
    if not df1:
        return math.nan, 0, math.nan, math.nan
    spread = denominator(m, asked, m.each)
    top, total = m.components.ms_treatment, spread.value
    df2 = spread.df if asked.reference == "student" else spread.free
    if total > 0:
        p = _model.equality_test(top / total, df1, spread, asked.reference)
        return top / total, df1, df2, p
    return math.inf if top > 0 else 0.0, df1, df2, math.nan


class _Difference(NamedTuple):
    value: float
    sd: float
    spread: ReaderSpread


def _difference(
    m: ReaderModel, asked: StudyQuestion, at: tuple[int, int]
) -> _Difference:
    # Differs from Hillis (2014), who has equal numbers of readers: the variance of a
    # difference is MS (1 / J_a + 1 / J_b) + 2 (Cov2 - Cov3), so J is harmonic here.
    j = float(2 / (1 / m.per_treatment[list(at)]).sum())
    spread = denominator(m, asked, m.each if asked.pooled else j)
    sd = math.sqrt(max(2 * spread.value / j, 0.0))
    return _Difference(float(m.means[at[0]] - m.means[at[1]]), sd, spread)


def _mean(
    m: ReaderModel, k: int, asked: StudyQuestion, end: Endpoint, method: str
) -> Estimate:
    """Give the mean of a treatment, from its own readers and errors alone."""
    ms, var, cov2 = m.own[k]
    n, value = int(m.per_treatment[k]), float(m.means[k])
    spread = ReaderSpread(var + (n - 1) * max(cov2, 0.0), 0.0, math.inf)
    if asked.readers == "random":
        both = asked.cases == "random"
        spread = ReaderSpread(ms + both * n * max(cov2, 0.0), ms, n - 1.0)
    sd = math.sqrt(max(spread.value / n, 0.0))
    half = quantile(spread, asked.level, asked.reference) * sd
    ends = max(end.range[0], value - half), min(value + half, end.range[1])
    if sd == 0:
        ends = unseen_spread(value, asked.number, end, asked.level)
    elif asked.logit:
        ends = on_scale(value, half, end.range)
    return around(value, *ends, asked.level, method, sd)


def unseen_spread(
    value: float, number: tuple[int, int], end: Endpoint, level: float
) -> tuple[float, float]:
    """Between which values could a mean lie that shows no spread at all?"""
    # readers who agree count as one; an AUC has no more cases than its smaller class
    n = min(number) if end.name == "auc" else float(np.dot(number, end.depends))
    return limits(value, Spread(0.0, math.inf, n), end.range, level)[0]


def _tested(
    d: _Difference, a: Estimate, b: Estimate, asked: StudyQuestion, end: Endpoint
) -> _model.MeanContrast:
    """Test a difference, symmetrically or by the logit limits of both means (MOVER).

    Zou and Donner (2008), with the correlation of the means that the standard errors
    imply; never nearer than the symmetric limits. Where nothing varies, r = 0.
    """
    if d.sd == 0:

        def apart(z: float, up: bool) -> float:
            level = 2 * NormalDist().cdf(z) - 1
            one, two = (unseen_spread(e.value, asked.number, end, level)
                        for e in (a, b))  # fmt: skip
            return math.hypot(one[up] - a.value, two[not up] - b.value)

        known = ReaderSpread(0.0, 0.0, math.inf)
        return _model.MeanContrast(d.value, 0.0, known, "student", apart)
    both = 2 * a.sd * b.sd
    r = (a.sd**2 + b.sd**2 - d.sd**2) / both if both > 0 else 0.0
    r = min(max(r, -1.0), 1.0)

    def reach(z: float, up: bool) -> float:
        if not asked.logit:
            return z * d.sd
        own = on_scale(a.value, z * a.sd, end.range)[up] - a.value
        other = on_scale(b.value, z * b.sd, end.range)[not up] - b.value
        square = own**2 + other**2 + 2 * r * own * other
        return max(math.sqrt(max(square, 0.0)), z * d.sd)

    return _model.MeanContrast(d.value, d.sd, d.spread, asked.reference, reach)


def _notes(
    x: Readings,
    m: ReaderModel,
    asked: StudyQuestion,
    end: Endpoint,
    found: Collection[_Difference],
) -> tuple[str, ...]:
    few, student = min(m.per_treatment) < 4, asked.reference == "student"
    random_few = bool(found) and asked.readers == "random" and few
    near = end.range == (0, 1) and ((student and few) or m.means.max() > 0.9)
    said = {
        f"Left out: {counted(x.lost, 'reading')} without a score.": x.lost > 0,
        f"With {min(m.per_treatment)} readers hardly any difference can be shown to "
        "hold for other readers; plan_readers says how many are needed.": random_few,
        "Tests of so few readers reject too often where readers differ much in what a "
        'treatment does for them. Type reference="behrens-fisher" for tests that keep '
        "their level.": random_few and student and asked.cases == "random",
        "Readers are taken as fixed: the result is about these readers, and says "
        "nothing about others.": asked.readers == "fixed",
        "Cases are taken as fixed: the result is about these cases alone.": asked.cases
        == "fixed",
        "Some treatments share more cases than others: each difference is analysed by "
        "itself, and the test of all is an approximation.": asked.alone,
        "Some treatments share more cases than others, but all differences have one "
        "standard error: too small for those that share few cases.": asked.pooled
        and not x.shares_evenly,
        "All readers show the same difference, so there is no spread by which it could "
        "be judged: its limits and p-values are those of one reader with as many "
        "independent cases for each treatment.": any(d.sd == 0 for d in found),
        "With fewer than 4 readers, or above 0.9, tests against a margin reject too "
        "often: those of 5 % erred in up to 9 % of simulated studies. Type "
        'scale="logit" for tests that keep their level.': near
        and not (asked.logit or math.isnan(asked.margin)),
        "All treatments are below one half. Do high scores mean positive?": end.name
        == "auc"
        and m.means.max() < 0.5,
    }
    return tuple(text for text, holds in said.items() if holds)
