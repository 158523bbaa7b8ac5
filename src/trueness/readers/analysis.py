r"""Which treatment lets readers see more?

The model of Obuchowski and Rockette (``model.py``) says what the results vary by. Here
means and differences of treatments get their limits and tests, and what must be known
about them is said.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.binomial import wilson
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.doors import door
from trueness._core.numbers import counted, p_is
from trueness._core.records import Estimate, Record, brief
from trueness.comparison.aucs import asked_margin
from trueness.comparison.contrasts import Test, reach_test
from trueness.comparison.results import Pair, adjusted, judged
from trueness.metrics.algebra import Metric
from trueness.metrics.intervals import on_scale
from trueness.ranking.auc_intervals import AucSample, score_ends
from trueness.readers.covariances import COVARIANCES, kernel_of, one_shot
from trueness.readers.design import (
    Endpoint,
    Readings,
    endpoint,
    enough,
    readings,
)
from trueness.readers.model import (
    ReaderComponents,
    ReaderModel,
    ReaderSpread,
    StudyQuestion,
    denominator,
    fit_model,
)
from trueness.readers.reference import (
    REFERENCES,
    equality_test,
    mean_test,
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
    means : tuple of Estimate
        Mean of each treatment over the readers.
    pairs : tuple of Pair
        Differences of treatments, with intervals and p-values.
    statistic, df1, df2, p_value : float
        Test that all treatments are equal: F (chi-squared over df1 with fixed readers)
        and degrees of freedom (by Behrens and Fisher, those of the mean square in its
        denominator); NaN with one treatment.
    components : ReaderComponents
        What varies; :func:`plan_readers` starts from it.
    n_pos, n_neg : int
        Cases of the study.
    design : str
        Fully crossed, or what is nested.
    assumed : str
        Which of readers and cases are taken as random.
    metric, method : str
        The endpoint, and how it was analysed.
    level : float
        Confidence level of the intervals.
    notes : tuple of str
        What to keep in mind.
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
                f"chi-squared {brief(self.df1 * self.statistic)} on "
                f"{counted(self.df1, 'degree')}"
                if math.isinf(self.df2)
                else f"F {brief(self.statistic)} on {self.df1} and {brief(self.df2)} "
                "degrees"
            )
            lines.append(f"  all equal? {p_is(self.p_value)} ({test} of freedom)")
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with one row per treatment and reader."""
        columns: dict[str, list[Any]] = {"treatment": [], "reader": [], "value": []}
        for i, j in np.argwhere(np.isfinite(self.results)):
            columns["treatment"].append(self.treatments[i])
            columns["reader"].append(self.readers[j])
            columns["value"].append(float(self.results[i, j]))
        return door("data.frames").native_frame(columns, backend)


def reader_study(
    frame: Any,
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

    Parameters
    ----------
    frame
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
        others: ``"own"`` gives each pair of treatments the variance that its own cases
        and readers give it, ``"pooled"`` gives all pairs that of the test of all, as
        MRMCaov does.
    scale
        ``"plain"``: limits are symmetric around means and differences, as published.
        ``"logit"``: those of means are symmetric on the logit scale, and those of a
        difference follow from them and are never nearer than the plain ones; tests
        against a margin then keep their level near an AUC of 1 too.
    reference
        ``"student"``: Student's distribution on Hillis' degrees of freedom, as
        published. ``"behrens-fisher"``: for two to four readers, with whom the
        published tests of 5 % reject up to 13, 8 and 6 % of true hypotheses, and these
        about 5 % at most.
    level
        Confidence level of the intervals.

    Returns
    -------
    ReaderStudy
        Means of the treatments, their differences, a test of equality, and the variance
        components.

    Notes
    -----
    Whether the design is fully crossed, or has cases nested within readers or
    treatments or readers nested within treatments, is found from who read which cases.
    Results without a common case have covariance 0. With I treatments, J readers and D
    the denominator of F, a difference has the standard error :math:`\sqrt{2 D / J}` and
    :math:`D^2 / [MS_{TR}^2 / ((I-1)(J-1))]` degrees of freedom (Hillis 2007). Fixed
    readers: :math:`D = \mathrm{Var} - \mathrm{Cov}_1 + (J-1)(\mathrm{Cov}_2 -
    \mathrm{Cov}_3)` and a normal distribution; fixed cases: :math:`D = MS_{TR}`.
    Readers nested within treatments: the mean square between readers within treatments,
    with :math:`I (J - 1)` degrees of freedom, takes the place of :math:`MS_{TR}`
    (Hillis 2014).

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
    _options.choice(readers, ("random", "fixed"), "readers")
    _options.choice(cases, ("random", "fixed"), "cases")
    _options.choice(covariance, COVARIANCES, "covariance")
    _options.choice(method, ("obuchowski-rockette", "gallas"), "method")
    _options.choice(pairs, ("own", "pooled"), "pairs")
    _options.choice(scale, ("plain", "logit"), "scale")
    _options.choice(reference, REFERENCES, "reference")
    columns = {"reader": reader, "treatment": treatment, "case": case,
               "label": label, "score": score}  # fmt: skip
    x = readings(frame, columns, positive)
    enough(x)
    end = endpoint(metric, threshold)
    if method == "gallas":
        kernel_of(end, method)
    chosen = COVARIANCES["unbiased" if method == "gallas" else covariance]
    model = fit_model(x, end, chosen)
    pooled = pairs == "pooled"
    alone = not (pooled or x.shares_evenly)
    number = (len(x.readers),) * 2 if cases == "fixed" else x.number
    logit = scale == "logit"
    asked = StudyQuestion(
        readers, cases, level, wanted, alone, pooled, logit, reference, number
    )
    _possible(model, asked, method)
    found = {}
    for at in combinations(range(len(x.treatments)), 2):
        if alone:  # one covariance for all pairs would fit none of them
            part = fit_model(x.of_treatments(at), end, chosen)
            found[at] = _difference(part, asked, (0, 1))
        else:
            found[at] = _difference(model, asked, at)
    if method == "gallas":
        found = {at: d._replace(sd=one_shot(x, end, at)) for at, d in found.items()}
    name = "gallas" if method == "gallas" else f"{method}, {covariance}"
    extras = ("logit",) * asked.logit + ("behrens-fisher",) * (reference != "student")
    name = ", ".join((name, *extras))
    return _answer(x, model, asked, found, end, name)


def _possible(m: ReaderModel, asked: StudyQuestion, method: str) -> None:
    if asked.readers == "random" and min(m.per_treatment) < 2:
        raise NotEnoughCases(
            "Random readers need at least two readers with each treatment; found "
            f'{min(m.per_treatment)}. Type readers="fixed" for a result about these '
            f"readers alone."
        )
    if asked.readers == asked.cases == "fixed":
        raise InputError(
            "With fixed readers and fixed cases nothing varies; one of them must be "
            '"random".'
        )
    if method == "gallas" and "fixed" in (asked.readers, asked.cases):
        raise InputError(
            'method="gallas" is for random readers and cases; type '
            'method="obuchowski-rockette".'
        )
    if asked.logit and asked.reference != "student":
        raise InputError(
            'reference="behrens-fisher" has limits on the plain scale only; leave '
            "scale= out."
        )


class _Difference(NamedTuple):
    value: float
    sd: float
    spread: ReaderSpread


def _difference(
    m: ReaderModel, asked: StudyQuestion, at: tuple[int, int]
) -> _Difference:
    mean = m.means
    # Differs from Hillis (2014), who has equal numbers of readers: the variance of a
    # difference is MS (1 / J_a + 1 / J_b) + 2 (Cov2 - Cov3), so J is harmonic here.
    j = float(2 / (1 / m.per_treatment[list(at)]).sum())
    spread = denominator(m, asked, m.each if asked.pooled else j)
    sd = math.sqrt(max(2 * spread.value / j, 0.0))
    return _Difference(float(mean[at[0]] - mean[at[1]]), sd, spread)


def _mean(
    m: ReaderModel, k: int, asked: StudyQuestion, end: Endpoint, method: str
) -> Estimate:
    """Give the mean of a treatment, from its own readers and errors alone."""
    ms, var, cov2 = m.own[k]
    n, value = int(m.per_treatment[k]), float(m.means[k])
    if asked.readers == "fixed":
        spread = ReaderSpread(var + (n - 1) * max(cov2, 0.0), 0.0, math.inf)
    else:
        both = asked.cases == "random"
        spread = ReaderSpread(ms + both * n * max(cov2, 0.0), ms, n - 1.0)
    sd = math.sqrt(max(spread.value / n, 0.0))
    half = quantile(spread, asked.level, asked.reference) * sd
    ends = max(end.range[0], value - half), min(value + half, end.range[1])
    if sd == 0:
        ends = unseen_spread(value, asked.number, end, asked.level)
    elif asked.logit:
        ends = on_scale(value, half, end.range)
    return Estimate(value, *ends, asked.level, method, sd)


def unseen_spread(
    value: float, number: tuple[int, int], end: Endpoint, level: float
) -> tuple[float, float]:
    """Between which values could a mean lie that shows no spread at all?

    All readers agree, so they count as one, with ``number`` positive and negative
    cases: the score interval of its AUC, or Wilson's of a metric that has two ends.
    """
    if end.name == "auc":
        low, high = score_ends(AucSample(value, 0.0, 0.0, *number, None), level)
        return float(low), float(high)
    least, wide = end.range[0], end.range[1] - end.range[0]
    if not math.isfinite(wide):
        return math.nan, math.nan
    n = float(np.dot(number, end.depends))
    ends = wilson((value - least) / wide * n, n, level)
    return least + wide * float(ends[0]), least + wide * float(ends[1])


def _tested(
    d: _Difference, a: Estimate, b: Estimate, asked: StudyQuestion, end: Endpoint
) -> Test:
    r"""Test a difference, symmetrically or by the logit limits of both means.

    .. math:: L = d - \sqrt{(a - l_a)^2 + (u_b - b)^2 - 2 r (a - l_a)(u_b - b)}

    (Zou and Donner 2008), with the correlation r of the means that their standard
    errors and that of the difference imply. An AUC that is high by chance has a small
    standard error, so symmetric limits of a difference exclude a margin too often. Near
    an AUC of 1 these limits exclude 0 too often when treatments are equal, which
    symmetric ones do not: the farther of both is taken. Where nothing varies, the
    limits are those of independent cases (r = 0).
    """
    if d.sd == 0:

        def apart(z: float, up: bool) -> float:
            level = 2 * NormalDist().cdf(z) - 1
            one, two = (unseen_spread(e.value, asked.number, end, level)
                        for e in (a, b))  # fmt: skip
            return math.hypot(one[up] - a.value, two[not up] - b.value)

        return reach_test(d.value, apart, math.inf, asked.level)
    if not asked.logit:
        return mean_test(d.value, d.sd, d.spread, asked.level, asked.reference)
    both = 2 * a.sd * b.sd
    r = (a.sd**2 + b.sd**2 - d.sd**2) / both if both > 0 else 0.0
    r = min(max(r, -1.0), 1.0)

    def reach(z: float, up: bool) -> float:
        own = on_scale(a.value, z * a.sd, end.range)[up] - a.value
        other = on_scale(b.value, z * b.sd, end.range)[not up] - b.value
        square = own**2 + other**2 + 2 * r * own * other
        return max(math.sqrt(max(square, 0.0)), z * d.sd)

    return reach_test(d.value, reach, d.spread.df, asked.level)


def _answer(
    x: Readings,
    m: ReaderModel,
    asked: StudyQuestion,
    found: Mapping[tuple[int, int], _Difference],
    end: Endpoint,
    method: str,
) -> ReaderStudy:
    means = tuple(_mean(m, k, asked, end, method) for k in range(len(m.per_treatment)))
    pairs = []
    for (a, b), d in found.items():
        t = _tested(d, means[a], means[b], asked, end)
        estimate = Estimate(d.value, t.low, t.high, asked.level, method, d.sd)
        names = x.treatments[a], x.treatments[b]
        pairs.append(judged(*names, estimate, t, asked.margin))
    statistic = df2 = p = math.nan
    df1 = len(x.treatments) - 1
    if df1:
        spread = denominator(m, asked, m.each)
        top, total = m.components.ms_treatment, spread.value
        df2 = spread.df if asked.reference == "student" else spread.free
        statistic = top / total if total > 0 else math.inf if top > 0 else 0.0
        if total > 0:
            p = equality_test(statistic, df1, spread, asked.reference)
    if len(pairs) == 1:
        p = pairs[0].p_value
    words = f"{asked.readers} readers, {asked.cases} cases"
    return ReaderStudy(
        x.treatments, x.readers, m.table, means, adjusted(pairs), statistic, df1, df2,
        p, m.components, *x.number, x.design, words, end.name, method, asked.level,
        _notes(x, m, asked, end, found.values()), x.groups,
    )  # fmt: skip


def _notes(
    x: Readings,
    m: ReaderModel,
    asked: StudyQuestion,
    end: Endpoint,
    found: Collection[_Difference],
) -> tuple[str, ...]:
    notes = []
    if x.lost:
        notes.append(f"Left out: {counted(x.lost, 'reading')} without a score.")
    if found and asked.readers == "random" and min(m.per_treatment) < 4:
        notes.append(
            f"With {min(m.per_treatment)} readers hardly any difference can be shown "
            f"to hold for other readers; plan_readers says how many are needed."
        )
        if asked.reference == "student" and asked.cases == "random":
            notes.append(
                "Tests of so few readers reject too often where readers differ much in "
                'what a treatment does for them. Type reference="behrens-fisher" for '
                "tests that keep their level."
            )
    if asked.readers == "fixed":
        notes.append(
            "Readers are taken as fixed: the result is about these readers, and says "
            "nothing about others."
        )
    if asked.cases == "fixed":
        notes.append("Cases are taken as fixed: the result is about these cases alone.")
    if asked.alone:
        notes.append(
            "Some treatments share more cases than others: each difference is "
            "analysed by itself, and the test of all is an approximation."
        )
    elif not x.shares_evenly:
        notes.append(
            "Some treatments share more cases than others, but all differences have "
            "one standard error: too small for those that share few cases."
        )
    if any(d.sd == 0 for d in found):
        notes.append(
            "All readers show the same difference, so there is no spread by which it "
            "could be judged: its limits and p-values are those of one reader with as "
            "many independent cases for each treatment."
        )
    few = asked.reference == "student" and min(m.per_treatment) < 4
    near = few or m.means.max() > 0.9
    if not (asked.logit or math.isnan(asked.margin)) and end.range == (0, 1) and near:
        notes.append(
            "With fewer than 4 readers, or above 0.9, tests against a margin reject "
            "too often: those of 5 % erred in up to 9 % of simulated studies. Type "
            'scale="logit" for tests that keep their level.'
        )
    mean = m.means
    if end.name == "auc" and mean.max() < 0.5:
        notes.append("All treatments are below one half. Do high scores mean positive?")
    return tuple(notes)
