"""Items, verdicts, systems, leaves and sites are found by their names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import trueness
from shell import answer, run
from trueness import InputError

RNG = np.random.default_rng(12)
LOG = pd.DataFrame(
    [
        {"task": f"t{k}", "model": model, "passed": int(RNG.random() < rate)}
        for k in range(20)
        for model, rate in (("A", 0.7), ("B", 0.4))
        for _ in range(3)
    ]
)


@pytest.fixture(params=["pandas", "polars", "csv"])
def log(request, tmp_path):
    if request.param == "pandas":
        return LOG
    if request.param == "polars":
        return pl.from_pandas(LOG)
    LOG.to_csv(tmp_path / "log.csv", index=False)
    return tmp_path / "log.csv"


class TestAttempts:
    @pytest.mark.filterwarnings("ignore::trueness.CleanedWarning")
    def test_rates_take_a_table_of_attempts(self, log):
        named = trueness.attempts(LOG, item="task", passed="passed", system="model")

        assert trueness.attempts(log) == named
        assert trueness.pass_at_k(log, 2)["A"] == trueness.pass_at_k(named["A"], 2)
        assert trueness.leaderboard(log).rates == trueness.leaderboard(named).rates

    def test_the_columns_taken_are_said(self):
        with pytest.warns(trueness.CleanedWarning, match="item 'task', verdict"):
            trueness.attempts(LOG)

    def test_a_shell_takes_the_same(self, tmp_path):
        LOG.to_csv(tmp_path / "log.csv", index=False)

        rates = answer("evals", tmp_path / "log.csv")["result"]["systems"]

        assert set(rates) == {"A", "B"}

    def test_a_benchmark_of_several_items_is_no_item(self):
        table = LOG.assign(question=np.arange(len(LOG)) // 2)

        with pytest.raises(InputError, match="a column of items"):
            trueness.attempts(table)


class TestLeaves:
    @pytest.mark.filterwarnings("ignore::trueness.CleanedWarning")
    def test_are_found_with_their_counts(self):
        table = pd.read_csv(trueness.samples.path("leaves"))

        leaves = trueness.leaves(table)

        assert leaves == trueness.leaves(table, node="leaf", label="virus", count="n")

    def test_are_no_scores(self):
        with pytest.raises(InputError, match="Column 'leaf' names leaves"):
            trueness.evaluate(trueness.samples.path("leaves"))


class TestSites:
    CASES = pd.DataFrame(
        {
            "site": np.repeat([f"s{k}" for k in range(6)], 30),
            "y": np.tile([0, 0, 1], 60),
            "p": np.round(RNG.random(180) + np.tile([0, 0, 0.3], 60), 3),
        }
    )

    def test_are_found_and_measured_by_the_auc(self):
        found = trueness.across_sites(self.CASES)

        named = trueness.across_sites(self.CASES, "auc", site="site")
        assert found.sites == named.sites
        assert any("Using site 'site'" in note for note in found.notes)

    def test_a_shell_finds_them(self, tmp_path):
        self.CASES.to_csv(tmp_path / "cases.csv", index=False)

        result = run("sites", tmp_path / "cases.csv")

        assert result.exit_code == 0, result.stderr

    def test_tables_of_studies_are_read(self):
        path = trueness.samples.path("studies")

        summary = trueness.summary_roc(path)

        expected = trueness.summary_roc(trueness.read_studies(path))
        assert summary.sensitivity == expected.sensitivity

    def test_of_tables_the_measure_is_named(self):
        with pytest.raises(InputError, match="What is measured") as error:
            trueness.across_sites(trueness.samples.path("studies"))

        assert error.value.option == "measure"

    def test_evaluate_says_who_answers_about_tables(self):
        with pytest.raises(InputError, match="summary_roc and across_sites"):
            trueness.evaluate(trueness.samples.path("studies"))


class TestHeadToHead:
    WINS = ("A", "B", "A", "tie", "A")

    @pytest.mark.parametrize(
        "data",
        [
            list(WINS),
            {"winner": WINS},
            {"model_a": ["A"] * 5, "model_b": ["B"] * 5, "winner": WINS},
            {
                "model_a": ["A"] * 5,
                "model_b": ["B"] * 5,
                "winner": ["model_a", "model_b", "model_a", "tie (bothbad)", "model_a"],
            },
        ],
    )
    def test_systems_and_winners_are_found(self, data):
        found = trueness.head_to_head(data)

        assert found.pairs == trueness.head_to_head("A", "B", list(self.WINS)).pairs

    def test_three_names_without_pairs_are_asked_about(self):
        with pytest.raises(InputError, match="must name two systems"):
            trueness.head_to_head(["A", "B", "C"])

    def test_a_shell_finds_the_same(self, tmp_path):
        pd.DataFrame({"winner": self.WINS}).to_csv(tmp_path / "w.csv", index=False)

        result = run("evals", tmp_path / "w.csv")

        assert result.exit_code == 0, result.stderr
        assert "70.0 %" in result.stdout or "0.700" in result.stdout


def test_stability_takes_frames_of_scores():
    before = pd.DataFrame({"y": np.tile([0, 1], 50), "p": RNG.random(100).round(3)})
    after = before.assign(p=before["p"] ** 2)

    index = trueness.psi(before, after)

    assert index.psi == trueness.psi(before["p"], after["p"]).psi
    both = before.assign(q=before["p"])
    assert trueness.psi(both, after.assign(q=0.1), score="p").psi == index.psi


def test_several_requirements_may_be_a_list():
    y = np.tile([0, 1], 50)
    scores = y + RNG.normal(size=100)

    listed = trueness.check(y, scores, ["auc >= 0.5", "recall >= 0.1 at 0.5"])

    assert [v.requirement for v in listed.verdicts] == [
        "auc >= 0.5",
        "recall >= 0.1 at 0.5",
    ]


def test_tests_of_predictive_values_are_a_method_of_compare():
    truth = np.tile([0, 1], 50)
    tests = {"truth": truth, "A": np.roll(truth, 1), "B": (np.arange(100) % 3 == 0) * 1}

    result = trueness.compare(tests, "ppv", method="kosinski")

    metric = trueness.compare_metric(tests, "ppv", method="kosinski")
    assert result.pairs == metric.pairs


def test_a_synonym_of_a_metric_is_that_metric():
    truth = np.tile([0, 1], 50)
    tests = {"truth": truth, "A": np.roll(truth, 1), "B": (np.arange(100) % 3 == 0) * 1}

    by_object = trueness.compare_metric(tests, trueness.ppv, method="leisenring")

    by_name = trueness.compare_metric(tests, "precision", method="leisenring")
    assert by_object.pairs[0].p_value == by_name.pairs[0].p_value


class TestReaders:
    def test_a_study_is_found(self):
        study = pd.read_csv(trueness.samples.path("readers"))

        found = trueness.reader_study(study)

        named = trueness.reader_study(study, label="truth", score="rating")
        assert found == named

    def test_columns_of_other_words_are_found(self):
        study = pd.read_csv(trueness.samples.path("readers"))
        words = {"reader": "radiologist", "treatment": "modality", "case": "patient"}

        renamed = trueness.reader_study(study.rename(columns=words))

        assert renamed == trueness.reader_study(study)

    def test_a_shell_finds_the_same(self):
        found = answer("readers", "sample:readers")["result"]

        named = ("--label", "truth", "--score", "rating")
        assert found == answer("readers", "sample:readers", *named)["result"]


class TestRatings:
    WORDS = ("lo", "hi", "mid", "lo", "mid", "hi", "lo", "lo")
    OTHERS = ("lo", "hi", "lo", "lo", "mid", "hi", "mid", "lo")

    @pytest.mark.filterwarnings("ignore::trueness.CleanedWarning")
    def test_words_are_categories(self):
        numbers = {"lo": 2, "hi": 0, "mid": 1}
        coded = [[numbers[w] for w in words] for words in (self.WORDS, self.OTHERS)]
        expected = trueness.rater_agreement(*coded, method="cohen").value

        frame = pd.DataFrame({"r1": self.WORDS, "r2": self.OTHERS})

        assert trueness.rater_agreement(frame, method="cohen").value == expected
        agreement = trueness.rater_agreement(self.WORDS, self.OTHERS, method="cohen")
        assert agreement.value == expected

    def test_their_order_is_said(self):
        with pytest.warns(trueness.CleanedWarning, match="alphabetical order"):
            trueness.rater_agreement(self.WORDS, self.OTHERS)

    def test_a_rater_who_used_fewer_categories_is_a_rater(self):
        ratings = {"a": [0, 1, 1, 0], "b": [0, 2, 1, 0], "c": [0, 1, 2, 0]}

        panel = trueness.rater_agreement(ratings, method="fleiss")

        named = trueness.rater_agreement(
            ratings, method="fleiss", scores=["a", "b", "c"]
        )
        assert panel.value == named.value

    def test_a_shell_finds_them(self, tmp_path):
        pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 2, 1, 0]}).to_csv(
            tmp_path / "r.csv", index=False
        )

        assert run("agree", tmp_path / "r.csv").exit_code == 0


class TestWordsOfClasses:
    @pytest.mark.parametrize(
        "metric", ["accuracy", "balanced_accuracy", "kappa", "mcc"]
    )
    def test_a_metric_of_both_classes_needs_no_positive(self, metric):
        truth = ["cat", "dog", "cat", "dog", "dog"]
        predicted = ["cat", "cat", "cat", "dog", "dog"]

        found = getattr(trueness, metric)(truth, predicted)

        for positive in ("cat", "dog"):
            named = getattr(trueness, metric)(truth, predicted, positive=positive)
            assert found.value == pytest.approx(named.value)

    def test_predictions_of_one_class_are_read(self):
        truth = ["cat", "dog", "cat", "dog"]

        assert trueness.accuracy(truth, ["cat"] * 4).value == 0.5
        assert trueness.recall(truth, ["cat"] * 4, positive="dog").value == 0

    def test_recall_asks_for_the_positive_class(self):
        with pytest.raises(InputError, match="positive"):
            trueness.recall(["cat", "dog", "cat"], ["cat", "cat", "dog"])


class TestFollowUp:
    CASES = pd.DataFrame(
        {
            "time": np.round(RNG.exponential(5, 80) + 0.1, 2),
            "event": np.tile([0, 1], 40),
            "risk": RNG.random(80).round(3),
        }
    )

    def test_a_time_beside_an_event_is_remarked_on(self):
        sentences = " ".join(trueness.evaluate(self.CASES).sentences)

        assert "If 'time' is the time of follow-up, labels need a horizon" in sentences

    def test_a_shell_finds_time_and_event(self, tmp_path):
        self.CASES.to_csv(tmp_path / "f.csv", index=False)

        found = answer("evaluate", tmp_path / "f.csv", "--horizon", "5")

        named = ("--time", "time", "--event", "event")
        asked = answer("evaluate", tmp_path / "f.csv", "--horizon", "5", *named)
        assert found["result"] == asked["result"]

    @pytest.mark.filterwarnings("ignore::trueness.CleanedWarning")
    def test_events_may_be_words(self):
        words = np.where(self.CASES["event"] == 1, "dead", "alive")

        found = trueness.at_horizon(self.CASES["time"], words, 5)

        numbers = trueness.at_horizon(self.CASES["time"], self.CASES["event"], 5)
        assert found == numbers


def test_repeated_patients_are_remarked_on():
    cases = {"y": [0, 1] * 20, "p": RNG.random(40), "patient": list(range(20)) * 2}

    sentences = " ".join(trueness.evaluate(cases).sentences)

    assert 'cluster="patient"' in sentences


class TestLooks:
    def test_one_judge_beside_few_labels_is_asked_about(self):
        labels = [1, 0, 1] + [None] * 17
        found = trueness.look({"judge": [0, 1] * 10, "human": labels})

        assert [question.command for question in found.questions] == ["judge"]

    def test_winners_and_studies_have_their_commands(self):
        winners = trueness.look({"winner": ["A", "B", "tie"]})
        studies = trueness.look(trueness.samples.path("studies"))

        assert [q.call for q in winners.questions] == ["trueness.head_to_head(frame)"]
        assert [q.command for q in studies.questions] == ["sites"]
