"""Redrawn curves of expected labels: other cases, other errors of the map.

For an answer about the process, cases are redrawn, and the log odds of the map are
changed by random errors of its own size. For an answer about these very cases, the
cases stay and their labels are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit, logit

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import UnsupportedDesign
from trueness.counts.placements import group_starts
from trueness.counts.resampling import Seed
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Tally, tally_of_rows
from trueness.inference.expected_counts import ExpectedCounts, expect_labels
from trueness.inference.sample import apply_design

# the most rows that are resampled; merging neighbours changes bands by under 1/1000
_ROWS = 1000


class ExpectedDraws:
    """Expected counts in few rows, and others that could have been drawn.

    Attributes
    ----------
    sample, counts
        The cases beside what they stand for, and the expected counts themselves.
    error_known
        Does the map know its own error? Without it there is no band.
    is_cohort
        The proportion of positives varies.
    """

    is_cohort = True

    def __init__(self, tally: Tally, replicates: int, rng: Seed) -> None:
        if tally.design.stratified:
            raise UnsupportedDesign(
                "A band needs all labels, a map, or labels missing at random. Cases "
                "drawn by score have intervals at single thresholds only."
            )

        n_replicates = _options.whole_number(replicates, "replicates", at_least=100)
        few_rows = _merge_to_few_rows(tally)
        self.sample = apply_design(few_rows)
        self.counts = self.sample.target_counts
        self._expected: ExpectedCounts = expect_labels(few_rows)
        self._rng = _options.generator(rng)
        errors = self._expected.labels.map.error_draws(
            few_rows.score, n_replicates, self._rng
        )
        self.error_known = errors is not None
        if errors is None:
            errors = np.zeros((n_replicates, len(few_rows)))
        self._errors: Floats = errors

    def draws(self) -> Iterator[tuple[Floats, Floats]]:
        """Redraw the negatives and positives of each row, one sample after another."""
        # probabilities of 0 and 1 have no log odds, and no error
        inside = np.clip(self._expected.chances, 1e-300, 1 - 2.0**-53)
        log_odds = logit(inside)
        columns = self._redrawn_cases()
        for error, cases in zip(self._errors, columns, strict=True):
            # the error of the map moves the log odds of every row
            chances = np.asarray(expit(log_odds + error))
            negatives, positives = self._label_cases(cases, chances)
            if negatives.sum() and positives.sum():
                yield negatives, positives

    def labelled_positives(self, fpr: Floats, n_positives: float) -> float | Floats:
        """Return the effective number of positives, the same at each cut."""
        return n_positives

    def _redrawn_cases(self) -> Iterator[tuple[Array, ...]]:
        """Yield negatives, positives and unlabelled cases, one sample after another."""
        observed = self._expected.observed
        n_replicates = len(self._errors)
        # these cases are fixed: only their labels and the map vary
        if self._expected.about_these_cases:
            for _ in range(n_replicates):
                yield observed.neg, observed.pos, observed.unknown
            return

        for block in redraws(
            observed, n_replicates, self._rng, stratified=False, unknown=True
        ):
            yield from zip(*block, strict=True)

    def _label_cases(
        self, cases: tuple[Array, ...], chances: Floats
    ) -> tuple[Floats, Floats]:
        """Return negatives and positives, with unlabelled cases divided or drawn."""
        negatives, positives, unknown = cases
        new_positives = unknown * chances
        # about these cases, each label is drawn; about the process, its expectation
        # counts
        if self._expected.about_these_cases and not self._expected.observed.weighted:
            new_positives = self._rng.binomial(unknown, chances).astype(np.float64)
        return negatives + (unknown - new_positives), positives + new_positives


def _merge_to_few_rows(tally: Tally) -> Tally:
    """Return a tally whose neighbouring rows are merged at their mean score."""
    if len(tally) <= _ROWS:
        return tally

    # all cases, also those without a label, give the mean score its weights
    cases = np.add.reduce(tally.counts[:3]).astype(np.float64)
    start = group_starts(cases, _ROWS)
    columns = [np.add.reduceat(column, start) for column in tally.counts]
    sum_of_scores = np.add.reduceat(cases * tally.score, start)
    mean_score = sum_of_scores / np.add.reduceat(cases, start)
    merged = tally_of_rows(mean_score, *columns)

    if tally.clusters is not None:
        rows_merged = np.diff([*start, len(tally)])
        row = np.repeat(np.arange(start.size), rows_merged)
        vars(merged)["clusters"] = tally.clusters.move_rows(row)

    return merged.with_design(unlabelled=tally.design.unlabelled)
