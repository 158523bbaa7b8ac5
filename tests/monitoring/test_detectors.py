"""Detectors and sequences, asked through watches: by hand, by simulation, in words."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import trueness
from trueness import Tally


def day(found, missed, false=0, cleared=0):
    return Tally([1.0, 0.0], neg=[false, cleared], pos=[found, missed])


def test_the_detector_is_the_sum_over_all_starts():
    """Looks of one case: a unit is staked at each, on changes found in 1, 2, 4 ..."""
    result = [1, 0, 0, 1, 1, 0, 0, 0]
    w = trueness.watch("recall", threshold=0.5, at_least=0.8)
    for one in result:
        w.update(day(one, 1 - one))
    waits = 2.0 ** np.arange(9)  # up to 256 looks, of 7300 * 0.05
    effect = np.sqrt(2 * math.log(7300) / waits)
    bets = np.minimum(effect / math.sqrt(0.8 * 0.2), 0.9 / 0.2)
    gains = np.log1p(np.outer(0.8 - np.array(result), bets))

    starts = [np.exp(gains[k:].sum(axis=0)).mean() for k in range(len(result))]

    assert w.history[-1]["evidence"] == pytest.approx(sum(starts))
    assert w.alarm_at == 7300


def losses(rng):
    s = rng.random(30)
    return trueness.tally((rng.random(30) < s) * 1, s, positive=1)


def areas(rng):
    y = np.repeat([0, 1], 15)
    return trueness.tally(y, rng.normal(size=30) + y, positive=1)


def shares(rng):
    result = rng.binomial(20, 0.85)
    return day(result, 20 - result)


def scores(rng):
    return rng.normal(size=20).round(1)


OLD = trueness.tally(None, np.random.default_rng(1).normal(size=50).round(1))
ON_THE_BOUND = {
    "recall": (shares, {"threshold": 0.5, "at_least": 0.85}),
    "brier": (losses, {"at_most": 1 / 6}),
    "auc": (areas, {"at_least": 0.7602}),
    "calibration": (losses, {}),
    "scores": (scores, {"baseline": OLD}),
}


@pytest.mark.parametrize("what", ON_THE_BOUND)
def test_streams_on_their_bound_raise_few_alarms(what):
    """Promised is one in 40 looks, so in 10 a quarter: 7.5 of 30, deviation 2.4."""
    draw, options = ON_THE_BOUND[what]
    rng = np.random.default_rng(1)
    cried = 0
    for _ in range(30):
        w = trueness.watch(what, **options, false_alarms=40)
        for _ in range(10):
            w.update(draw(rng))
        cried += w.alarm
    assert cried <= 13


def test_a_late_fall_is_found_as_soon_as_an_early_one_and_located():
    """A CUSUM that knows both shares needs about 10 looks."""
    rng = np.random.default_rng(2)
    delays = []
    held = []
    for stream in range(18):
        w = trueness.watch("recall", threshold=0.5, at_least=0.85)
        changed = 60 if stream % 2 else 0
        before = 0.9 if stream % 3 else 0.87
        for look in range(changed + 40):
            k = rng.binomial(20, 0.75 if look >= changed else before)
            w.update(day(k, 20 - k), name=str(look))
            if w.alarm:
                break
        delays.append(int(w.since) - changed + 1)
        held.append(int(w.change.first) <= changed <= int(w.change.last))

    assert np.median(delays[1::2]) <= 14
    assert np.median(delays[::2]) <= 14
    assert min(delays) > 0
    assert np.mean(held) >= 0.85


@pytest.mark.parametrize(
    "move", [lambda z: z + 1, lambda z: 0 * z, lambda z: 3 * z, lambda z: z / 4]
)
def test_scores_that_move_collapse_or_spread_are_seen(move, rng):
    w = trueness.watch("scores", baseline=trueness.tally(None, rng.normal(size=500)))
    for _ in range(3):
        w.update(rng.normal(size=100))
    assert not w.alarm

    for _ in range(4):
        w.update(move(rng.normal(size=100)))
    assert w.alarm


@pytest.mark.parametrize(("k", "n"), [(3, 10), (9, 10), (0, 4), (70, 90)])
def test_limits_of_a_share_are_where_the_average_likelihood_ratio_is_40(k, n):
    w = trueness.watch("recall", threshold=0.5, at_least=0.1).update(day(k, n - k))

    def evidence(bound, ends):
        def ratio(q):
            return (q / bound) ** k * ((1 - q) / (1 - bound)) ** (n - k)

        return quad(ratio, *ends)[0] / (ends[1] - ends[0])

    if w.high < 1:
        assert evidence(w.high, (0, w.high)) == pytest.approx(40, rel=1e-3)
    if w.low > 0:
        assert evidence(w.low, (w.low, 1)) == pytest.approx(40, rel=1e-3)
    assert w.low <= k / n <= w.high


def test_sequences_hold_at_all_looks():
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(40):
        w = trueness.watch("recall", threshold=0.5, at_least=0.5)
        for n in np.geomspace(1, 400, 15).astype(int):
            k = rng.binomial(n, 0.9)
            w.update(day(k, n - k))
        wrong += any(not r["low"] <= 0.9 <= r["high"] for r in w.history)
    assert wrong <= 5  # 2 are expected at most
    assert math.isnan(trueness.watch("auc", at_least=0.5).low)


def test_limits_of_a_mean_are_narrow_where_it_varies_little():
    even = Tally([0.5], pos=[25], neg=[25])
    wild = Tally([1.0, 0.0], pos=[38, 0], neg=[12, 0])
    wide, narrow = (
        trueness.watch("brier", at_most=0.3).update(t) for t in (wild, even)
    )
    assert narrow.high - narrow.low < wide.high - wide.low


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
