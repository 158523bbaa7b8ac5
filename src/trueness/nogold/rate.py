"""What is the true rate, when judges err and only some of their verdicts were checked?

How the labelled cases were chosen must be said, because three different estimators are
right (docs/maths/judges.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from trueness.nogold.verdicts import Judge

Rng = np.random.Generator
DRAWS = 10_000  # of the model without labels
FEW_LABELS = 10  # of a class, below which a note warns
DOUBTFUL_P_VALUE = 0.01  # below which labels are not believed to be at random
MAX_EXTRAPOLATED = 0.05  # proportion of cases, above which a note warns
LEAST_JUDGES_WITHOUT_LABELS = 3
ASSUMPTIONS = {
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
        "all positives and negatives. The rate is estimated from the cases without a "
        "label."
    ),
    "none": (
        "There are no labels, and judges may make the same errors: verdicts alone "
        "do not determine the rate."
    ),
}


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
        For each judge: the raw proportion of yes verdicts, and the sensitivity and
        specificity.
    effective_judges : Estimate
        The effective number of independent judges: K / (1 + (K - 1) r) with r the mean
        correlation of their errors; judges that agree in every case count once.
    labelled, labels, cases : str, int, int
        How the labelled cases were chosen (random, by verdict, by truth, or none), how
        many there are, and of how many cases.
    identified, independent : bool, Estimate or None
        Whether labels determine the rate; and, without labels, the rate if the judges'
        errors were independent.
    notes : tuple of str
        The assumptions, and what the data say about them.
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
        """Return the draws behind the rate and its interval."""
        return self._draws

    def label_next(self, labels: int) -> LabelPlan:
        """Label plan: which vote patterns should be labelled next?

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
        """Return the rate, the raw proportions of yes, the judges and the notes."""
        lines = [
            f"Rate: {self._rate_in_words()}, {self.labels:,} labels of "
            f"{self.cases:,} cases"
        ]
        raw = ", ".join(f"{name} {percent(yes)}" for name, yes in self.naive.items())
        lines.append(f"  raw proportion of positive verdicts: {raw}")

        if self.identified:
            for name, judge in self.judges.items():
                lines.append(
                    f"  {name}: sensitivity {judge.sensitivity.value:.3f}, specificity "
                    f"{judge.specificity.value:.3f}"
                )

        n_effective = self.effective_judges.value
        if np.isfinite(n_effective):
            lines.append(
                f"  {len(self.naive)} judges, as informative as {n_effective:.1f} "
                "independent ones"
            )

        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _rate_in_words(self) -> str:
        """Write the rate with its interval; without labels, the interval alone."""
        span = f"{percent(self.low)} to {percent(self.high)}"
        level = level_text(self.level)
        if self.independent is None:
            return f"{percent(self.value)} ({level} credible interval {span})"

        return (
            f"not determined ({level} credible interval {span}; "
            f"{percent(self.independent.value)} if errors were independent)"
        )


@of_panel
def prevalence(
    data: Any,
    *,
    labelled: str | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> Rate:
    r"""True rate (prevalence) behind imperfect verdicts, corrected by a few labels.

    What is the true rate, when judges make errors and labels are few?

    .. math:: \theta = \sum_j W_j\, P(+ \mid x_j)

    with W_j the proportion of vote pattern j among all cases, and P(+ | x_j) from the
    labels.

    Parameters
    ----------
    data
        A panel of verdicts: 1 yes, 0 no, or grades; NaN is a missing one. A tally is
        one judge. Labelled cases count as positive or negative. Repeats of an item
        (epochs, attempts) are one cluster of a panel: ``cluster=`` says which.
    labelled : {"random", "by verdict", "by truth"}
        How the labelled cases were chosen: at random; by the verdicts (any number of
        each pattern); or by their label (a fixed number of positives and negatives,
        which then says nothing about the rate). Without labels it is not needed; the
        rate is then not determined, as judges may make the same errors.

    Notes
    -----
    With labels at random or by verdict, no assumption about the judges is needed.
    They may share errors, be worse than chance, or always say yes. With labels by truth
    intervals are for the population that the cases without a label came from (Rogan,
    Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510). With clusters, counts are
    divided by the design effect: docs/maths/judges.md. :func:`trueness.latent_class`
    returns the same rate, with draws, and takes priors and several populations.

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
        return _rate_without_labels(panel, level, rng)

    labelled = _read_labelled(labelled, panel)
    design_effect = _design_effect(panel, labelled, level)
    verdicts = _verdicts.verdicts_of(panel, design_effect)
    proportions = None

    if labelled == "by truth":
        # labels drawn by class say nothing of the rate: it comes from the other cases
        draws = _verdicts.draws_by_truth(verdicts, rng)
        judges = _verdicts.accuracies(verdicts, verdicts.pos, verdicts.neg, level, rng)
    else:
        # post-stratify: the truth given the votes from labels, the votes from all
        regression = regressors_by_design(verdicts, labelled)
        joint = draw_joint_proportions(regression, rng)
        draws = joint.positive.sum(axis=1)
        judges = _verdicts.accuracies(
            verdicts, joint.positive, joint.negative, level, rng
        )
        if labelled == "by verdict":
            proportions = (joint.positive, joint.negative)

    number_of_judges = _verdicts.effective_judges(verdicts, level, rng, proportions)
    return _rate(
        panel,
        draws,
        judges,
        effective_judges=number_of_judges,
        labelled=labelled,
        level=level,
        notes=[
            *_notes_on_clusters(panel, design_effect),
            *_notes_on_labels(panel, labelled),
            *_notes_on_judges(panel, judges),
            *_notes_on_numbers_of_labels(panel, labelled),
        ],
    )


def _read_labelled(labelled: str | None, panel: Panel) -> str:
    """Check how the labelled cases were chosen, which the data do not show."""
    if labelled is None:
        raise InputError(
            f"How were the {panel.n_pos + panel.n_neg:,} labelled cases chosen? The "
            "data do not show it.",
            option="labelled",
            choices=_verdicts.LABELLED,
        )

    _options.choice(labelled, _verdicts.LABELLED, "labelled")
    fewest = min(panel.n_pos, panel.n_neg, panel.n_unknown)
    if labelled == "by truth" and fewest == 0:
        raise NotEnoughCases(
            "Labels chosen by truth must include positives and negatives, and leave "
            f"cases without a label; found {panel.n_pos:,}, {panel.n_neg:,} and "
            f"{panel.n_unknown:,}. Were the labels drawn at random?",
            option="labelled",
            example="random",
        )

    return labelled


def _design_effect(panel: Panel, labelled: str, level: float) -> float:
    """Return how many clustered cases inform as much as one independent case."""
    if panel.clusters is None:
        return 1.0

    verdicts = _verdicts.verdicts_of(panel)
    if labelled == "by truth":
        draws = _verdicts.draws_by_truth(verdicts, np.random.default_rng(0))
        rate = float(draws.mean())
    else:
        positives = verdicts.pos.sum()
        rate = float(positives / (positives + verdicts.neg.sum()))

    # the variance between clusters of what each case adds to the rate
    influence = influence_on_rate(verdicts, labelled, rate)
    return _verdicts.design_effect(panel, influence, level)


def _rate(
    panel: Panel,
    draws: Floats,
    judges: Mapping[str, Judge],
    *,
    effective_judges: Estimate,
    labelled: str,
    level: float,
    notes: Sequence[str],
    independent: Estimate | None = None,
) -> Rate:
    """Write down a rate, given draws from its posterior."""
    identified = labelled != "none"
    estimate = summary_of_draws(draws, level, known=identified)
    return Rate(
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        level=level,
        naive=MappingProxyType(_raw_proportions(panel)),
        judges=MappingProxyType(dict(judges)),
        effective_judges=effective_judges,
        labelled=labelled,
        labels=panel.n_pos + panel.n_neg,
        cases=panel.n,
        identified=identified,
        independent=independent,
        notes=(ASSUMPTIONS[labelled], *notes),
        _draws=draws,
        _panel=panel,
    )


def _raw_proportions(panel: Panel) -> dict[str, float]:
    """Return the mean verdict of each judge, over the cases that have one."""
    cases = np.asarray(panel.pos + panel.neg + panel.unknown, float)
    means = {}
    for name, verdicts in zip(panel.names, panel.rows.T, strict=True):
        judged = ~np.isnan(verdicts)
        total = cases[judged] @ verdicts[judged]
        means[name] = float(total / cases[judged].sum())
    return means


def _notes_on_clusters(panel: Panel, design_effect: float) -> list[str]:
    """Return a note on how many independent cases the clusters are worth."""
    clusters = panel.clusters
    if clusters is None or clusters.number == panel.n:
        return []

    effective_cases = panel.n / design_effect
    return [
        f"{panel.n:,} cases are repeats of {clusters.number:,} items or clusters, and "
        f"count as {effective_cases:,.0f} independent cases (design effect "
        f"{design_effect:.2f})."
    ]


def _notes_on_labels(panel: Panel, labelled: str) -> list[str]:
    """Return a note if the labelled cases were hardly chosen as was stated."""
    verdicts = _verdicts.verdicts_of(panel)
    if labelled == "random":
        p_value = _verdicts.random_p_value(verdicts)
        if p_value < DOUBTFUL_P_VALUE:
            return [
                "The labelled cases do not look like a random sample: their verdicts "
                f"differ from those of the other cases ({p_is(p_value)}). If they "
                "were chosen by their verdicts, set labelled to 'by verdict'."
            ]

    if labelled == "by truth":
        p_value = _verdicts.outside_by_truth(verdicts)
        if p_value < DOUBTFUL_P_VALUE:
            return [
                "No rate explains these verdicts: positive verdicts are more common "
                "among unlabelled cases than among labelled positives, or rarer than "
                f"among labelled negatives ({p_is(p_value)}). Do the labelled cases "
                "come from another population?"
            ]

    return []


def _notes_on_judges(panel: Panel, judges: Mapping[str, Judge]) -> list[str]:
    """Return notes on judges that repeat another, never vary, or are reversed."""
    notes = []
    counted = _verdicts.distinct(panel.rows)
    copies = [name for k, name in enumerate(panel.names) if k not in counted]
    if copies:
        notes.append(
            f"The verdicts of {', '.join(copies)} are those of another judge in every "
            "case, and are counted once."
        )

    for name, column in zip(panel.names, panel.rows.T, strict=True):
        verdict = only_value(column)
        if np.isfinite(verdict):
            notes.append(
                f"{name} gives the verdict {verdict:g} in every case, which carries no "
                "information."
            )

    for name, judge in judges.items():
        if judge.sensitivity.high + judge.specificity.high < 1:
            notes.append(
                f"{name} is worse than chance: it calls negatives positive more often "
                "than positives. Are its verdicts reversed?"
            )

    return notes


def _notes_on_numbers_of_labels(panel: Panel, labelled: str) -> list[str]:
    """Return notes where labels are too few, or missing for a pattern of verdicts."""
    notes = []
    for label, count in (("positive", panel.n_pos), ("negative", panel.n_neg)):
        if count < FEW_LABELS:
            notes.append(_note_on_few_labels(label, count))

    has_grades = bool(_verdicts.graded(panel.rows).any())
    # of grades, nearly all combinations were seen once
    if labelled != "by truth" and not has_grades:
        verdicts = _verdicts.verdicts_of(panel)
        never_labelled = verdicts.pos + verdicts.neg == 0
        extrapolated = float(verdicts.unknown[never_labelled].sum() / panel.n)
        if extrapolated > MAX_EXTRAPOLATED:
            notes.append(
                f"{percent(extrapolated)} of the cases have a combination of verdicts "
                "for which no case was labelled; the results for them are extrapolated "
                "from the others. Label some of them."
            )

    return notes


def _note_on_few_labels(label: str, count: int) -> str:
    """Return the note on a class of which few cases, or none, were labelled."""
    how_many = f"Only {count} of" if count else "None of"
    verb = "is" if count < 2 else "are"
    knowledge = "poorly known" if count else "unknown"
    return (
        f"{how_many} the labels {verb} {label}, so the accuracy of the judges on "
        f"{label} cases is {knowledge}. A label plan says which cases to label."
    )


def _rate_without_labels(panel: Panel, level: float, rng: Rng) -> Rate:
    """Return what votes alone can tell, where there are enough judges for a model."""
    number_of_judges = len(_verdicts.distinct(panel.rows))
    if number_of_judges < LEAST_JUDGES_WITHOUT_LABELS:
        raise NotEnoughCases(
            f"Without labels, the rate cannot be determined from {number_of_judges} "
            f"judge{'s' if number_of_judges > 1 else ''}: any rate is possible. Label "
            "some cases at random (50 are a good start), or add judges with "
            "independent errors. A latent class model can use a prior.",
            example=PythonCode("trueness.latent_class(panel, prior=...)"),
        )

    design_effect = _verdicts.design_effect(panel, None, level)
    patterns = read_patterns(panel.without_clusters() if design_effect > 1 else panel)
    # clustered cases count for as many independent ones
    patterns = replace(patterns, unknown=patterns.unknown / design_effect)
    model = read_model(patterns, None, ordered=True)
    post = fit_latent_classes(model, "shared", DRAWS, level, rng)

    judges = {
        name: Judge(post.sensitivity[name], post.specificity[name])
        for name in post.names
    }
    if_independent = post.independent
    return _rate(
        panel,
        post.flat["prevalence"][:, 0],
        judges,
        effective_judges=_verdicts.nothing(level, "no labels"),
        labelled="none",
        level=level,
        notes=[*_notes_on_clusters(panel, design_effect), *post.notes],
        independent=None if if_independent is None else if_independent.prevalence,
    )
