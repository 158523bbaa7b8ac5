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
    a112510; here with several judges);
no labels
    a latent class model (:func:`trueness.latent_class`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.numbers import level_text, p_is, percent
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.nogold import rate_by_truth as _by_truth
from trueness.nogold import truth_given_votes as _truth
from trueness.nogold._checks import only_value
from trueness.nogold.fitting import latent_class
from trueness.nogold.judges import (
    Judge,
    by_counts,
    by_shares,
    effective_judges,
    nothing,
)
from trueness.nogold.label_plans import LabelPlan, plan_next
from trueness.nogold.posterior import estimate
from trueness.nogold.verdicts import (
    INDEPENDENT_CASES,
    Votes,
    distinct,
    never_labelled,
    random_p_value,
    raw_shares,
    read_verdicts,
    read_votes,
)

Rng = np.random.Generator
LABELLED = ("random", "by verdict", "by truth")
# cases by which the labelled share of a pattern leans on that of its group
LEAN = 30.0
# by how much the log odds may depend a priori on a standard deviation of that share
TILT = 0.5
FEW = 10  # labels of a class below which a note warns
DOUBT = 0.01  # p-value below which labels are not believed to be at random


@final
@dataclass(frozen=True, repr=False)
class Rate(Record):
    """The true rate behind the verdicts of judges.

    Attributes
    ----------
    value, low, high, level : float
        The rate: mean of its draws and equal-tailed interval.
    naive : mapping from judge to float
        The raw share of yes verdicts, without correction for the errors of the judge.
    judges : mapping from judge to Judge
        Sensitivity and specificity.
    effective_judges : Estimate
        How many independent judges the panel is worth: K / (1 + (K - 1) r) with r the
        mean correlation of their errors; judges that agree in every case count once.
    labelled : str
        How the labelled cases were chosen: random, by verdict, by truth, or none.
    labels, cases : int
        How many labels there are, and how many cases.
    identified : bool
        Whether labels or verdicts determine the rate. False where there are no labels
        and errors that the judges may share would give another rate; ``notes`` say so.
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
    identified: bool
    notes: tuple[str, ...]
    _draws: Floats
    _panel: Panel

    @property
    def draws(self) -> Floats:
        """Give the draws behind the rate and its interval."""
        return self._draws

    def label_next(self, labels: int) -> LabelPlan:
        """Which vote patterns should be labelled next?

        Labels go where a pattern is common and its truth uncertain (Neyman's
        allocation). They are then labels "by verdict"; do not join them with labels
        that were chosen by truth.

        Parameters
        ----------
        labels
            How many.
        """
        labels = _options.whole_number(labels, "labels", at_least=1)
        return plan_next(self._panel, self.high - self.low, labels)

    def __repr__(self) -> str:
        """Say the rate, the raw shares, and what must be known."""
        raw = ", ".join(f"{n} {percent(v)}" for n, v in self.naive.items())
        head = (
            f"Rate: {percent(self.value)} ({level_text(self.level)} interval "
            f"{percent(self.low)} to {percent(self.high)}), {self.labels:,} labels of "
            f"{self.cases:,} cases"
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


@of_panel(weights=INDEPENDENT_CASES)
def prevalence(
    panel: Any,
    *,
    labelled: str | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> Rate:
    r"""What is the true rate, when judges make errors and labels are few?

    .. math:: \theta = \sum_j W_j\, P(+ \mid x_j)

    with W_j the share of vote pattern j among all cases and P(+ | x_j) from the labels.

    Parameters
    ----------
    panel
        A panel of verdicts: 1 yes, 0 no, or grades; NaN is a missing one. A tally is
        one judge. Cases with a label carry it as positive or negative.
    labelled : {"random", "by verdict", "by truth"}
        How the cases that carry a label were chosen: at random; by what the judges said
        (any number of each pattern); or by their label (a fixed number of positives and
        of negatives, which then says nothing about the rate). Without labels it is not
        needed.
    level
        Level of the intervals.
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
    is never used to sharpen the answer, because a small number of labels cannot
    contradict it (see the page of maths). Intervals are for the rate of the population
    that the cases came from; with labels by truth, the population that the cases
    without a label came from.

    References
    ----------
    Rogan, Gladen 1978, Am. J. Epidemiol. 107:71,
    doi:10.1093/oxfordjournals.aje.a112510.
    Angelopoulos et al. 2023, Science 382:669, doi:10.1126/science.adi6000.
    Lee et al. 2025, arXiv:2511.21140.

    Examples
    --------
    Every case has a label, and 30 of 40 are positive: about Beta(30.5, 10.5).

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
            'cases were chosen; the data do not show it. Type labelled="random", '
            '"by verdict" or "by truth".'
        )
    _options.choice(labelled, LABELLED, "labelled")
    if labelled == "by truth":
        theta = _by_truth.draws(panel, rng)
        judges = by_counts(panel, level, rng)
        worth = effective_judges(panel, level, rng)
    else:
        theta, judges, worth = _by_votes(panel, labelled, level, rng)
    notes = _notes(panel, labelled, judges)
    return _rate(panel, theta, judges, worth, labelled, level, notes)


def _by_votes(
    panel: Panel, labelled: str, level: float, rng: Rng
) -> tuple[Floats, dict[str, Judge], Estimate]:
    """Post-stratify: the truth given the votes from labels, the votes from all."""
    v = read_votes(panel)
    pos, neg, _ = _truth.joint_shares(design(v, labelled), v.total, rng)
    judges = by_shares(panel, pos, neg, level)
    both = (pos, neg) if labelled == "by verdict" else None
    return pos.sum(axis=1), judges, effective_judges(panel, level, rng, both)


def design(v: Votes, labelled: str) -> _truth.Labelled:
    """Describe the verdicts for a regression that allows for how cases were chosen.

    Where that depends on the verdicts, cases with a majority of yes and of no have
    intercepts of their own, as they were hardly labelled equally often. Nothing then
    pulls the odds of one group, often large and nearly pure, towards those of the
    other, and one judge has two shares that do not know of each other. How often each
    pattern was labelled within its group is a regressor, so that fitted and observed
    positives agree also among patterns that were labelled equally often.
    """
    known = v.pos + v.neg
    if labelled == "random" or (known == v.total).all():
        return _truth.Labelled(v.x, v.pos, v.neg)
    half = np.column_stack([~v.yes, v.yes]).astype(float)
    half = half[:, v.total @ half > 0]
    cases, sides = v.total @ half, half.shape[1]

    def within(a: Floats) -> Floats:
        return np.asarray(a - half @ ((half.T * v.total) @ a / cases[:, None]))

    usual = half @ ((known @ half + 0.5) / (cases + 1))
    share = within(np.log((known + LEAN * usual) / (v.total + LEAN))[:, None])
    share /= max(float(np.sqrt(v.total @ share**2 / cases.sum())[0]), 1e-9)
    # the first columns tell the groups apart; the prior adds cases to each of them
    side = np.eye(sides)[:, 1:] - (cases / cases.sum())[1:]
    x = np.hstack([half @ side, within(v.x), share])
    groups = np.hstack([side, np.zeros((sides, x.shape[1] - side.shape[1]))])
    width = v.x.shape[1]
    spread = np.r_[np.full(sides - 1, np.inf), np.full(width, _truth.SLOPE), TILT]
    varies = np.abs(x).max(axis=0) > 1e-9
    return _truth.Labelled(
        x[:, varies], v.pos, v.neg, groups[:, varies], spread[varies]
    )


def _rate(
    panel: Panel,
    theta: Floats,
    judges: Mapping[str, Judge],
    worth: Estimate,
    labelled: str,
    level: float,
    more: tuple[str, ...] = (),
    *,
    identified: bool = True,
) -> Rate:
    """Write down a rate, given draws from its posterior."""
    whole = estimate(theta, level)
    return Rate(
        whole.value,
        whole.low,
        whole.high,
        level,
        MappingProxyType(raw_shares(panel)),
        MappingProxyType(dict(judges)),
        worth,
        labelled,
        panel.n_pos + panel.n_neg,
        panel.n,
        identified,
        (ASSUMED[labelled], *more),
        theta,
        panel,
    )


def _notes(panel: Panel, labelled: str, judges: Mapping[str, Judge]) -> tuple[str, ...]:
    """Say what is doubtful."""
    out = []
    p = random_p_value(read_votes(panel)) if labelled == "random" else 1.0
    if p < DOUBT:
        out.append(
            "The labelled cases do not look like a random sample: their verdicts "
            f"differ from those of the other cases ({p_is(p)}). If they were chosen by "
            'what the judges said, pass labelled="by verdict".'
        )
    p = _by_truth.outside(panel) if labelled == "by truth" else 1.0
    if p < DOUBT:
        out.append(
            "No rate explains these verdicts: among cases without a label a yes is "
            "more common than among labelled positives, or less common than among "
            f"labelled negatives ({p_is(p)}). Do the labelled cases come from another "
            "population?"
        )
    kept = distinct(panel)
    twins = [n for k, n in enumerate(panel.names) if k not in kept]
    if twins:
        out.append(
            f"The verdicts of {', '.join(twins)} are those of another judge in every "
            "case, and are not counted a second time."
        )
    for name, column in zip(panel.names, panel.rows.T, strict=True):
        verdict = only_value(column)
        if np.isfinite(verdict):
            out.append(
                f"{name} gives the verdict {verdict:g} in every case, which carries "
                "no information."
            )
    for name, judge in judges.items():
        if judge.sensitivity.high + judge.specificity.high < 1:
            out.append(
                f"{name} is worse than chance: it says yes more often to negative "
                "cases than to positive ones. Is its yes coded as no?"
            )
    for word, count in (("positive", panel.n_pos), ("negative", panel.n_neg)):
        if count < FEW:
            some = f"Only {count} of" if count else "None of"
            out.append(
                f"{some} the labels {'is' if count < 2 else 'are'} {word}, so the "
                f"accuracy of the judges on {word} cases is "
                f"{'poorly known' if count else 'unknown'}. label_next says which "
                "cases to label."
            )
    unseen = never_labelled(panel)
    if labelled != "by truth" and unseen > 0.05:
        out.append(
            f"{percent(unseen)} of the cases have a combination of verdicts for which "
            "no case was labelled; the results for them are extrapolated from the "
            "others. Label some of them."
        )
    return tuple(out)


def _without_labels(panel: Panel, level: float, rng: Rng) -> Rate:
    """Use a latent class model, where there are enough judges for one."""
    kept = [panel.names[k] for k in distinct(panel)]
    if len(kept) < 3:
        raise NotEnoughCases(
            f"Without labels, the rate cannot be determined from {len(kept)} "
            f"judge{'s' if len(kept) > 1 else ''}: any rate is possible with suitable "
            "accuracies. Label some cases at random (50 are a good start), add "
            "judges that do not share their errors, or pass prior= to latent_class."
        )
    post = latent_class(panel, level=level, rng=rng)
    theta = post.flat["prevalence"][:, 0]
    judges = {n: Judge(post.sensitivity[n], post.specificity[n]) for n in post.names}
    worth = nothing(level, "no labels")
    return _rate(
        *(panel, theta, judges, worth, "none", level, post.notes),
        identified=post.identified,
    )


ASSUMED = {
    "random": (
        "The labelled cases are assumed to be a random sample of all cases. Nothing "
        "is assumed about the errors of the judges."
    ),
    "by verdict": (
        "Whether a case was labelled is assumed to depend on its verdicts only. "
        "Nothing is assumed about the errors of the judges."
    ),
    "by truth": (
        "The labelled positives and negatives are assumed to be random samples of "
        "all positives and negatives; how many there are says nothing about the "
        "rate, which comes from the cases without a label."
    ),
    "none": "There are no labels, so the rate rests on a model of the errors of the "
    "judges.",
}
