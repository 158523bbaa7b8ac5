"""The bootstrap on counts: exact multinomial draws, in law."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import Tally
from trueness.counts.resampling import (
    common_weight,
    compact,
    draw,
    replicates,
    resample,
)

COUNTS = {
    "few": np.array([1, 3, 0, 2]),
    "ones": np.ones(5000, dtype=np.int64),
    "mixed": np.array([1, 3, 200, 4000, 77, 2, 900, 128, 129]),
    "runs": np.tile([1, 2, 5, 1, 11], 300),
}


@pytest.mark.parametrize("name", COUNTS)
def test_draws_add_up(name, rng):
    count = COUNTS[name]
    for dtype in (np.int64, compact(count)):
        drawn = draw(count, 50, rng, dtype=dtype)
        assert drawn.shape == (50, count.size)
        assert drawn.dtype == dtype
        assert (drawn.sum(axis=1, dtype=np.int64) == count.sum()).all()
        assert (drawn[:, count == 0] == 0).all()


def test_marginals_are_binomial(rng):
    """Chi-squared against the exact law, on the path through random bytes."""
    count = COUNTS["mixed"]
    n, times = count.sum(), 20_000
    drawn = draw(count, times, rng)
    for j in (0, 1, 4, 5, 2):
        law = stats.binom(n, count[j] / n)
        k = np.arange(int(law.ppf(1e-4)), int(law.ppf(1 - 1e-4)) + 1)
        expected = law.pmf(k) * times
        k, expected = k[expected > 5], expected[expected > 5]
        seen = np.array([(drawn[:, j] == v).sum() for v in k])
        seen, expected = (
            np.append(seen, times - seen.sum()),
            np.append(expected, times - expected.sum()),
        )
        assert stats.chisquare(seen, expected).pvalue > 1e-3


def test_covariances_are_multinomial(rng):
    count = COUNTS["mixed"]
    n, p = count.sum(), count / count.sum()
    drawn = draw(count, 20_000, rng).astype(float)
    expected = n * (np.diag(p) - np.outer(p, p))
    found = np.cov(drawn.T)
    spread = np.sqrt(
        (np.outer(np.diag(expected), np.diag(expected)) + expected**2) / 2e4
    )

    assert (np.abs(found - expected) < 5 * spread).all()


def test_replicates_keep_the_classes(rng):
    t = Tally([3, 2, 1], pos=[5, 2, 0], neg=[0, 4, 9], unknown=[1, 1, 1])
    for neg, pos in replicates(t, 30, rng):
        assert (neg.sum(1) == 13).all()
        assert (pos.sum(1) == 7).all()
        assert (neg[:, 0] == 0).all()

    ((neg, pos),) = replicates(t, 200, rng, stratified=False)

    assert ((neg + pos).sum(1) == 20).all()
    assert np.unique(pos.sum(1)).size > 3

    again = resample(t, rng)

    assert (again.n_pos, again.n_neg, again.n_unknown) == (7, 13, 0)


def test_whole_clusters_are_drawn():
    tally = Tally(
        [2, 1, 2, 1], pos=[3, 0, 0, 1], neg=[0, 1, 2, 0], cluster=[1, 1, 2, 2]
    )

    samples = np.concatenate([np.hstack(block) for block in replicates(tally, 400, 0)])

    # negatives, then positives of each row
    first = np.array([0, 1, 3, 0])
    second = np.array([2, 0, 0, 1])
    # two clusters of two are drawn: the first twice, both, or the second twice
    chances = {
        tuple(2 * first): 0.25,
        tuple(first + second): 0.5,
        tuple(2 * second): 0.25,
    }
    distinct, times = np.unique(samples, axis=0, return_counts=True)
    frequencies = {
        tuple(sample): number / 400
        for sample, number in zip(distinct.tolist(), times, strict=True)
    }
    assert frequencies == pytest.approx(chances, abs=0.07)


T = Tally([0.9, 0.6, 0.5, 0.2], neg=[1, 2, 4, 5], pos=[5, 3, 2, 1])
SEEDED = {
    "auc": lambda rng: trueness.auc(T, method="bootstrap", rng=rng),
    "latent_class": lambda rng: trueness.latent_class(
        trueness.Panel(["a", "b"], [[1, 1], [0, 0]], unknown=[3, 4]), rng=rng
    ),
    "resample": lambda rng: trueness.counts.resample(T, rng),
    "simulate_tally": lambda rng: trueness.simulate_tally(9, 4, 0.8, rng=rng),
    "validate_threshold": lambda rng: trueness.validate_threshold(T, rng=rng),
}


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.parametrize("rng", ["seed", -1, 1.5])
def test_a_seed_that_is_none_is_told_in_words(name, rng):
    with pytest.raises(trueness.InputError, match=r"rng must be a seed.*Type rng=0"):
        SEEDED[name](rng)


def test_many_rows_of_several_counts_are_drawn_in_proportion(rng):
    """Rows with 1, 2, 5 and 11 cases: means of count, variances nearly Poisson's."""
    count = COUNTS["runs"]

    drawn = draw(count, 400, rng)

    for kind in (1, 2, 5, 11):
        of_kind = drawn[:, count == kind].astype(float)
        error = np.sqrt(kind / of_kind.size)
        assert of_kind.mean() == pytest.approx(kind, abs=4 * error)
        assert of_kind.var() == pytest.approx(kind, rel=0.05)


def test_a_common_weight_is_found_whatever_the_rows_hold():
    scores, labels = [3, 3, 2, 1, 1, 1], [1, 1, 0, 1, 0, 0]
    equal = trueness.tally(labels, scores, weight=[2.5] * 6)
    unequal = trueness.tally(labels, scores, weight=[2.5, 2.5, 2.5, 2.5, 2.5, 4])

    assert common_weight(equal) == pytest.approx(2.5)
    assert common_weight(unequal) is None
    assert common_weight(trueness.tally(labels, scores)) is None


def test_a_drawn_weight_keeps_its_square():
    weights = [2.0, 2.0, 0.5, 0.5, 3.0, 3.0]
    t = trueness.tally([1, 0, 1, 0, 1, 0], [3, 3, 2, 2, 1, 1], weight=weights)

    again = resample(t, np.random.default_rng(0))

    # the weight of each row is the square of a case over its weight
    weight_of = dict(zip([3, 2, 1], [2.0, 0.5, 3.0], strict=True))
    weight = np.array([weight_of[score] for score in again.score])
    assert again.squares[0] == pytest.approx(again.neg * weight)
    assert again.squares[1] == pytest.approx(again.pos * weight)
    assert again.neg.sum() > 0
