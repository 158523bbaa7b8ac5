"""Which cases should be labelled next, and how many labels does an answer take?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import betaln, ndtri

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.numbers import counted
from trueness._core.progress import stop_if_requested
from trueness._core.records import Record
from trueness._core.solvers import smallest
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel, Tally
from trueness.inference.intervals import wilson_interval
from trueness.nogold.patterns import pattern_word
from trueness.nogold.score_label_plans import ScoreLabelPlan, plan_by_score
from trueness.nogold.verdict_regression import (
    draw_joint_proportions,
    mode_and_information,
    probabilities,
)
from trueness.nogold.verdicts import (
    SLOPE_SD,
    Verdicts,
    center_verdicts,
    graded,
    panel_of_verdicts,
    verdicts_of,
)

MOST_JUDGES = 10_000  # that a plan takes
MOST_LISTED_JUDGES = 10  # whose 2^K patterns are listed, to simulate studies
# simulated studies: their number, fewer of tables with more patterns than a small one;
# and the draws of each posterior, whose mean width needs fewer than one interval does
STUDIES = 100
FEWEST_STUDIES = 25
SMALL_TABLE = 64
STUDY_DRAWS = 200
STEPS_OF_LABELS = 20  # numbers of labels are compared in steps of five per cent
TINY = 1e-300  # in place of a denominator of 0


@final
@dataclass(frozen=True, repr=False)
class LabelPlan(Record):
    """Plan of the cases to label next, with the expected width of the interval.

    Attributes
    ----------
    pattern : array of str
        Verdicts of the cases, in the order of the judges, such as "101"; "." is a
        missing one. With grades "gpt=0.25, claude=3".
    labels : array
        How many of them to label.
    current_width, expected_width : float
        Width of the interval of the rate, now and expected afterwards.
    """

    pattern: Array
    labels: Array
    current_width: float
    expected_width: float


def plan_next(panel: Panel, width: float, labels: int) -> LabelPlan:
    """Allocate labels after Neyman, and say what the interval would be.

    ``width`` is that of the interval of the rate now.
    """
    verdicts = verdicts_of(panel)
    unlabelled = np.asarray(panel.unknown, float)
    if unlabelled.sum() < labels:
        raise NotEnoughCases(
            f"There are {unlabelled.sum():,.0f} cases without a label, fewer than "
            f"the {labels:,} to be labelled."
        )

    probability = _probability_given_votes(verdicts)
    labels_now = verdicts.pos + verdicts.neg
    variance_of_label = probability * (1 - probability)
    # Neyman (1934): cases times the standard deviation of a label, to which few labels
    # add what they leave open
    claim = unlabelled * np.sqrt(variance_of_label + 1 / (labels_now + 4))
    new_labels = _apportion(labels, claim, unlabelled)

    error_now = standard_error(
        probability, verdicts.regressors, verdicts.total, labels_now
    )
    error_then = standard_error(
        probability, verdicts.regressors, verdicts.total, labels_now + new_labels
    )
    # patterns with most labels first
    order = np.argsort(-new_labels[new_labels > 0], kind="stable")
    labelled_patterns = np.flatnonzero(new_labels)[order]

    return LabelPlan(
        pattern=np.array(_pattern_names(panel, labelled_patterns)),
        labels=new_labels[labelled_patterns].astype(int),
        current_width=width,
        expected_width=width * error_then / error_now,
    )


def _apportion(labels: int, claim: Floats, at_most: Floats) -> Floats:
    """Divide labels in proportion to claims, after Sainte-Lague.

    The next label goes to the largest claim per label that a pattern has.
    """
    seats = np.zeros(claim.size)
    for _ in range(labels):
        stop_if_requested()
        # Webster and Sainte-Lague: claim / (2 seats + 1), up to a factor
        quotient = np.where(seats < at_most, claim / (seats + 0.5), -1.0)
        seats[int(np.argmax(quotient))] += 1
    return seats


def _pattern_names(panel: Panel, rows: Array) -> list[str]:
    """Write the verdicts of some rows, grades with the names of their judges."""
    if not graded(panel.rows).any():
        return [pattern_word(row) for row in panel.rows[rows]]
    names = []
    for row in panel.rows[rows]:
        verdicts = zip(panel.names, row, strict=True)
        names.append(", ".join(f"{judge}={_grade(grade)}" for judge, grade in verdicts))
    return names


def _grade(grade: float) -> str:
    """Write a grade; "." where it is missing."""
    if np.isnan(grade):
        return "."
    # "repr" tells a number from its neighbours
    return repr(float(grade)).removesuffix(".0")


def expected_widths(panel: Panel, labels: int, width: float, numbers: Floats) -> Floats:
    """Return the width of the interval with other numbers of labels at random.

    The present ``width`` times the ratio of standard errors, with the labels divided
    over the patterns as the cases are.
    """
    verdicts = verdicts_of(panel)
    probability = _probability_given_votes(verdicts)
    proportion = verdicts.total / verdicts.total.sum()

    def error_with(n_labels: float) -> float:
        return standard_error(
            probability, verdicts.regressors, verdicts.total, n_labels * proportion
        )

    errors = np.array([error_with(n_labels) for n_labels in numbers])
    # the width is proportional to the standard error
    return width * errors / error_with(labels)


def _probability_given_votes(verdicts: Verdicts) -> Floats:
    """Return the probability of a positive, given votes, by the labels so far."""
    mode, _ = mode_and_information(verdicts)
    return np.asarray(probabilities(mode[None], verdicts.regressors)[0])


def standard_error(
    probability: Floats, regressors: Floats, cases: Floats, labels: Floats
) -> float:
    """Return the standard error of the rate with so many labels of each pattern.

    The delta method: the rate is the mean of the probabilities that the regression
    gives to the patterns, of which the cases are a sample.
    """
    rows = np.column_stack([np.ones(len(probability)), regressors])
    proportion = cases / cases.sum()
    variance = probability * (1 - probability)
    # logistic regression: X' diag(n p (1 - p)) X
    information = (rows * (labels * variance)[:, None]).T @ rows
    # a priori: half a case of each class, and the prior of the slopes
    slopes = regressors.shape[1]
    information += np.diag(np.r_[0.25, np.full(slopes, 1 / SLOPE_SD**2)])

    gradient = rows.T @ (proportion * variance)
    # delta method: the rate is a mean of probabilities
    regression_variance = gradient @ np.linalg.solve(information, gradient)
    deviation = probability - proportion @ probability
    sampling_variance = proportion @ deviation**2 / cases.sum()

    return float(np.sqrt(regression_variance + sampling_variance))


@final
@dataclass(frozen=True, repr=False)
class LabelSampleSize(Record):
    """Number of labels for an interval of a given width.

    Attributes
    ----------
    labels : int
        Number of labels, for cases chosen at random.
    half_width : float
        Expected half-width of the interval with them.
    without_judges : int
        Number of labels that would be needed without any judge.
    notes : tuple of str
        What was assumed.
    """

    labels: int
    half_width: float
    without_judges: int
    notes: tuple[str, ...]


@of_panel
def plan_labels(
    data: Any = None,
    *,
    half_width: float | None = None,
    metric: str | None = None,
    threshold: float = 0.5,
    labels: int | None = None,
    assurance: float = 0.95,
    prevalence: float | None = None,
    judges: int = 1,
    sensitivity: float = 0.85,
    specificity: float = 0.85,
    correlation: float = 0.0,
    cases: int = 2000,
    level: float = 0.95,
) -> LabelSampleSize | ScoreLabelPlan:
    """Number of labels for an interval of this width (label budget, active testing).

    With ``metric``: how many cases of each band of scores should be labelled, so that
    its interval has this half-width? The plan allocates labels to bands (Neyman) by the
    labels that a map expects (``unlabelled=``), and draws the cases.

    Without ``metric``: how many labels does :func:`trueness.prevalence` need? It is
    the smallest number, to five per cent, whose mean interval in simulated studies
    (seed 0) is at most 2 ``half_width`` wide. More than ten expected judges are
    planned as one verdict, their number of positive votes; a note says so.

    Parameters
    ----------
    data
        Verdicts with some labels, from which the accuracy of the judges is estimated.
        Without a panel, the arguments below describe the expected judges.
    half_width
        Wanted half-width of the interval: 0.05 for plus or minus 5 percentage points.
    metric, threshold
        A metric at a threshold, such as "recall", or "auc": then ``data`` are scores
        without labels.
    labels
        With ``metric``, the number of labels there will be, in place of a half-width.
    assurance
        With ``metric``: the proportion of samples in which the interval is no wider.
    prevalence
        The rate that is expected.
    judges, sensitivity, specificity, correlation
        Number of judges, their sensitivity and specificity, and the correlation of
        their errors.
    cases
        Number of cases.

    Examples
    --------
    Without judges, Wilson's interval of a rate of 1/2 has the half-width
    1.96 / (2 sqrt(n + 1.96^2)), which is 0.05 for n = 380.3.

    >>> plan_labels(half_width=0.05, prevalence=0.5, cases=10**6).without_judges
    381
    """
    level = _options.fraction(level, "level")
    if metric is not None or labels is not None:
        return _plan_of_scores(
            data,
            metric or "recall",
            threshold=threshold,
            half_width=half_width,
            labels=labels,
            level=level,
            assurance=assurance,
        )

    half_width = _read_half_width(half_width)

    if data is None:
        population = _expected_population(
            prevalence, judges, sensitivity, specificity, correlation, cases
        )
    else:
        _refuse_expected_judges(
            prevalence, judges, sensitivity, specificity, correlation, cases
        )
        population = _observed_population(panel_of_verdicts(data))

    labels, width = _labels_by_simulation(population, half_width, level)
    rate = float(population.proportion @ population.probability)
    return LabelSampleSize(
        labels=labels,
        half_width=width / 2,
        without_judges=_labels_without_judges(rate, half_width, level),
        notes=population.notes,
    )


def _plan_of_scores(
    data: Any,
    metric: str,
    *,
    threshold: float,
    half_width: float | None,
    labels: int | None,
    level: float,
    assurance: float,
) -> ScoreLabelPlan:
    """Return the plan of labels by score for one metric."""
    if not isinstance(data, Tally):
        raise InputError(
            "A plan for a metric needs the scores of one classifier without labels, "
            f"and a map; found {type(data).__name__}.",
            option="metric",
        )

    if (half_width is None) == (labels is None):
        raise InputError(
            "A plan for a metric needs either the half-width of the interval or the "
            f"number of labels; found {'neither' if labels is None else 'both'}.",
            option="half_width",
            example=0.05,
        )

    if half_width is not None:
        half_width = _read_half_width(half_width)
    if labels is not None:
        labels = _options.whole_number(labels, "labels", at_least=1)

    return plan_by_score(
        data,
        metric,
        threshold=_options.real_number(threshold, "threshold"),
        half_width=half_width,
        labels=labels,
        level=level,
        assurance=_options.fraction(assurance, "assurance"),
    )


def _read_half_width(half_width: float | None) -> float:
    """Return a half-width that an interval of a rate can have."""
    checked = _options.fraction(half_width, "half_width")
    if checked >= 0.5:
        raise InputError(
            "half_width must lie below 0.5, as a rate lies between 0 and 1; found "
            f"{checked:g}. For plus or minus 5 percentage points it is 0.05.",
            option="half_width",
            example=0.05,
        )

    return checked


class _Population(NamedTuple):
    """The cases of a study that is planned: what judges say, and what is true.

    ``proportion`` of the cases shows each pattern (m,), and is positive with
    ``probability``; ``regressors`` (m, k) are those of the variance formula, ``rows``
    (m, K) the verdicts.
    """

    proportion: Floats
    probability: Floats
    regressors: Floats
    rows: Floats
    cases: int
    notes: tuple[str, ...]


def _refuse_expected_judges(
    prevalence: float | None,
    judges: int,
    sensitivity: float,
    specificity: float,
    correlation: float,
    cases: int,
) -> None:
    """Refuse what describes expected judges where there are real ones."""
    for name, value, default in (
        ("prevalence", prevalence, None),
        ("judges", judges, 1),
        ("sensitivity", sensitivity, 0.85),
        ("specificity", specificity, 0.85),
        ("correlation", correlation, 0),
        ("cases", cases, 2000),
    ):
        if value is not None and _options.real_number(value, name) != default:
            raise InputError(
                f"{name} is for a plan without data; this panel already has judges "
                f"and cases. Leave out {name}.",
                option=name,
            )


def _observed_population(panel: Panel) -> _Population:
    """Return the cases of a panel, with the probabilities that its labels suggest."""
    verdicts = verdicts_of(panel)
    labels = int((verdicts.pos + verdicts.neg).sum())
    if not labels:
        raise NotEnoughCases(
            "plan_labels needs a few labels to estimate the accuracy of the judges; "
            "found none. Label some cases, or plan without data from prevalence, "
            "sensitivity and specificity."
        )

    note = f"The judges are assumed to be as accurate as on {counted(labels, 'label')}."
    return _Population(
        proportion=verdicts.total / verdicts.total.sum(),
        probability=_probability_given_votes(verdicts),
        regressors=verdicts.regressors,
        rows=panel.rows,
        cases=round(float(verdicts.total.sum())),
        notes=(note,),
    )


def _expected_population(
    rate: float | None,
    judges: int,
    sensitivity: float,
    specificity: float,
    correlation: float,
    cases: int,
) -> _Population:
    """Return the cases that are expected of judges who are equally good."""
    if not 0 <= _options.real_number(correlation, "correlation") < 1:
        raise InputError(
            "correlation must lie between 0 and 1 (not 1 itself); found "
            f"{correlation}.",
            option="correlation",
        )

    rate = 0.5 if rate is None else _options.fraction(rate, "prevalence")
    judges = _options.whole_number(judges, "judges", at_least=1, at_most=MOST_JUDGES)
    cases = _options.whole_number(cases, "cases", at_least=2)
    sensitivity = _options.fraction(sensitivity, "sensitivity")
    specificity = _options.fraction(specificity, "specificity")
    note = (
        f"Expected: a rate of {rate:g}, {counted(judges, 'judge')} with sensitivity "
        f"{sensitivity:g}, specificity {specificity:g} and an error correlation of "
        f"{correlation:g}, {cases:,} cases."
    )

    # a case counts by its number of yes, 0 to K
    yes = np.arange(judges + 1.0)
    in_positives = rate * _right_votes(sensitivity, correlation, judges)
    # a wrong vote of a negative is a yes, hence the reversed order
    in_negatives = (1 - rate) * _right_votes(specificity, correlation, judges)[::-1]
    proportion = in_positives + in_negatives
    by_number_of_yes = _Population(
        proportion=proportion,
        probability=in_positives / np.maximum(proportion, TINY),
        # over the root of their number, all slopes together have the prior of each
        regressors=_center(yes, proportion)[:, None] / np.sqrt(judges),
        rows=(yes / judges)[:, None],
        cases=cases,
        notes=(note,),
    )

    if judges > MOST_LISTED_JUDGES:
        return _as_one_verdict(by_number_of_yes, judges)
    return _by_pattern(by_number_of_yes, judges)


def _center(values: Floats, proportion: Floats) -> Floats:
    """Subtract the mean over all cases."""
    return np.asarray(values - proportion @ values / proportion.sum())


def _as_one_verdict(population: _Population, judges: int) -> _Population:
    """Return the number of yes as the one verdict, with a note on it."""
    note = (
        f"The plan treats the number of positive verdicts of all {judges:,} judges as "
        "one test. With few labels, fitting each judge widens the interval."
    )
    return population._replace(
        proportion=population.proportion / population.proportion.sum(),
        notes=(*population.notes, note),
    )


def _by_pattern(population: _Population, judges: int) -> _Population:
    """Divide the cases with each number of yes over the patterns that have it."""
    patterns = np.array(list(product((0.0, 1.0), repeat=judges)))
    number_of_yes = patterns.sum(axis=1).astype(np.intp)
    # all patterns with as many yes are equally likely
    patterns_alike = np.bincount(number_of_yes)
    proportion = (population.proportion / patterns_alike)[number_of_yes]

    return population._replace(
        proportion=proportion / proportion.sum(),
        probability=population.probability[number_of_yes],
        regressors=population.regressors[number_of_yes],
        rows=patterns,
    )


def _width_by_formula(population: _Population, labels: int, level: float) -> float:
    """Return the width of the interval from the information of so many labels."""
    error = standard_error(
        population.probability,
        population.regressors,
        population.cases * population.proportion,
        min(labels, population.cases) * population.proportion,
    )
    return 2 * float(ndtri((1 + level) / 2)) * error


def _labels_by_simulation(
    population: _Population, half_width: float, level: float
) -> tuple[int, float]:
    """Return the number of labels, and the mean width in simulated studies."""
    cases = population.cases
    least_width = _width_by_formula(population, cases, level)
    _check_within_reach(least_width, half_width, cases)
    # the formula leaves out what few labels cost, so that the search starts from it
    fewest = smallest(
        lambda labels: _width_by_formula(population, labels, level) <= 2 * half_width
    )
    step = max(1, fewest // STEPS_OF_LABELS)
    widths: dict[int, float] = {}

    def narrow_enough(steps: int) -> bool:
        labels = min(steps * step, cases)
        if labels not in widths:
            widths[labels] = _simulated_width(population, labels, level)
        return widths[labels] <= 2 * half_width or labels == cases

    labels = min(cases, step * smallest(narrow_enough, start=max(1, fewest // step)))
    _check_within_reach(widths[labels], half_width, cases)

    return labels, widths[labels]


def _check_within_reach(least_width: float, half_width: float, cases: int) -> None:
    """Refuse a width that not even labels of all cases reach."""
    if least_width > 2 * half_width:
        raise NotEnoughCases(
            f"With all of {cases:,} cases labelled the interval is still "
            f"plus or minus {least_width / 2:.3f}, more than {half_width:g}. Collect "
            "more cases, or accept a wider interval.",
            option="half_width",
        )


def _simulated_width(population: _Population, labels: int, level: float) -> float:
    """Return the mean width of the interval of the rate in simulated studies."""
    rng = np.random.default_rng(0)
    tails = [(1 - level) / 2, (1 + level) / 2]
    patterns = population.proportion.size
    studies = int(np.clip(STUDIES * SMALL_TABLE // patterns, FEWEST_STUDIES, STUDIES))

    widths = np.empty(studies)
    for study in range(studies):
        verdicts = _simulated_study(population, labels, rng)
        positive = draw_joint_proportions(verdicts, rng, STUDY_DRAWS).positive
        # Blom's positions: of few draws, NumPy's default lies too far inwards
        low, high = np.quantile(positive.sum(axis=1), tails, method="normal_unbiased")
        widths[study] = high - low

    return float(widths.mean())


def _simulated_study(
    population: _Population, labels: int, rng: np.random.Generator
) -> Verdicts:
    """Return simulated verdicts of all cases, and the truth of those with a label."""
    labelled = rng.multinomial(labels, population.proportion)
    unlabelled = rng.multinomial(population.cases - labels, population.proportion)
    positive = rng.binomial(labelled, population.probability)
    # patterns without a case are left out
    drawn = labelled + unlabelled > 0

    return center_verdicts(
        [str(judge) for judge in range(population.rows.shape[1])],
        population.rows[drawn],
        pos=positive[drawn].astype(np.float64),
        neg=(labelled - positive)[drawn].astype(np.float64),
        unknown=unlabelled[drawn].astype(np.float64),
    )


def _labels_without_judges(rate: float, half_width: float, level: float) -> int:
    """Return for how many labels Wilson's interval of the rate is narrow enough."""
    quantile = float(ndtri((1 + level) / 2))

    def narrow_enough(labels: int) -> bool:
        low, high = wilson_interval(rate, labels, quantile)
        return high - low <= 2 * half_width

    return smallest(narrow_enough)


def _right_votes(accuracy: float, correlation: float, judges: int) -> Floats:
    r"""Return the probabilities of 0, 1, ... right votes of equally good judges.

    The beta-binomial distribution (Skellam 1948, J. R. Stat. Soc. B 10:257) of J judges

    .. math:: P(r) = \binom{J}{r} \frac{B(r + a, J - r + b)}{B(a, b)}

    whose errors correlate by 1 / (1 + a + b); without correlation the binomial one.
    """
    right = np.arange(judges + 1)
    wrong = judges - right
    # log of the binomial coefficient, which itself overflows
    log_ways = -betaln(right + 1, wrong + 1) - np.log(judges + 1)

    if correlation == 0:
        log_p = log_ways + right * np.log(accuracy) + wrong * np.log1p(-accuracy)
        return np.asarray(np.exp(log_p))

    # the correlation of two votes is 1 / (1 + a + b)
    a_plus_b = 1 / correlation - 1
    a = accuracy * a_plus_b
    b = (1 - accuracy) * a_plus_b
    log_p = log_ways + betaln(right + a, wrong + b) - betaln(a, b)
    return np.asarray(np.exp(log_p))
