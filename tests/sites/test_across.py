"""The value of each site, their mean, and the next site."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import trueness
from trueness.sites import leave_sites_out


def counted(recalls, cases=100):
    """Give verdicts of 0 and 1 at sites with so many positives."""
    return {
        f"site {number}": trueness.Tally(
            [1, 0], pos=[found, cases - found], neg=[10, 90]
        )
        for number, found in enumerate(recalls)
    }


SIX = counted([70, 75, 80, 80, 85, 90])


def scored(number, rng, cases=120):
    """Give labels and scores of sites whose classes lie a varying distance apart."""
    frames = []
    for site in range(number):
        label = (rng.random(cases) < 0.4).astype(int)
        score = rng.normal(size=cases) + label * rng.normal(1.2, 0.3)
        frames.append(pd.DataFrame({"y": label, "p": score, "hospital": f"H{site}"}))
    return pd.concat(frames)


def test_recall_is_pooled_on_the_log_odds_scale_as_metafor_does():
    # d <- escalc(measure="PLO", xi=c(70, 75, 80, 80, 85, 90), ni=rep(100, 6))
    # predict(rma(yi, vi, data=d, test="knha"), transf=transf.ilogit), metafor 3.8.1
    answer = trueness.across_sites(SIX, "recall", prediction="knapp-hartung")

    mean = [answer.mean.value, answer.mean.low, answer.mean.high]
    assert_allclose(mean, [0.8024111294, 0.7144555732, 0.8682692851], atol=1e-9)
    assert_allclose(answer.tau.value**2, 0.135200252682, atol=1e-9)
    interval = [answer.prediction.low, answer.prediction.high]
    assert_allclose(interval, [0.5840412413, 0.9215416317], atol=1e-9)


def test_values_of_sites_are_those_of_the_analysis_itself():
    frame = scored(6, np.random.default_rng(0))

    answer = trueness.across_sites(frame, "auc", label="y", score="p", site="hospital")

    by_site = trueness.tally(frame, label="y", score="p", by="hospital")
    for name, tally in by_site.items():
        assert answer.sites[name].value == trueness.auc(tally).value
        assert answer.sites[name].low == trueness.auc(tally).low


def test_data_in_every_form_have_one_answer():
    frame = scored(6, np.random.default_rng(0))
    tallies = trueness.tally(frame, label="y", score="p", by="hospital")

    by_column = trueness.across_sites(
        frame, "auc", label="y", score="p", site="hospital"
    )
    by_mapping = trueness.across_sites(tallies, trueness.auc)
    by_arrays = trueness.across_sites(frame.y, frame.p, "auc", site=frame.hospital)

    assert by_column.prediction == by_mapping.prediction == by_arrays.prediction


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        ("average_precision", {}),
        ("brier", {}),
        ("log_loss", {}),
        ("calibration_slope", {}),
        ("calibration_intercept", {}),
        ("precision", {"threshold": 0.5}),
        ("0.5*recall + 0.5*specificity", {"threshold": 0.5}),
        ("lr_positive", {"threshold": 0.5}),
        (trueness.net_benefit(0.3), {"threshold": 0.3}),
    ],
)
def test_every_measure_of_the_engine_has_a_next_site(measure, options):
    frame = scored(7, np.random.default_rng(5))
    frame["p"] = 1 / (1 + np.exp(1 - frame.p))

    answer = trueness.across_sites(
        frame, measure, label="y", score="p", site="hospital", **options
    )

    assert answer.prediction.low < answer.mean.value < answer.prediction.high
    assert answer.mean.low < answer.mean.value < answer.mean.high


def test_a_function_of_your_own_has_a_next_site():
    answer = trueness.across_sites(
        scored(6, np.random.default_rng(2)),
        lambda t: t.score @ t.pos / t.n_pos,
        value_range=(-math.inf, math.inf),
        label="y",
        score="p",
        site="hospital",
    )

    assert answer.scale == "identity"
    assert answer.prediction.low < answer.mean.value < answer.prediction.high


def test_differences_of_two_classifiers_are_taken_within_sites():
    frame = scored(6, np.random.default_rng(3))
    frame["worse"] = frame.p + np.random.default_rng(4).normal(0, 2, len(frame))
    scores = ["p", "worse"]

    answer = trueness.across_sites(
        frame, "auc", label="y", scores=scores, site="hospital"
    )

    assert answer.scale == "identity"
    assert answer.mean.low > 0
    panel = trueness.panel(frame[frame.hospital == "H0"], scores=scores, label="y")
    difference = trueness.compare_auc(panel).pairs[0].difference
    assert answer.sites["H0"].value == pytest.approx(difference.value)


def test_estimates_of_papers_are_pooled_by_their_intervals():
    published = trueness.Estimate(0.82, 0.7, 0.9, 0.95)
    standard_error = (math.log(9) - math.log(7 / 3)) / (2 * 1.959964)

    answer = trueness.across_sites(dict.fromkeys("ABCDE", published), "auc")

    assert_allclose(answer.mean.value, 0.82)
    assert_allclose(answer._model.variances, standard_error**2, rtol=1e-6)


def test_pass_rates_of_customers():
    rng = np.random.default_rng(0)
    items = [f"item {k}" for k in range(40)]
    customers = {
        f"c{number}": trueness.Attempts(items, rng.integers(0, 2, 40), np.ones(40, int))
        for number in range(6)
    }

    answer = trueness.across_sites(customers, "pass_rate")

    assert 0 < answer.prediction.low < answer.prediction.high < 1


def test_perfect_site_counts_with_half_a_case_on_both_sides():
    sites = {**SIX, "perfect": trueness.Tally([1, 0], pos=[20, 0])}

    answer = trueness.across_sites(sites, "recall")

    assert_allclose(answer._model.values[-1], math.log(20.5 / 0.5))
    assert_allclose(answer._model.variances[-1], 1 / 20.5 + 1 / 0.5)
    assert any("Half a case" in note for note in answer.notes)


def test_auc_of_one_counts_as_the_cases_of_its_smaller_class():
    frame = scored(6, np.random.default_rng(0))
    sites = dict(trueness.tally(frame, label="y", score="p", by="hospital"))
    sites["perfect"] = trueness.Tally([2, 1], pos=[30, 0], neg=[0, 12])

    answer = trueness.across_sites(sites, "auc")

    assert_allclose(answer._model.values[-1], math.log(12.5 / 0.5))
    assert answer.prediction.high < 1


def test_site_without_a_value_is_left_out_and_named():
    sites = {**SIX, "empty": trueness.Tally([1, 0], neg=[5, 5])}

    answer = trueness.across_sites(sites, "recall")

    assert "empty" not in answer.weights
    assert math.isnan(answer.sites["empty"].value)
    assert any("Left out" in note and "empty" in note for note in answer.notes)


def test_site_whose_variance_is_unknown_is_left_out():
    frame = scored(6, np.random.default_rng(0))
    sites = dict(trueness.tally(frame, label="y", score="p", by="hospital"))
    sites["one positive"] = trueness.Tally([2, 1], pos=[1, 0], neg=[3, 12])

    answer = trueness.across_sites(sites, "auc")

    assert "one positive" in answer.sites
    assert "one positive" not in answer.weights


def test_small_sites_are_said_to_be_small():
    sites = {**SIX, "tiny": trueness.Tally([1, 0], pos=[4, 2])}

    notes = trueness.across_sites(sites, "recall").notes

    assert any("Small sites" in note and "tiny" in note for note in notes)


def test_fewer_than_five_sites_have_values_and_a_note():
    answer = trueness.across_sites(counted([70, 75, 80, 85]), "recall")

    assert len(answer.sites) == 4
    assert answer.mean is answer.tau is answer.prediction is None
    assert "at least 5 are needed" in answer.notes[0]


def test_site_that_stands_out_is_named():
    rng = np.random.default_rng(0)
    recalls = rng.binomial(400, 0.85, 14).tolist()

    answer = trueness.across_sites(counted([*recalls, 150], cases=400), "recall")

    assert answer.outliers == ("site 14",)


def test_equal_sites_seldom_stand_out():
    rng = np.random.default_rng(1)
    answers = [
        trueness.across_sites(
            counted(rng.binomial(100, 0.8, 10).tolist()), "recall", prediction="higgins"
        )
        for _ in range(40)
    ]

    assert sum(bool(answer.outliers) for answer in answers) <= 6


def test_groups_explain_the_differences():
    recalls = [70, 72, 71, 69, 90, 91, 89, 92]
    device = {f"site {k}": "old" if k < 4 else "new" for k in range(8)}

    effect = trueness.across_sites(
        counted(recalls), "recall", covariate={"device": device}
    ).covariate

    assert effect.covariate == "device"
    assert effect.coefficients["old (against new)"].high < 0
    assert effect.p_value < 0.001
    assert effect.explained > 0.9


def test_answers_are_shown_and_travel():
    answer = trueness.across_sites(SIX, "recall")

    assert "95 % prediction interval" in repr(answer)
    assert answer.to_dict()["prediction"]["method"] == "prediction (nagashima)"
    assert list(answer.to_frame().columns)[:2] == ["site", "value"]
    assert "_model" not in answer.to_dict()


def test_leaving_sites_out_predicts_the_observed_value():
    rng = np.random.default_rng(0)
    recalls = rng.binomial(60, 1 / (1 + np.exp(-rng.normal(1.5, 0.5, 25))))
    answer = trueness.across_sites(counted(recalls.tolist(), cases=60), "recall")

    validated = leave_sites_out(answer, prediction="knapp-hartung")

    assert validated.coverage.value >= 0.84
    assert len(validated.covered) == 25
    assert "of 25 sites within the 95 %" in repr(validated)


UNCUT = {"a": trueness.Tally([0.3, 0.2], [3, 4], [4, 3])}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trueness.across_sites({}, "auc"), "mapping from site"),
        (lambda: trueness.across_sites({"a": 3}, "auc"), "A site must be counts"),
        (lambda: trueness.across_sites(SIX, 3), "A measure is a name"),
        (lambda: trueness.across_sites(SIX, "auc", threshold=1), "does not depend"),
        (lambda: trueness.across_sites(UNCUT, "recall"), "needs a threshold"),
        (
            lambda: trueness.across_sites(SIX, "recall", covariate={"site 0": 3}),
            "known for every site",
        ),
        (
            lambda: trueness.across_sites(
                SIX, "recall", covariate=dict.fromkeys(SIX, 2)
            ),
            "must differ between sites",
        ),
        (lambda: trueness.across_sites(SIX, "recall", prediction="x"), "prediction"),
        (lambda: leave_sites_out(3), "what across_sites returned"),
    ],
)
def test_errors_say_what_was_needed(call, message):
    with pytest.raises(trueness.InputError, match=message):
        call()


def test_leaving_out_needs_six_sites():
    answer = trueness.across_sites(counted([70, 75, 80, 85, 90]), "recall")

    with pytest.raises(trueness.NotEnoughCases, match="6 sites"):
        leave_sites_out(answer)
