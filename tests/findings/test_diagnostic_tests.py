"""Tests of two values: the table of epiR, pairs by McNemar and Tango, no threshold."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import trueness
from trueness import CleanedWarning, Confusion, InputError
from trueness.findings.page import page_about

TABLE = Confusion(tp=815, fp=115, fn=208, tn=327)
# epi.tests(as.table(matrix(c(815, 115, 208, 327), nrow = 2, byrow = TRUE)))$detail of
# epiR 2.0.57 in R: estimate, lower and upper end
EPIR = {
    "apparent_prevalence": (0.6348122867, 0.6095649545, 0.6595177619),
    "prevalence": (0.6982935154, 0.6740675726, 0.7217217558),
    "sensitivity": (0.7966764418, 0.7706868126, 0.8209461221),
    "specificity": (0.7398190045, 0.6962660438, 0.7801284645),
    "ppv": (0.8763440860, 0.8534512705, 0.8968203802),
    "npv": (0.6112149533, 0.5684513792, 0.6527428861),
    "lr_positive": (3.0620085852, 2.6086910046, 3.5941000905),
    "lr_negative": (0.2748287850, 0.2405298744, 0.3140186277),
    "diagnostic_odds_ratio": (11.1415133779, 8.5786038052, 14.4701076270),
    "accuracy": (0.7795221843, 0.7574026432, 0.8005150172),
}

RNG = np.random.default_rng(5)
CASES = 200
SICK = (RNG.random(CASES) < 0.4).astype(int)
CT = np.where(RNG.random(CASES) < 0.8, SICK, 1 - SICK)
MRI = np.where(RNG.random(CASES) < 0.7, SICK, 1 - SICK)
FRAME = pd.DataFrame({"disease": SICK, "ct": CT, "mri": MRI})


class TestTwoByTwoTable:
    @pytest.mark.parametrize("measure", EPIR)
    def test_exact_intervals_are_those_of_epir(self, measure):
        finding = trueness.evaluate(TABLE, method="exact")

        estimate = finding.numbers["tests"]["the classifier"][measure]
        found = (estimate.value, estimate.low, estimate.high)
        assert found == pytest.approx(EPIR[measure], abs=1e-9)

    def test_wilson_is_the_default(self):
        estimate = trueness.evaluate(TABLE).numbers["tests"]["the classifier"]

        expected = binomtest(815, 1023).proportion_ci(method="wilson")
        assert estimate["sensitivity"].ci == pytest.approx(tuple(expected))

    def test_a_metric_has_its_interval(self):
        sensitivity = trueness.sensitivity(TABLE, method="exact")

        expected = binomtest(815, 1023).proportion_ci(method="exact")
        assert sensitivity.ci == pytest.approx(tuple(expected))
        assert sensitivity.method == "Clopper and Pearson 1934"

    def test_counts_of_a_design_stay_plain_numbers(self):
        clustered = trueness.tally(SICK, CT, cluster=np.arange(CASES) // 4)

        value = trueness.recall(trueness.confusion(clustered, 1))

        assert not hasattr(value, "low")

    def test_another_prevalence_moves_predictive_values_alone(self):
        rare = trueness.evaluate(TABLE, prevalence=0.01).numbers["tests"]
        usual = trueness.evaluate(TABLE).numbers["tests"]

        assert rare["the classifier"]["ppv"].value == pytest.approx(0.0300, abs=1e-4)
        assert rare["the classifier"]["sensitivity"].value == pytest.approx(
            usual["the classifier"]["sensitivity"].value
        )
        assert "prevalence" not in rare["the classifier"]

    def test_the_exact_interval_refuses_clusters(self):
        clustered = trueness.tally(SICK, CT, cluster=np.arange(CASES) // 4)

        with pytest.raises(InputError, match="independent cases"):
            trueness.evaluate(clustered, method="exact")


class TestFrames:
    def test_columns_of_0_and_1_are_tests(self):
        finding = trueness.evaluate(FRAME)

        assert list(finding.numbers["tests"]) == ["ct", "mri"]
        assert "tests 'ct', 'mri'" in " ".join(finding.sentences)
        assert "Brier" not in repr(finding)
        assert "AUC" not in repr(finding)

    def test_verdicts_in_words_are_read_by_a_known_pair(self):
        words = FRAME.assign(mri=np.where(MRI, "PASS", "FAIL"))

        with pytest.warns(CleanedWarning, match="'PASS' as positive"):
            finding = trueness.evaluate(words)

        assert finding.numbers["tests"] == trueness.evaluate(FRAME).numbers["tests"]

    def test_other_words_need_positive(self):
        words = FRAME.assign(ct=np.where(CT, "hot", "cold"))[["disease", "ct"]]

        with pytest.raises(InputError, match='positive="cold" or positive="hot"'):
            trueness.evaluate(words, score="ct")

        named = trueness.evaluate(words, positive="hot").numbers["tests"]["ct"]
        assert named == trueness.evaluate(FRAME).numbers["tests"]["ct"]

    @pytest.mark.filterwarnings("ignore::trueness.CleanedWarning")
    def test_metrics_take_words(self):
        truth = np.where(SICK, "yes", "no")
        verdict = np.where(CT, "yes", "no")

        assert trueness.accuracy(truth, verdict).value == np.mean(SICK == CT)

    def test_groups_have_their_own_rates(self):
        site = np.where(np.arange(CASES) % 2, "a", "b")
        finding = trueness.evaluate(FRAME.assign(site=site), by="site")

        a = finding.numbers["groups"]["ct"]["a"]["sensitivity"].value
        assert a == pytest.approx(CT[(site == "a") & (SICK == 1)].mean())

    def test_a_test_beside_scores_has_a_table_of_its_own(self):
        mixed = FRAME[["disease", "ct"]].assign(p=RNG.random(CASES))

        finding = trueness.evaluate(mixed, score=["p", "ct"])

        assert list(finding.numbers["scores"]) == ["p"]
        assert list(finding.numbers["tests"]) == ["ct"]

    def test_readings_have_no_brier_score(self):
        readings = FRAME[["disease"]].assign(
            first=1 + SICK + RNG.integers(0, 4, CASES),
            second=1 + SICK + RNG.integers(0, 4, CASES),
        )

        finding = trueness.evaluate(readings)

        assert set(finding.numbers["scores"]) == {"first", "second"}
        assert "Brier" not in repr(finding)


class TestPairs:
    def test_mcnemar_of_sensitivity_by_hand(self):
        compared = trueness.compare(FRAME, "sensitivity")

        only_ct = int(((CT == 1) & (MRI == 0) & (SICK == 1)).sum())
        only_mri = int(((CT == 0) & (MRI == 1) & (SICK == 1)).sum())
        statistic = (only_ct - only_mri) ** 2 / (only_ct + only_mri)
        from scipy.stats import chi2

        assert compared.pairs[0].p_value == pytest.approx(chi2.sf(statistic, 1))
        assert compared.measure == "sensitivity"

    def test_the_default_is_accuracy(self):
        compared = trueness.compare(FRAME)

        assert compared.values[0].value == pytest.approx(np.mean(CT == SICK))

    def test_a_report_has_no_threshold_and_no_probabilities(self):
        page = page_about(trueness.panel(FRAME, ["ct", "mri"], label="disease"))
        text = " ".join(
            [str(n) for _, notes in page.answers for n in notes]
            + [f.question for f in page.findings]
            + [" ".join(map(str, tile)) for tile in page.tiles]
        )

        assert "flag scores of" not in text
        assert "AUC" not in text
        assert "threshold" not in text
        assert [f.key for f in page.findings] == ["tests", "comparison"]
