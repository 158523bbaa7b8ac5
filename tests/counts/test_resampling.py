"""The bootstrap on counts: exact multinomial draws, in law."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import Tally
from trueness.counts import resampling
from trueness.counts.resampling import (
    auc_replicates,
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
@pytest.mark.parametrize("compacted", [False, True])
def test_draws_add_up(name, compacted, rng):
    count = COUNTS[name]
    dtype = compact(count) if compacted else np.int64

    drawn = draw(count, 50, rng, dtype=dtype)

    assert drawn.shape == (50, count.size)
    assert drawn.dtype == dtype
    assert (drawn.sum(axis=1, dtype=np.int64) == count.sum()).all()
    assert (drawn[:, count == 0] == 0).all()


@pytest.mark.parametrize("row", [0, 1, 2, 4, 5])
def test_marginals_are_binomial(rng, row):
    """Chi-squared against the exact law, on the path through random bytes."""
    count = COUNTS["mixed"]
    replicates = 20_000

    drawn = draw(count, replicates, rng)[:, row]

    law = stats.binom(count.sum(), count[row] / count.sum())
    numbers = np.arange(law.ppf(1e-4), law.ppf(1 - 1e-4) + 1)
    # the approximation of the test needs more than five expected
    numbers = numbers[law.pmf(numbers) * replicates > 5]
    expected = law.pmf(numbers) * replicates
    observed = np.array([(drawn == number).sum() for number in numbers])
    # all other numbers are one cell
    expected = np.append(expected, replicates - expected.sum())
    observed = np.append(observed, replicates - observed.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_covariances_are_multinomial(rng):
    count = COUNTS["mixed"]
    n = count.sum()
    p = count / n

    drawn = draw(count, 20_000, rng).astype(float)

    expected = n * (np.diag(p) - np.outer(p, p))
    variance = np.diag(expected)
    standard_error = np.sqrt((np.outer(variance, variance) + expected**2) / 20_000)
    assert (np.abs(np.cov(drawn.T) - expected) < 5 * standard_error).all()


def test_replicates_keep_the_classes(rng):
    tally = Tally([3, 2, 1], pos=[5, 2, 0], neg=[0, 4, 9], unknown=[1, 1, 1])
    for neg, pos in replicates(tally, 30, rng):
        assert (neg.sum(1) == 13).all()
        assert (pos.sum(1) == 7).all()
        assert (neg[:, 0] == 0).all()

    ((neg, pos),) = replicates(tally, 200, rng, stratified=False)

    assert ((neg + pos).sum(1) == 20).all()
    assert np.unique(pos.sum(1)).size > 3

    again = resample(tally, rng)

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
    tally = trueness.tally([1, 0, 1, 0, 1, 0], [3, 3, 2, 2, 1, 1], weight=weights)

    again = resample(tally, np.random.default_rng(0))

    # the weight of each row is the square of a case over its weight
    weight_of = dict(zip([3, 2, 1], [2.0, 0.5, 3.0], strict=True))
    weight = np.array([weight_of[score] for score in again.score])

    assert again.squares[0] == pytest.approx(again.neg * weight)
    assert again.squares[1] == pytest.approx(again.pos * weight)
    assert again.neg.sum() > 0


def area(neg, pos):
    """Return the AUC of counts in falling order of the scores, over all pairs."""
    below = neg.sum() - np.cumsum(neg)
    return float((pos * (below + neg / 2)).sum() / (pos.sum() * neg.sum()))


def bootstrap_variance(neg, pos):
    """Return the variance of the AUC over all bootstrap samples of both classes.

    The variance of a two-sample U-statistic at the observed distributions.
    """
    row = np.arange(neg.size)
    wins = (np.sign(row[None, :] - row[:, None]) + 1) / 2  # of rows: higher first
    p = pos / pos.sum()
    q = neg / neg.sum()
    mean = p @ wins @ q
    of_positives = p @ (wins @ q) ** 2 - mean**2
    of_negatives = q @ (p @ wins) ** 2 - mean**2
    of_pairs = p @ wins**2 @ q - mean**2
    n_pos = pos.sum()
    n_neg = neg.sum()
    total = (n_neg - 1) * of_positives + (n_pos - 1) * of_negatives + of_pairs
    return total / (n_pos * n_neg)


@pytest.mark.parametrize(
    "tally",
    [
        T,
        Tally([5, 4, 3, 2, 1], pos=[3, 0, 2, 4, 0], neg=[0, 2, 2, 0, 5]),
        Tally([4, 3, 2, 1], pos=[3, 0, 2, 4], neg=[1, 2, 2, 4], unknown=[1, 9, 0, 2]),
    ],
    ids=["ties", "runs", "unlabelled"],
)
def test_redrawn_areas_have_the_moments_of_the_bootstrap(tally):
    areas = auc_replicates(tally, 4000, 0)

    variance = bootstrap_variance(tally.neg, tally.pos)
    expected = area(tally.neg, tally.pos)

    assert areas.shape == (4000,)
    assert areas.mean() == pytest.approx(expected, abs=4 * np.sqrt(variance / 4000))
    assert areas.var() == pytest.approx(variance, rel=0.12)


def test_redrawn_areas_of_bins_have_the_same_moments():
    rng = np.random.default_rng(0)
    label = rng.random(300) < 0.4
    binned = trueness.tally(label, rng.normal(size=300) + label).bin(8)

    areas = auc_replicates(binned, 3000, 0)

    variance = bootstrap_variance(binned.neg, binned.pos)
    expected = area(binned.neg, binned.pos)

    assert areas.mean() == pytest.approx(expected, abs=4 * np.sqrt(variance / 3000))
    assert areas.var() == pytest.approx(variance, rel=0.12)


def test_areas_of_several_samples_by_all_pairs(rng):
    neg, pos = rng.integers(0, 4, (2, 5, 6))
    neg[:, 0] = pos[:, 0] = 1
    pos[3] = 0

    areas = resampling._areas(neg, pos)

    expected = [area(neg[row], pos[row]) for row in (0, 1, 2, 4)]

    assert areas[[0, 1, 2, 4]] == pytest.approx(expected)
    assert np.isnan(areas[3])


def test_statistics_of_redrawn_samples_are_joined_over_blocks(monkeypatch):
    monkeypatch.setattr(resampling, "_CELLS", 40)

    values = resampling.bootstrap(T, lambda neg, pos: neg.sum(axis=1), 25, 0)
    rows = resampling.bootstrap(T, lambda neg, pos: pos, 25, 0)

    assert values.tolist() == [12.0] * 25
    assert rows.shape == (25, 4)
    assert (rows.sum(axis=1) == 11).all()


def test_areas_are_the_same_moments_in_many_blocks(monkeypatch):
    monkeypatch.setattr(resampling, "_CELLS", 100)

    areas = auc_replicates(T, 3001, 0)

    assert areas.shape == (3001,)

    variance = bootstrap_variance(T.neg, T.pos)

    assert areas.var() == pytest.approx(variance, rel=0.12)


@pytest.mark.parametrize("stratified", [True, False])
def test_a_sample_of_the_same_size_has_rows_of_the_tally(stratified):
    sizes = set()
    for seed in range(30):
        again = resample(T, seed, stratified=stratified)

        assert set(again.score) <= set(T.score)
        assert (again.neg + again.pos > 0).all()
        assert again.n == T.n
        sizes.add(again.n_pos)

    # the classes are drawn together, or each at its size
    assert (sizes == {11}) == stratified


def test_a_cluster_that_is_drawn_twice_becomes_two():
    """Cluster k holds one positive at the score k and k + 1 negatives at 9."""
    negatives = np.arange(1, 6)
    cluster = np.repeat(np.arange(5), negatives + 1)
    is_positive = np.diff(cluster, prepend=-1) > 0
    score = np.where(is_positive, cluster, 9)
    tally = trueness.tally(is_positive, score, cluster=cluster)

    mean_times_drawn = np.zeros(5)
    for seed in range(200):
        redrawn = resample(tally, seed)

        times = np.array([redrawn.pos[redrawn.score == k].sum() for k in range(5)])
        mean_times_drawn += times / 200
        neg, pos, *_ = map(redrawn.clusters.per_cluster, redrawn.clusters.counts)
        assert redrawn.clusters.number == times.sum() == 5
        # each copy is as large as its cluster
        assert sorted(neg.tolist()) == np.repeat(negatives, times).tolist()
        assert pos.tolist() == [1] * 5

    assert mean_times_drawn == pytest.approx(np.ones(5), abs=0.3)


def test_a_draw_with_too_many_cases_is_drawn_again(rng):
    rows = resampling._RowsOfCases(np.array([3, 0, 5]))
    drawn = np.array([[9, 0, 9], [2, 0, 6], [1, 0, 1], [0, 0, 0]])

    filled = resampling._fill_up(drawn, rows, rng)

    assert (filled.sum(axis=1) == 8).all()
    assert (filled[:, 1] == 0).all()
    assert filled[1].tolist() == [2, 0, 6]
    assert (filled[2] >= [1, 0, 1]).all()


@pytest.mark.parametrize("cells", [1, 1 << 20])
@pytest.mark.parametrize("count", [[2, 0, 3, 1], [1, 1, 1], [0, 7], [400, 600]])
def test_cases_are_numbered_row_by_row(count, cells, monkeypatch):
    monkeypatch.setattr(resampling, "_CELLS", cells)
    rows = resampling._RowsOfCases(np.array(count))
    case = np.arange(sum(count))[::-1][:100]

    row_of_case = resampling._rows_of_cases(case, rows)

    expected = np.repeat(np.arange(len(count)), count)[case]
    assert row_of_case.tolist() == expected.tolist()


def test_no_case_is_drawn_of_none(rng):
    drawn = draw(np.array([0, 0]), 3, rng, dtype=np.int32)

    assert drawn.dtype == np.int32
    assert drawn.tolist() == [[0, 0]] * 3


def test_rows_without_a_case_are_never_drawn(rng):
    count = np.tile([0, 1, 4, 300], 500)

    drawn = draw(count, 20, rng)

    assert (drawn[:, count == 0] == 0).all()
    assert (drawn.sum(axis=1) == count.sum()).all()

    for number in (1, 4, 300):
        assert drawn[:, count == number].mean() == pytest.approx(number, rel=0.05)


@pytest.mark.parametrize(
    ("count", "dtype"),
    [
        ([64], np.uint8),
        ([65], np.int32),
        ([2**31 - 1], np.int32),
        ([2**30, 2**30], np.int64),
        ([], np.uint8),
    ],
)
def test_the_smallest_integer_holds_every_draw(count, dtype):
    assert compact(np.array(count, np.int64)) == dtype


def test_cases_of_equal_weight_are_drawn_as_cases(rng):
    tally = trueness.tally([1, 1, 0, 0, 0], [3, 2, 2, 1, 1], weight=[2.5] * 5)

    ((neg, pos),) = replicates(tally, 200, rng)

    assert neg.sum(axis=1) == pytest.approx(np.full(200, 7.5))
    assert pos.sum(axis=1) == pytest.approx(np.full(200, 5.0))

    whole = np.concatenate([neg, pos]) / 2.5

    assert whole == pytest.approx(np.rint(whole))


def test_unlabelled_cases_are_drawn_with_the_others(rng):
    tally = Tally([2, 1], pos=[5, 1], neg=[2, 4], unknown=[3, 6])

    ((neg, pos, unknown),) = replicates(
        tally, 4000, rng, stratified=False, unknown=True
    )

    assert ((neg + pos + unknown).sum(axis=1) == 21).all()

    cells = np.hstack([neg, pos, unknown])
    expected = np.array([2, 4, 5, 1, 3, 6])

    assert cells.mean(axis=0) == pytest.approx(expected, abs=0.15)
    assert cells.var(axis=0) == pytest.approx(expected * (1 - expected / 21), rel=0.12)


def test_a_row_of_weights_is_drawn_as_kishs_number_of_cases():
    weight = np.array([6.0, 5.0, 1.0, 0.4, 1e-200])
    # three cases of weight 2; weights 3, 1 and 1; one case; part of a case; no square
    square = np.array([12.0, 11.0, 1.0, 0.32, 0.0])

    number, each = resampling.whole_draws(weight, square)

    assert number.tolist() == [3, 2, 1, 1, 1]
    assert each == pytest.approx(weight / number)


def test_weights_are_drawn_with_their_mean_and_variance(rng):
    weight = np.array([6.0, 5.0, 1.0, 2.0])
    square = np.array([12.0, 11.0, 1.0, 0.0])

    drawn = resampling.gamma_draw(weight, square, 20_000, rng)

    assert drawn.mean(axis=0) == pytest.approx(weight, rel=0.03)
    assert drawn.var(axis=0) == pytest.approx(square, rel=0.08)
    # the square of this weight is too small for a number: it does not vary
    assert (drawn[:, 3] == 2.0).all()
