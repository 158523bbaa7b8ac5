"""The AUC and its intervals: by hand, brute force, pROC, corners and coverage."""

import json
from fractions import Fraction
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import bootstrap
from sklearn.metrics import roc_auc_score

import trueness
from conftest import tied_cases
from trueness import Tally
from trueness.ranking.auc_intervals import AUC_METHODS, auc_replicates

PROC = json.loads((Path(__file__).parents[1] / "reference" / "proc.json").read_text())
METHODS = sorted(AUC_METHODS)
# SciPy's word for the generator, before and since 1.15
RANDOM = "rng" if "rng" in signature(bootstrap).parameters else "random_state"


def pairs(y, s):
    """AUC and DeLong's variance from all pairs, as the definitions read."""
    win = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
    variance = win.mean(1).var(ddof=1) / len(win) + win.mean(0).var(ddof=1) / len(win.T)
    return win.mean(), np.sqrt(variance)


def test_by_hand():
    t = Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])
    assert trueness.auc(t).value == float(Fraction(11, 12))


def test_slow_twin(rng):
    for n in (10, 60, 500):
        y, s = tied_cases(rng, n)
        value, sd = pairs(y, s)
        ours = trueness.auc(trueness.tally(y, s), method="delong")
        assert ours.value == pytest.approx(value, abs=1e-15)
        assert ours.sd == pytest.approx(sd)
        assert ours.value == pytest.approx(roc_auc_score(y, s))
        assert ours.low == pytest.approx(max(0, value - 1.959963984540054 * sd))


@pytest.mark.parametrize("name", ["ndka", "s100b", "wfns"])
def test_proc_agrees(name):
    a = trueness.auc(trueness.tally(PROC["poor"], PROC[name]), method="delong")
    assert [a.low, a.value, a.high] == pytest.approx(PROC[f"auc_{name}"], abs=1e-12)


def test_hanley_mcneil_by_hand():
    a = trueness.auc(
        Tally([3, 2, 1], pos=[4, 3, 1], neg=[1, 3, 5]), method="hanley-mcneil"
    )
    area = Fraction(4 * (16 + 1) + 3 * (10 + 3) + 1 * 5, 2 * 8 * 9)
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    square = area * (1 - area) + 7 * (q1 - area**2) + 8 * (q2 - area**2)
    assert a.value == float(area)
    assert a.sd == pytest.approx(float(square / 72) ** 0.5)


def test_fermi_dirac_uses_the_half_tie_form(rng):
    t = trueness.tally(*tied_cases(rng, 200))
    a = trueness.auc(t, method="fermi-dirac")
    assert a.sd == pytest.approx(trueness.fermi_dirac(t).auc_se)
    assert a.high - a.low == pytest.approx(2 * 1.959963984540054 * a.sd)


def test_logit_delong_by_hand(rng):
    y, s = tied_cases(rng, 60)
    value, sd = pairs(y, s)
    a = trueness.auc(trueness.tally(y, s), method="logit-delong", level=0.9)
    half = 1.6448536269514722 * sd / (value * (1 - value))
    logit = np.log(value / (1 - value))
    assert a.low == pytest.approx(1 / (1 + np.exp(-logit + half)))
    assert a.high == pytest.approx(1 / (1 + np.exp(-logit - half)))


def test_bootstrap_replicates_have_the_bootstrap_distribution(rng):
    """Moments against the exact bootstrap variance of a two-sample U-statistic."""
    y, s = tied_cases(rng, 40)
    t = trueness.tally(y, s)
    values = auc_replicates(t, 20_000, rng=1)
    win = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
    p, q = win.shape
    # Kim et al. (2021), eq. 18 for the empirical distribution as the truth
    total = win.var() + (p - 1) * win.mean(0).var() + (q - 1) * win.mean(1).var()
    assert values.mean() == pytest.approx(win.mean(), abs=4 * values.std() / 140)
    assert values.var() == pytest.approx(total / (p * q), rel=0.05)


def test_bootstrap_of_long_continuous_data(rng):
    """The path through random bytes: thousands of cases of a class."""
    y = rng.random(20_000) < 0.4
    t = trueness.tally(y, rng.normal(size=y.size) + y)
    values = auc_replicates(t, 1500, rng=2)
    sd = trueness.auc(t, method="delong").sd
    assert values.std() == pytest.approx(sd, rel=0.08)
    assert values.mean() == pytest.approx(trueness.auc(t).value, abs=4 * sd / 38)


def test_percentile_and_bca_agree_with_scipy(rng):
    y, s = tied_cases(rng, 60, levels=50)
    t = trueness.tally(y, s)

    def area(pos, neg, axis):
        pos, neg = np.atleast_2d(pos), np.atleast_2d(neg)
        win = pos[:, :, None] > neg[:, None, :]
        tie = pos[:, :, None] == neg[:, None, :]
        out = (win + 0.5 * tie).mean(axis=(1, 2))
        return out if out.size > 1 else out[0]

    for ours, theirs in (("bootstrap", "percentile"), ("bca", "BCa")):
        a = trueness.auc(t, method=ours, rng=1, replicates=8000)
        b = bootstrap(
            (s[y == 1], s[y == 0]),
            area,
            n_resamples=8000,
            method=theirs,
            **{RANDOM: np.random.default_rng(2)},
            batch=500,
        ).confidence_interval
        assert a.low == pytest.approx(b.low, abs=0.006)
        assert a.high == pytest.approx(b.high, abs=0.006)


CORNERS = {
    "one pair, won": Tally([2, 1], pos=[1, 0], neg=[0, 1]),
    "one pair, lost": Tally([2, 1], pos=[0, 1], neg=[1, 0]),
    "one pair, tied": Tally([1], pos=[1], neg=[1]),
    "perfect": Tally([2, 1], pos=[30, 0], neg=[0, 70]),
    "perfectly wrong": Tally([2, 1], pos=[0, 30], neg=[70, 0]),
    "all tied": Tally([1], pos=[30], neg=[70]),
    "one positive": Tally([3, 2, 1], pos=[0, 1, 0], neg=[3, 0, 40]),
    "one positive on top": Tally([3, 2, 1], pos=[1, 0, 0], neg=[0, 3, 40]),
    "one negative": Tally([3, 2, 1], pos=[5, 0, 2], neg=[0, 1, 0]),
    "huge": Tally([3, 2, 1], pos=[10**9, 5, 0], neg=[1, 0, 10**9]),
    "unknowns": Tally([3, 2], pos=[2, 0], neg=[0, 2], unknown=[5, 5]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("corner", CORNERS)
def test_no_interval_is_empty_or_leaves_the_unit_interval(method, corner):
    a = trueness.auc(CORNERS[corner], method=method, rng=1, replicates=200)
    assert 0 <= a.low <= a.value <= a.high <= 1
    assert a.low < a.high
    assert method in a.method


def test_the_stand_in_says_so():
    a = trueness.auc(CORNERS["perfect"], method="delong")
    assert a.method == "score for delong"
    assert trueness.auc(CORNERS["perfect"]).method == "score"


@pytest.mark.parametrize("method", METHODS)
def test_label_mirror(method, rng):
    y, s = tied_cases(rng, 50)
    a = trueness.auc(trueness.tally(y, s), method=method, rng=1, replicates=4000)
    b = trueness.auc(trueness.tally(1 - y, -s), method=method, rng=2, replicates=4000)
    if method == "hanley-mcneil":  # its model has no such symmetry
        return
    close = 0.02 if method in ("bootstrap", "bca") else 1e-9
    assert b.value == pytest.approx(a.value, abs=1e-12)
    assert [b.low, b.high] == pytest.approx([a.low, a.high], abs=close)


@pytest.mark.parametrize("method", METHODS)
def test_exchanged_labels(method, rng):
    y, s = tied_cases(rng, 50)
    a = trueness.auc(trueness.tally(y, s), method=method, rng=1, replicates=4000)
    b = trueness.auc(trueness.tally(1 - y, s), method=method, rng=2, replicates=4000)
    close = 0.02 if method in ("bootstrap", "bca") else 1e-9
    assert [b.low, b.value, b.high] == pytest.approx(
        [1 - a.high, 1 - a.value, 1 - a.low], abs=close
    )


@pytest.mark.parametrize("method", METHODS)
def test_higher_level_is_wider_and_more_cases_are_narrower(method, rng):
    y, s = tied_cases(rng, 60)
    t = trueness.tally(y, s)
    width = {
        level: (lambda a: a.high - a.low)(
            trueness.auc(t, method=method, level=level, rng=1, replicates=4000)
        )
        for level in (0.5, 0.9, 0.99)
    }
    assert width[0.5] < width[0.9] < width[0.99]
    many = trueness.tally(np.tile(y, 9), np.tile(s, 9))
    a = trueness.auc(many, method=method, level=0.9, rng=1, replicates=4000)
    assert (a.high - a.low) == pytest.approx(width[0.9] / 3, rel=0.15)


def covered(rng, method, n_pos, n_neg, area, times):
    from scipy.special import ndtri

    shift = np.sqrt(2) * ndtri(area)
    y = np.r_[np.ones(n_pos, int), np.zeros(n_neg, int)]
    hits = 0
    for _ in range(times):
        a = trueness.auc(
            trueness.tally(y, rng.normal(size=y.size) + shift * y), method=method
        )
        hits += a.low <= area <= a.high
    return hits / times


@pytest.mark.parametrize(
    ("n_pos", "n_neg", "area"), [(1, 19, 0.8), (5, 45, 0.95), (20, 20, 0.99)]
)
def test_the_default_covers_also_with_few_cases(rng, n_pos, n_neg, area):
    # 400 samples: three standard errors of 0.95 are 0.033
    assert covered(rng, "score", n_pos, n_neg, area, 400) >= 0.917


def test_errors():
    t = Tally([2, 1], pos=[3, 1], neg=[1, 5])
    with pytest.raises(
        trueness.InputError, match=r"method must be one of .*Did you mean"
    ):
        trueness.auc(t, method="delongs")
    with pytest.raises(trueness.InputError, match=r"level must lie in \(0, 1\)"):
        trueness.auc(t, level=95)
    with pytest.raises(trueness.InputError, match="replicates must be a whole number"):
        trueness.auc(t, replicates=3)
    with pytest.raises(trueness.NotEnoughCases, match="0 positives among 6 labelled"):
        trueness.auc(Tally([2, 1], neg=[1, 5]))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.9999])
@pytest.mark.parametrize("df", [3.5, 1e4, 1.01e6, 1e9])
def test_students_quantile_with_and_without_scipy(df, level):
    from scipy.special import stdtrit

    from trueness.ranking.auc_intervals import student_quantile

    expected = float(stdtrit(df, (1 + level) / 2))
    assert student_quantile(df, level) == pytest.approx(expected, rel=1e-14)
