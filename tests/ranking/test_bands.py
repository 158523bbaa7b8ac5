"""Bands: they hold the curve, follow the design, and agree with slow twins."""

import numpy as np
import pytest
from scipy import special, stats

import trueness
from trueness import InputError, Tally
from trueness.inference.sample import apply_design
from trueness.inference.verification import impute_labels
from trueness.ranking import bands

BANDS = {"roc": trueness.roc_band, "precision_recall": trueness.precision_recall_band}


def normal_cases(rng, n_pos, n_neg, area):
    y = np.repeat([1, 0], [n_pos, n_neg])
    return y, rng.normal(size=y.size) + np.sqrt(2) * stats.norm.ppf(area) * y


def curve_of(band):
    return band.tpr if hasattr(band, "tpr") else band.precision


def designs(rng, n):
    w, c, missing = rng.exponential(size=n), np.arange(n) // 4, "missing at random"
    return [
        {},
        {"weight": w},
        {"cluster": c},
        {"weight": w, "cluster": c},
        {"prevalence": 0.05},
        {"prevalence": 0.05, "sampling": "case-control"},
        {"unlabelled": missing},
        {"unlabelled": missing, "weight": w},
        {"unlabelled": missing, "cluster": c},
    ]


@pytest.mark.parametrize("curve", BANDS)
@pytest.mark.parametrize("kind", ["simultaneous", "pointwise"])
def test_every_design_has_a_band_around_its_curve(curve, kind, rng):
    y, s = normal_cases(rng, 60, 140, 0.8)
    hidden = np.where(rng.random(200) < special.expit(s), y, np.nan)
    for design in designs(rng, 200):
        label = hidden if "unlabelled" in design else y

        band = BANDS[curve](label, s, band=kind, points=11, replicates=100, **design)

        value = curve_of(band)
        assert (band.low <= value).all()
        assert (value <= band.high).all()
        assert (band.low >= 0).all()
        assert (band.high <= 1).all()
        assert (band.high - band.low)[:-1].max() < 1


def test_every_design_has_the_band_of_its_roc_curve(rng):
    y, s = normal_cases(rng, 60, 140, 0.8)
    hidden = np.where(rng.random(200) < special.expit(s), y, np.nan)
    for design in designs(rng, 200):
        label = hidden if "unlabelled" in design else y
        curve = trueness.roc(label, s, **design)

        band = trueness.roc_band(label, s, points=11, replicates=100, **design)

        height = np.interp(band.fpr + 1e-12, curve.fpr, curve.tpr)
        assert band.tpr == pytest.approx(height, abs=1e-9)


def test_every_design_has_the_prevalence_of_its_precision_recall_curve(rng):
    y, s = normal_cases(rng, 60, 140, 0.8)
    hidden = np.where(rng.random(200) < special.expit(s), y, np.nan)
    for design in designs(rng, 200):
        label = hidden if "unlabelled" in design else y
        curve = trueness.precision_recall(label, s, **design)

        band = trueness.precision_recall_band(
            label, s, points=11, replicates=100, **design
        )

        assert band.precision[-1] >= curve.prevalence - 1e-9
        assert band.prevalence == pytest.approx(curve.prevalence)


def holds(band, truth):
    """Does a band hold the whole of a curve?"""
    return (band.low <= truth + 1e-9).all() and (truth <= band.high + 1e-9).all()


def test_the_band_of_a_cohort_holds_the_whole_curve(rng):
    n, prevalence, area, samples = 200, 0.3, 0.8, 60
    truth = trueness.ranking.binormal(1, np.sqrt(2) * stats.norm.ppf(area))
    held_roc = 0
    held_precision = 0
    for seed in range(samples):
        n_pos = rng.binomial(n, prevalence)
        tally = trueness.tally(*normal_cases(rng, n_pos, n - n_pos, area))

        roc = trueness.roc_band(tally, points=25, replicates=200, rng=seed)
        pr = trueness.precision_recall_band(tally, points=25, replicates=200, rng=seed)

        held_roc += holds(roc, truth.tpr(roc.fpr))
        held_precision += holds(pr, truth.precision(pr.recall, prevalence))

    assert held_roc >= 0.9 * samples
    assert held_precision >= 0.9 * samples


def rarely_seen(seen, n, share):
    """How unlikely is a number of cases? -log of the binomial likelihood ratio."""
    p = np.array([seen, n - seen]) / n
    return n * special.rel_entr(p, [share, 1 - share]).sum()


def likely_precisions(confusions, recall, prevalence, *, is_cohort):
    """Return the precisions, on a fine grid, that some threshold makes likely.

    Of 12 positives and 30 negatives. In a cohort the false alarms are binomial given
    the number of false alarms and positives.
    """
    allowed = stats.norm.ppf(0.975) ** 2 / 2
    likely = []
    for precision in np.arange(0.005, 1, 0.005):
        alarms = recall * (1 / precision - 1)  # for each positive
        fpr = min(alarms * prevalence / (1 - prevalence), 1.0)
        distances = []
        for tp, fp in confusions:
            distance = rarely_seen(tp, 12, recall)
            if is_cohort:
                distance += rarely_seen(fp, fp + 12, alarms / (1 + alarms))
            else:
                distance += rarely_seen(fp, 30, fpr)
            distances.append(distance)
        if min(distances) <= allowed:
            likely.append(precision)
    return likely


@pytest.mark.parametrize("prevalence", [None, 0.2])
def test_the_band_holds_what_some_threshold_makes_likely(rng, prevalence):
    """A slow twin: every threshold, every number of false alarms on a fine grid."""
    labels, score = normal_cases(rng, 12, 30, 0.8)
    tally = trueness.tally(labels, score)

    band = trueness.precision_recall_band(
        tally, band="pointwise", prevalence=prevalence
    )

    cuts = [np.inf, *score]
    confusions = [
        (labels[score >= c].sum(), (1 - labels[score >= c]).sum()) for c in cuts
    ]
    for point in (8, 40, 77):
        likely = likely_precisions(
            confusions,
            band.recall[point],
            prevalence or 12 / 42,
            is_cohort=prevalence is None,
        )
        low, high = band.low[point], band.high[point]
        # points between two positives are part of the curve: the band may hold more
        assert low <= likely[0] + 0.005
        assert high >= likely[-1] - 0.005
        assert high - low <= likely[-1] - likely[0] + 0.1


def test_the_likelihood_band_is_narrower_than_the_bootstrap(rng):
    make = BANDS["precision_recall"]
    tally = trueness.tally(*normal_cases(rng, 40, 160, 0.85))
    made = make(tally, band="pointwise"), make(tally), make(tally, method="bootstrap")
    width = [(b.high - b.low).mean() for b in made]

    assert width[0] < width[1] < 0.9 * width[2]


@pytest.fixture
def high_scores_labelled():
    """Cases of which high scores are labelled far more often.

    So precision among labelled cases is too high.
    """
    rng = np.random.default_rng(3)
    y = rng.random(500) < 0.25
    s = rng.normal(size=500) + 1.2 * y
    is_labelled = rng.random(500) < special.expit(2 * s - 1)
    return trueness.tally(np.where(is_labelled, y, np.nan), s)


@pytest.mark.parametrize("curve", BANDS)
def test_bands_of_labels_missing_at_random_say_so(curve, high_scores_labelled):
    t = high_scores_labelled

    band = BANDS[curve](t, unlabelled="missing at random", replicates=100, rng=1)

    assert band.method == "bootstrap"
    assert "missing at random given the score" in band.notes[0]


def test_the_roc_band_of_labels_missing_at_random(high_scores_labelled):
    t = high_scores_labelled
    expected = impute_labels(t).expected
    alarms = np.append(0, np.cumsum(expected.neg) / expected.n_neg)
    hits = np.append(0, np.cumsum(expected.pos) / expected.n_pos)

    band = trueness.roc_band(t, unlabelled="missing at random", replicates=100, rng=1)

    truth = stats.norm.sf(stats.norm.isf(band.fpr) - 1.2)

    assert band.tpr == pytest.approx(np.interp(band.fpr, alarms, hits), abs=0.03)
    assert holds(band, truth)


def test_a_single_missing_label_is_imputed_at_its_own_score():
    # the first two rows are a straight part of the curve without the missing label
    t = trueness.Tally(
        [4, 3, 2, 1], pos=[9, 7, 5, 3], neg=[0, 0, 6, 9], unknown=[1, 0, 0, 0]
    )
    expected = impute_labels(t).expected

    band = trueness.roc_band(t, unlabelled="missing at random", replicates=100, rng=1)

    alarms = np.append(0, np.cumsum(expected.neg) / expected.n_neg)
    hits = np.append(0, np.cumsum(expected.pos) / expected.n_pos)
    assert band.tpr == pytest.approx(np.interp(band.fpr, alarms, hits), abs=1e-9)


def test_the_precision_band_of_labels_missing_at_random(high_scores_labelled):
    t = high_scores_labelled
    expected = impute_labels(t).expected

    band = trueness.precision_recall_band(
        t, unlabelled="missing at random", replicates=100, rng=1
    )
    with pytest.warns(trueness.DoubtfulAssumptionWarning):
        of_labelled = trueness.precision_recall_band(t, replicates=100, rng=1)

    recall = band.recall
    fpr = stats.norm.sf(stats.norm.isf(recall) + 1.2)
    truth = 0.25 * recall / (0.25 * recall + 0.75 * fpr)
    hits = recall * expected.n_pos
    alarms = np.interp(hits, np.cumsum(expected.pos), np.cumsum(expected.neg))

    assert band.precision == pytest.approx(hits / (hits + alarms), abs=0.03)
    assert holds(band, truth)
    assert (of_labelled.low > truth).any()


@pytest.mark.parametrize("curve", BANDS)
def test_cases_left_out_are_said_and_errors_too(curve):
    t = Tally([4, 3, 2, 1], pos=[9, 5, 1, 0], neg=[2, 8, 5, 4], unknown=[0, 0, 9, 9])
    make = BANDS[curve]
    with pytest.warns(
        trueness.DoubtfulAssumptionWarning, match="their scores differ"
    ) as w:
        (note,) = make(t, replicates=100).notes

    assert w[0].filename == __file__
    assert note.startswith("18 of 52 cases have no label and were left out")

    t = t.labelled()

    assert make(t, replicates=100).notes == ()
    with pytest.raises(InputError, match="band must be one of"):
        make(t, band="wide")

    if curve == "precision_recall":
        with pytest.raises(InputError, match="case-control sample fixed"):
            make(t, sampling="case-control")
        with pytest.raises(InputError, match="does not take weights"):
            make([1, 0, 1], [3, 2, 1], weight=[1, 2, 3], method="likelihood")


@pytest.mark.parametrize(
    "t",
    [
        Tally([1e300, -1e300], pos=[3, 1], neg=[1, 3]),
        Tally([2, 1], pos=[1, 0], neg=[0, 1]),
        Tally([2, 1], pos=[40, 0], neg=[0, 40], cluster=[1, 2]),
        Tally([2, 1], pos=[20, 0], neg=[0, 30]),
    ],
)
def test_corners_have_bands(t):
    for kind in ("simultaneous", "pointwise"):
        for make in BANDS.values():
            band = make(t, band=kind, replicates=100)
            assert (band.low <= band.high).all()
            assert (band.low < band.high)[1:].any()


@pytest.mark.parametrize("band", [trueness.roc_band, trueness.precision_recall_band])
def test_repeated_cases_of_a_cluster_count_once(band):
    rng = np.random.default_rng(5)
    label = (rng.random(150) < 0.4).astype(int)
    score = label + rng.normal(size=150)
    fourfold = np.tile(label, 4), np.tile(score, 4)

    def mean_width(answer):
        return float(np.mean(answer.high - answer.low))

    once = mean_width(band(label, score))
    clustered = mean_width(band(*fourfold, cluster=np.tile(np.arange(150), 4)))
    careless = mean_width(band(*fourfold))

    assert clustered == pytest.approx(once, rel=0.25)
    assert careless < 0.75 * clustered


def test_a_band_at_a_higher_level_is_wider_everywhere():
    rng = np.random.default_rng(6)
    label = (rng.random(300) < 0.2).astype(int)
    tally = trueness.tally(label, label + rng.normal(size=300))

    narrow = trueness.precision_recall_band(tally, level=0.8)
    wide = trueness.precision_recall_band(tally, level=0.99)

    assert (wide.low <= narrow.low + 1e-9).all()
    assert (wide.high >= narrow.high - 1e-9).all()
    # where everything is flagged, precision is the prevalence, and its end depends too
    assert wide.low[-1] < narrow.low[-1]


def test_copies_of_a_cluster_are_no_effective_cases():
    rng = np.random.default_rng(7)
    label = (rng.random(200) < 0.4).astype(int)
    score = label + rng.normal(size=200)
    cluster = np.tile(np.arange(200), 4)
    single = apply_design(trueness.tally(label, score))
    fourfold = apply_design(
        trueness.tally(np.tile(label, 4), np.tile(score, 4), cluster=cluster)
    )

    once = bands._effective_sizes(single, 0.95)
    copied = bands._effective_sizes(fourfold, 0.95)

    # 82 positives, or so, however often they are repeated
    assert once.positives == label.sum()
    assert copied.positives == pytest.approx(once.positives, rel=0.05)
    assert copied.negatives == pytest.approx(once.negatives, rel=0.05)


def test_a_band_is_as_wide_as_the_fewer_of_points_and_positives_demand():
    of_points = bands._likely_distance(1000.0, 20, 0.95, "simultaneous")
    of_positives = bands._likely_distance(20.0, 1000, 0.95, "simultaneous")
    of_more = bands._likely_distance(1000.0, 1000, 0.95, "simultaneous")

    assert of_points == of_positives
    assert of_points < of_more
