r"""What is the true rate, when judges err and only some of their verdicts were checked?

``prevalence`` takes a panel of verdicts, 0/1 or graded, of one judge or many; some
cases carry a label. How those were chosen must be said, because three different
estimators are right:

``random``, ``by verdict``
    labels say how likely a case is positive given its verdicts
    (``truth_given_votes``), and all cases say how common each pattern is:
    :math:`\theta = \sum_j W_j P(+ \mid x_j)`, right however the judges err;
``by truth``
    labels say only how verdicts are spread in either class, and the cases without a
    label are a mixture of both (Rogan, Gladen 1978, doi:10.1093/oxfordjournals.aje.
    a112510; here with several judges, and by Bayes);
no labels
    a latent class model (:func:`trueness.latent_class`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness.counts.values import Panel, Tally
from trueness.nogold import truth_given_votes as _truth
from trueness.nogold.posterior import estimate, latent_class

Rng = np.random.Generator
LABELLED = ("random", "by verdict", "by truth")
# rates tried, and draws of the accuracies, for labels that were chosen by truth
GRID, ACCURACIES = 301, 1500
# cases by which the labelled share of a pattern leans on that of similar patterns
LEAN = 30.0
FEW = 10  # labels of a class below which a note warns


@final
@dataclass(frozen=True, repr=False)
class Judge(Record):
    """How good is one judge? NaN for a judge who gives grades.

    Attributes
    ----------
    sensitivity, specificity : Estimate
        Share of positives that get a yes, and of negatives that get a no.
    """

    sensitivity: Estimate
    specificity: Estimate


@final
@dataclass(frozen=True, repr=False)
class LabelPlan(Record):
    """Which cases should be labelled next, and what would that bring?

    Attributes
    ----------
    pattern : array of str
        Verdicts of the cases, in the order of the judges; "." is a missing one.
    labels : array
        How many of them to label.
    width_now, width_then : float
        Width of the interval of the rate, now and expected afterwards.
    """

    pattern: Array
    labels: Array
    width_now: float
    width_then: float


@final
@dataclass(frozen=True, repr=False)
class Rate(Record):
    """The true rate behind the verdicts of judges.

    Attributes
    ----------
    value, low, high, level : float
        The rate: posterior mean and equal-tailed interval.
    naive : mapping from judge to float
        The raw share of yes, which everybody reports.
    judges : mapping from judge to Judge
        Sensitivity and specificity.
    effective_judges : Estimate
        How many independent judges the panel is worth: K / (1 + (K - 1) r) with r the
        mean correlation of their errors; judges that agree in every case count once.
    labelled : str
        How the labels came: random, by verdict, by truth, or none.
    labels, cases : int
        How many labels there are, and how many cases.
    notes : tuple of str
        What is assumed, and what the data say about it.
    """

    value: float
    low: float
    high: float
    level: float
    naive: Mapping[str, float]
    judges: Mapping[str, Judge]
    effective_judges: Estimate
    labelled: str
    labels: int
    cases: int
    notes: tuple[str, ...]
    _draws: Floats
    _panel: Panel

    @property
    def draws(self) -> Floats:
        """Give draws from the posterior of the rate."""
        return self._draws

    def label_next(self, labels: int) -> LabelPlan:
        """Which vote patterns should be labelled next?

        Labels go where a pattern is common and its truth in doubt (Neyman's
        allocation). They are then labels "by verdict".

        Parameters
        ----------
        labels
            How many.
        """
        labels = _options.whole_number(labels, "labels", at_least=1)
        return _plan(self, labels)

    def __repr__(self) -> str:
        """Say the rate, the raw shares, and what must be known."""
        raw = ", ".join(f"{n} {v:.1%}" for n, v in self.naive.items())
        head = (
            f"Rate: {self.value:.1%} ({100 * self.level:g} % interval {self.low:.1%} "
            f"to {self.high:.1%}), {self.labels:,} labels of {self.cases:,} cases"
        )
        lines = [f"  raw share of yes: {raw}"]
        lines += [
            f"  {n}: sensitivity {j.sensitivity.value:.3f}, specificity "
            f"{j.specificity.value:.3f}"
            for n, j in self.judges.items()
        ]
        worth = self.effective_judges.value
        if np.isfinite(worth):
            lines.append(f"  worth {worth:.1f} independent judges of {len(self.naive)}")
        return "\n".join([head, *lines, *(f"  Note: {n}" for n in self.notes)])


class Votes(NamedTuple):
    """Verdicts with a missing one at the mean, and counts of cases."""

    x: Floats  # (m, K), centred
    total: Floats
    pos: Floats
    neg: Floats
    raw: Floats  # (m, K), as they came


def prevalence(
    panel: Any,
    *,
    labelled: str | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> Rate:
    r"""What is the true rate, when judges err and labels are few?

    .. math:: \theta = \sum_j W_j\, P(+ \mid x_j)

    with W_j the share of vote pattern j among all cases and P(+ | x_j) from the labels.

    Parameters
    ----------
    panel
        A panel of verdicts: 1 yes, 0 no, or grades; NaN is a missing one. A tally is
        one judge. Cases with a label carry it as positive or negative.
    labelled : {"random", "by verdict", "by truth"}
        How the cases that carry a label were chosen: by chance; by what the judges said
        (as many as one likes of each pattern); or by their label (so many positives, so
        many negatives: then their number says nothing about the rate). Without labels
        it is not needed.
    level
        Of the intervals.
    rng
        A seed or a NumPy generator.

    Returns
    -------
    Rate
        With the rate, the raw shares, each judge's accuracy, the number of effective
        judges, and ``label_next``.

    Notes
    -----
    With labels at random or by verdict nothing is assumed about the judges: they may
    share errors, be worse than chance, or always say yes. A model of independent errors
    is never used to sharpen the answer, because labels that are few cannot contradict
    it (see the page of maths). Intervals are for the rate of the population that the
    cases came from; with labels by truth, the cases without a label.

    References
    ----------
    Rogan, Gladen 1978, Am. J. Epidemiol. 107:71,
    doi:10.1093/oxfordjournals.aje.a112510.
    Angelopoulos et al. 2023, Science 382:669, doi:10.1126/science.adi6000.
    Lee et al. 2025, arXiv:2511.21140.

    Examples
    --------
    Every case has a label: 30 of 40, Beta(30.5, 10.5) but for the judge.

    >>> import trueness
    >>> p = trueness.Panel(["J"], [[1], [0]], pos=[25, 5], neg=[5, 5])
    >>> r = trueness.prevalence(p, labelled="random")
    >>> bool(abs(r.value - 0.75) < 0.02), r.naive["J"]
    (True, 0.75)
    """
    panel = read_verdicts(panel)
    level = _options.fraction(level, "level")
    rng = _options.generator(rng)
    if panel.n_pos + panel.n_neg == 0:
        return _without_labels(panel, level, rng)
    if labelled is None:
        raise InputError(
            f"prevalence needs to know how the {panel.n_pos + panel.n_neg:,} labelled "
            f"cases were chosen; it cannot be seen in the data. Type "
            f'labelled="random", "by verdict" or "by truth".'
        )
    _options.choice(labelled, LABELLED, "labelled")
    if labelled == "by truth":
        return _by_truth(panel, level, rng)
    return _by_votes(panel, labelled, level, rng)


def read_verdicts(data: Any) -> Panel:
    """Pass on a panel of verdicts; a tally is one judge."""
    if isinstance(data, Tally):
        rows = data.score[:, None]
        data = Panel(["judge"], rows, neg=data.neg, pos=data.pos, unknown=data.unknown)
    if not isinstance(data, Panel):
        raise InputError(
            f"prevalence needs a Panel of verdicts, or the Tally of one judge; found "
            f"{type(data).__name__}. Type trueness.panel(labels, "
            f'{{"judge": verdicts}}).'
        )
    if data.n == 0:
        raise NotEnoughCases("prevalence needs cases; the panel is empty.")
    for name, column in zip(data.names, data.rows.T, strict=True):
        if np.isnan(column).all():
            raise NotEnoughCases(f"Judge {name!r} has given no verdict at all.")
    return data


def read_votes(panel: Panel, like: Panel | None = None) -> Votes:
    """Centre the verdicts at their mean over all cases; grades are standardised.

    Judges that agree in every case are one. ``like`` is a panel whose means and spreads
    are taken in place of its own.
    """
    pos, neg, unknown = (
        np.asarray(c, np.float64) for c in (panel.pos, panel.neg, panel.unknown)
    )
    total = pos + neg + unknown
    whole = panel if like is None else like
    mean, scale = _centre(whole)
    value = np.where(np.isnan(panel.rows), mean, panel.rows)
    kept = distinct(whole)
    x = ((value - mean) / scale)[:, kept]
    return Votes(x, total, pos, neg, value[:, kept])


def _centre(panel: Panel) -> tuple[Floats, Floats]:
    """Give mean and unit of each judge."""
    total = np.asarray(panel.pos + panel.neg + panel.unknown, np.float64)
    seen = ~np.isnan(panel.rows)
    weight = total[:, None] * seen
    value = np.where(seen, panel.rows, 0.0)
    mean = (weight * value).sum(axis=0) / weight.sum(axis=0)
    square = (weight * (value - mean) ** 2).sum(axis=0) / weight.sum(axis=0)
    # a grade of standard deviation 1/2 weighs as a verdict that is split evenly
    unit = 2 * np.sqrt(np.maximum(square, 1e-300))
    return mean, np.where(graded(panel), unit, 1.0)


def graded(panel: Panel) -> Array:
    """Which judges give grades, not 0 and 1?"""
    rows = panel.rows
    return np.asarray((~np.isnan(rows) & (rows != 0) & (rows != 1)).any(axis=0))


def _by_votes(panel: Panel, labelled: str, level: float, rng: Rng) -> Rate:
    """Post-stratify: the truth given the votes from labels, the votes from all."""
    v = read_votes(panel)
    x = _design(v, labelled)
    b = _truth.coefficients(_truth.Labelled(x, v.pos, v.neg), rng)
    p = _truth.probabilities(b, x)
    w = shares(v.total, len(p), rng)
    theta = (w * p).sum(axis=1)
    judges = _accuracies(panel, w * p, w * (1 - p), level)
    return _rate(panel, theta, judges, labelled, level, rng)


def _design(v: Votes, labelled: str) -> Floats:
    """Add how often each pattern was labelled, where that depends on the verdicts.

    Fitted and observed positives then agree also within the groups of patterns that
    were labelled equally often, which makes the choice of the cases harmless.
    """
    known = v.pos + v.neg
    if labelled == "random" or v.x.shape[1] == 1 or (known == v.total).all():
        return v.x
    yes = np.asarray(v.raw.mean(axis=1, keepdims=True) > 0.5, np.float64)
    yes = yes - v.total @ yes / v.total.sum()
    data = _truth.Labelled(np.hstack([v.x, yes]), known, v.total - known)
    expected = _truth.probabilities(_truth.mode(data)[None], data.x)[0]
    share = np.log((known + LEAN * expected) / (v.total + LEAN))
    share = share - v.total @ share / v.total.sum()
    return np.column_stack([v.x, yes, share])


def shares(total: Floats, draws: int, rng: Rng) -> Floats:
    """Draw the share of each pattern in the population (the Bayesian bootstrap)."""
    w = rng.standard_gamma(total, (draws, total.size))
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def _accuracies(
    panel: Panel, pos: Floats, neg: Floats, level: float
) -> dict[str, Judge]:
    """Give each judge's accuracies from the shares of patterns in both classes."""
    out = {}
    for name, column, grades in zip(
        panel.names, panel.rows.T, graded(panel), strict=True
    ):
        if grades:
            nothing = Estimate(np.nan, np.nan, np.nan, level, "graded")
            out[name] = Judge(nothing, nothing)
            continue
        yes, no = (column == 1).astype(float), (column == 0).astype(float)
        hit, miss, alarm, quiet = pos @ yes, pos @ no, neg @ yes, neg @ no
        out[name] = Judge(
            estimate(hit / np.maximum(hit + miss, 1e-300), level),
            estimate(quiet / np.maximum(alarm + quiet, 1e-300), level),
        )
    return out


def _by_truth(panel: Panel, level: float, rng: Rng) -> Rate:
    """Fit the cases without a label as a mixture of the two labelled samples."""
    if panel.n_pos == 0 or panel.n_neg == 0 or panel.n_unknown == 0:
        raise NotEnoughCases(
            f"Labels that were chosen by truth need positives, negatives and cases "
            f"without a label; found {panel.n_pos:,}, {panel.n_neg:,} and "
            f"{panel.n_unknown:,}. Were the labels drawn at random? Then type "
            f'labelled="random".'
        )
    level_of = _levels(panel)
    pos, neg, unknown = (
        np.bincount(level_of, np.asarray(c, float), minlength=2).astype(np.float64)
        for c in (panel.pos, panel.neg, panel.unknown)
    )
    theta = mixture_share(pos, neg, unknown, rng=rng)
    judges = {n: _by_counts(panel, k, level, rng) for k, n in enumerate(panel.names)}
    return _rate(panel, theta, judges, "by truth", level, rng)


def _by_counts(panel: Panel, k: int, level: float, rng: Rng) -> Judge:
    """Give one judge's accuracies from labelled cases alone (Jeffreys)."""
    column = panel.rows[:, k]
    if graded(panel)[k]:
        nothing = Estimate(np.nan, np.nan, np.nan, level, "graded")
        return Judge(nothing, nothing)
    sides = []
    for count, right in ((panel.pos, 1), (panel.neg, 0)):
        good, bad = count[column == right].sum(), count[column == 1 - right].sum()
        sides.append(estimate(rng.beta(good + 0.5, bad + 0.5, _truth.DRAWS), level))
    return Judge(*sides)


def _levels(panel: Panel) -> Array:
    """Make one verdict of all: which patterns speak for a positive case?

    The mean verdict, with judges turned round that the labels show to be worse than
    chance, is cut half way between its means in both classes. More levels than two
    would fit the few labels of a class too closely.
    """
    v = read_votes(panel)
    in_pos, in_neg = (c @ v.x / c.sum() for c in (v.pos, v.neg))
    score = v.x @ np.where(in_pos < in_neg, -1.0, 1.0)
    middle = (v.pos @ score / v.pos.sum() + v.neg @ score / v.neg.sum()) / 2
    return np.asarray(score > middle).astype(int)


def mixture_share(pos: Floats, neg: Floats, unknown: Floats, *, rng: Rng) -> Floats:
    r"""Draw the share of positives among cases without a label.

    The labelled samples give the chances A, B of each level in either class (Dirichlet,
    one case shared out a priori); each draw of them is weighted by the probability of
    the other cases under :math:`\theta A + (1 - \theta) B`, with theta uniform.
    """
    size = pos.size
    a, b = (
        rng.dirichlet(np.maximum(c + 1 / size, 1e-6), ACCURACIES) for c in (pos, neg)
    )
    grid = (np.arange(GRID) + 0.5) / GRID
    log_p = np.zeros((len(a), GRID))
    for s in np.flatnonzero(unknown):
        log_p += unknown[s] * np.log(
            np.maximum(np.outer(a[:, s], grid) + np.outer(b[:, s], 1 - grid), 1e-300)
        )
    p = np.exp(log_p - log_p.max())
    at = rng.choice(p.size, _truth.DRAWS, p=(p / p.sum()).ravel())
    return np.asarray(grid[at % GRID] + (rng.random(at.size) - 0.5) / GRID)


def _rate(
    panel: Panel,
    theta: Floats,
    judges: Mapping[str, Judge],
    labelled: str,
    level: float,
    rng: Rng,
) -> Rate:
    whole = estimate(theta, level)
    return Rate(
        whole.value,
        whole.low,
        whole.high,
        level,
        MappingProxyType(_raw(panel)),
        MappingProxyType(dict(judges)),
        _effective(panel, level, rng),
        labelled,
        panel.n_pos + panel.n_neg,
        panel.n,
        _notes(panel, labelled),
        theta,
        panel,
    )


def _raw(panel: Panel) -> dict[str, float]:
    """Give the share of yes of each judge, or its mean grade."""
    total = (panel.pos + panel.neg + panel.unknown).astype(float)
    out = {}
    for name, column in zip(panel.names, panel.rows.T, strict=True):
        seen = ~np.isnan(column)
        out[name] = float(total[seen] @ column[seen] / total[seen].sum())
    return out


def distinct(panel: Panel) -> list[int]:
    """Which judges remain when those that agree in every case count once?"""
    kept: list[int] = []
    for k in range(len(panel.names)):
        same = (
            np.array_equal(panel.rows[:, k], panel.rows[:, j], equal_nan=True)
            for j in kept
        )
        if not any(same):
            kept.append(k)
    return kept


def _effective(panel: Panel, level: float, rng: Rng) -> Estimate:
    """How many independent judges is the panel worth, by the labelled cases?"""
    kept = distinct(panel)
    k = len(kept)
    if k == 1:
        return Estimate(1.0, 1.0, 1.0, level, "one judge")
    rows = panel.rows[:, kept]
    seen = ~np.isnan(rows).any(axis=1)
    if panel.pos[seen].sum() < 2 and panel.neg[seen].sum() < 2:
        return Estimate(np.nan, np.nan, np.nan, level, "too few labels")
    r = [
        _mean_correlation(rows[seen], pos, neg)
        for pos, neg in zip(
            rng.standard_gamma(panel.pos[seen] + 0.0, (500, int(seen.sum()))),
            rng.standard_gamma(panel.neg[seen] + 0.0, (500, int(seen.sum()))),
            strict=True,
        )
    ]
    return estimate(k / (1 + (k - 1) * np.clip(r, 0, 1)), level)


def _mean_correlation(rows: Floats, pos: Floats, neg: Floats) -> float:
    """Average the correlation of errors over pairs, within classes."""
    cov = np.zeros((rows.shape[1], rows.shape[1]))
    for w in (pos, neg):
        if w.sum() > 0:
            off = rows - w @ rows / w.sum()
            cov += (off * w[:, None]).T @ off
    sd = np.sqrt(np.maximum(np.diag(cov), 1e-300))
    r = cov / np.outer(sd, sd)
    return float(np.mean([r[i, j] for i, j in combinations(range(len(r)), 2)]))


def _notes(panel: Panel, labelled: str) -> tuple[str, ...]:
    """Say what is assumed, and what is doubtful."""
    out = [ASSUMED[labelled]]
    kept = distinct(panel)
    twins = [n for k, n in enumerate(panel.names) if k not in kept]
    if twins:
        out.append(
            f"{', '.join(twins)} gives the verdict of another judge in every case, and "
            f"is counted once."
        )
    for name, column in zip(panel.names, panel.rows.T, strict=True):
        said = np.unique(column[~np.isnan(column)])
        if said.size == 1:
            out.append(
                f"{name} gives the verdict {said[0]:g} in every case, which says "
                f"nothing about any of them."
            )
    for word, count in (("positive", panel.n_pos), ("negative", panel.n_neg)):
        if count < FEW:
            out.append(
                f"Only {count} of the labels are {word}: the accuracy of the judges "
                f"there is poorly known. label_next says which cases to look at."
            )
    unseen = _never_labelled(panel)
    if labelled != "by truth" and unseen > 0.05:
        out.append(
            f"{unseen:.0%} of the cases have verdicts of which no case was labelled; "
            f"what is said of them is extrapolated from the others. Label some."
        )
    return tuple(out)


def _never_labelled(panel: Panel) -> float:
    if graded(panel).any():
        return 0.0
    known = panel.pos + panel.neg
    return float(panel.unknown[known == 0].sum() / panel.n)


def _without_labels(panel: Panel, level: float, rng: Rng) -> Rate:
    """Use a latent class model, where there are enough judges for one."""
    kept = [panel.names[k] for k in distinct(panel)]
    if len(kept) < 3:
        raise NotEnoughCases(
            f"Without a label the rate cannot be told from {len(kept)} "
            f"judge{'s' if len(kept) > 1 else ''}: any rate is possible with some "
            f"accuracies. Label some cases at random (50 are a good start), add judges "
            f"that do not share their errors, or pass prior= to latent_class."
        )
    post = latent_class(panel[kept], level=level, rng=rng)
    theta = post.flat["prevalence"][:, 0]
    judges = {n: Judge(post.sensitivity[n], post.specificity[n]) for n in post.names}
    whole = estimate(theta, level)
    return Rate(
        whole.value,
        whole.low,
        whole.high,
        level,
        MappingProxyType(_raw(panel)),
        MappingProxyType(judges),
        Estimate(np.nan, np.nan, np.nan, level, "no labels"),
        "none",
        0,
        panel.n,
        (ASSUMED["none"], *post.notes),
        theta,
        panel,
    )


def _plan(rate: Rate, labels: int) -> LabelPlan:
    """Allocate labels after Neyman, and say what the interval would be."""
    v = read_votes(rate._panel)
    left = np.asarray(rate._panel.unknown, float)
    if left.sum() < labels:
        raise NotEnoughCases(
            f"There are {left.sum():,.0f} cases without a label; {labels:,} were asked "
            f"for."
        )
    b = _truth.mode(_truth.Labelled(v.x, v.pos, v.neg))
    p = _truth.probabilities(b[None], v.x)[0]
    doubt = left * np.sqrt(p * (1 - p) + 1 / (v.pos + v.neg + 4))
    new = _allocate(doubt, left, labels)
    now, then = (
        standard_error(p, v, v.pos + v.neg + more) for more in (np.zeros(p.size), new)
    )
    width = rate.high - rate.low
    at = np.flatnonzero(new)[np.argsort(-new[new > 0], kind="stable")]
    words = np.array([_word(row) for row in rate._panel.rows[at]])
    return LabelPlan(words, new[at].astype(int), width, width * then / now)


def _allocate(doubt: Floats, left: Floats, labels: int) -> Floats:
    """Share out whole labels in proportion, never more than there are cases."""
    out = np.zeros(doubt.size)
    for _ in range(labels):
        # Sainte-Lague: the next label goes to the largest claim per label given
        claim = np.where(out < left, doubt / (out + 0.5), -1.0)
        out[int(np.argmax(claim))] += 1
    return out


def standard_error(p: Floats, v: Votes, known: Floats) -> float:
    r"""What is the standard error of the rate with so many labels of each pattern?

    .. math:: g' I^{-1} g + \operatorname{Var}(p) / N, \qquad
       g = \sum_j W_j p_j (1 - p_j) z_j
    """
    z = np.column_stack([np.ones(len(p)), v.x])
    w = v.total / v.total.sum()
    spread = p * (1 - p)
    information = (z * (known * spread)[:, None]).T @ z
    information += np.diag(np.r_[0.25, np.full(v.x.shape[1], 1 / _truth.SLOPE**2)])
    g = z.T @ (w * spread)
    between = w @ (p - w @ p) ** 2 / v.total.sum()
    return float(np.sqrt(g @ np.linalg.solve(information, g) + between))


def _word(row: Floats) -> str:
    return "".join("." if np.isnan(v) else f"{v:g}" for v in row)


ASSUMED = {
    "random": (
        "The labelled cases are taken to be a random part of all cases. Nothing is "
        "assumed about how the judges err."
    ),
    "by verdict": (
        "Whether a case was labelled is taken to depend on its verdicts at most. "
        "Nothing is assumed about how the judges err."
    ),
    "by truth": (
        "The labelled positives and negatives are taken to be random parts of all "
        "positives and negatives; how many there are says nothing about the rate, "
        "which comes from the cases without a label."
    ),
    "none": "There are no labels: the rate rests on a model of how the judges err.",
}
