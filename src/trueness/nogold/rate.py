"""What is the true rate, when judges err and only some of their verdicts were checked?

How the labelled cases were chosen must be said, because three different estimators are
right (docs/maths/judges.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.numbers import level_text, p_is, percent
from trueness._core.records import Estimate, Record
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.nogold import verdicts as _verdicts
from trueness.nogold.fitting import fit_latent_classes
from trueness.nogold.label_plans import LabelPlan, plan_next
from trueness.nogold.model import read_model
from trueness.nogold.patterns import only_value, read_patterns
from trueness.nogold.posterior import summary_of_draws
from trueness.nogold.verdict_regression import (
    draw_joint_proportions,
    influence_on_rate,
    regressors_by_design,
)
from trueness.nogold.verdicts import Judge, Verdicts

Rng = np.random.Generator
DRAWS = 10_000  # of the model without labels
FEW = 10  # labels of a class below which a note warns
DOUBT = 0.01  # p-value below which labels are not believed to be at random


@final
@dataclass(frozen=True, repr=False)
class Rate(Record):
    """The true rate behind the verdicts of judges.

    Attributes
    ----------
    value, low, high, level : float
        The rate: mean of its draws and equal-tailed interval. Without labels there is
        an interval only, and the value is NaN.
    naive, judges : mappings from judge to float and to Judge
        The raw share of yes verdicts, and sensitivity and specificity.
    effective_judges : Estimate
        How many independent judges the panel is worth: K / (1 + (K - 1) r) with r the
        mean correlation of their errors; judges that agree in every case count once.
    labelled, labels, cases : str, int, int
        How the labelled cases were chosen (random, by verdict, by truth, or none), how
        many there are, and of how many cases.
    identified, independent : bool, Estimate or None
        Whether labels determine the rate; without them, the rate if the judges' errors
        were independent.
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
    independent: Estimate | None
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
        span = f"{percent(self.low)} to {percent(self.high)}"
        said = f"{percent(self.value)} ({level_text(self.level)} interval {span})"
        if self.independent is not None:
            said = (
                f"not determined, {span} ({level_text(self.level)} interval); "
                f"{percent(self.independent.value)} if errors were independent"
            )
        head = f"Rate: {said}, {self.labels:,} labels of {self.cases:,} cases"
        lines = [f"  raw share of yes: {raw}"]
        lines += [
            f"  {n}: sensitivity {j.sensitivity.value:.3f}, specificity "
            f"{j.specificity.value:.3f}"
            for n, j in self.judges.items()
            if self.identified
        ]
        worth = self.effective_judges.value
        if np.isfinite(worth):
            lines.append(f"  worth {worth:.1f} independent judges of {len(self.naive)}")
        return "\n".join([head, *lines, *(f"  Note: {n}" for n in self.notes)])


@of_panel
def prevalence(
    data: Any,
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
    data
        A panel of verdicts: 1 yes, 0 no, or grades; NaN is a missing one. A tally is
        one judge. Cases with a label carry it as positive or negative. Repeats of an
        item (epochs, attempts) are one cluster of a panel: ``cluster=`` says which.
    labelled : {"random", "by verdict", "by truth"}
        How the cases that carry a label were chosen: at random; by what the judges said
        (any number of each pattern); or by their label (a fixed number of positives and
        of negatives, which then says nothing about the rate). Without labels it is not
        needed, and the rate not determined, as judges may make the same errors.

    Notes
    -----
    With labels at random or by verdict nothing is assumed about the judges: they may
    share errors, be worse than chance, or always say yes. With labels by truth
    intervals are for the population that the cases without a label came from (Rogan,
    Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510). Counts of clusters are divided
    by the design effect: docs/maths/judges.md. :func:`trueness.latent_class` gives the
    same rate, with draws, and takes priors and several populations.

    Examples
    --------
    Every case has a label, and 30 of 40 are positive: about Beta(30.5, 10.5).

    >>> import trueness
    >>> p = trueness.Panel(["J"], [[1], [0]], pos=[25, 5], neg=[5, 5])
    >>> r = trueness.prevalence(p, labelled="random")
    >>> bool(abs(r.value - 0.75) < 0.02), r.naive["J"]
    (True, 0.75)
    """
    panel = _verdicts.panel_of_verdicts(data)
    level = _options.fraction(level, "level")
    rng = _options.generator(rng)
    if panel.n_pos + panel.n_neg == 0:
        return _without_labels(panel, level, rng)
    if labelled is None:
        raise InputError(
            f"How were the {panel.n_pos + panel.n_neg:,} labelled cases chosen? The "
            "data do not show it.",
            option="labelled",
            choices=("random", "by verdict", "by truth"),
        )
    _options.choice(labelled, _verdicts.LABELLED, "labelled")
    found = panel.n_pos, panel.n_neg, panel.n_unknown
    if labelled == "by truth" and min(found) == 0:
        raise NotEnoughCases(
            "Labels that were chosen by truth need positives, negatives and cases "
            f"without a label; found {found[0]:,}, {found[1]:,} and {found[2]:,}. Were "
            "the labels drawn at random?",
            option="labelled",
            example="random",
        )
    x, effect = _worth(panel, labelled, level)
    both = None
    if labelled == "by truth":
        theta = _verdicts.draws_by_truth(x, rng)
        judges = _verdicts.accuracies(x, x.pos, x.neg, level, rng)
    else:  # post-stratify: the truth given the votes from labels, the votes from all
        pos, neg, _ = draw_joint_proportions(regressors_by_design(x, labelled), rng)
        theta = pos.sum(axis=1)
        judges = _verdicts.accuracies(x, pos, neg, level, rng)
        both = (pos, neg) if labelled == "by verdict" else None
    worth = _verdicts.effective_judges(x, level, rng, both)
    notes = (*_clustered(panel, effect), *_notes(panel, labelled, judges))
    return _rate(panel, theta, judges, worth, labelled, level, notes)


def _worth(panel: Panel, labelled: str, level: float) -> tuple[Verdicts, float]:
    """Count cases for as much as their clusters let them be worth."""
    x = _verdicts.verdicts_of(panel)
    if panel.clusters is None:
        return x, 1.0
    start = x.pos.sum() / (x.pos.sum() + x.neg.sum())
    if labelled == "by truth":
        start = float(_verdicts.draws_by_truth(x, np.random.default_rng(0)).mean())
    u = influence_on_rate(x, labelled, float(start))
    effect = _verdicts.design_effect(panel, u, level)
    return _verdicts.verdicts_of(panel, effect), effect


def _clustered(panel: Panel, effect: float) -> tuple[str, ...]:
    c = panel.clusters
    if c is None or c.number == panel.n:
        return ()
    return (
        f"{panel.n:,} cases are repeats of {c.number:,} items or clusters, and count "
        f"as {panel.n / effect:,.0f} independent cases (design effect {effect:.2f}).",
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
    independent: Estimate | None = None,
) -> Rate:
    """Write down a rate, given draws from its posterior."""
    known = labelled != "none"
    whole = summary_of_draws(theta, level, known=known)
    total, naive = np.asarray(panel.pos + panel.neg + panel.unknown, float), {}
    for name, column in zip(panel.names, panel.rows.T, strict=True):
        seen = ~np.isnan(column)
        naive[name] = float(total[seen] @ column[seen] / total[seen].sum())
    return Rate(
        *(whole.value, whole.low, whole.high, level),
        MappingProxyType(naive),
        MappingProxyType(dict(judges)),
        worth,
        labelled,
        panel.n_pos + panel.n_neg,
        panel.n,
        known,
        independent,
        (ASSUMED[labelled], *more),
        theta,
        panel,
    )


def _notes(panel: Panel, labelled: str, judges: Mapping[str, Judge]) -> tuple[str, ...]:
    """Say what is doubtful."""
    x, truth = _verdicts.verdicts_of(panel), labelled == "by truth"
    at_random = _verdicts.random_p_value(x) if labelled == "random" else 1.0
    outside = _verdicts.outside_by_truth(x) if truth else 1.0
    kept = _verdicts.distinct(panel.rows)
    twins = ", ".join(n for k, n in enumerate(panel.names) if k not in kept)
    said = {
        "The labelled cases do not look like a random sample: their verdicts differ "
        f"from those of the other cases ({p_is(at_random)}). If they were chosen by "
        "what the judges said, set labelled to 'by verdict'.": at_random < DOUBT,
        "No rate explains these verdicts: among cases without a label a yes is more "
        "common than among labelled positives, or less common than among labelled "
        f"negatives ({p_is(outside)}). Do the labelled cases come from another "
        "population?": outside < DOUBT,
        f"The verdicts of {twins} are those of another judge in every case, and are "
        "not counted a second time.": bool(twins),
    }
    for name, verdict in zip(panel.names, map(only_value, panel.rows.T), strict=True):
        said[
            f"{name} gives the verdict {verdict:g} in every case, which carries no "
            "information."
        ] = bool(np.isfinite(verdict))
    for name, judge in judges.items():
        said[
            f"{name} is worse than chance: it says yes more often to negative cases "
            "than to positive ones. Is its yes coded as no?"
        ] = judge.sensitivity.high + judge.specificity.high < 1
    for word, count in (("positive", panel.n_pos), ("negative", panel.n_neg)):
        some = f"Only {count} of" if count else "None of"
        said[
            f"{some} the labels {'is' if count < 2 else 'are'} {word}, so the accuracy "
            f"of the judges on {word} cases is "
            f"{'poorly known' if count else 'unknown'}. A label plan says which cases "
            "to label."
        ] = count < FEW
    # cases with verdicts of which no case was labelled; of grades nearly all are such
    unseen = float(x.unknown[x.pos + x.neg == 0].sum() / panel.n)
    some_grade = bool(_verdicts.graded(panel.rows).any())
    said[
        f"{percent(unseen)} of the cases have a combination of verdicts for which no "
        "case was labelled; the results for them are extrapolated from the others. "
        "Label some of them."
    ] = unseen > 0.05 and not truth and not some_grade
    return tuple(text for text, holds in said.items() if holds)


def _without_labels(panel: Panel, level: float, rng: Rng) -> Rate:
    """Give what votes alone can tell, where there are enough judges for a model."""
    kept = [panel.names[k] for k in _verdicts.distinct(panel.rows)]
    if len(kept) < 3:
        raise NotEnoughCases(
            f"Without labels, the rate cannot be determined from {len(kept)} "
            f"judge{'s' if len(kept) > 1 else ''}: any rate is possible with suitable "
            "accuracies. Label some cases at random (50 are a good start), or "
            "add judges that do not share their errors. A latent class model can have "
            "a prior.",
            example=PythonCode("trueness.latent_class(panel, prior=...)"),
        )
    effect = _verdicts.design_effect(panel, None, level)
    patterns = read_patterns(panel.without_clusters() if effect > 1 else panel)
    patterns = replace(patterns, unknown=patterns.unknown / effect)
    model = read_model(patterns, None, ordered=True)
    post = fit_latent_classes(model, "shared", DRAWS, level, rng)
    alone = post.independent
    return _rate(
        panel,
        post.flat["prevalence"][:, 0],
        {n: Judge(post.sensitivity[n], post.specificity[n]) for n in post.names},
        _verdicts.nothing(level, "no labels"),
        "none",
        level,
        (*_clustered(panel, effect), *post.notes),
        independent=None if alone is None else alone.prevalence,
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
    "none": "There are no labels, and judges may make the same errors: verdicts alone "
    "do not determine the rate.",
}
