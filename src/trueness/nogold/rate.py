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
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness.counts.answers import whole_cases
from trueness.counts.values import Panel
from trueness.nogold import rate_by_truth as _by_truth
from trueness.nogold import truth_given_votes as _truth
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
    Votes,
    distinct,
    never_labelled,
    raw_shares,
    read_verdicts,
    read_votes,
    shares,
)

Rng = np.random.Generator
LABELLED = ("random", "by verdict", "by truth")
# cases by which the labelled share of a pattern leans on that of similar patterns
LEAN = 30.0
FEW = 10  # labels of a class below which a note warns


@final
@dataclass(frozen=True, repr=False)
class Rate(Record):
    """The true rate behind the verdicts of judges.

    Attributes
    ----------
    value, low, high, level : float
        The rate: posterior mean and equal-tailed interval.
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
        """Give draws from the posterior of the rate."""
        return self._draws

    def label_next(self, labels: int) -> LabelPlan:
        """Which vote patterns should be labelled next?

        Labels go where a pattern is common and its truth uncertain (Neyman's
        allocation). They are then labels "by verdict".

        Parameters
        ----------
        labels
            How many.
        """
        labels = _options.whole_number(labels, "labels", at_least=1)
        return plan_next(self._panel, self.high - self.low, labels)

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


@whole_cases(
    "Its likelihood is that of independent cases. Of weighted cases that are all "
    "labelled, at_threshold gives shares."
)
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
    else:
        theta, judges = _by_votes(panel, labelled, level, rng)
    worth = effective_judges(panel, level, rng)
    return _rate(panel, theta, judges, worth, labelled, level, _notes(panel, labelled))


def _by_votes(
    panel: Panel, labelled: str, level: float, rng: Rng
) -> tuple[Floats, dict[str, Judge]]:
    """Post-stratify: the truth given the votes from labels, the votes from all."""
    v = read_votes(panel)
    x = design(v, labelled)
    b = _truth.coefficients(_truth.Labelled(x, v.pos, v.neg), rng)
    p = _truth.probabilities(b, x)
    w = shares(v.total, len(p), rng)
    return (w * p).sum(axis=1), by_shares(panel, w * p, w * (1 - p), level)


def design(v: Votes, labelled: str) -> Floats:
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


def _notes(panel: Panel, labelled: str) -> tuple[str, ...]:
    """Say what is doubtful."""
    out = []
    kept = distinct(panel)
    twins = [n for k, n in enumerate(panel.names) if k not in kept]
    if twins:
        out.append(
            f"The verdicts of {', '.join(twins)} are those of another judge in every "
            "case, and are not counted a second time."
        )
    for name, column in zip(panel.names, panel.rows.T, strict=True):
        said = np.unique(column[~np.isnan(column)])
        if said.size == 1:
            out.append(
                f"{name} gives the verdict {said[0]:g} in every case, which carries "
                "no information."
            )
    for word, count in (("positive", panel.n_pos), ("negative", panel.n_neg)):
        if count < FEW:
            verb = "is" if count == 1 else "are"
            out.append(
                f"Only {count} of the labels {verb} {word}, so the accuracy of the "
                f"judges on {word} cases is poorly known. label_next says which cases "
                "to label."
            )
    unseen = never_labelled(panel)
    if labelled != "by truth" and unseen > 0.05:
        out.append(
            f"{unseen:.0%} of the cases have a combination of verdicts for which no "
            "case was labelled; the results for them are extrapolated from the "
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
