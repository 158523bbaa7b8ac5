"""Redrawn curves of expected labels: what varies, what stays, by hand."""

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness
from trueness import ExpectedLabels, Tally
from trueness._core.checks.errors import UnsupportedDesign
from trueness.counts.values import COUNTS
from trueness.ranking.expected_draws import ExpectedDraws, _merge_to_few_rows

CHANCES = np.array([0.9, 0.5, 0.2])
SCORES = [3.0, 2.0, 1.0]


class KnownMap:
    """A map with these probabilities, whose log odds err by the same in every draw."""

    reference = None

    def __init__(self, chances=CHANCES, error=0.0):
        self.chances = chances
        self.error = error

    def __call__(self, score):
        return np.interp(score, SCORES[::-1], self.chances[::-1])

    def error_draws(self, score, number, rng):
        if self.error is None:
            return None
        return np.full((number, len(score)), self.error)


def expect(tally, *, target="process", replicates=200, **options):
    """Return redraws of a tally by such a map."""
    labels = ExpectedLabels(KnownMap(**options), target=target)
    return ExpectedDraws(tally.with_design(unlabelled=labels), replicates, 0)


UNKNOWN = Tally(SCORES, unknown=[40, 30, 50])
PARTLY = Tally(SCORES, pos=[5, 1, 0], neg=[0, 2, 7], unknown=[40, 30, 50])


@pytest.mark.parametrize("error", [-1.0, 0.0, 0.7])
def test_an_error_of_the_map_moves_its_log_odds(error):
    for negatives, positives in expect(UNKNOWN, error=error).draws():
        rate = positives / (negatives + positives)

        assert rate == pytest.approx(expit(logit(CHANCES) + error))
        assert (negatives + positives).sum() == pytest.approx(120)


def test_cases_of_the_process_are_drawn_anew():
    draws = list(expect(UNKNOWN, replicates=2000).draws())

    cases = np.array([negatives + positives for negatives, positives in draws])
    proportions = np.array([40, 30, 50]) / 120

    assert len(draws) == 2000
    assert cases.mean(axis=0) == pytest.approx(120 * proportions, abs=0.6)

    variance = 120 * proportions * (1 - proportions)

    assert cases.var(axis=0) == pytest.approx(variance, rel=0.15)


def test_labels_of_these_cases_are_drawn_and_the_cases_stay():
    draws = list(expect(PARTLY, target="these cases", replicates=2000).draws())

    positives = np.array([positives for _, positives in draws])
    cases = np.array([negatives + positives for negatives, positives in draws])
    unknown = np.array([40, 30, 50])

    assert (cases == np.array([45, 33, 57])).all()
    assert (positives == np.rint(positives)).all()
    assert (positives[:, 0] >= 5).all()

    expected = np.array([5, 1, 0]) + unknown * CHANCES

    assert positives.mean(axis=0) == pytest.approx(expected, abs=0.3)

    variance = unknown * CHANCES * (1 - CHANCES)

    assert positives.var(axis=0) == pytest.approx(variance, rel=0.15)


def test_weighted_cases_are_divided_by_their_chances():
    weighted = trueness.tally(None, SCORES, weight=[1.5, 2.5, 4.0])
    labels = ExpectedLabels(KnownMap(), target="these cases")

    for negatives, positives in ExpectedDraws(
        weighted.with_design(unlabelled=labels), 100, 0
    ).draws():
        assert positives == pytest.approx(np.array([1.5, 2.5, 4.0]) * CHANCES)
        assert negatives == pytest.approx(np.array([1.5, 2.5, 4.0]) * (1 - CHANCES))


@pytest.mark.parametrize(("error", "known"), [(0.3, True), (0.0, True), (None, False)])
def test_a_map_may_not_know_its_error(error, known):
    draws = expect(UNKNOWN, error=error)

    assert draws.error_known == known

    negatives, positives = next(draws.draws())
    rate = positives / (negatives + positives)

    assert rate == pytest.approx(expit(logit(CHANCES) + (error or 0)))


def test_expected_counts_stand_beside_their_draws():
    draws = expect(PARTLY)

    assert draws.counts.pos == pytest.approx([5 + 36, 1 + 15, 0 + 10])
    assert draws.counts.neg == pytest.approx([0 + 4, 2 + 15, 7 + 40])
    assert draws.labelled_positives(np.array([0.1]), 12.5) == 12.5
    assert draws.is_cohort


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_certain_labels_stay_and_a_draw_of_one_class_is_left_out(chance):
    certain = np.full(3, chance)

    both = list(expect(PARTLY, chances=certain, error=5.0).draws())
    one = list(
        expect(UNKNOWN, chances=certain, target="these cases", error=5.0).draws()
    )

    assert one == []

    for negatives, positives in both:
        # labelled cases are 6 of 15 positives, of which about as many are drawn
        assert negatives.sum() + positives.sum() == pytest.approx(135)


def test_a_band_needs_a_hundred_draws():
    assert len(list(expect(PARTLY, replicates=100).draws())) == 100
    with pytest.raises(trueness.InputError, match="replicates"):
        expect(PARTLY, replicates=99)


def test_cases_drawn_by_score_have_no_band():
    sample = trueness.LabelSample([], [500])
    tally = trueness.tally(np.arange(50) < 20, np.arange(50.0), unlabelled=sample)

    with pytest.raises(UnsupportedDesign, match="drawn by score"):
        ExpectedDraws(tally, 200, 0)


def test_many_rows_are_merged_at_their_mean_score():
    rng = np.random.default_rng(0)
    score = np.arange(3000.0)[::-1]
    counts = rng.integers(1, 9, (3, 3000))
    tally = Tally(score, neg=counts[0], pos=counts[1], unknown=counts[2])

    merged = _merge_to_few_rows(tally)

    cases = counts.sum(axis=0)

    assert 500 < len(merged) <= 1000

    for column, total in zip(COUNTS, counts.sum(axis=1)[[0, 1, 2]], strict=False):
        assert getattr(merged, column).sum() == total
    merged_cases = merged.neg + merged.pos + merged.unknown

    assert merged_cases @ merged.score == pytest.approx(cases @ score)
    # rows of about equally many cases
    assert merged_cases.max() < 3 * cases.sum() / 1000


def test_few_rows_stay():
    tally = Tally(np.arange(1000.0), unknown=np.ones(1000, int))

    assert _merge_to_few_rows(tally) is tally


def test_merged_rows_keep_their_clusters():
    cluster = np.arange(4000) % 50
    tally = trueness.tally(
        np.arange(4000) % 2, np.arange(4000.0) // 2, cluster=cluster, positive=1
    )

    merged = _merge_to_few_rows(tally)

    assert len(merged) <= 1000
    assert merged.clusters.number == 50

    total = merged.clusters.per_cluster(merged.clusters.counts[1])

    assert total == pytest.approx(np.bincount(cluster, np.arange(4000) % 2))
