"""Weighted cases: values as scikit-learn's, errors as those of survey samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr
from sklearn import metrics as sk

import trueness
from trueness.counts import heavy_cases
from trueness.counts.weights import effective, gamma_draw, linearised
from trueness.ranking import mean_precision
from trueness.ranking.auc_intervals import AucQuestion, score_interval
from trueness.ranking.missed_cases import missed_cases
from trueness.threshold.at_cut import weighed_cells
from weights_by_hand import growth_by_hand, lacking_by_hand


def sample(n=400, seed=0, digits=1):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    s = np.round(rng.normal(size=n) + y, digits)
    return y, s, rng.exponential(size=n) ** 1.5


@pytest.mark.parametrize("digits", [1, 12])
def test_values_equal_those_of_scikit_learn(digits):
    y, s, w = sample(digits=digits)
    t = trueness.tally(y, s, weight=w)
    words = {"sample_weight": w}
    close = {"rel": 1e-12, "abs": 1e-12}
    assert trueness.auc(t).value == pytest.approx(
        sk.roc_auc_score(y, s, **words), **close
    )
    assert trueness.average_precision(t).value == pytest.approx(
        sk.average_precision_score(y, s, **words), **close
    )
    assert trueness.partial_auc(t, fpr=(0, 0.2), corrected=True).value == pytest.approx(
        sk.roc_auc_score(y, s, max_fpr=0.2, **words), **close
    )
    fpr, tpr, cut = sk.roc_curve(y, s, drop_intermediate=False, **words)
    curve = trueness.roc(t)
    np.testing.assert_allclose(curve.fpr, fpr, atol=1e-12)
    np.testing.assert_allclose(curve.tpr, tpr, atol=1e-12)
    assert curve.threshold[1:].tolist() == cut[1:].tolist()
    precision, recall, _ = sk.precision_recall_curve(y, s, **words)
    curve = trueness.precision_recall(t)
    np.testing.assert_allclose(curve.precision, precision[:-1][::-1], atol=1e-12)
    np.testing.assert_allclose(curve.recall, recall[:-1][::-1], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("recall", sk.recall_score),
        ("precision", sk.precision_score),
        ("accuracy", sk.accuracy_score),
        ("f1", sk.f1_score),
        ("mcc", sk.matthews_corrcoef),
        ("kappa", sk.cohen_kappa_score),
        ("balanced_accuracy", sk.balanced_accuracy_score),
    ],
)
def test_metrics_equal_those_of_scikit_learn(name, theirs):
    y, s, w = sample()
    want = theirs(y, s >= 0.5, sample_weight=w)
    ours = getattr(trueness, name)
    assert ours(y, s, threshold=0.5, sample_weight=w).value == pytest.approx(want)
    found = trueness.at_threshold(y, s, 0.5, metrics=[name], weight=w)
    assert found[name].value == pytest.approx(want, rel=1e-12)
    assert "Cases are weighted" in repr(found)


def test_errors_of_shares_are_those_of_the_survey_package():
    """R: svyratio and svymean of svydesign(ids = ~1, weights = ~w), survey 4.1."""
    i = np.arange(1, 41)
    w = 1 + (i * 7 % 11) / 2
    y, x = (i * 5 % 7 < 3).astype(int), (i * 3 % 8 < 4).astype(int)
    t = trueness.tally(y, x, weight=w)
    square = weighed_cells(t, t.score >= 1.0).square
    c = trueness.confusion(t, 1.0)
    cells = np.array([c.tp, c.fp, c.fn, c.tn])
    for over, under, value, error in (
        ([1, 0, 0, 0], [1, 0, 1, 0], 0.5, 0.134736952891028),
        ([1, 0, 0, 0], [1, 1, 0, 0], 0.503937007874016, 0.130712785267897),
        ([1, 0, 0, 1], [1, 1, 1, 1], 0.557491289198606, 0.0861203082435171),
    ):
        a, b = np.array(over), np.array(under)
        share = a @ cells / (b @ cells)
        assert share == pytest.approx(value, rel=1e-12)
        variance = square @ ((a - share * b) / (b @ cells)) ** 2
        # the package divides by n - 1
        assert np.sqrt(variance * 40 / 39) == pytest.approx(error, rel=1e-12)


def test_equal_weights_are_cases_of_any_weight():
    y, s, _ = sample()
    one = trueness.tally(y, s)
    for scale in (3.0, 1e-9, 1e12):
        t = trueness.tally(y, s, weight=np.full(y.size, scale))
        for method in ("score", "delong", "logit-delong", "hanley-mcneil"):
            a, b = trueness.auc(t, method=method), trueness.auc(one, method=method)
            assert a.value == pytest.approx(b.value, rel=1e-13)
            assert a.sd == pytest.approx(b.sd, rel=1e-9)
            # Student's quantile in the place of the normal one
            assert a.low == pytest.approx(b.low, abs=2e-3)
        a, b = trueness.average_precision(t), trueness.average_precision(one)
        assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=5e-3)
        a, b = (x.metrics for x in (trueness.at_threshold(t, 0.5),
                                    trueness.at_threshold(one, 0.5)))  # fmt: skip
        for name, e in a.items():
            if name != "flagged":
                assert e.value == pytest.approx(b[name].value), name
                near = {"rel": 0.02, "abs": 3e-3}
                assert (e.low, e.high) == pytest.approx(
                    (b[name].low, b[name].high), **near
                ), name


def test_copies_change_no_estimate_and_are_not_taken_for_cases():
    y, s, _ = sample()
    k = np.random.default_rng(3).integers(1, 6, y.size)
    weighed, copies = trueness.tally(y, s, weight=k), trueness.tally(y, s, count=k)
    alone = trueness.tally(y, s)
    for ask in (
        trueness.auc,
        trueness.average_precision,
        lambda t: trueness.partial_auc(t, fpr=(0, 0.3)),
        lambda t: trueness.recall(t, threshold=0.5),
        lambda t: trueness.f1(t, threshold=0.5),
        lambda t: trueness.h_measure(t, replicates=300),
    ):
        a, b, c = ask(weighed), ask(copies), ask(alone)
        assert a.value == pytest.approx(b.value, rel=1e-12)
        assert a.high - a.low > c.high - c.low > b.high - b.low


def test_linearised_variance_of_the_auc_by_derivatives():
    """The slow twin: the derivative of the AUC by the weight of each case."""
    y, s, w = sample(60)

    def area(w):
        a, b = w[y == 1][:, None], w[y == 0][None]
        d = s[y == 1][:, None] - s[y == 0][None]
        return float((a * b * ((d > 0) + 0.5 * (d == 0))).sum() / (a.sum() * b.sum()))

    step = 1e-6
    u = np.array([(area(w + step * e) - area(w - step * e)) / (2 * step)
                  for e in np.eye(60)])  # fmt: skip
    t = trueness.tally(y, s, weight=w)
    found = trueness.auc(t, method="delong")
    want = 0.0
    for k in (0, 1):
        n = w[y == k].sum() ** 2 / (w[y == k] ** 2).sum()
        want += (w**2 * u**2)[y == k].sum() * n / (n - 1)
    assert found.sd == pytest.approx(np.sqrt(want), rel=1e-5)


def rising(n, rng, slope=0.9, shift=1.5):
    """Draw cases whose chance rises with the score: normal scores, exactly tilted."""
    # weights exp(-slope s) carry N(m + slope, 1) back to N(m, 1)
    up = np.exp(slope * shift)  # how much likelier a positive is drawn
    y = (rng.random(n) < 0.3 * up / (0.3 * up + 0.7)).astype(int)
    s = rng.normal(size=n) + shift * y + slope
    return y, s, np.exp(-slope * s)


def levels(n, rng):
    """Draw cases whose chance has three levels of the score."""
    y = (rng.random(n) < 0.3).astype(int)
    s = rng.normal(size=n) + 1.4 * y
    w = np.array([10.0, 2.0, 1.0])[np.digitize(s, (0.3, 1.3))]
    keep = rng.random(n) < 1 / w
    return y[keep], s[keep], w[keep]


@pytest.mark.parametrize(("draw", "local"), [(rising, 2), (levels, 1)])
def test_cases_heavier_than_those_drawn_by_integration(draw, local):
    """The slow twin: case by case, each moved by a normal variable."""
    y, s, w = draw(120, np.random.default_rng(5))
    t = trueness.tally(y, s, weight=w)
    a = sk.roc_auc_score(y, s, sample_weight=w)
    locally = 0
    for k, found in zip((1, 0), missed_cases(t, a), strict=True):
        own, other = y == k, y != k
        v, sign = w[own], 1 if k else -1
        gap = sign * (s[:, None] - s[other])
        place = ((gap > 0) + (gap == 0) / 2) @ w[other] / w[other].sum()
        rim = 0.5 / (other.sum() + 1)
        at = stats.norm.ppf(np.clip(place, rim, 1 - rim))
        z, place = at[own], place[own]
        growth, by_other = growth_by_hand(z, v, at[other], w[other])
        locally += by_other
        n = v.sum() ** 2 / (v @ v)
        want = lacking_by_hand(z, v, growth, lambda x, a=a: ndtr(x) - a, w.max())
        # fifteen nodes meet the kinks at A and at the heaviest weight roughly
        scale = n**2 / (n - 1)
        assert found.low == pytest.approx(want[0] * scale, rel=0.1, abs=1e-3)
        assert found.high == pytest.approx(want[1] * scale, rel=0.1, abs=1e-3)
        last = growth(stats.norm.ppf(np.array([rim])))[0] - growth(z).mean()
        met = own.sum() * np.exp(-max(last, 0))
        assert found.met == pytest.approx(max(met, n), rel=0.01)
    assert locally == local  # classes whose weights go as those of the other do


def test_equal_weights_of_a_class_have_no_heavier_cases():
    y, s, w = sample()
    t_pos, t_neg = y.sum(), (1 - y).sum()
    for each in (np.ones(y.size), np.full(y.size, 0.1), np.where(y == 1, 0.3, 7.0)):
        t = trueness.tally(y, s, weight=each)
        for found, n in zip(missed_cases(t, 0.8), (t_pos, t_neg), strict=True):
            assert (found.low, found.high) == (0.0, 0.0)
            assert found.met == pytest.approx(n)
    found = [trueness.auc(trueness.tally(y, s, weight=w * k)) for k in (1, 8, 0.3)]
    for e in found[1:]:
        assert (e.low, e.high) == pytest.approx((found[0].low, found[0].high), rel=1e-9)


def test_weights_apart_from_the_score_leave_the_cases_that_were_met():
    """Of 40 cases none ranks last: as likely with weights of 1 and 9 in turn."""
    y = np.repeat([1, 0], [40, 200])
    s, w = np.arange(240, 0, -1.0), np.tile([1.0, 9.0], 120)
    t = trueness.tally(y, s, weight=w)
    assert missed_cases(t, 1.0)[0].met == pytest.approx(40, rel=0.01)
    low, plain = (trueness.auc(x).low for x in (t, trueness.tally(y, s)))
    # as near to 1 as that of equal cases, within the share that Student's law takes
    assert low == pytest.approx(plain, abs=0.01)


def test_joined_rows_tell_the_same_of_heavier_cases(monkeypatch):
    y, s, w = rising(9000, np.random.default_rng(6))
    t = trueness.tally(y, s, weight=w)
    found = []
    for rows in (10**6, 2000):
        monkeypatch.setattr(heavy_cases, "_ROWS", rows)
        found.append(missed_cases(t, trueness.auc(t).value)[0].low)
    assert found[0] > 0
    assert found[1] == pytest.approx(found[0], rel=0.1)


def test_heavy_extreme_placements_spread_more_than_those_of_equal_cases():
    """Weights grow with exponential scores: the truth, counted, was held in 86 %."""
    rng, m = np.random.default_rng(8), 200_000
    y = (rng.random(m) < 0.3).astype(int)
    s = rng.exponential(size=m) + 1.4 * y
    w = np.exp(0.7 * np.minimum(s, 6.5))
    truth, chance = sk.roc_auc_score(y, s), np.cumsum(1 / w)
    held = []
    for _ in range(200):
        at = np.searchsorted(chance, rng.random(1500) * chance[-1])
        e = trueness.auc(trueness.tally(y[at], s[at], weight=w[at]))
        assert e.high - e.low > 2 * 1.9 * e.sd
        held.append(e.low <= truth <= e.high)
    assert np.mean(held) >= 0.92  # .945 of many samples


def test_auc_is_held_where_few_positives_of_low_score_are_heavy():
    """Scores of heavy tails, chances that rise with them; the truth is counted."""
    rng, m = np.random.default_rng(7), 200_000
    y = (rng.random(m) < 0.3).astype(int)
    s = rng.standard_t(5, m) + 1.5 * y
    w = np.exp(-0.9 * np.clip(s, -2, 2.5))
    truth, chance = sk.roc_auc_score(y, s), np.cumsum(1 / w)
    held = []
    for _ in range(300):
        at = np.searchsorted(chance, rng.random(400) * chance[-1])
        q = AucQuestion.of(trueness.tally(y[at], s[at], weight=w[at]), 0.95, 0, 0)
        bare = tuple(m._replace(low=0.0, high=0.0) for m in q.missed)
        ends = [score_interval(x)[:2] for x in (q, q._replace(missed=bare))]
        slack = 1e-3  # the degrees of freedom change, too
        assert ends[0][0] <= ends[1][0] + slack
        assert ends[0][1] >= ends[1][1] - slack
        held.append([low <= truth <= high for low, high in ends])
    now, before = np.mean(held, axis=0)
    assert 0.93 <= now <= 0.97, (now, before)
    assert before < 0.92


def spread_out(y, s, w):
    """The slow twin: a positive has a part of the next negative above it."""
    total = 0.0
    for i in np.flatnonzero((y == 1) & (w > 0)):
        neg = s[(y == 0) & (w > 0)]
        upper, lower = neg[neg > s[i]].min(initial=np.inf), neg[neg < s[i]]
        tp, fp = (w[(y == k) & (s >= s[i])].sum() for k in (1, 0))
        if lower.size:
            gap = w[(y == 1) & (s < upper) & (s > lower.max())].sum()
            above = w[(y == 1) & (s < upper) & (s > s[i])].sum() + w[i] / 2
            fp += above / gap * w[(y == 0) & (s == lower.max())].sum()
        total += w[i] * tp / (tp + fp)
    return total / w[y == 1].sum()


def test_average_precision_leaves_out_case_by_case(monkeypatch):
    y, s, w = sample(150, digits=12)
    others = 1 - np.eye(150)

    def score(w, share=None):
        if share is not None:
            pos, neg = w[y == 1].sum(), w[y == 0].sum()
            w = w * np.where(y == 1, share / pos, (1 - share) / neg)
        return spread_out(y, s, w)

    whole = score(w)
    change = whole - np.array([score(w * some) for some in others])
    t = trueness.tally(y, s, weight=w)
    found = trueness.average_precision(t)
    assert whole < found.value
    assert found.sd == pytest.approx(np.sqrt((change**2).sum()), rel=1e-9)
    df = 4 / 3 * (change**2).sum() ** 2 / (change**4).sum()
    bias = -change.sum()  # to first order the changes cancel
    centre, error = whole - bias, np.hypot(found.sd, bias)
    half = stats.t(df).ppf(0.975) * error / (centre * (1 - centre))
    want = 1 / (1 + np.exp(-np.log(centre / (1 - centre)) + half))
    assert found.low == pytest.approx(want, rel=1e-9)
    # where there are too many cases, those of little influence are linearised
    monkeypatch.setattr(mean_precision, "_CELLS", 30 * len(t))
    assert trueness.average_precision(t).sd == pytest.approx(found.sd, rel=0.04)
    # the share of positives given: what is left of a class keeps its weight
    change = score(w, 0.2) - np.array([score(w * some, 0.2) for some in others])
    monkeypatch.undo()
    found = trueness.average_precision(t, prevalence=0.2)
    assert found.sd == pytest.approx(np.sqrt((change**2).sum()), rel=1e-9)


def test_influence_on_average_precision_is_its_derivative():
    y, s, w = sample(60, digits=12)
    t = trueness.tally(y, s, weight=w)
    gain, loss = mean_precision._influence(t, 1.0)
    # of degree 0 in the weights: Euler
    assert t.pos @ gain + t.neg @ loss == pytest.approx(0.0, abs=1e-12)
    for i in np.flatnonzero(t.neg):
        more = t.neg + 1e-6 * (np.arange(len(t)) == i)
        after, before = (
            mean_precision._average_precisions(n[None], t.pos[None], None, spread=True)
            for n in (more, t.neg)
        )
        assert loss[i] == pytest.approx(float(after[0] - before[0]) / 1e-6, abs=1e-5)


def test_average_precision_of_rows_with_both_classes_and_of_a_perfect_ranking():
    y, s, w = np.tile([0, 1], 30), np.repeat([3.0, 2.0, 1.0], 20), np.arange(1.0, 61)
    t = trueness.tally(y, s, weight=w)
    plain, even = (
        mean_precision._average_precisions(t.neg[None], t.pos[None], None, spread=x)
        for x in (False, True)
    )
    assert plain[0] == even[0]  # nothing is between rows
    perfect = trueness.average_precision(y, y, weight=w)
    assert perfect.value == perfect.high == 1 > perfect.low
    assert "unseen" in perfect.method


def test_average_precision_of_a_case_control_study():
    """A negative counts for more than a positive, as if it were weighted."""
    y, s, _ = sample(120, digits=12)
    words = {"prevalence": 0.05, "sampling": "case-control"}
    counted, weighed, cohort = (
        trueness.average_precision(y, s, **words),
        trueness.average_precision(y, s, weight=np.full(120, 3.0), **words),
        trueness.average_precision(y, s, prevalence=0.05),
    )
    same = pytest.approx((weighed.low, weighed.high), rel=1e-9)
    assert (counted.low, counted.high) == same
    assert counted.low != cohort.low
    # not where positives are as rare as in the sample, or a class has a single case
    words["prevalence"] = 0.6
    plain = trueness.average_precision(y, s, prevalence=0.6)
    assert trueness.average_precision(y, s, **words).low == plain.low
    one = trueness.average_precision([1, 0, 0], [2, 3, 1], **words)
    assert "unseen" in one.method
    rng, held = np.random.default_rng(8), 0
    for _ in range(400):  # 0.655: 2 million cases, 5 % of them positive
        y = (np.arange(100) < 50).astype(int)
        s = rng.normal(size=100) + 2.3 * y
        found = trueness.average_precision(
            y, s, prevalence=0.05, sampling="case-control"
        )
        held += found.low <= 0.655 <= found.high
    assert 0.93 < held / 400 < 0.99  # .87 with the interval of a cohort


def test_average_precision_of_weights_whose_squares_vanish():
    y, s = [1, 0, 1, 0, 1, 0], [6, 7, 4, 5, 2, 1]
    few = trueness.average_precision(y, s, weight=[1, 2, 2, 1, 1e-200, 1])
    none = trueness.average_precision(y, s, weight=[1, 2, 2, 1, 0, 1])
    assert (few.low, few.sd) == pytest.approx((none.low, none.sd))


def test_average_precision_where_positives_were_sampled():
    """Few heavy negatives at the top; 0.496 is the AP of 2 million cases."""
    rng, held = np.random.default_rng(9), 0
    for _ in range(500):
        y = (np.arange(100) < 50).astype(int)
        s = rng.standard_t(5, 100) + 1.8 * y
        found = trueness.average_precision(y, s, weight=np.where(y == 1, 1.0, 6.0))
        held += found.low <= 0.496 <= found.high
    assert 0.93 < held / 500 < 0.98


def test_partial_area_leaves_out_case_by_case():
    y, s, w = sample(120, digits=12)

    def area(w):
        return sk.roc_auc_score(y, s, max_fpr=0.3, sample_weight=w)

    change = area(w) - np.array([area(w * (np.arange(120) != i)) for i in range(120)])
    words = {"fpr": (0, 0.3), "corrected": True}
    found = trueness.partial_auc(trueness.tally(y, s, weight=w), **words)
    assert found.sd == pytest.approx(np.sqrt((change**2).sum()), rel=1e-9)


def test_effective_numbers():
    w = np.array([1.0, 1.0, 2.0])
    assert effective(w, w**2).number == pytest.approx(16 / 6)
    assert effective(w, w**2).df == pytest.approx(36 / 18 - 1)
    u = np.array([0.5, -0.5, 0.0])
    n = 16 / 6
    assert linearised([(u, w, w**2)]).variance == pytest.approx(0.5 * n / (n - 1))
    assert effective(np.zeros(2), np.zeros(2)).number == 0


def test_gamma_draws_have_the_moments_of_the_weights():
    w, q = np.array([2.0, 0.0, 3.0]), np.array([4.0, 0.0, 2.0])
    drawn = gamma_draw(w, q, 100_000, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.mean(axis=0), w, atol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), q, rtol=0.03)


def drawn_with_unequal_probabilities(rng, n, spread):
    """Draw cases of an endless population with chances that go with the score."""
    y = (rng.random(9 * n) < 0.3).astype(int)
    s = rng.normal(size=9 * n) + y
    mark = np.minimum(0.7 * s + 0.7 * rng.normal(size=9 * n), 2.5)
    chance = np.exp(-spread * mark)
    taken = np.flatnonzero(rng.random(9 * n) < chance / chance.max() * 2)[:n]
    chance = np.minimum(chance / chance.max() * 2, 1)
    return y[taken], s[taken], 1 / chance[taken]


def test_coverage_when_cases_were_drawn_with_unequal_probabilities():
    rng = np.random.default_rng(5)
    truth, held, naive = ndtr(1 / np.sqrt(2)), 0, 0
    recall, recalled = ndtr(0.5), 0
    for _ in range(200):
        y, s, w = drawn_with_unequal_probabilities(rng, 300, 0.8)
        e, plain = trueness.auc(y, s, weight=w), trueness.auc(y, s)
        held += e.low <= truth <= e.high
        naive += plain.low <= truth <= plain.high
        e = trueness.recall(y, s, threshold=0.5, weight=w)
        recalled += e.low <= recall <= e.high
    assert 0.915 <= held / 200 <= 0.995
    assert 0.915 <= recalled / 200 <= 0.995


def test_bands_hold_their_curves_and_say_how_they_cannot_be_made():
    y, s, w = sample()
    t = trueness.tally(y, s, weight=w)
    plain = trueness.roc_band(trueness.tally(y, s), rng=1)
    band = trueness.roc_band(t, rng=1)
    assert (band.low <= band.tpr).all()
    assert (band.tpr <= band.high).all()
    assert (band.high - band.low).mean() > (plain.high - plain.low).mean()
    band = trueness.precision_recall_band(t, rng=1)
    assert (band.low <= band.precision).all()
    assert (band.precision <= band.high).all()
    with pytest.raises(trueness.InputError, match="kolmogorov"):
        trueness.roc_band(t, method="kolmogorov")
    with pytest.raises(trueness.InputError, match="method of weighted cases"):
        trueness.auc(t, method="fermi-dirac")


def test_separated_and_single_cases_have_an_interval():
    t = trueness.tally([1, 0, 0], [3, 2, 1], weight=[2, 1, 0.5])
    for e in (
        trueness.auc(t),
        trueness.average_precision(t),
        trueness.partial_auc(t, fpr=(0, 0.5)),
        trueness.recall(t, threshold=3),
    ):
        assert e.low < e.value <= e.high


def test_unlabelled_cases_are_left_out_and_named():
    t = trueness.tally([1, 0, None, 1], [3, 2, 2.5, 1], weight=[2, 1, 0.5, 1])
    assert "a weight of 0.5 of 4.5 have no label" in " ".join(trueness.auc(t).notes)
    with pytest.raises(trueness.InputError, match="missing at random"):
        trueness.auc(t, unlabelled="missing at random")
