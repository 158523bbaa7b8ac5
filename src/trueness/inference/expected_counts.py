r"""Expected counts: measures of cases whose labels are only probable.

Where a label map tells the probability g of a label, a case without a label counts as g
positives and 1 - g negatives. With the influence h of a positive and of a negative of
each row on the value, its variance has three parts:

.. math:: V_a = \frac{n}{n-1} \sum_i l_i^2, \quad l = g h_+ + (1 - g) h_-; \qquad
          V_b = D^T C D, \quad D = \sum_i g_i (1 - g_i) (h_{+,i} - h_{-,i}) x_i; \qquad
          V_c = \sum_i g_i (1 - g_i) (h_{+,i} - h_{-,i})^2

from the cases that were drawn (a), the error of the map (b), and the labels themselves
(c). The value of the process has the variance a + b, that of these very cases b + c.

References
----------
Murphy, Topel (1985), J. Bus. Econ. Stat. 3:370, doi:10.1080/07350015.1985.10509471;
Newey, McFadden (1994), Handbook of Econometrics 4:2111, section 6;
Kivimaki et al. (2025), arXiv:2505.05295 (part c alone: CBPE)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.numbers import number_of
from trueness.counts.cases import kish, unlabelled_words
from trueness.counts.expected_labels import THESE_CASES, ExpectedLabels, Reference
from trueness.counts.values import Tally, tally_of_rows
from trueness.inference.stratified_labels import (
    StratifiedCounts,
    notes_on_label_sample,
    weigh_bands,
)
from trueness.inference.variance import (
    Influence,
    VarianceEstimate,
    add_variance_of_map,
)


@dataclass(frozen=True)
class ExpectedCounts:
    """Counts in which a map tells how probable each unknown label is.

    Attributes
    ----------
    expected
        The counts, with each unlabelled case divided between both classes.
    observed
        The counts as they were drawn.
    chances : array (m,)
        The probability of a positive label at each row.
    labels
        The map, and what the answer is about.
    """

    expected: Tally
    observed: Tally
    chances: Floats
    labels: ExpectedLabels

    @property
    def about_these_cases(self) -> bool:
        """Return whether the answer is about the labels of these very cases."""
        return self.labels.target == THESE_CASES

    @property
    def size_of_rarer_class(self) -> float:
        """Return the expected effective number of cases of the rarer class."""
        total = float(self.expected.n_neg + self.expected.n_pos)
        squares = sum(float(square.sum()) for square in self.observed.squares)
        rarer = float(min(self.expected.n_neg, self.expected.n_pos))
        # Kish's size of all cases, times the expected proportion of the rarer class
        return kish(total, squares) * rarer / total if total else 0.0

    @property
    def drawn_with_map(self) -> bool:
        """Return whether cases and map share a sample, so that errors correlate."""
        return hasattr(self.labels.map, "variance_with_cases")

    def influence_of_cases(self, influence: Influence) -> Influence:
        """Return the influence of the cases on a value of expected counts."""
        constant = np.zeros(len(self.observed))
        if self.about_these_cases:
            # these cases are fixed, and only their unknown labels vary
            # a label that turns out positive moves the value by the gap
            label_variance = self.chances * (1 - self.chances)
            gap = influence.by_positive - influence.by_negative
            variance_of_labels = float(
                self.observed.squares[2] @ (label_variance * gap**2)
            )
            return Influence(
                constant, constant, constant, extra_variance=variance_of_labels
            )
        if self.drawn_with_map:
            # ``add_error_of_map`` adds the variance of both
            return replace(influence, by_unlabelled=constant)

        # an unlabelled case counts as a positive with its probability, else as a
        # negative
        expected_influence = (
            self.chances * influence.by_positive
            + (1 - self.chances) * influence.by_negative
        )
        return replace(influence, by_unlabelled=expected_influence)

    def add_error_of_map(
        self, estimate: VarianceEstimate, influence: Influence
    ) -> VarianceEstimate:
        """Return the variance of a value, with the error of the map."""
        map_variance = self._variance_of_map(influence)
        reference: Reference | None = self.labels.map.reference
        degrees_of_freedom = getattr(self.labels.map, "degrees_of_freedom", math.inf)
        if reference is not None:
            degrees_of_freedom = reference.degrees_of_freedom
        combined = add_variance_of_map(estimate, map_variance, degrees_of_freedom)
        return replace(
            combined,
            units=min(self.size_of_rarer_class, self.observed.cluster_number),
            of_these_cases=self.about_these_cases,
            has_value=self.labels.has_value,
        )

    def _variance_of_map(self, influence: Influence) -> float:
        """Return the variance of a value that is due to the error of the map."""
        by_positive = np.asarray(influence.by_positive)
        by_negative = np.asarray(influence.by_negative)
        score = self.observed.score
        if self.drawn_with_map and not self.about_these_cases:
            variance = self.labels.map.variance_with_cases(
                score, by_positive, by_negative
            )
            return float(variance)

        unknown = np.asarray(self.observed.unknown, np.float64)
        label_variance = self.chances * (1 - self.chances)
        # delta method: a step of the log odds at a row changes its probability by p (1
        # - p)
        by_log_odds = unknown * (by_positive - by_negative) * label_variance
        return float(self.labels.map.error_variance(score, by_log_odds))


def count_expected(tally: Tally) -> ExpectedCounts | StratifiedCounts:
    """Return counts with expected labels, or with labels that were drawn by score."""
    if tally.design.stratified:
        return weigh_bands(tally)
    return expect_labels(tally)


def expect_labels(tally: Tally) -> ExpectedCounts:
    """Return the expected numbers of positives and negatives at each score.

    Examples
    --------
    >>> import trueness
    >>> t = Tally([2, 1], unknown=[10, 10])
    >>> half = trueness.calibrate([0, 1, 0, 1], [1, 1, 2, 2], method="isotonic")
    >>> expect_labels(t.with_design(unlabelled=half)).expected.pos
    array([5., 5.])
    """
    labels = tally.design.unlabelled
    assert isinstance(labels, ExpectedLabels)  # noqa: S101 - its callers saw to it
    chances = np.asarray(labels.map(tally.score), np.float64)
    return ExpectedCounts(
        expected=divide_unlabelled(tally, chances),
        observed=tally.without_design(),
        chances=chances,
        labels=labels,
    )


def labelled_or_expected(tally: Tally) -> Tally:
    """Return the labelled cases; where a map expects labels, the expected counts."""
    return count_expected(tally).expected if tally.labels_expected else tally.labelled()


def divide_unlabelled(tally: Tally, chances: Floats) -> Tally:
    """Return counts in which unlabelled cases are divided between both classes.

    ``chances`` are the probabilities of a positive label, row by row.
    """
    imputed_positives = np.asarray(tally.unknown * chances, np.float64)
    negatives = tally.neg + (tally.unknown - imputed_positives)
    positives = tally.pos + imputed_positives
    unlabelled = np.zeros(len(tally))
    # fractions of cases are weights; those of a whole case are their own squares
    return tally_of_rows(
        tally.score, negatives, positives, unlabelled, negatives, positives, unlabelled
    )


def shows_values(tally: Tally) -> bool:
    """Return whether answers may show a value, and not only an interval."""
    labels = tally.design.unlabelled
    if not isinstance(labels, ExpectedLabels) or not tally.n_unknown:
        return True
    return labels.has_value


def check_headline(tally: Tally) -> None:
    """Stop where only intervals are known, but a curve or a threshold needs values."""
    if not shows_values(tally):
        raise InputError(
            "Without labels, classifiers that make the same errors look good, so no "
            "curve or threshold can be estimated. Label some cases, or set "
            "dependence to 'none' if errors are independent.",
            option="dependence",
            example="none",
        )


def notes_on_expected_labels(tally: Tally) -> list[str]:
    """Return what expected labels assume, and what they were fitted on."""
    labels = tally.design.unlabelled
    if tally.design.stratified:
        return notes_on_label_sample(tally)

    assert isinstance(labels, ExpectedLabels)  # noqa: S101 - its callers saw to it
    reference: Reference | None = labels.map.reference
    population = "the process that drew these cases"
    if labels.target == THESE_CASES:
        population = "the labels of these very cases"
    # a model without a gold standard brings its own notes
    if hasattr(labels.map, "notes"):
        unlabelled_cases = unlabelled_words(tally)
        return [
            f"{unlabelled_cases} have no label; each counts as positive with the "
            "probability that the scores of all classifiers give it.",
            *labels.map.notes,
        ]

    notes = [
        f"{unlabelled_words(tally)} have no label; each counts as positive with the "
        f"probability that a calibration map assigns to its score. The answer is about "
        f"{population}.",
        "Without labels, a change of P(label | score) since the map was fitted "
        "cannot be detected; tipping_point shows how large a change would matter.",
    ]
    if reference is None or not math.isfinite(_error_of_mean(tally, labels)):
        notes.append(
            "This map has no standard error, so there is no interval. Fit a map with "
            "the method pooled-bins."
        )

    if reference is not None:
        notes.append(_note_on_reference(reference))
        notes += _notes_on_range(tally, reference)

    return notes


def _error_of_mean(tally: Tally, labels: ExpectedLabels) -> float:
    """Return the variance of the sum of log odds: NaN if the map has no error."""
    return float(labels.map.error_variance(tally.score, np.ones(len(tally))))


def _note_on_reference(reference: Reference) -> str:
    return (
        f"The map was fitted on {number_of(reference.positives)} positive and "
        f"{number_of(reference.negatives)} negative cases ({reference.date})."
    )


def _notes_on_range(tally: Tally, reference: Reference) -> list[str]:
    """Return a note where cases score beyond all reference cases."""
    beyond = (tally.score < reference.lowest) | (tally.score > reference.highest)
    n_outside = float(tally.unknown[beyond].sum())
    if not n_outside:
        return []

    return [
        f"{number_of(n_outside)} of {number_of(tally.n_unknown)} unlabelled cases have "
        f"scores outside the range of the map ({reference.lowest:.4g} to "
        f"{reference.highest:.4g}), where it extrapolates."
    ]
