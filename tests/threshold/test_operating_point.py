"""Where to cut: by hand, at the edges, from ranks alone, by programs."""

import json
import math

import numpy as np
import pytest

import trueness
from cuts_by_counting import best_choices, cases_with_ties, single_cuts
from trueness import Estimate, Infeasible, Tally, best_threshold
from trueness.metrics.algebra import depends_on_prevalence

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
TENS = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])


def check_threshold(point, y, score, kind=np.float64):
    """Check that the threshold flags what the confusion counts, in another type."""
    label = np.asarray(y)
    is_flagged = np.asarray(score, dtype=kind) >= kind(point.threshold)
    low, high = point.score_range

    assert int(point.confusion.tp) == int((is_flagged & (label == 1)).sum())
    assert int(point.confusion.fp) == int((is_flagged & (label == 0)).sum())
    assert low < point.threshold <= high
    assert point.score_range in point.score_ranges


def test_by_hand():
    p = best_threshold(HAND, "accuracy")

    # cut at 0.7: 3 + 5 of 10 right; at 0.9: 2 + 6 of 10: fp - fn is 0 and -2
    assert p.value == 8 / 10
    assert p.score_ranges == ((0.7, 0.9), (0.5, 0.7))
    assert p.score_range == (0.5, 0.7)
    assert p.threshold == 0.5 / 2 + 0.7 / 2
    assert (p.confusion.tp, p.confusion.fp) == (3, 1)
    assert p.binding == ()
    assert p.prevalence == 4 / 10

    infinite = best_threshold(HAND, "lr_positive")

    assert (infinite.value, infinite.score_ranges) == (math.inf, ((0.7, 0.9),))

    mixed = 0.7 * trueness.accuracy + 0.3 * trueness.recall  # as people type it, too
    text = best_threshold(HAND, "0.7*accuracy + 0.3*recall", "precision >= 0.5")

    assert best_threshold(HAND, mixed, [trueness.precision >= 0.5]) == text


def test_a_bound_that_is_just_met_holds():
    tally = Tally([2, 1], pos=[9, 1], neg=[1, 9])
    for bound in ("recall >= 0.9", "0.7*accuracy + 0.3*recall >= 0.9"):
        p = best_threshold(tally, "specificity", bound)
        assert (p.confusion.tp, p.confusion.fp) == (9, 1)

    with pytest.raises(Infeasible, match=r"accuracy > 0.9 cannot be met: .* 0.9, "):
        best_threshold(tally, "recall", "accuracy > 0.9")

    # the float sum 0.1 + 0.2 is above 0.3, one tenth and two tenths are not
    perfect = Tally([2, 1], pos=[5, 0], neg=[0, 5])
    p = best_threshold(perfect, subject_to="0.1*recall + 0.2*specificity <= 0.3")

    assert p.value == 1


def test_binding_names_what_stops_it():
    p = best_threshold(HAND, "precision", ["recall >= 0.75", "flagged <= 8"])

    assert p.binding == ("recall >= 0.75",)
    assert p.constraints == {"recall >= 0.75": 0.75, "flagged <= 8": 4.0}

    # two constraints that forbid the same cuts: both are named
    p = best_threshold(HAND, "precision", ["recall >= 0.75", "tpr >= 0.7"])

    assert p.binding == ("recall >= 0.75", "recall >= 0.7")


def test_ends_flag_nothing_and_everything():
    tally = Tally([1.0, 0.0], pos=[0, 1], neg=[3, 0])
    nothing = best_threshold(tally)

    assert nothing.threshold == math.inf
    assert nothing.score_range == (1.0, math.inf)

    everything = best_threshold(tally, "recall")

    assert everything.threshold == 0.0
    assert everything.score_range == (-math.inf, 0.0)

    text = json.dumps(nothing.to_dict())

    assert json.loads(text)["score_range"] == [1.0, "inf"]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_thresholds_at_the_boundaries_of_floats(kind):
    """Neighbouring floats have no middle; float32 has none where float64 has."""
    rng = np.random.default_rng(8)
    for start in (0.0, 1e-40, 0.1, 3e38, -2.5):
        score = [kind(start)]
        for _ in range(7):
            score.append(np.nextafter(score[-1], kind(np.inf)))
        for _ in range(5):
            labels = rng.permutation([0, 0, 0, 0, 1, 1, 1, 1])
            tally = trueness.tally(labels, np.array(score, dtype=kind))
            for name in ("accuracy", "f1", "youden"):
                check_threshold(best_threshold(tally, name), labels, score, kind)
                check_threshold(best_threshold(tally, name), labels, score, np.float64)


def test_huge_counts_stay_exact():
    big = 10**15
    tally = Tally([3, 2, 1], pos=[big, 1, 0], neg=[0, 1, big])
    p = best_threshold(tally, "accuracy")

    assert p.score_ranges == ((2.0, 3.0), (1.0, 2.0))

    tally = Tally([3, 2, 1], pos=[big, 2, 0], neg=[0, 1, big])

    assert best_threshold(tally, "accuracy").score_ranges == ((1.0, 2.0),)


def test_sums_with_square_roots():
    """Mirror images have equal mcc + g_mean, though the floats need not agree."""
    tally = Tally([4, 3, 2, 1], pos=[2, 1, 3, 1], neg=[1, 3, 1, 2])

    point = best_threshold(tally, "mcc + g_mean - 0.3*mcc")

    values = []
    for tp, fp in [(0, 0), (2, 1), (3, 4), (6, 5), (7, 7)]:
        fn = 7 - tp
        tn = 7 - fp
        product_of_margins = 49 * (tp + fp) * (fn + tn)
        mcc = math.nan
        if product_of_margins:
            mcc = (tp * tn - fp * fn) / math.sqrt(product_of_margins)
        values.append(0.7 * mcc + math.sqrt(tp * tn / 49))
    assert point.value == pytest.approx(np.nanmax(values))


def test_a_metric_without_exact_form_ties_within_rounding():
    own = trueness.records.Metric("own", lambda c: c.tp * 0.1 - c.fp * 0.1)
    p = best_threshold(Tally([3, 2, 1], pos=[1, 1, 1], neg=[0, 1, 1]), own)
    assert len(p.score_ranges) == 3


@pytest.mark.parametrize(
    ("n", "share", "shift"), [(60, 0.5, 0.3), (400, 0.1, 1.5), (400, 0.9, 1.0)]
)
def test_fermi_dirac_cuts_at_r_star(n, share, shift):
    """For balanced accuracy floor(r*) ranks are flagged: Kim et al., eq. 9."""
    rng = np.random.default_rng(n)
    for _ in range(5):
        labels = rng.random(n) < share
        labels[:2] = False, True
        tally = trueness.tally(labels, rng.normal(size=n) + shift * labels)
        fd = trueness.fermi_dirac(tally)
        if fd.auc <= 0.5:
            continue
        p = best_threshold(tally, "balanced_accuracy", method="fermi-dirac")
        assert p.confusion.tp + p.confusion.fp == math.floor(fd.rank_threshold)
        # the same without labels, from two numbers
        blind = best_threshold(
            tally.without_labels(),
            "balanced_accuracy",
            method="fermi-dirac",
            auc=fd.auc,
            prevalence=fd.prevalence,
        )
        assert blind.threshold == p.threshold
        assert blind.value == pytest.approx(p.value)
        assert blind.confusion.tp + blind.confusion.fn == pytest.approx(tally.n_pos)
        # accuracy is best where both classes are equally likely: rank mu
        a = best_threshold(tally, "accuracy", method="fermi-dirac")
        flagged = min(max(math.floor(fd.mu), 0), n)
        assert a.confusion.tp + a.confusion.fp == flagged


def test_fermi_dirac_with_ties_constraints_and_another_prevalence():
    rng = np.random.default_rng(12)
    labels, score = cases_with_ties(rng, 500, levels=12)
    tally = trueness.tally(labels, score)
    p = best_threshold(
        tally, "recall", "flagged_rate <= 0.3", "fermi-dirac", prevalence=0.1
    )
    fd = trueness.fermi_dirac(tally)
    reached = np.concatenate([[0], np.cumsum(tally.pos + tally.neg)])
    tpr, fpr = (fd.expected(name, reached) for name in ("tpr", "fpr"))
    allowed = 0.1 * tpr + 0.9 * fpr <= 0.3

    assert p.value == pytest.approx(tpr[allowed].max())

    check_threshold(p, labels, score)


def test_how_it_reads():
    p = best_threshold(HAND, "precision", ["recall >= 0.75", "flagged <= 8"])
    lines = repr(p).splitlines()

    assert lines[:5] == [
        "OperatingPoint: maximize precision = 0.75",
        "  threshold: 0.6 in (0.5, 0.7]",
        "  confusion: tp 3, fp 1, fn 1, tn 5",
        "  recall >= 0.75: 0.75 (limiting)",
        "  flagged <= 8: 4",
    ]
    assert lines[5:] == ["  prevalence 0.4"]
    assert repr(p.rule) == "Rule: flag at 0.6 or more"
    assert p.metrics["recall"] == trueness.at_threshold(HAND, p.threshold)["recall"]

    rare = best_threshold(HAND, "f1", prevalence=0.01)
    there = trueness.at_threshold(HAND, rare.threshold, prevalence=0.01)

    assert rare.metrics["precision"].value == there["precision"].value
    assert "1 more optimal" in repr(best_threshold(HAND, "accuracy"))
    assert "in (1, inf)" in repr(best_threshold(Tally([1.0], neg=[1]), "accuracy"))


def test_a_case_control_sample_says_nothing_about_precision():
    tally = Tally([0.9, 0.7, 0.5, 0.2], pos=[20, 10, 10, 2], neg=[1, 10, 20, 30])
    options = {"maximize": "youden", "sampling": "case-control"}
    point = trueness.best_threshold(tally, **options)

    assert "precision" not in point.metrics
    assert "recall" in point.metrics
    assert "precision" not in repr(point)
    assert "prevalence unknown" in repr(point)

    known = trueness.best_threshold(tally, prevalence=tally.prevalence, **options)

    assert "precision" in known.metrics


def test_what_is_said_of_a_range():
    p = best_threshold(TENS, minimize="cost(fp=1, fn=5)", prevalences=(0.01, 0.3))

    assert p.prevalences == (0.01, 0.3)
    assert "the worst of those from 0.01 to 0.3" in repr(p)

    for share in (0.01, 0.3):
        used = p.confusion.at_prevalence(share)
        assert trueness.cost(fp=1, fn=5)(used) <= p.value + 1e-9

    noted = best_threshold(TENS, "f1", prevalences=Estimate(0.1, 0.05, 0.2))

    assert "is treated as known" in noted.notes[0]


def test_which_metrics_depend_on_the_prevalence():
    fixed = ["recall", "fpr", "youden", "balanced_accuracy", "g_mean", "lr_positive"]

    assert not any(depends_on_prevalence(trueness.metric(m)) for m in fixed)

    moving = ["precision", "f1", "accuracy", "mcc", "flagged_rate", "cost(fp=1, fn=2)"]

    assert all(depends_on_prevalence(trueness.metric(m)) for m in moving)


def test_a_value_without_bound_is_best_at_every_prevalence():
    """Where no negative is flagged the ratio is infinite."""
    tally = Tally([4, 3, 2, 1], pos=[2, 3, 1, 1], neg=[0, 1, 4, 5])
    for m in ("lr_positive", "odds_ratio"):
        known = best_threshold(tally, m)
        point = best_threshold(tally, m, prevalences=(0.1, 0.3))
        assert (point.score_ranges, point.value) == (known.score_ranges, math.inf)


@pytest.mark.parametrize("method", ["milp", "milp-cases"])
def test_gaps_below_the_tolerance_of_the_solver(method):
    """Scores 1e-12 apart are different scores; equal ones are never split."""
    tally = trueness.tally([1, 0, 1, 0, 1, 0], np.array([3, 1, 2, 2, 2, 0]) * 1e-12)
    result, top = best_choices(single_cuts(tally), "accuracy", [])
    point = best_threshold(tally, "accuracy", method=method)

    assert point.score_range[1] in result
    assert point.value == float(top)


def test_weights_of_the_mixed_objective():
    """Eq. (6) as printed, alpha * errors - beta * found, can choose another cut."""
    tally = Tally([3, 2, 1], pos=[1, 1, 1], neg=[0, 2, 6])
    right, _ = best_choices(single_cuts(tally), "0.7*accuracy + 0.3*recall", [])
    wrong = best_threshold(tally, "-0.7*(fp + fn) + 0.3*tp").score_range[1]

    assert wrong not in right

    for method in ("sweep", "milp", "milp-cases"):
        point = best_threshold(tally, "0.7*accuracy + 0.3*recall", method=method)
        assert point.score_range[1] in right


def test_certificate():
    c = best_threshold(HAND, "precision", "recall >= 0.75", "milp").certificate

    assert (c.binaries, c.value, c.bound) == (4, 0.75, 0.75)
    assert c.iterations >= 2  # Dinkelbach: one step finds, one proves
    assert c.status == "Optimization terminated successfully"

    c = best_threshold(HAND, method="milp-cases").certificate

    assert (c.binaries, c.rows, c.iterations) == (20, 40, 1)  # 2N binaries, 4N rows
