"""Tests of two values, 2x2 tables, and gates by a sentence, as a shell types them."""

import json

import numpy as np
import pandas as pd
import pytest

import trueness
from shell import answer, run

RNG = np.random.default_rng(2)
CASES = 160
SICK = (np.arange(CASES) % 3 == 0).astype(int)
CT = np.where(RNG.random(CASES) < 0.85, SICK, 1 - SICK)
MRI = np.where(RNG.random(CASES) < 0.7, SICK, 1 - SICK)
RISK = np.round(1 / (1 + np.exp(-RNG.normal(2 * SICK - 1, 1))), 3)


@pytest.fixture
def tests_file(tmp_path):
    path = tmp_path / "tests.csv"
    words = np.where(MRI, "POS", "NEG")
    pd.DataFrame({"disease": SICK, "ct": CT, "mri": words}).to_csv(path, index=False)
    return path


@pytest.fixture
def scores_file(tmp_path):
    path = tmp_path / "scores.csv"
    pd.DataFrame({"outcome": SICK, "risk": RISK}).to_csv(path, index=False)
    return path


class TestEvaluate:
    def test_four_counts_need_no_file(self):
        cells = ("--tp", 815, "--fp", 115, "--fn", 208, "--tn", 327)

        found = answer("evaluate", *cells, "--method", "exact")["result"]["tests"]

        measures = found["The test"]
        assert measures["sensitivity"]["low"] == pytest.approx(0.7706868126, abs=1e-9)
        assert measures["lr_negative"]["high"] == pytest.approx(0.3140186277, abs=1e-9)

    def test_a_count_that_is_missing_is_named(self):
        result = run("evaluate", "--tp", 815, "--fp", 115, "--fn", 208)

        assert result.exit_code == 2
        assert "--tn" in result.stderr

    def test_verdicts_in_words_are_tests(self, tests_file):
        found = answer("evaluate", tests_file)["result"]["tests"]

        expected = trueness.sensitivity(SICK, MRI).value
        assert found["mri"]["sensitivity"]["value"] == pytest.approx(expected)

    def test_a_score_can_be_turned_round(self, scores_file):
        usual = answer("evaluate", scores_file)["result"]["scores"]["risk"]
        turned = answer("evaluate", scores_file, "--invert")["result"]["scores"]["risk"]

        total = usual["auc"]["value"] + turned["auc"]["value"]
        assert total == pytest.approx(1.0)

    def test_several_columns_in_one_word_are_told_to_be_repeated(self, tests_file):
        result = run("evaluate", tests_file, "-s", "ct,mri")

        assert "Type --score ct --score mri." in result.stderr


class TestCompare:
    def test_tests_are_compared_by_a_metric(self, tests_file):
        found = answer("compare", tests_file, "--metric", "sensitivity")["result"]

        panel = trueness.panel(SICK, {"ct": CT, "mri": MRI})
        expected = trueness.compare_metric(panel, "recall").pairs[0]
        (pair,) = found["pairs"]["sensitivity"]
        assert pair["p_value"] == pytest.approx(expected.p_value)

    def test_scores_have_no_metric_without_a_threshold(self, tmp_path):
        path = tmp_path / "two.csv"
        pd.DataFrame({"y": SICK, "a": RISK, "b": 1 - RISK}).to_csv(path, index=False)

        result = run("compare", path, "--metric", "sensitivity")

        assert result.exit_code == 2
        assert "needs a threshold" in result.stderr


class TestCheck:
    @pytest.mark.parametrize("order", ["file first", "file last"])
    def test_a_sentence_is_a_gate(self, scores_file, order):
        words = [str(scores_file), "auc >= 0.6"]
        words = words if order == "file first" else words[::-1]

        result = run("check", *words)

        assert result.exit_code == 0, result.stderr
        assert "holds" in result.stdout

    def test_a_gate_that_fails_has_exit_code_4(self, scores_file):
        assert run("check", scores_file, "auc >= 0.999").exit_code == 4

    def test_several_sentences(self, scores_file):
        result = run("check", scores_file, "auc >= 0.6", "brier <= 0.3")

        assert result.stdout.count("holds") >= 2

    def test_a_test_needs_no_threshold(self, tests_file):
        result = run("check", tests_file, "sensitivity >= 0.5", "--score", "ct")

        assert result.exit_code == 0, result.stderr

    def test_contract_and_file_in_the_other_order(self, scores_file, tmp_path):
        contract = tmp_path / "quality.toml"
        contract.write_text(
            'label = "outcome"\nscore = "risk"\n[[require]]\nmetric = "auc"\n'
            "at_least = 0.6\n"
        )

        assert run("check", scores_file, contract).exit_code == 0


def test_a_check_has_passed_and_require():
    checked = trueness.check(SICK, RISK, "auc >= 0.6")
    failed = trueness.check(SICK, RISK, "auc >= 0.999")

    assert checked.passed
    assert not failed.passed
    with pytest.raises(AssertionError, match="requirements are not met"):
        failed.require()


class TestScoresTurnedRound:
    @pytest.fixture
    def turned_file(self, tmp_path):
        path = tmp_path / "turned.csv"
        pd.DataFrame({"outcome": SICK, "safety": 1 - RISK}).to_csv(path, index=False)
        return path

    def test_a_gate_turns_them(self, turned_file):
        found = answer("check", turned_file, "auc >= 0.6", "--invert")["result"]

        (verdict,) = found["verdicts"]
        assert verdict["value"] == pytest.approx(trueness.auc(SICK, RISK).value)
        assert found["exit_code"] == 0
        assert run("check", turned_file, "auc >= 0.6").exit_code == 4

    def test_a_gate_turns_its_baseline_as_well(self, turned_file, tmp_path):
        contract = tmp_path / "quality.toml"
        contract.write_text(
            'label = "outcome"\nscore = "safety"\n'
            '[[require]]\nmetric = "auc"\nnot_worse_than = "baseline"\n'
            "margin = 0.05\n"
        )

        found = run("check", contract, turned_file, "--baseline", turned_file,
                    "--invert", "--json")  # fmt: skip

        (verdict,) = json.loads(found.stdout)["result"]["verdicts"]
        assert verdict["value"] == pytest.approx(0.0)

    def test_a_first_contract_has_no_direction(self, turned_file):
        result = run("check", turned_file, "--init", "--invert")

        assert result.exit_code == 2
        assert "does not go with --init" in result.stderr

    def test_a_watch_remembers_that_it_turns_them(self, turned_file, tmp_path):
        state = tmp_path / "state.json"
        words = ("--metric", "recall", "--threshold", "0.3", "--at-least", "0.5")

        answer("watch", state, turned_file, *words, "--invert")
        second = tmp_path / "second.csv"
        # one score above 1: later batches are turned as the first one was
        safety = np.append(1 - RISK[1:], 1.2)
        frame = pd.DataFrame({"outcome": np.roll(SICK, -1), "safety": safety})
        frame.to_csv(second, index=False)
        answer("watch", state, second)

        watch = trueness.load_watch(state)
        turned = np.concatenate([RISK, 1 - safety])
        sick = np.concatenate([SICK, np.roll(SICK, -1)]) == 1
        assert watch.value == pytest.approx(np.mean(turned[sick] >= 0.3))

    def test_a_watch_does_not_change_its_direction(self, turned_file, tmp_path):
        state = tmp_path / "state.json"
        answer("watch", state, turned_file, "--metric", "auc", "--at-least", "0.1")

        result = run("watch", state, turned_file, "--invert", "--name", "next")

        assert result.exit_code == 2
        assert "Begin a new watch" in result.stderr


class TestCostsOfErrors:
    def test_choose_the_threshold(self, scores_file):
        costs = ("--cost-fp", 1, "--cost-fn", 8)

        found = answer("threshold", scores_file, *costs)["result"]

        best = trueness.best_threshold(SICK, RISK, minimize=trueness.cost(fp=1, fn=8))
        assert found["threshold"] == pytest.approx(best.threshold)

    def test_are_both_needed_and_stand_alone(self, scores_file):
        one = run("threshold", scores_file, "--cost-fp", 1)
        two = run("threshold", scores_file, "--cost-fp", 1, "--cost-fn", 8,
                  "--maximize", "f1")  # fmt: skip

        assert "Type --cost-fp 1 --cost-fn 20" in one.stderr
        assert "Costs are an objective" in two.stderr

    def test_python_names_the_objective(self):
        with pytest.raises(trueness.InputError, match=r'minimize="cost\(fp=1, fn=20'):
            trueness.best_threshold(SICK, RISK, cost={"fp": 1, "fn": 8})


def test_a_rate_without_a_threshold_is_asked_for_in_its_own_words(scores_file):
    assert '"recall >= 0.7 at 0.5"' in run("check", scores_file, "recall >= 0.7").stderr


def test_tests_that_are_compared_by_accuracy_name_both_rates(tests_file):
    frame = pd.read_csv(tests_file)[["disease", "ct"]].assign(other=1 - CT)

    compared = trueness.compare(frame)
    named = trueness.compare(frame, "sensitivity")

    assert 'Type compare(data, "sensitivity")' in compared.notes[-1]
    assert not any("Accuracy mixes" in note for note in named.notes)
