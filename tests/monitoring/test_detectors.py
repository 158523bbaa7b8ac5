"""Detectors and sequences: formulas by hand, fairness by enumeration, simulation."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, norm

import trueness
from trueness.monitoring.detectors import (
    change_point,
    effects,
    grown,
    in_parts,
    mean_bets,
    mean_gains,
)
from trueness.monitoring.kinds import _earlier, log_stakes, ranks_among, score_gains
from trueness.monitoring.sequences import limits, mean_evidence, share_evidence


def test_bets_are_those_of_the_best_change_for_each_wait():
    """One in 20 years: waits of 1, 2, ..., 256 looks, at most a year."""
    e = effects(7300, 20)
    assert e == pytest.approx(
        [math.sqrt(2 * math.log(7300) / (20 * 2**k)) for k in range(9)]
    )
    bets = mean_bets(e, math.sqrt(0.85 * 0.15), 0.85, 1, (0.0, 1.0))
    assert (bets * (1 - 0.85) < 1).all()  # no case can lose all


def test_gains_of_a_share_are_likelihood_ratios():
    bets = np.array([0.5, 1.0])
    found = np.array([7, 3]) @ mean_gains(np.array([1.0, 0.0]), 0.8, 1, bets)
    for gain, bet in zip(found, bets, strict=True):
        q = 0.8 - bet * 0.8 * 0.2
        assert gain == pytest.approx(
            7 * math.log(q / 0.8) + 3 * math.log((1 - q) / 0.2)
        )


@pytest.mark.parametrize("side", [1, -1])
def test_no_bet_can_be_expected_to_gain(side):
    """Every sample of three numbers: on the bound one on average, inside it less."""
    values, bets = np.array([0.0, 0.3, 1.0]), np.array([0.2, 0.9])
    for law in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]):
        mean = float(values @ law)
        for bound, most in ((mean, 1.0), (mean - side * 0.1, 0.999)):
            gain = np.exp(mean_gains(values, bound, side, bets))
            assert (np.array(law) @ gain <= most + 1e-12).all()


def test_the_detector_is_the_sum_over_all_starts():
    """It is asked after each part of a look, and a unit is staked at each look."""
    gains = np.random.default_rng(0).normal(size=(9, 5, 1, 4))
    log_m, stakes, found = None, np.log([0.1, 0.2, 0.3, 0.4]), 0.0
    for look in gains:
        log_m, found = grown(log_m, look, stakes)
    whole = gains.sum(axis=1)[:, 0]
    ends = [
        sum(
            np.exp(
                stakes + whole[k:8].sum(axis=0) + gains[8, : p + 1, 0].sum(axis=0)
            ).sum()
            for k in range(9)
        )
        for p in range(5)
    ]
    assert found == pytest.approx(math.log(max(ends)))
    assert np.logaddexp.reduce(log_m[0]) == pytest.approx(math.log(ends[-1]))
    weight = np.array([np.exp(stakes + whole[k:].sum(axis=0)).sum() for k in range(9)])
    weight /= weight.sum()
    first, likely, last = change_point(whole, stakes, 0.9)
    assert likely == weight.argmax()
    assert weight[first : last + 1].sum() >= 0.9
    assert np.exp(log_stakes({"metric": "scores"}, 24)).sum() == pytest.approx(1)


def test_parts_hold_every_case_once(rng):
    times = np.array([30, 0, 7, 1])
    parts = in_parts(times, rng)
    assert parts.shape == (16, 4)
    assert parts.sum(axis=0).tolist() == times.tolist()
    assert set(parts.sum(axis=1)) <= {2, 3}
    assert in_parts(np.array([3, 2]), rng).sum(axis=1).tolist() == [1] * 5
    assert in_parts(np.array([10**9, 10**9]), rng).tolist() == [[1e9, 1e9]]


def shares(rng, streams, days, share, changed=0, before=0.85):
    """Streams of 20 cases a day in 10 parts: log evidence and gains of every look."""
    n, bound = 20, 0.85
    bets = mean_bets(effects(7300, n), math.sqrt(bound * (1 - bound)), bound, 1, (0, 1))
    day = np.where(np.arange(days) >= changed, share, before)
    k = rng.binomial(2, day[:, None], (streams, days, 10))[..., None]
    gains = k * np.log1p(-bets * (1 - bound)) + (2 - k) * np.log1p(bets * bound)
    stakes, log_m, path = (
        -math.log(bets.size),
        np.full((streams, bets.size), -np.inf),
        [],
    )
    for one in range(days):
        inside = np.logaddexp(log_m, stakes)[:, None] + gains[:, one].cumsum(axis=1)
        path.append(np.logaddexp.reduce(inside, axis=2).max(axis=1))
        log_m = inside[:, -1]
    return np.array(path).T, gains.sum(axis=2)


def test_false_alarms_of_a_year_are_at_most_five_per_cent():
    path, _ = shares(np.random.default_rng(1), 1000, 365, 0.85)
    assert 0.01 < (path.max(axis=1) >= math.log(7300)).mean() <= 0.05


def test_a_late_fall_is_found_as_soon_as_an_early_one_and_located():
    rng = np.random.default_rng(2)
    path, gains = shares(rng, 200, 260, 0.75, changed=180, before=0.9)
    hit = path >= math.log(7300)
    found = hit.argmax(axis=1)
    assert not hit[:, :180].any()
    assert np.median(found - 179) <= 14  # a CUSUM that knows both shares needs 10
    early, _ = shares(rng, 200, 80, 0.75)
    assert np.median((early >= math.log(7300)).argmax(axis=1) + 1) <= 14
    stakes = np.full(gains.shape[2], -math.log(gains.shape[2]))
    held = []
    for one, end in zip(gains, found, strict=True):
        first, _, last = change_point(one[: end + 1], stakes, 0.95)
        held.append(first <= 180 <= last)
    assert np.mean(held) >= 0.9


@pytest.mark.parametrize(("k", "n", "bound"), [(3, 10, 0.5), (9, 10, 0.9), (0, 4, 0.2)])
def test_evidence_of_a_share_is_the_average_likelihood_ratio(k, n, bound):
    def ratio(q):
        return (q / bound) ** k * ((1 - q) / (1 - bound)) ** (n - k)

    below = quad(ratio, 0, bound)[0] / bound
    above = quad(ratio, bound, 1)[0] / (1 - bound)
    assert math.exp(share_evidence(k, n, bound, 1)) == pytest.approx(below, rel=1e-8)
    assert math.exp(share_evidence(k, n, bound, -1)) == pytest.approx(above, rel=1e-8)


def test_evidence_cannot_be_expected_to_grow():
    """All streams of six cases with three values, and of eight with two."""
    values, law = np.array([0.0, 0.3, 1.0]), np.array([0.5, 0.3, 0.2])
    bound = float(values @ law)
    for side in (1, -1):
        mean = 0.0
        for x in product(range(3), repeat=6):
            v = values[list(x)]
            log = mean_evidence((6, v.sum(), (v**2).sum()), bound, side)
            mean += law[list(x)].prod() * math.exp(log)
        assert mean <= 1 + 1e-12
    for share in (0.3, 0.5):
        k = np.arange(9)
        chance = [math.comb(8, i) * share**i * (1 - share) ** (8 - i) for i in k]
        assert chance @ np.exp(share_evidence(k, 8, 0.3, 1)) <= 1 + 1e-12


def test_sequences_hold_at_all_looks():
    rng = np.random.default_rng(4)
    k = (rng.random((300, 2000)) < 0.9).cumsum(1)
    looks = np.unique(np.geomspace(1, 2000, 60).astype(int))
    ever = np.zeros(300, bool)
    for n in looks:
        values, where = np.unique(k[:, n - 1], return_inverse=True)
        ends = [limits((n, v, v), 0.05, share=True) for v in values]
        ever |= np.array([not low <= 0.9 <= high for low, high in ends])[where]
    assert ever.mean() <= 0.05
    assert limits((0, 0, 0), 0.05, share=True) == (0.0, 1.0)
    wide, narrow = (limits((50, 10, s), 0.05, share=False) for s in (10.0, 2.2))
    assert narrow[1] - narrow[0] < wide[1] - wide[0]


def test_ranks_among_all_before_are_fair_bets():
    """Ranks are uniform, with ties too; a shift, and scores that collapse, win."""
    rng = np.random.default_rng(1)
    effect, ranks, wealth = effects(7300, 20), [], []
    for _ in range(400):
        old, counts = np.unique(rng.normal(size=30).round(1), return_counts=True)
        ranks.append(ranks_among(old, counts * 1.0, rng.normal(size=20).round(1), rng))
        wealth.append(np.exp(score_gains(norm.ppf(ranks[-1]), effect)))
    assert kstest(np.concatenate(ranks), "uniform").pvalue > 0.01
    assert np.median(np.mean(wealth, axis=0)) < 1.5
    stakes = log_stakes({"metric": "scores"}, 4 * effect.size)
    for new in (rng.normal(size=200) + 1, np.zeros(200), 3 * rng.normal(size=200)):
        old = np.sort(rng.normal(size=500))
        z = norm.ppf(ranks_among(old, np.ones(500), new, rng))
        assert np.logaddexp.reduce(stakes + score_gains(z, effect)) > math.log(7300)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1500])
def test_ranks_among_earlier_scores_are_those_of_counting(n, rng):
    x = rng.normal(size=n).round(1)
    less, ties = _earlier(x)
    assert less.tolist() == [(x[:k] < x[k]).sum() for k in range(n)]
    assert ties.tolist() == [(x[:k] == x[k]).sum() for k in range(n)]


@pytest.mark.parametrize(
    ("said", "looks"),
    [
        ("one in 20 years", 7300),
        ("One in 5 years of weekly looks", 5 * 365 / 7),
        ("one in 1,000 looks", 1000),
        ("one a year", 365),
        ("one in 2 months of hourly looks", 1460),
        (500, 500),
    ],
)
def test_promises_in_words(said, looks):
    w = trueness.watch("auc", at_least=0.8, false_alarms=said)
    assert w.alarm_at == pytest.approx(looks)


@pytest.mark.parametrize("said", ["never", "one in 0 years", 1, True, None, "20 years"])
def test_promises_that_cannot_be_read(said):
    with pytest.raises(trueness.InputError, match='such as "one in 20 years"'):
        trueness.watch("auc", at_least=0.8, false_alarms=said)
