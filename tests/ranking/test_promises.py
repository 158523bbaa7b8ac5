"""Answers of the ranking keep their promise: coverage, size, possible values."""

import math
import warnings

import numpy as np
import pytest
from scipy import special, stats
from scipy.integrate import quad

import trueness
from trueness import InputError, NotEnoughCases, Tally
from trueness.ranking.auc_intervals import AucSample, score_ends
from trueness.ranking.verification import difference, impute


def normal_cases(rng, n_pos, n_neg, area):
    y = np.repeat([1, 0], [n_pos, n_neg])
    return y, rng.normal(size=y.size) + np.sqrt(2) * stats.norm.ppf(area) * y


# the score interval where a share of the positives ranks last


@pytest.mark.parametrize(("n", "share"), [(5, 0.3), (20, 0.1), (50, 0.05)])
def test_the_score_interval_allows_for_positives_that_rank_last(n, share):
    """Exact: the number ranked last is binomial, and the rest is on top."""
    covered = 0.0
    for last in range(n + 1):
        t = Tally([3, 2, 1], pos=[n - last, 0, last], neg=[0, 10 * n, 0])
        found = trueness.auc(t)
        if found.low <= 1 - share <= found.high:
            covered += stats.binom.pmf(last, n, share)
    assert covered >= 0.93


def placed(rng, n_pos, n_neg, area, samples=400):
    """AUC and both spreads of placement values of many samples of normal scores."""
    shift = np.sqrt(2) * stats.norm.ppf(area)
    pos = rng.normal(size=(samples, n_pos, 1)) + shift
    above = pos > rng.normal(size=(samples, 1, n_neg))
    spreads = (
        above.mean(axis=2).var(axis=1, ddof=1),
        above.mean(axis=1).var(axis=1, ddof=1),
    )
    return above.mean(axis=(1, 2)), *spreads


@pytest.mark.parametrize("area", [0.6, 0.75, 0.85])
@pytest.mark.parametrize(("n_pos", "n_neg"), [(30, 60), (50, 150)])
def test_the_score_interval_is_as_narrow_as_ordinary_data_allow(
    n_pos, n_neg, area, rng
):
    """The interval before covered 0.98 here, and was 4 to 9 % wider than DeLong's."""
    a, one, two = placed(rng, n_pos, n_neg, area)
    low, high = score_ends(AucSample(a, one, two, n_pos, n_neg), 0.95)
    assert 0.92 <= np.mean((low <= area) & (area <= high)) <= 0.985
    sd = np.sqrt(one / n_pos + two / n_neg) / (a * (1 - a))
    ends = [1 / (1 + np.exp(-(np.log(a / (1 - a)) + z * sd))) for z in (-1.96, 1.96)]
    assert np.mean(high - low) <= 1.06 * np.mean(ends[1] - ends[0])


def test_both_sides_of_the_score_interval_share_the_level():
    """Where one side allows for cases that were not met, the other is one-sided."""
    low, high = score_ends(AucSample(0.97, 0.002, 0.002, 20, 40), 0.95)
    unmet = 1.959964**2 / (20 + 1.959964**2)  # Wilson's limit of none among 20
    assert low == pytest.approx(0.97 * (1 - unmet * math.sqrt(0.94)), abs=1e-6)
    equal_tails = score_ends(AucSample(0.97, 0.002, 0.002, 20, 40), 0.98)
    assert high < equal_tails[1] - 0.001
    mirrored = score_ends(AucSample(0.03, 0.002, 0.002, 20, 40), 0.95)
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_a_score_that_ranks_the_wrong_way_round_is_told_so():
    t = Tally([2, 1], pos=[10, 90], neg=[90, 10])
    found = trueness.auc(t)
    assert found.high < 0.5
    assert "ranks the wrong way round" in found.notes[0]
    assert "tally.map(lambda s: -s)" in found.notes[0]
    assert trueness.auc(t.map(lambda s: -s)).notes == ()
    assert trueness.auc(Tally([2, 1], pos=[5, 5], neg=[5, 5])).notes == ()


# stand-in intervals


def one_positive(rng, area):
    y, s = normal_cases(rng, 1, 30, area)
    return trueness.tally(y, s)


def test_intervals_of_one_positive_honour_level_and_cover(rng):
    share, shift = 1 / 31, np.sqrt(2) * stats.norm.ppf(0.8)
    z = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    tpr, fpr = stats.norm.sf(z), stats.norm.sf(z + shift)
    precision = np.mean(share * tpr / (share * tpr + (1 - share) * fpr))
    area = quad(lambda f: stats.norm.cdf(shift + stats.norm.ppf(f)), 0, 0.2)[0]
    hits = np.zeros(2)
    for _ in range(150):
        t = one_positive(rng, 0.8)
        ap = trueness.average_precision(t, prevalence=share)
        part = trueness.partial_auc(t, fpr=(0, 0.2), replicates=100)
        hits += [ap.low <= precision <= ap.high, part.low <= area <= part.high]
    assert (hits / 150 >= 0.93).all()
    wide, narrow = (
        trueness.average_precision(t, prevalence=share, level=q) for q in (0.99, 0.5)
    )
    assert wide.high - wide.low > narrow.high - narrow.low
    assert narrow.low <= narrow.value <= narrow.high


def test_a_perfect_part_is_as_sure_as_its_cases_make_it():
    widths = []
    for n in (5, 50, 500):
        t = Tally([2, 1], pos=[n, 0], neg=[0, n])
        found = trueness.partial_auc(t, fpr=(0, 0.1), replicates=100)
        assert found.high == pytest.approx(0.1)
        widths.append(found.high - found.low)
        # no positive of a kind that n cases show 39 times in 40
        assert found.low <= 0.1 * 0.025 ** (1 / n)
    assert widths == sorted(widths, reverse=True)


# how the cases came


def test_average_precision_in_a_cohort_covers(rng):
    n, share, area = 100, 0.1, 0.8
    z = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    tpr = stats.norm.sf(z)
    fpr = stats.norm.sf(z + np.sqrt(2) * stats.norm.ppf(area))
    true = np.mean(share * tpr / (share * tpr + (1 - share) * fpr))
    hits = []
    while len(hits) < 300:
        k = rng.binomial(n, share)
        if k:
            y, s = normal_cases(rng, k, n - k, area)
            found = trueness.average_precision(trueness.tally(y, s))
            hits.append(found.low <= true <= found.high)
    assert np.mean(hits) >= 0.92


def test_the_band_of_a_cohort_holds_the_whole_curve(rng):
    n, share, area = 200, 0.3, 0.8
    held = []
    for _ in range(120):
        n_pos = rng.binomial(n, share)
        y, s = normal_cases(rng, n_pos, n - n_pos, area)
        t = trueness.tally(y, s)
        band = trueness.precision_recall_band(t, points=25)
        x = np.sqrt(2) * stats.norm.ppf(area) + stats.norm.ppf(1 - band.recall)
        true = share * band.recall
        true = true / (true + (1 - share) * stats.norm.sf(x))
        held.append(((band.low <= true) & (true <= band.high)).all())
    assert 0.9 <= np.mean(held) <= 0.995


def rarely_seen(seen, n, share):
    """How unlikely is a number of cases? -log of the binomial likelihood ratio."""
    p = np.array([seen, n - seen]) / n
    return n * special.rel_entr(p, [share, 1 - share]).sum()


@pytest.mark.parametrize("prevalence", [None, 0.2])
def test_the_band_holds_what_some_threshold_makes_likely(rng, prevalence):
    """A slow twin: every threshold, every number of false alarms on a fine grid."""
    y, s = normal_cases(rng, 12, 30, 0.8)
    t = trueness.tally(y, s)
    band = trueness.precision_recall_band(t, kind="pointwise", prevalence=prevalence)
    share = prevalence or 12 / 42
    most = stats.norm.ppf(0.975) ** 2 / 2
    counts = [(y[s >= c].sum(), (1 - y[s >= c]).sum()) for c in [np.inf, *s]]
    for j in (8, 40, 77):
        r, inside = band.recall[j], []
        for precision in np.arange(0.005, 1, 0.005):
            alarms = r * (1 / precision - 1)  # for each positive
            fpr = min(alarms * share / (1 - share), 1.0)
            far = []
            for tp, fp in counts:
                cases = (30, fpr) if prevalence else (fp + 12, alarms / (1 + alarms))
                far.append(rarely_seen(tp, 12, r) + rarely_seen(fp, *cases))
            if min(far) <= most:
                inside.append(precision)
        # points between two positives are part of the curve: the band may hold more
        assert band.low[j] <= inside[0] + 0.005
        assert band.high[j] >= inside[-1] - 0.005
        assert band.high[j] - band.low[j] <= inside[-1] - inside[0] + 0.1


def test_the_band_is_narrower_than_the_bootstrap_and_wider_than_a_point(rng):
    t = trueness.tally(*normal_cases(rng, 40, 160, 0.85))
    width = {}
    for how in ("likelihood", "bootstrap", "kolmogorov"):
        band = trueness.precision_recall_band(t, method=how, replicates=200)
        width[how] = (band.high - band.low).mean()
    point = trueness.precision_recall_band(t, kind="pointwise")
    assert width["likelihood"] < 0.9 * width["bootstrap"] < width["kolmogorov"]
    assert (point.high - point.low).mean() < width["likelihood"]
    assert (point.low <= point.precision).all()
    assert (point.precision <= point.high).all()


SHARE_MATTERS = [
    trueness.average_precision,
    trueness.precision_recall,
    trueness.precision_recall_band,
    trueness.gain_curve,
    trueness.lift_curve,
    trueness.h_measure,
]


@pytest.mark.parametrize("analysis", SHARE_MATTERS, ids=lambda f: f.__name__)
def test_a_case_control_sample_does_not_know_the_prevalence(analysis):
    t = Tally([3, 2, 1], pos=[6, 3, 1], neg=[1, 3, 6])
    with pytest.raises(InputError, match="a case-control sample does not show"):
        analysis(t, sampling="case-control")
    analysis(t, sampling="case-control", prevalence=0.1)
    with pytest.raises(InputError, match="sampling must be one of"):
        analysis(t, sampling="cohorts")


def test_rates_of_a_case_control_sample_leave_out_what_it_cannot_know():
    t = Tally([2, 1], pos=[9, 1], neg=[2, 8])
    found = trueness.rates(t, 2, sampling="case-control")
    assert found.precision is None
    assert found.npv is None
    assert found.recall.value == 0.9
    meant = trueness.rates(t, 2, sampling="case-control", prevalence=0.1)
    assert meant.precision.value == pytest.approx(0.09 / (0.09 + 0.18))
    assert meant.precision.low < meant.precision.value < meant.precision.high
    counted = trueness.rates(t, 2)
    assert counted.precision.value == 9 / 11
    assert trueness.rates(t, 3).precision.low == 0  # nothing is flagged
    assert math.isnan(trueness.rates(t, 3).precision.value)


# cases without a label


def test_cases_left_out_are_mentioned_and_tested(rng):
    s = rng.normal(size=400)
    y = (rng.random(400) < 1 / (1 + np.exp(-s))).astype(float)
    by_lot = trueness.tally(np.where(rng.random(400) < 0.5, y, np.nan), s)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trueness.DoubtfulAssumption)
        (note,) = trueness.auc(by_lot).notes
    assert "have no label and were left out" in note
    chosen = trueness.tally(np.where(s > rng.normal(size=400), y, np.nan), s)
    with pytest.warns(
        trueness.DoubtfulAssumption, match="scores differ .*p [=<] "
    ) as seen:
        found = trueness.auc(chosen)
    assert seen[0].filename == __file__
    assert 'unlabelled="missing at random"' in found.notes[0]
    with pytest.warns(trueness.DoubtfulAssumption) as seen:
        curve = trueness.roc(chosen)
    assert curve.notes == found.notes
    assert seen[0].filename == __file__


def test_the_test_of_missing_labels_holds_its_size(rng):
    small, large = 0, 0
    for _ in range(400):
        s = np.round(rng.normal(size=60), 1)
        y = np.where(rng.random(60) < 0.5, 1.0, np.nan)
        small += difference(trueness.tally(y, s)) < 0.05
        y = np.where(rng.random(60) < np.where(np.abs(s) > 1, 0.9, 0.3), 1.0, np.nan)
        large += difference(trueness.tally(y, s)) < 0.05
    assert small <= 0.08 * 400
    assert large >= 0.8 * 400
    one = Tally([2, 1], pos=[3, 0], neg=[4, 0], unknown=[0, 1])
    assert difference(one) == pytest.approx(1 / 8)  # one of eight sets of cases


def test_begg_and_greenes_by_hand():
    """Diseased among verified at each of two results, applied to all of each."""
    t = Tally([1, 0], pos=[60, 10], neg=[20, 30], unknown=[20, 160])
    pos = np.array([100 * 60 / 80, 200 * 10 / 40])
    neg = np.array([100, 200]) - pos
    found = trueness.rates(t, 1, unlabelled="missing at random")
    assert found.recall.value == pytest.approx(pos[0] / pos.sum())
    assert found.specificity.value == pytest.approx(neg[1] / neg.sum())
    assert found.prevalence == pytest.approx(pos.sum() / 300)
    assert impute(t).pos == pytest.approx(pos)
    # Begg and Greenes (1983): the variance by the delta method on the logit scale
    ppv, npv = 60 / 80, 30 / 40
    var = 300 / (100 * 200) + (1 - ppv) / (80 * ppv) + npv / (40 * (1 - npv))
    value = found.recall.value
    assert found.recall.sd == pytest.approx(
        value * (1 - value) * np.sqrt(var), rel=0.05
    )
    curve = trueness.roc(t, unlabelled="missing at random")
    assert curve.tpr[1] == pytest.approx(found.recall.value)
    assert curve.fpr[1] == pytest.approx(1 - found.specificity.value)
    area = trueness.auc(t, unlabelled="missing at random")
    assert area.value == pytest.approx(np.trapezoid(curve.tpr, curve.fpr))


def test_verification_bias_is_taken_off(rng):
    truth, means, hits = 0.76, [], []
    for _ in range(60):
        y, s = normal_cases(rng, *rng.multinomial(600, [0.3, 0.7]), truth)
        seen = rng.random(600) < 1 / (1 + np.exp(-1.5 * s))
        t = trueness.tally(np.where(seen, y, np.nan), s)
        found = trueness.auc(t, unlabelled="missing at random")
        means.append(found.value)
        hits.append(found.low <= truth <= found.high)
    assert abs(np.mean(means) - truth) < 0.015
    assert np.mean(hits) >= 0.88
    assert "cannot show" in found.notes[0]


@pytest.mark.parametrize("curve", ["roc", "precision_recall"])
def test_a_band_says_that_cases_without_a_label_are_left_out(curve):
    t = Tally([4, 3, 2, 1], pos=[9, 5, 1, 0], neg=[2, 8, 5, 4], unknown=[0, 0, 9, 9])
    band = getattr(trueness, f"{curve}_band")
    with pytest.warns(trueness.DoubtfulAssumption, match="their scores differ") as w:
        (note,) = band(t, replicates=100).notes
    assert w[0].filename == __file__
    assert note.startswith("18 of 52 cases have no label and were left out")
    assert 'type unlabelled="missing at random"' in note
    assert band(t.labelled(), replicates=100).notes == ()


@pytest.mark.parametrize("curve", ["roc", "precision_recall"])
def test_bands_of_labels_missing_at_random(curve):
    """The curve is that of expected counts, and the band holds where the other did not.

    High scores are labelled far more often, so that precision among labelled cases is
    too high.
    """
    rng = np.random.default_rng(3)
    y = rng.random(500) < 0.25
    s = rng.normal(size=500) + 1.2 * y
    label = np.where(rng.random(500) < special.expit(2 * s - 1), y, np.nan)
    t = trueness.tally(label, s)
    ask, drawn = {"unlabelled": "missing at random"}, {"replicates": 100, "rng": 1}
    make = getattr(trueness, f"{curve}_band")
    band = make(t, **ask, **drawn)
    assert band.method == "bootstrap"
    assert "missing at random given the score" in band.notes[0]
    x = impute(t)
    if curve == "roc":
        at, shown = band.fpr, band.tpr
        alarms = np.cumsum(x.neg) / x.n_neg
        hits = np.cumsum(x.pos) / x.n_pos
        beside = np.interp(at, np.append(0, alarms), np.append(0, hits))
        truth = stats.norm.sf(stats.norm.isf(at) - 1.2)
    else:
        at, shown = band.recall, band.precision
        hits = np.cumsum(x.pos)
        false = np.interp(at * x.n_pos, hits, np.cumsum(x.neg))
        beside = at * x.n_pos / (at * x.n_pos + false)
        truth = 0.25 * at / (0.25 * at + 0.75 * stats.norm.sf(stats.norm.isf(at) + 1.2))
        with pytest.warns(trueness.DoubtfulAssumption):
            only = make(t, **drawn)
        assert (only.low > truth).any()
    assert shown == pytest.approx(beside, abs=0.03)
    assert (band.low <= truth + 1e-9).all()
    assert (truth <= band.high + 1e-9).all()
    assert make(t.labelled(), **ask, **drawn).notes == ()
    with pytest.raises(InputError, match="draws all cases; found method='kolmogorov'"):
        make(t, method="kolmogorov", **ask)


def test_extrapolation_is_mentioned():
    t = Tally([4, 3, 2, 1], pos=[9, 5, 0, 0], neg=[2, 8, 0, 0], unknown=[0, 0, 9, 9])
    notes = trueness.auc(t, unlabelled="missing at random").notes
    assert "extrapolation" in notes[1]
    with pytest.raises(InputError, match="unlabelled must be one of"):
        trueness.auc(t, unlabelled="at random")


# the divergence of separated classes


def test_the_divergence_of_separated_classes_may_be_infinite():
    found = trueness.kl_divergence(Tally([2, 1], pos=[500, 0], neg=[0, 400]))
    p, q = 0.025 ** (1 / 500), 1 - 0.025 ** (1 / 400)
    proven = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    assert found.pos_to_neg.value == found.pos_to_neg.high == math.inf
    assert found.pos_to_neg.low == pytest.approx(proven)
    assert "infinite" in found.pos_to_neg.notes[0]
    assert (found.entropy, found.spread) == (-math.inf, 0)
    one = trueness.kl_divergence(Tally([1], pos=[40], neg=[60])).pos_to_neg
    assert one.value == one.low == 0 < one.high < 1
    pair = trueness.kl_divergence(Tally([2, 1], pos=[1, 0], neg=[0, 1])).pos_to_neg
    assert (pair.low, pair.high) == (0, math.inf)


# the H-measure


@pytest.mark.parametrize("severity", [None, (2, 2), (1.5, 4)])
@pytest.mark.parametrize("prevalence", [None, 0.2])
def test_h_measure_against_integration(rng, severity, prevalence):
    pos = rng.integers(0, 6, 12) + np.arange(12, 0, -1) // 3
    t = Tally(np.arange(12, 0, -1), pos=pos, neg=rng.integers(0, 6, 12))
    pi = t.prevalence if prevalence is None else prevalence
    w = stats.beta(*(severity or (1 + pi, 2 - pi))).pdf
    curve = trueness.roc(t)

    def loss(c):
        return (c * (1 - pi) * curve.fpr + (1 - c) * pi * (1 - curve.tpr)).min()

    got = quad(lambda c: loss(c) * w(c), 0, 1, limit=500)[0]
    worst = quad(lambda c: min(c * (1 - pi), (1 - c) * pi) * w(c), 0, 1, points=[pi])
    found = trueness.h_measure(
        t, severity=severity, prevalence=prevalence, replicates=100
    )
    assert found.value == pytest.approx(1 - got / worst[0], abs=1e-6)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_h_measure_is_that_of_its_authors():
    """hmeasure 0.1.6 for Python, which follows the R package of Hand's group.

    Its default is a severity ratio, its ratio of -1 the beta law that is ours.
    """
    i = np.arange(1, 121)
    y = ((i * 7) % 10 < 3).astype(int)
    t = trueness.tally(y, 0.7 * ((i * 53) % 101 + 1) / 103 + 0.2 * y)
    ratio = {"severity": (2, 1 + t.n_neg / t.n_pos)}
    assert trueness.h_measure(t, replicates=100).value == pytest.approx(
        0.3382733066167596, rel=1e-13
    )
    assert trueness.h_measure(t, replicates=100, **ratio).value == pytest.approx(
        0.33889835954143566, rel=1e-13
    )


def test_h_measure_of_the_extremes():
    assert trueness.h_measure(Tally([2, 1], pos=[9, 0], neg=[0, 9])).value == 1
    assert trueness.h_measure(Tally([2, 1], pos=[9, 0], neg=[0, 9])).low < 0.9
    assert trueness.h_measure(Tally([1], pos=[9], neg=[9])).value == pytest.approx(0)
    with pytest.raises(InputError, match="severity must be two numbers"):
        trueness.h_measure(Tally([1], pos=[9], neg=[9]), severity=2)


# answers that cannot be


def test_partial_areas_stay_possible():
    t = Tally([4, 3, 2, 1], pos=[1, 5, 2, 9], neg=[6, 2, 4, 1])
    for part in ({"fpr": (0.2, 0.2 + 1e-8), "tpr": (0.3, 0.9)}, {"tpr": (0.5, 0.51)}):
        for corrected in (False, True):
            found = trueness.partial_auc(t, **part, corrected=corrected, replicates=100)
            assert 0 <= found.low <= found.value <= found.high <= 1
    with pytest.raises(InputError, match="at least 1e-09 wide"):
        trueness.partial_auc(t, fpr=(0.0, 5e-324))
    with pytest.raises(InputError, match="as good as an ideal one"):
        trueness.partial_auc(t, fpr=(0.9, 1), tpr=(0.1, 0.2), corrected=True)


@pytest.mark.parametrize(
    "t",
    [
        Tally([4, 3, 2, 1], neg=[5, 5, 5, 0], pos=[1, 0, 1, 3]),
        Tally([4, 2, 1, 0], neg=[0, 35, 65, 0], pos=[28, 1, 0, 29]),
    ],
)
def test_a_fit_without_a_maximum_says_so(t):
    with pytest.raises(NotEnoughCases, match="gives the area without a model"):
        trueness.fit_binormal(t)
    with pytest.raises(NotEnoughCases, match="gives the area without a model"):
        trueness.kl_divergence(t, method="binormal")


def test_large_scores_and_single_cases_have_bands():
    for t in (
        Tally([1e300, -1e300], pos=[3, 1], neg=[1, 3]),
        Tally([2, 1], pos=[1, 0], neg=[0, 1]),
    ):
        for kind in ("simultaneous", "pointwise"):
            roc = trueness.roc_band(t, kind=kind, number=100)
            assert (roc.low <= roc.high).all()
            pr = trueness.precision_recall_band(t, kind=kind, replicates=100)
            assert (pr.low <= pr.high).all()


@pytest.mark.parametrize("thing", [None, 3, "roc", [1, 2]])
def test_what_is_no_curve_is_refused_in_words(thing):
    with pytest.raises(InputError, match="hull needs a curve; found"):
        trueness.hull(thing)
    with pytest.raises(InputError, match="simplify needs a curve; found"):
        trueness.simplify(thing, points=3)
