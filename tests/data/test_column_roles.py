"""Label, scores and tests are found where there is no doubt, and only there."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import trueness
from trueness import CleanedWarning, InputError

RNG = np.random.default_rng(8)
CASES = 120
Y = (np.arange(CASES) % 3 == 0).astype(int)
P = np.round(1 / (1 + np.exp(-RNG.normal(Y, 1))), 3)
Q = np.round(1 / (1 + np.exp(-RNG.normal(Y / 2, 1))), 3)
FEATURES = np.column_stack([P, Q])
FRAME = pd.DataFrame(
    {
        "id": np.arange(CASES),
        "site": np.where(np.arange(CASES) % 2, "north", "south"),
        "y": Y,
        "p": P,
        "q": Q,
    }
)


def value_of(finding, score="p"):
    return finding.numbers["scores"][score]["auc"].value


def in_form(frame, form, folder):
    """Return a frame of pandas in another form, or the path of its file."""
    if form == "pandas":
        return frame
    if form == "polars":
        return pl.from_pandas(frame)
    if form == "lazy":
        return pl.from_pandas(frame).lazy()
    if form == "mapping":
        return {name: frame[name].to_numpy() for name in frame}
    path = folder / f"cases.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


@pytest.fixture(params=["pandas", "polars", "lazy", "mapping", "csv", "parquet"])
def data(request, tmp_path):
    """The same cases in every form."""
    return in_form(FRAME, request.param, tmp_path)


class TestFrames:
    def test_label_and_scores_are_found_and_named(self, data):
        finding = trueness.evaluate(data)

        assert value_of(finding) == pytest.approx(trueness.auc(Y, P).value)
        assert "Using label 'y' and scores 'p', 'q'" in " ".join(finding.sentences)

    def test_named_columns_are_not_remarked_on(self):
        finding = trueness.evaluate(FRAME, label="y", score="p")

        assert "Using" not in " ".join(finding.sentences)
        assert value_of(finding) == pytest.approx(trueness.auc(Y, P).value)

    def test_a_label_is_found_beside_a_named_score(self):
        finding = trueness.evaluate(FRAME, score="q")

        assert value_of(finding, "q") == pytest.approx(trueness.auc(Y, Q).value)

    def test_compare_check_report_and_auc_take_frames(self, tmp_path):
        compared = trueness.compare(FRAME)
        checked = trueness.check(FRAME[["y", "p"]], "auc >= 0.5")
        areas = trueness.auc(FRAME)

        assert compared.pairs[0].difference.value == pytest.approx(
            trueness.auc(Y, P).value - trueness.auc(Y, Q).value
        )
        assert checked.verdicts[0].verdict == "holds"
        assert list(areas) == ["p", "q"]
        trueness.report(FRAME, tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert "Using label &#39;y&#39;" in page

    def test_an_error_names_the_function_that_was_called(self):
        with pytest.raises(InputError, match="compare: Which column") as err:
            trueness.compare(FRAME.drop(columns="y"))

        assert err.value.option == "label"
        assert "p" in err.value.choices

    def test_evaluate_says_what_it_can_where_no_column_could_hold_labels(self):
        finding = trueness.evaluate(FRAME.drop(columns="y"))

        assert finding.numbers["scores"]["p"]["auc"] is None
        assert any("cannot be measured" in text for text in finding.sentences)

    def test_numbers_of_cases_are_remarked_on(self):
        counted = FRAME[["y", "p"]].assign(n=2)

        assert 'count="n"' in " ".join(trueness.evaluate(counted).sentences)

    def test_a_shell_finds_the_same(self, tmp_path):
        from shell import answer

        FRAME.to_csv(tmp_path / "cases.csv", index=False)
        found = answer("evaluate", tmp_path / "cases.csv")["result"]["scores"]

        assert list(found) == list(trueness.evaluate(FRAME).numbers["scores"])


LABELS = {
    "by name": {"outcome": Y, "test": Y[::-1], "p": P},
    "the only one of two values": {"virus": Y, "p": P},
    "words": {"result": np.where(Y, "yes", "no"), "p": P},
    "likely name among tests": {"disease": Y, "ct": Y[::-1], "mri": Y},
    "floats": {"virus": Y.astype(float), "p": P},
}


@pytest.mark.parametrize("columns", LABELS.values(), ids=LABELS)
def test_labels_are_found(columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CleanedWarning)
        finding = trueness.evaluate(pd.DataFrame(columns))

    assert f"label '{next(iter(columns))}'" in " ".join(finding.sentences)


DOUBTFUL = {
    "two columns of two values": ({"a": Y, "b": Y[::-1], "p": P}, "label"),
    "no score": ({"y": Y, "site": FRAME["site"]}, "score"),
    "two wide columns": ({"y": Y, "a": 9 * P, "b": 9 * Q}, "score"),
}


@pytest.mark.parametrize(("columns", "option"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_doubt_is_an_error(columns, option):
    with pytest.raises(InputError) as err:
        trueness.evaluate(pd.DataFrame(columns))

    assert err.value.option == option


def test_a_missing_score_is_chosen_from_columns_that_could_be_scores():
    features = {"y": Y, "sex": np.where(Y, "f", "m"), "a": 9 * P, "b": 9 * Q}

    with pytest.raises(InputError, match="Which columns hold the scores") as err:
        trueness.evaluate(pd.DataFrame(features))

    assert list(err.value.choices) == ["a", "b"]
    assert "sex" not in str(err.value)


LONG_FRAME = pd.DataFrame(
    {
        "case": np.tile(FRAME["id"], 2),
        "model": np.repeat(["A", "B"], CASES),
        "y": np.tile(Y, 2),
        "score": np.concatenate([P, Q]),
    }
)


class TestLongTables:
    @pytest.fixture(params=["pandas", "polars", "lazy", "mapping", "csv", "parquet"])
    def long_table(self, request, tmp_path):
        """The same rows, two for each case, in every form."""
        return in_form(LONG_FRAME, request.param, tmp_path)

    def test_stop_where_each_case_would_count_twice(self, long_table):
        with pytest.raises(InputError, match="each case would count 2 times") as err:
            trueness.evaluate(long_table)

        assert err.value.option == "cluster"
        assert 'cluster="case"' in str(err.value)

    @pytest.mark.parametrize("analysis", ["auc", "best_threshold", "calibrate"])
    def test_stop_where_columns_are_named_too(self, analysis):
        function = getattr(trueness, analysis)

        with pytest.raises(InputError, match=f"{analysis}: Column 'case' names"):
            function(LONG_FRAME, label="y", score="score")

    def test_are_answered_for_each_model_where_clusters_are_named(self):
        finding = trueness.evaluate(LONG_FRAME, cluster="case", by="model")

        areas = finding.numbers["groups"]["score"]
        assert areas["A"]["auc"].value == pytest.approx(trueness.auc(Y, P).value)
        assert areas["B"]["auc"].value == pytest.approx(trueness.auc(Y, Q).value)

    def test_cannot_be_compared_by_column(self):
        with pytest.raises(InputError, match="into a column of its own"):
            trueness.compare(LONG_FRAME)

    def test_are_not_seen_where_labels_differ_within_a_case(self):
        labels = LONG_FRAME["y"].to_numpy().copy()
        labels[:CASES:2] = 1 - labels[:CASES:2]

        estimate = trueness.auc(LONG_FRAME.assign(y=labels), score="score")

        assert np.isfinite(estimate.value)

    def test_are_not_seen_where_a_case_comes_twice_for_one_model(self):
        repeated = LONG_FRAME.assign(case=LONG_FRAME["case"] // 2)

        assert np.isfinite(trueness.auc(repeated, score="score").value)


def test_judges_are_found_beside_items_and_a_few_labels(tmp_path):
    from shell import run

    few_labels = [str(v) if k < 30 else "" for k, v in enumerate(Y)]
    path = tmp_path / "judged.csv"
    pd.DataFrame(
        {"item": np.arange(CASES), "gpt": Y, "claude": Y[::-1], "label": few_labels}
    ).to_csv(path, index=False)

    result = run("judge", path, "--label", "label", "--labelled", "random")

    assert result.exit_code == 0, result.stderr
    assert "2 judges" in result.stdout


class TestModels:
    def test_probabilities_of_both_classes(self):
        model = LogisticRegression().fit(FEATURES, Y)

        both = trueness.auc(Y, model.predict_proba(FEATURES))

        assert both.value == trueness.auc(Y, model.predict_proba(FEATURES)[:, 1]).value

    def test_a_model_and_its_data(self):
        model = LogisticRegression().fit(FEATURES, Y)

        finding = trueness.evaluate(model, FEATURES, Y)

        expected = trueness.auc(Y, model.predict_proba(FEATURES)[:, 1]).value
        assert value_of(finding, "the classifier") == expected

    @pytest.mark.filterwarnings("ignore::trueness.CleanedWarning")
    def test_the_positive_class_may_come_first_in_the_alphabet(self):
        words = np.where(Y, "bad", "good")
        model = LogisticRegression().fit(FEATURES, words)
        expected = trueness.auc(Y, model.predict_proba(FEATURES)[:, 0]).value

        assert trueness.auc(model, FEATURES, words).value == expected
        assert trueness.auc(words, model.predict_proba(FEATURES)).value == expected

    def test_a_model_without_probabilities(self):
        model = LinearSVC().fit(FEATURES, Y)

        expected = trueness.auc(Y, model.decision_function(FEATURES)).value
        assert trueness.auc(model, FEATURES, Y).value == expected

    def test_more_than_two_classes_are_an_error(self):
        model = LogisticRegression().fit(FEATURES, np.arange(CASES) % 3)

        with pytest.raises(InputError, match="one_vs_rest"):
            trueness.evaluate(model, FEATURES, np.arange(CASES) % 3)


class TestStatistics:
    def test_a_name_in_quotes_is_the_function(self):
        named = trueness.compare(FRAME, "brier", label="y", scores=["p", "q"])
        function = trueness.compare(FRAME, trueness.brier, label="y", scores=["p", "q"])

        assert named.pairs[0] == function.pairs[0]
        assert trueness.estimate(Y, P, "auc") == trueness.estimate(Y, P, trueness.auc)

    def test_an_unknown_name_is_an_error_with_choices(self):
        with pytest.raises(InputError) as err:
            trueness.compare(FRAME, "quality")

        assert "auc" in err.value.choices

    def test_a_metric_of_scores_needs_a_threshold(self):
        with pytest.raises(InputError, match="compare_metric"):
            trueness.compare(FRAME, "recall")
