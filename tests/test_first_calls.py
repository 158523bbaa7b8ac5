"""What people type first, coming from scikit-learn, pROC, yardstick or torchmetrics.

Each line is a call that answers, or one that is wrong and is told so in a sentence: an
``InputError`` or ``NotEnoughCases`` of one paragraph that says what to type instead;
never a raw exception, never a warning of NumPy.
"""

import inspect
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

import trueness
from trueness import InputError, NotEnoughCases
from trueness._core.names import WORDS

rng = np.random.default_rng(7)
N = 120
y = (np.arange(N) % 3 == 0).astype(int)
s = np.round(np.clip(rng.normal(0.4 + 0.25 * y, 0.2), 0.01, 0.99), 2)
b = np.round(np.clip(rng.normal(0.45 + 0.1 * y, 0.2), 0.01, 0.99), 2)
hat = (s >= 0.5).astype(int)
words = np.where(y == 1, "red", "blue")
yes = np.where(y == 1, "yes", "no")
kind = np.array(["a", "b", "c"])[np.arange(N) % 3]
P = rng.random((N, 3)) + (kind[:, None] == np.array(["a", "b", "c"]))
P = P / P.sum(axis=1, keepdims=True)
two = np.column_stack([1 - s, s])
site = np.array(["n", "s"])[(np.arange(N) // 3) % 2]
patient = np.arange(N) // 2
df = pd.DataFrame({"y": y, "p": s, "q": b, "site": site, "truth": words})
df["w"], df["patient"] = 1.0 + np.arange(N) % 2, patient
pf = pl.from_pandas(df)
t = trueness.tally(y, s)
both = trueness.panel(y, {"a": s, "b": b})
bayes = GaussianNB()
wide = trueness.panel(y, {"a": 9 * s, "b": b})
e = trueness.auc(t)
gap = np.where(np.arange(N) == 5, np.nan, s)
part = np.where(np.arange(N) < 60, 0.0, np.where(np.arange(N) % 7 == 0, np.nan, y))
try:
    import torch

    ty, ts = torch.tensor(y), torch.tensor(s)
except ImportError:  # the lowest versions come without it
    torch = None
    ty, ts = y, s

# every analysis of a tally takes arrays, lists, frames, tensors
GIVEN = {
    "arrays": (y, s),
    "lists": (y.tolist(), s.tolist()),
    "tuples": (tuple(y), tuple(s)),
    "Series": (df["y"], df["p"]),
    "Polars": (pf["y"], pf["p"]),
    "booleans": (y == 1, s),
    "minus one": (2 * y - 1, s),
    "floats": (y.astype(float), s.astype(np.float32)),
    "tensors": (ty, ts),
    "some unlabelled": (part, s),
    "a tally": (t,),
}
ALONE = ("auc", "average_precision", "brier", "log_loss", "roc", "reliability")
ASKED = {
    **{name: getattr(trueness, name) for name in ALONE},
    "best_threshold": partial(trueness.best_threshold, maximize="f1"),
    "at_threshold": partial(trueness.at_threshold, threshold=0.5),
    "f1": partial(trueness.f1, threshold=0.5),
}
# what is right
RIGHT = """
trueness.calibrate(y, s, "isotonic")
trueness.partial_auc(t, 0.1)
trueness.at_threshold(y, s, 0.5, "recall")
trueness.auc(y, two[:, 1])
trueness.auc(y, two)
trueness.compare(both)
trueness.compare(both, "brier")
trueness.evaluate(df[["y", "p"]])
trueness.evaluate({"y": y, "p": s})
trueness.evaluate(bayes.fit(two, y), two, y)
trueness.auc(df[["y", "p"]])
trueness.look(df)
trueness.auc(y_true=y, y_score=s)
trueness.auc(df, label="y", score="p")
trueness.auc(pf, label="y", score="p")
trueness.auc(pf.lazy(), label="y", score="p")
trueness.auc(words, s, positive="red")
trueness.auc(words, s, pos_label="red")
trueness.auc(yes, s, positive="yes")
trueness.auc(y, s, level=0.9)
trueness.auc(df, label="y", score="p", by="site")
trueness.auc(y, s, by=site)
trueness.auc(y, {"a": s, "b": b})
trueness.auc(t, level=0.99)
trueness.partial_auc(y, s, fpr=(0, 0.2))
trueness.partial_auc(y, s, max_fpr=0.1)
trueness.precision(y, hat)
trueness.recall(y, hat)
trueness.accuracy(y, hat)
trueness.f1(y, hat)
trueness.specificity(y, hat)
trueness.mcc(y, hat)
trueness.kappa(y, hat)
trueness.sensitivity(y, hat)
trueness.ppv(y, hat)
trueness.npv(y, hat)
trueness.balanced_accuracy(y, hat)
trueness.jaccard(y, hat)
trueness.precision(ty, ts, threshold=0.5)
trueness.precision(y.tolist(), hat.tolist())
trueness.precision(words, hat, positive="red")
trueness.precision(df["y"], (df["p"] > 0.5).astype(int))
trueness.precision(pf["y"], (pf["p"] > 0.5))
trueness.f_beta(2)(y, s, threshold=0.5)
trueness.confusion(y, s, 0.5)
trueness.confusion(y, hat, 1)
trueness.confusion(t, threshold=0.5)
trueness.at_threshold(y, s, [0.3, 0.5])
trueness.at_threshold(t, 0.5)["sensitivity"]
trueness.at_threshold(t, 0.5).to_frame()
trueness.at_threshold(t, 0.5).to_frame("polars")
trueness.at_threshold(y, {"a": s, "b": b}, threshold=0.5)
trueness.at_threshold(df, label="y", score="p", by="site", threshold=0.5)
trueness.auc(df, label="y", score="p", weight="w", cluster="patient")
trueness.auc(y, s, cluster=patient, by=site)
trueness.auc(y, s, sample_weight=df["w"])
trueness.average_precision(y, s, prevalence=0.01)
trueness.precision(y, hat, sampling="case-control", prevalence=0.01)
trueness.recall(part, s, threshold=0.5, unlabelled="missing at random")
trueness.compare_auc(y, {"a": s, "b": b}, cluster=patient)
trueness.best_threshold(y, s)
trueness.best_threshold(y, s, "youden").metrics["recall"]
trueness.best_threshold(y, s, maximize="recall", subject_to="precision >= 0.5")
trueness.best_threshold(y, s, minimize="cost(fp=1, fn=5)")
trueness.best_threshold(y, s, minimize=trueness.cost(fp=5, fn=100, tp=-80))
trueness.best_threshold(y, s, maximize="80*tp - 5*fp")
trueness.best_threshold(y, s, maximize="f1", prevalences=(0.01, 0.05))
trueness.best_threshold(y, s, maximize="ppv")
trueness.best_threshold(y, s, maximize="f2", subject_to="recall >= 90%")
trueness.f2(y, hat)
trueness.best_thresholds(y, s, minimize="cost(fp=1, fn=10, defer=0.3)")
trueness.validate_threshold(y, s, "f1", replicates=20)
trueness.guaranteed_threshold(y, s, "recall >= 0.5")
trueness.group_thresholds(trueness.tally(y, s, by=site), subject_to="recall_gap <= 0.2")
trueness.compare_auc(y, {"a": s, "b": b})
trueness.compare_auc(y, np.column_stack([s, b]))
trueness.compare_auc(y, [s, b])
trueness.compare_auc(df, label="y", scores=["p", "q"])
trueness.compare_auc(y, df[["p", "q"]])
trueness.compare_auc(t, trueness.tally(y, b))
trueness.f1_score(y, hat)
trueness.group_thresholds(y, s, by=site)
trueness.panel(y, np.column_stack([s, b]))
trueness.calibrate(y, s)
trueness.calibrate(y, s, method="platt")
trueness.calibration_error(y, s)
trueness.precision_recall(y, s)
trueness.roc(y, s).to_frame()
trueness.roc(y, s).to_frame("polars")
trueness.tally(y, s)
trueness.tally(df, label="y", score="p")
trueness.tally(y, s, by=site)
trueness.panel(y, {"a": s, "b": b})
trueness.panel(y, df[["p", "q"]])
trueness.plots.roc(y, s)
trueness.plots.reliability(y, s)
trueness.plots.score_distributions(y, s)
trueness.multiclass_auc(kind, P)
trueness.multiclass_auc(kind, P, average="macro")
trueness.multiclass_cost(kind, P, [[0, 1, 1], [1, 0, 1], [5, 5, 0]])
trueness.auc(trueness.one_vs_rest(kind, P))
trueness.one_vs_rest(kind, {"a": P[:, 0], "b": P[:, 1], "c": P[:, 2]})
trueness.auc(kind == "a", P[:, 0])
trueness.auc(y, -s).value
f"{e:.3f}"
round(e, 2)
e > 0.5
1 - e.value
float(e)
str(e)
e.to_dict()
e.to_frame()
np.mean([e, e])
max(e, 0.3)
trueness.lift(y, s, threshold=0.5)
trueness.fpr(y, hat)
trueness.youden(y, s, threshold=0.5)
trueness.auc(pd.Series(words, dtype="category"), s, positive="red")
trueness.auc(pd.array(y, dtype="Int64"), s)
trueness.auc(y, s.astype("float16"))
trueness.auc(y, (100 * s).astype(int))
trueness.auc(np.asfortranarray(y), s[::-1][::-1])
""".strip().splitlines()
# what is wrong, and a word of the sentence that teaches
WRONG = [
    ("trueness.auc(s, y)", "swapped"),
    ("trueness.auc(y, s[:-1])", "long|length|rows"),
    ("trueness.auc(y, gap)", "NaN|finite|missing"),
    ("trueness.auc(words, s)", "positive="),
    ("trueness.auc(y + 1, s)", "positive="),
    ("trueness.auc(kind, s)", "one_vs_rest"),
    ("trueness.auc(kind, P)", "one_vs_rest"),
    ("trueness.auc(words, s, positive='rad')", "red"),
    ("trueness.auc(y)", "score"),
    ("trueness.auc([], [])", "at least one|positive"),
    ("trueness.auc(np.ones(5), np.arange(5))", "negative"),
    ("trueness.auc(df)", "label"),
    ("trueness.auc(df, label='Y', score='p')", "'y'"),
    ("trueness.auc(df, label='y', score='prob')", '"p"'),
    ("trueness.auc(df, 'y', 'p')", "Choose label from"),
    ("trueness.auc(y, s, level=95)", "level"),
    ("trueness.auc(y, s, method='bayes')", "method"),
    ("trueness.auc(y, words)", "number"),
    ("trueness.auc(y, s, multi_class='ovr')", "multi_class"),
    ("trueness.auc(y, s, average='macro')", "average"),
    ("trueness.auc(y, s, max_fpr=0.1)", "max_fpr"),
    ("trueness.precision(y, s)", "threshold"),
    ("trueness.f1(t)", "threshold"),
    ("trueness.recall(y, hat, zero_division=0)", "zero_division"),
    ("trueness.recall(kind, kind)", "0 and 1|number|two values"),
    ("trueness.confusion(y, hat)", "threshold"),
    ("trueness.at_threshold(y, s)", "threshold"),
    ("trueness.at_threshold(y, s, 'half')", "threshold"),
    ("trueness.best_threshold(y, s, maximize='f11')", "f1"),
    ("trueness.best_threshold(y, s, maximize='roc_auc')", "metric"),
    ("trueness.best_threshold(y, s, metric='f1')", "metric"),
    ("trueness.best_threshold(y, s, subject_to='recall > 2')", "recall"),
    ("trueness.best_threshold(y, s, subject_to='recall')", "recall"),
    ("trueness.best_threshold(y, s, maximize='f1', minimize='fpr')", "not both"),
    ("trueness.best_threshold(y, s, prevalence=5)", "prevalence"),
    ("trueness.best_threshold(y, s, prevalence=(0.01, 0.05))", "prevalences="),
    ("trueness.guaranteed_threshold(y, s, 'recall >= 0.5', cluster=site)", "clusters"),
    ("trueness.precision(y, hat, sampling='case-control')", "prevalence="),
    ("trueness.auc(y, s, clusters=site)", "cluster"),
    ("trueness.auc(y, s, unlabelled='ignore')", "missing at random"),
    ("trueness.best_thresholds(y, s)", "objective"),
    ("trueness.group_thresholds(t)", "mapping"),
    ("trueness.guaranteed_threshold(y, s, 'recall >= 1')", "0 or 1|between"),
    ("trueness.guaranteed_threshold(y, s, 'mcc >= 0.1')", "mean|share"),
    ("trueness.compare_auc(y, s)", "two|several|classifiers"),
    ("trueness.auc(y[:, None], s[:, None])", "y_true\\[:, 0\\]"),
    ("trueness.calibrate(y, s, method='sigmoidal')", "method"),
    ("trueness.brier(y, 100 * s)", "0 (and|to) 1|probabilit"),
    ("trueness.tally(y, s, weights=df['w'])", "weight"),
    ("trueness.panel(y, s)", "panel|scores|classifiers"),
    ("trueness.multiclass_auc(kind, s)", "column"),
    ("trueness.multiclass_auc(kind, P[:, :2])", "class"),
    ("trueness.multiclass_cost(kind, P)", "costs must say"),
    ("trueness.multiclass_cost(kind, P, {'a': {'x': 1}})", "found also 'x'"),
    ("trueness.plots.roc(y)", "score"),
    ("trueness.report(y, s)", "path"),
    ("trueness.reports(t)", "Type trueness.report"),
    ("trueness.plan_auc(0.8, 0.05)", "auc=0.8, half_width=0.05"),
    ("trueness.plan_auc_difference(0.85, 0.8)", "first=0.85, second=0.8"),
    ("trueness.partial_auc(y, s, fpr=(0, 0.1), max_fpr=0.1)", "mean the same"),
    ("trueness.partial_auc(y, s, max_fpr=10)", "max_fpr=0.1"),
    ("trueness.best_threshold(y, s, subject_to='flagged <= 5%')", "flagged_rate"),
    ("trueness.compare_auc(y, two.tolist())", "long|length|rows"),
    ("trueness.evalute(y, s)", "Did you mean 'evaluate'"),
    ("trueness.roc_auc_score(y, s)", "Type trueness.auc"),
    ("trueness.roc_curve(y, s)", "Type trueness.roc"),
    ("trueness.confusion_matrix(y, hat)", "Type trueness.confusion"),
    ("trueness.average_precision_score(y, s)", "Type trueness.average_precision"),
    ("trueness.brier_score_loss(y, s)", "Type trueness.brier"),
    ("trueness.accuracy_score(y, hat)", "Type trueness.accuracy"),
    ("trueness.precision_score(y, hat)", "Type trueness.precision"),
    ("trueness.ci_auc(y, s)", "Type trueness.auc"),
    ("trueness.roc_auc(df, 'y', 'p')", "Type trueness.auc"),
    ("trueness.best_treshold(y, s)", "best_threshold"),
    ("trueness.delong_test(y, s)", "Type trueness.compare_auc"),
    ("trueness.BinaryAUROC()(ts, ty)", "Type trueness.auc"),
    ("trueness.tally(df, 'y', 'p')", 'label="y", score="p"'),
    ("trueness.tally(df, 'y')", 'Choose score from "y"'),
    ("trueness.tally(df, label='y', scores='p')", "Did you mean 'score'"),
    ("trueness.tally('two.csv', label='y', score='p')", "scan\\('two.csv'\\)"),
    ("trueness.auc('two.csv', label='y', score='p')", "no file two.csv"),
    ("trueness.tally(y, s, groups=site)", "Did you mean 'cluster' or 'by'"),
    ("trueness.panel(df, label='y', score=['p', 'q'])", "Did you mean 'scores'"),
    ("trueness.watch('auc', min=0.8)", "Did you mean 'at_least'"),
    ("trueness.plan_auc(auc=0.8, width=0.05)", "Did you mean 'half_width'"),
    ("trueness.net_benefit(t, 0.2)", "net_benefit\\(odds=0.25\\)\\(data"),
    ("trueness.cost(1, 5)", "cost\\(fp=1, fn=5\\)"),
    ("trueness.cross_validate(None, two, y, scoring='auc')", "Did you mean 'metrics'"),
    ("trueness.cross_validate(None, two, y, groups=site)", "Did you mean 'cluster'"),
    ("trueness.threshold(t)", "Type trueness.best_threshold"),
    ("trueness.calibrate(y, s, method='logistic')", "Did you mean 'platt'"),
    ("trueness.compare(both, 'brilliance')", "Measures without a threshold are"),
    ("trueness.check(t)", "auc >= 0.8"),
    ("trueness.read_csv('two.csv')", "trueness.scan"),
    ("trueness.combine(both)", "fidel.* or .*compare_combiners"),
    ("trueness.compare_metric(both, 'auc')", "at one threshold"),
    ("trueness.auc(t, conf=0.9)", "Did you mean 'level'"),
    ("trueness.auc(t, random_state=1)", "Did you mean 'rng'"),
    ("trueness.best_threshold(t, constraints='recall >= 0.9')", "'subject_to'"),
    ("trueness.simulate_tally(100)", "n_pos"),
    ("trueness.compare(wide, statistic=trueness.brier)", "scores from 0 to 1"),
    ("trueness.estimate(y, 9 * s, statistic=trueness.log_loss)", "scores from 0 to 1"),
    ("trueness.estimate(y * 0, s, statistic=trueness.auc)", "0 positives"),
    ("trueness.estimate(e, statistic=trueness.auc)", "needs a tally"),
    ("trueness.evaluate({'a': 1})", "needs a tally"),
    ("trueness.Rule(0.5).decide(['x'])", "score must be numbers"),
    ("trueness.best_thresholds(t, minimize='cost(fp=1e300, fn=1)')", "at most 1e100"),
    ("trueness.decision_curve(t, threshold=[])", "found none"),
    ("trueness.roc_band(t, points=1e300)", "points must be"),
    ("trueness.check(t, 'auc >= 0.5', groups='site')", "groups must be a mapping"),
    (
        "trueness.exact_threshold(df, label='y', score='p', tolerance=-1)",
        "zero or more",
    ),
    ("trueness.multiclass_auc(kind, P, classes=P)", "classes must be names"),
    ("trueness.simulate_panel(9, 4, {})", "one AUC per classifier"),
    ("trueness.sql('cases', dialect='duckdb', score=None)", "must name a column"),
    (
        "trueness.estimators.ThresholdClassifier(bayes).fit(two, y, sample_weight=[1])",
        "sample_weight has 1",
    ),
    ("trueness.cross_validate(bayes, two, y, cluster=[1])", "cluster has 1"),
    ("trueness.cross_validate(bayes, two, y, metrics=3)", "metrics must be names"),
]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("given", GIVEN)
def test_every_form_of_data_gives_the_same_answer(asked, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ASKED[asked](*GIVEN[given])
        # scores of fewer digits, or fewer labels, are other data
        other = given in ("floats", "some unlabelled")
        expected = ASKED[asked](trueness.tally(*GIVEN[given]) if other else t)

    assert result == expected


def ask(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return eval(call, globals())  # noqa: S307 - the calls of this file


@pytest.mark.parametrize("call", RIGHT)
def test_a_first_call_answers(call):
    assert repr(ask(call))


@pytest.mark.parametrize(("call", "teaches"), WRONG, ids=[c for c, _ in WRONG])
def test_a_wrong_call_is_taught(call, teaches):
    kinds = (InputError, NotEnoughCases, AttributeError)

    with pytest.raises(kinds, match=teaches) as result:
        ask(call)
    text = str(result.value)

    assert len(text) < 500
    assert "object has no attribute" not in text


def test_a_count_at_a_threshold_is_a_plain_number():
    true_positives = int(np.sum(y * hat))
    false_positives = int(hat.sum()) - true_positives
    false_negatives = int(y.sum()) - true_positives
    true_negatives = N - true_positives - false_positives - false_negatives

    counted = trueness.confusion(y, s, 0.5)

    assert counted.cells == (
        true_positives,
        false_positives,
        false_negatives,
        true_negatives,
    )

    one_of_many = trueness.sweep(t)[3]
    typed = trueness.Confusion(np.int64(1), 2, 3, 4)
    for table in (counted, one_of_many, typed):
        assert [type(count) for count in table.cells] == [int] * 4


def test_weighted_counts_at_a_threshold_are_decimals():
    weighted = trueness.confusion(y, s, 0.5, weight=df["w"] / 3)

    assert type(weighted.tp) is float


def test_a_metric_without_cases_is_not_a_number():
    none = trueness.confusion(y, s, 2)

    assert none.tp == none.fp == 0

    own = trueness.records.Metric("hits", lambda c: c.tp / (c.tp + c.fp))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan([trueness.precision(none), own(none), (own + own)(none)]).all()
        empty = trueness.Confusion(0, 0, 0, 4)
        assert np.isnan(empty.at_prevalence(0.5).tp)


def test_words_of_others_mean_what_ours_do():
    part = trueness.partial_auc(y, s, fpr=(0, 0.1), corrected=True)

    assert trueness.partial_auc(y, s, max_fpr=0.1, corrected=True) == part

    coarse = trueness.tally(y, s, at_most=20)
    part = trueness.partial_auc(coarse, fpr=(0, 0.1))

    assert trueness.partial_auc(coarse, max_fpr=0.1) == part

    table = trueness.compare_auc(y, np.column_stack([s, b]))
    for several in ([s, b], (df["p"], pf["q"]), [s.tolist(), b.tolist()]):
        assert trueness.compare_auc(y, several) == table

    assert trueness.panel(y, [s, b]) == trueness.panel(y, np.column_stack([s, b]))

    at = trueness.best_threshold(y, s, maximize="f_beta(2)", subject_to="recall >= 0.9")
    point = trueness.best_threshold(y, s, maximize="f2", subject_to="recall >= 90 %")

    assert point == at

    for share in ("99.9", "0.7", "57", "12.5"):
        bound = trueness.constraint(f"recall >= {share}%").bound
        assert bound == float(f"{share}e-2")
    counts = trueness.constraint("tp >= 90% * positives")
    c = trueness.sweep(t)

    assert (counts(c) == (c.tp >= 0.9 * y.sum())).all()


def test_help_says_each_shared_word_once():
    for name in trueness.__all__:
        analysis = getattr(trueness, name)
        if not hasattr(analysis, "takes"):
            continue
        lines = inspect.getdoc(analysis).splitlines()
        named = [word for line in lines for word in line.split(", ")]
        for word in inspect.signature(analysis).parameters.keys() & WORDS.keys():
            assert named.count(word) == 1, (name, word)


@pytest.mark.parametrize(
    "data",
    [(y, s), (pd.DataFrame({"y": y, "s": s}),), (trueness.tally(y, s),)],
    ids=["arrays", "frame", "counts"],
)
def test_a_requirement_may_come_first(data):
    expected = trueness.check(*data, "auc >= 0.6")

    swapped = trueness.check("auc >= 0.6", *data)

    assert swapped.passed == expected.passed
    assert repr(swapped) == repr(expected)


def test_verdicts_without_labels_name_what_answers():
    frame = pd.DataFrame({"first": hat, "second": (b >= 0.5).astype(int)})
    with pytest.raises(InputError, match="use latent_class or agreement"):
        trueness.evaluate(frame)


def test_a_report_says_which_columns_it_took_and_names_the_score(tmp_path):
    path = tmp_path / "report.html"

    trueness.report(pd.DataFrame({"y": y, "risk": s}), path)

    page = path.read_text(encoding="utf-8")

    assert "Using label &#39;y&#39; and score &#39;risk&#39;" in page
    assert "AUC of risk" in page
