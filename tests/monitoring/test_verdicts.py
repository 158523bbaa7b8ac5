"""Gates: limits by brute force, truths on the bound by enumeration, every word."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest, norm

import trueness
from shell import answer, run
from trueness import Attempts, InputError, NotEnoughCases, Tally
from trueness.monitoring.requirements import requirement

OLD = {"metric": "auc", "not_worse_than": "old", "margin": 0.02}


def cut(tp, fp, fn, tn):
    return Tally([1.0, 0.0], neg=[fp, tn], pos=[tp, fn])


def words(data, result, **options):
    """Give the verdict on each requirement."""
    return [v.verdict for v in trueness.check(data, result, **options).verdicts]


@pytest.mark.parametrize(("k", "n"), [(0, 7), (7, 7), (3, 11), (180, 200)])
def test_limits_of_a_share_are_those_of_wilson(k, n):
    """At level .9, since one side may err in 5 %; SciPy has Wilson's interval."""
    wilson = binomtest(k, n).proportion_ci(0.90, "wilson")

    v = trueness.check(cut(k, 3, n - k, 9), "recall >= 0.5 at 0.5").verdicts[0]

    assert (v.low, v.high) == pytest.approx((wilson.low, wilson.high), abs=1e-9)
    assert v.cases == n


@pytest.mark.parametrize("n", [60, 200])
@pytest.mark.parametrize("true", [0.1, 0.5, 0.85, 0.9])
def test_a_share_exactly_on_its_bound_is_rarely_called(n, true):
    """Sum the probability of every outcome that is called: no simulation."""
    called = Counter()
    for k in range(n + 1):
        [word] = words(cut(k, 3, n - k, 9), f"recall >= {true} at 0.5")
        called[word] += binom.pmf(k, n, true)
    # Cai (2005): one side of Wilson's interval may err in 8 %
    assert max(called["holds"], called["fails"]) <= 0.08


LABELS = np.repeat([1, 0], [25, 275])
SCORED = np.random.default_rng(8).normal(size=300) + 1.5 * LABELS
ESTIMATES = {
    "auc": trueness.auc,
    "partial_auc": lambda t, **options: trueness.partial_auc(
        t, fpr=(0, 0.1), corrected=True, **options
    ),
    "average_precision": trueness.average_precision,
}
SAMPLING_DESIGNS = {
    "a cohort": {},
    "another prevalence": {"prevalence": 0.08},
    "case-control": {"sampling": "case-control", "prevalence": 0.08},
    "clusters": {"cluster": np.arange(300) % 60},
    "weights": {"weight": np.linspace(0.5, 2, 300)},
}


@pytest.mark.parametrize("design", SAMPLING_DESIGNS)
@pytest.mark.parametrize("measure", ESTIMATES)
def test_a_gate_is_the_interval_of_the_estimate(measure, design):
    tally = trueness.tally(LABELS, SCORED, **SAMPLING_DESIGNS[design])
    estimate = ESTIMATES[measure](tally, level=0.9)

    [verdict] = trueness.check(tally, f"{measure} >= 0.5").verdicts

    assert (verdict.low, verdict.high) == (estimate.low, estimate.high)


@pytest.mark.parametrize("metric", ["recall", "precision", "f1", "youden"])
def test_a_gate_on_a_metric_is_the_interval_of_the_estimate(metric):
    tally = trueness.tally(LABELS, SCORED)
    estimate = trueness.at_threshold(tally, 1.0, metrics=[metric], level=0.9)[metric]

    [verdict] = trueness.check(tally, f"{metric} >= 0.5 at 1.0").verdicts

    assert (verdict.low, verdict.high) == (estimate.low, estimate.high)


def test_a_good_classifier_with_ten_positives_is_proven():
    """An AUC of .95 is above .75, in most samples of 10 + 190 cases."""
    rng = np.random.default_rng(5)
    y = np.repeat([1, 0], [10, 190])
    separation = norm.ppf(0.95) * np.sqrt(2)

    verdicts = [
        trueness.check(
            trueness.tally(y, rng.normal(size=200) + separation * y), "auc >= 0.75"
        ).verdict
        for _ in range(200)
    ]

    assert verdicts.count("holds") > 160


@pytest.mark.parametrize(
    "sentence",
    ["auc >= 0.8", "average_precision >= 0.4", "brier <= 0.2", "recall >= 0.8 at 0.41"],
)
def test_a_gate_on_bins_is_not_surer_than_their_bounds(rng, sentence):
    y = (rng.random(3000) < 0.3).astype(int)
    s = 1 / (1 + np.exp(-rng.normal(size=3000) - 1.5 * y + 1))
    tally = trueness.tally(y, s).bin(20)
    name = sentence.split()[0]
    options = {"threshold": 0.41} if name == "recall" else {}
    certain = trueness.bounds(name, tally, **options)

    [of_bins] = trueness.check(tally, sentence).verdicts
    [of_rows] = trueness.check(trueness.tally(y, s), sentence).verdicts

    assert certain.low < certain.high
    assert of_bins.low <= of_rows.low
    assert of_bins.high >= of_rows.high


def all_outcomes(cases, law):
    """Walk through the counts of tp, fp, fn and tn, with their probabilities."""
    log_factorial = np.cumsum([0.0, *np.log(np.arange(1, cases + 1))])
    for tp, fp, fn in product(range(cases + 1), repeat=3):
        tn = cases - tp - fp - fn
        if tn >= 0:
            counts = np.array([tp, fp, fn, tn])
            coefficient = log_factorial[cases] - log_factorial[counts].sum()
            yield counts, np.exp(coefficient + counts @ np.log(law))


def test_f1_exactly_on_its_bound_by_enumeration():
    """All outcomes of 16 cases from a law of the four counts with a known F1."""
    law = np.array([0.3, 0.1, 0.2, 0.4])
    true_f1 = float(2 * law[0] / (2 * law[0] + law[1] + law[2]))

    probability = Counter()
    for counts, chance in all_outcomes(16, law):
        if counts[:3].any():  # without a positive or a flag there is no F1
            check = trueness.check(cut(*counts), f"f1 >= {true_f1!r} at 0.5")
            probability[check.verdict] += chance

    assert max(probability["holds"], probability["fails"]) <= 0.075
    assert sum(probability.values()) > 0.99


def proven_by_holm(true_positives, bound):
    """Which of these recalls of 100 positives are proven, by Holm's steps?

    The most certain claim is tried at alpha / 5, the next at alpha / 4, ...
    """
    proven = set()
    remaining = sorted(true_positives, reverse=True)
    while remaining:
        level = 1 - 2 * 0.05 / len(remaining)
        interval = binomtest(remaining[0], 100).proportion_ci(level, "wilson")
        if interval.low <= bound:
            break
        proven.add(remaining.pop(0))
    return proven


def test_holm_is_that_of_the_limits():
    true_positives = (97, 95, 93, 96, 85)
    groups = {k: cut(k, 5, 100 - k, 95) for k in true_positives}

    check = trueness.check(groups, "recall >= 0.88 at 0.5")

    expected = proven_by_holm(true_positives, 0.88)
    assert expected
    held = {int(v.group) for v in check.verdicts if v.verdict == "holds"}
    assert held == expected


def test_more_cases_do_tell():
    [verdict] = trueness.check(cut(93, 5, 7, 95), "recall >= 0.9 at 0.5").verdicts
    times = (verdict.cases_needed + 100) / 100

    grown = cut(round(93 * times), 5, round(7 * times), 95)

    assert trueness.check(grown, "recall >= 0.9 at 0.5").verdict == "holds"


BASELINE = {**OLD, "not_worse_than": "baseline"}


@pytest.fixture(scope="module")
def new_and_old():
    """Return a panel of two classifiers that are about as good, and err together."""
    return trueness.simulate_panel(
        3000, 1000, {"new": 0.86, "old": 0.85}, correlation=0.8, rng=1
    )


def test_a_baseline_on_the_same_cases_is_paired(new_and_old):
    [verdict] = trueness.check(new_and_old, [OLD]).verdicts

    assert verdict.verdict == "holds"
    assert verdict.bound == -0.02
    assert "paired: the same cases" in verdict.reason


def test_a_baseline_on_other_cases_is_unpaired_and_less_certain(new_and_old):
    [paired] = trueness.check(new_and_old, [OLD]).verdicts

    [unpaired] = trueness.check(
        new_and_old["new"], [BASELINE], baseline=new_and_old["old"]
    ).verdicts

    assert unpaired.high - unpaired.low > paired.high - paired.low
    assert "unpaired" in unpaired.reason


def test_a_metric_at_a_threshold_is_compared_with_a_baseline(new_and_old):
    recall = {**OLD, "metric": "recall", "threshold": 0.0, "margin": 0.1}

    assert words(new_and_old, [recall]) == ["holds"]


def test_a_baseline_that_is_not_there_is_missed(new_and_old):
    with pytest.raises(InputError, match="needs a baseline"):
        trueness.check(new_and_old["new"], [OLD])


def test_a_lower_brier_score_is_better_than_the_baseline():
    brier = {**BASELINE, "metric": "brier"}
    good = trueness.tally([0, 1] * 200, [0.2, 0.8] * 200)
    bad = trueness.tally([0, 1] * 200, [0.4, 0.6] * 200)

    assert words(good, [brier], baseline=bad) == ["holds"]
    assert words(bad, [brier], baseline=good) == ["fails"]


def test_eight_cases_prove_no_equality():
    label = [1, 1, 1, 0, 0, 0, 0, 0]
    same = trueness.panel(label, {"new": label, "old": label})

    assert words(same, [{**OLD, "margin": 0.1}]) == ["cannot tell yet"]


@pytest.fixture(scope="module")
def two_sites():
    """Return panels of two sites; in the second the new classifier is worse."""
    better = {"new": 0.88, "old": 0.85}
    worse = {"new": 0.7, "old": 0.85}
    return {
        "a": trueness.simulate_panel(2000, 500, better, correlation=0.8, rng=0),
        "b": trueness.simulate_panel(2000, 500, worse, correlation=0.8, rng=1),
    }


def test_paired_baselines_by_group(two_sites):
    check = trueness.check(two_sites, [{**OLD, "by": "site"}])

    verdicts = {v.group: v.verdict for v in check.verdicts}
    assert verdicts == {"site=a": "holds", "site=b": "fails"}


def test_unpaired_baselines_by_group(two_sites):
    candidates = {site: panel["new"] for site, panel in two_sites.items()}
    baselines = {site: panel["old"] for site, panel in two_sites.items()}
    by_site = {**BASELINE, "by": "site"}

    first, second = trueness.check(candidates, [by_site], baseline=baselines).verdicts

    assert first.verdict == "holds"
    assert second.verdict == "fails"
    assert "unpaired" in first.reason


def test_a_group_without_a_baseline_is_named(two_sites):
    candidates = {site: panel["new"] for site, panel in two_sites.items()}
    of_first_only = {"a": two_sites["a"]["old"]}

    with pytest.raises(InputError, match="needs a baseline in site=b"):
        trueness.check(candidates, [{**BASELINE, "by": "site"}], baseline=of_first_only)


THREE_SCORES = Tally([3, 2, 1], pos=[80, 30, 10], neg=[10, 30, 90])
RECALL = {"metric": "recall", "at_least": 0.5}


def test_a_threshold_may_be_a_saved_rule_with_a_zone_for_doubt(tmp_path):
    trueness.Rule(3, lower=2).save(tmp_path / "rule.json")

    [verdict] = trueness.check(
        THREE_SCORES, f"accuracy >= 0.8 at {tmp_path}/rule.json"
    ).verdicts

    # of the 190 cases that the rule decides
    assert verdict.value == 170 / 190
    assert verdict.cases == 190
    assert "by the rule (flag at 3 or more, defer at 2 or more)" in verdict.requirement


def test_a_threshold_may_be_a_rule_by_group():
    rule = trueness.Rule({"a": 3, "b": 2})
    by_site = {**RECALL, "by": "site", "threshold": rule}

    check = trueness.check({"a": THREE_SCORES, "b": THREE_SCORES}, [by_site])

    assert [v.value for v in check.verdicts] == [80 / 120, 110 / 120]


def test_a_threshold_may_be_the_fields_of_a_rule():
    [verdict] = trueness.check(
        THREE_SCORES, [{**RECALL, "threshold": {"upper": 2}}]
    ).verdicts

    assert verdict.value == 110 / 120


def test_a_rule_by_group_needs_groups():
    with pytest.raises(InputError, match="needs groups"):
        trueness.check(THREE_SCORES, [{**RECALL, "threshold": {"upper": {"a": 3}}}])


def test_a_rule_that_defers_does_not_compare_classifiers(new_and_old):
    required = {
        "metric": "recall",
        "not_worse_than": "old",
        "threshold": trueness.Rule(3, lower=2),
    }

    with pytest.raises(InputError, match="rule that defers cases"):
        trueness.check(new_and_old, [required])


def test_true_is_no_threshold():
    with pytest.raises(InputError, match="threshold must be a finite number"):
        requirement({**RECALL, "threshold": True})


@pytest.mark.parametrize(
    ("pos", "neg", "gap"), [(10, 190, 2.0), (20, 980, 2.5), (25, 60, 1.0)]
)
def test_areas_on_their_bound_with_few_positives(pos, neg, gap):
    """In at most .06 of samples on either side; 300 of them, four standard errors."""
    rng = np.random.default_rng(3)
    y = np.repeat([1, 0], [pos, neg])
    true_auc = norm.cdf(gap / np.sqrt(2))

    verdicts = Counter()
    for _ in range(300):
        score = rng.normal(size=y.size) + gap * y
        check = trueness.check(
            trueness.tally(y, score, positive=1), f"auc >= {true_auc}"
        )
        verdicts[check.verdict] += 1

    assert max(verdicts["holds"], verdicts["fails"]) <= 18 + 16


GAP = {"metric": "recall", "threshold": 0.5, "by": "site", "gap_at_most": 0.1}
SIMILAR = {"a": cut(900, 50, 100, 950), "b": cut(880, 50, 120, 950)}


def test_a_small_gap_between_groups_holds():
    assert words(SIMILAR, [GAP]) == ["holds"]
    assert words(SIMILAR, [{**GAP, "gap_at_most": 0.02}]) == ["cannot tell yet"]


def test_pairs_of_groups_with_a_large_gap_are_named():
    check = trueness.check({**SIMILAR, "c": cut(600, 50, 400, 950)}, [GAP])

    failed = {v.group for v in check.verdicts if v.verdict == "fails"}
    assert check.verdict == "fails"
    assert failed == {"site=a and site=c", "site=b and site=c"}


@pytest.mark.parametrize(
    "sentence",
    [
        "positives >= 20",
        "highest_score <= 1",
        "lowest_score >= 0",
        "flagged <= 15 at 0.5",
    ],
)
def test_facts_have_no_doubt(sentence):
    assert words(cut(10, 5, 10, 75), sentence) == ["holds"]


def test_too_few_cases_are_no_failure():
    """More of them may still come."""
    assert words(cut(10, 5, 10, 75), "cases >= 101") == ["cannot tell yet"]


def test_flagged_cases_are_the_sum_of_their_weights():
    """Weights of 0.4, 0.4 and 2.9 were once cut to whole numbers, one by one."""
    tally = trueness.tally(
        [1, 0, 0, 1], [0.9, 0.8, 0.7, 0.1], weight=[0.4, 0.4, 2.9, 5]
    )
    flagged = {"metric": "flagged", "threshold": 0.5}

    enough, too_many = trueness.check(
        tally, [{**flagged, "at_least": 3.6}, {**flagged, "at_most": 3.69}]
    ).verdicts

    assert enough.verdict == "holds"
    assert too_many.verdict == "fails"
    assert enough.value == pytest.approx(0.4 + 0.4 + 2.9)


def test_a_calibration_error_is_the_debiased_one():
    tally = Tally([0.9, 0.1], neg=[5, 45], pos=[45, 5])
    debiased = trueness.calibration_error(tally, level=0.9).debiased

    [verdict] = trueness.check(tally, ["calibration_error <= 0.4"]).verdicts

    assert verdict.verdict == "holds"
    assert (verdict.value, verdict.high) == (debiased.value, debiased.high)


@pytest.fixture
def failed_and_open():
    """Return a check of which one requirement fails, and one is open."""
    return trueness.check(
        cut(60, 5, 40, 95), ["recall >= 0.9 at 0.5", "recall >= 0.62 at 0.5"]
    )


def test_require_raises_what_a_test_shows(failed_and_open):
    with pytest.raises(AssertionError, match=r"2 of 2 requirements are not met") as err:
        failed_and_open.require()

    assert "measured 0.6 in 100 positive cases" in str(err.value)


def test_require_may_let_pass_what_is_open(failed_and_open):
    with pytest.raises(AssertionError, match="1 of 2"):
        failed_and_open.require(undecided="pass")


def test_require_is_silent_where_all_holds():
    trueness.check(cut(60, 5, 40, 95), "recall >= 0.3 at 0.5").require()


@pytest.fixture
def group_with_marks():
    """Return a check of two groups, one with marks of HTML and Markdown in its name."""
    groups = {'<b>"x"|y</b>': cut(60, 5, 40, 95), "ok": cut(99, 5, 1, 95)}
    return trueness.check(groups, "recall >= 0.9 at 0.5")


def test_junit_is_safe_and_complete(group_with_marks):
    xml = ElementTree.fromstring(group_with_marks.to_junit())  # noqa: S314 - ours

    suite = xml.find("testsuite")
    assert suite.get("tests") == "2"
    assert suite.get("failures") == "1"
    assert suite.find("testcase").get("name").startswith('<b>"x"|y</b>')


def test_markdown_is_safe_and_complete(group_with_marks):
    text = group_with_marks.to_markdown()

    assert "<b>" not in text.partition("```")[0]
    assert "[-" in text


def test_a_check_as_a_dictionary_has_its_verdicts(group_with_marks):
    verdicts = group_with_marks.to_dict()["verdicts"]

    assert [verdict["verdict"] for verdict in verdicts] == ["fails", "holds"]


RATE = {"metric": "prevalence", "judges": ["a", "b", "c"], "labelled": "random"}


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("acu >= 0.8", "Did you mean 'auc'"),
        ("recall >= 90 at 0.3", "Write 0.9 for 90 %"),
        ("recall >= 0.9", "needs a threshold"),
        ("auc >= 0.8 at 0.3", "does not depend on a threshold"),
        ("recall >= 1.2 at 0.3", "outside that range"),
        ("auc", "a metric, >= or <=, and a number"),
        ("positives > 10", r"Write >= and a number"),
        ("auc >= x", "Cannot read"),
        ("auc => 0.8", r"did you mean >=\?"),
        ({"metric": "auc"}, "needs a bound"),
        ({"metric": "auc", "atleast": 0.8}, "Did you mean 'at_least'"),
        ({"metric": "auc", "min": 0.8}, r"no field 'min'; write at_least = 0.8\."),
        ({"metric": "auc", "at_least": "0.8"}, "at_least must be a finite number"),
        ({"metric": "auc", "at_least": True}, "at_least must be a finite number"),
        ({"at_least": 0.8}, "needs metric"),
        ({"metric": "recall", "gap_at_most": 0.1, "threshold": 0.5}, "needs groups"),
        ({"metric": "auc", "not_worse_than": "b", "margin": -1}, "margin"),
        ({**RATE, "metric": "auc", "at_least": 0.5}, "judges are for prevalence"),
        ({**RATE, "by": "site", "at_least": 0.5}, "leave out by"),
        ({**RATE, "judges": [], "at_least": 0.5}, "labelled goes with judges"),
        (3, "or a table of fields"),
    ],
)
def test_requirements_that_cannot_be_read(result, message):
    with pytest.raises(InputError, match=message):
        requirement(result)


def test_what_cannot_be_judged_is_said():
    t = cut(1, 1, 1, 1)
    a = Attempts(["a", "b"], [1, 0], [1, 1])
    for data, sentence, message in (
        (t, [], "found none"),
        ([1, 2], "auc >= 0.8", "needs a tally"),
        (t, "recall >= 0.5 at 0.5 by site", "needs groups"),
        (
            trueness.tally([0, 1], [3.0, 4.0]),
            "brier <= 0.2",
            "needs scores from 0 to 1",
        ),
        (a, "auc >= 0.8", "pass_rate, pass_at_k"),
        (t, "pass_rate >= 0.8", "needs attempts at items"),
        (a, "pass_hat_k >= 0.8", "pass_hat_k"),
    ):
        with pytest.raises(InputError, match=message):
            trueness.check(data, sentence)
    with pytest.raises(InputError, match="must be above"):
        trueness.check(t, "auc >= 0.5", level=0.5)
    with pytest.raises(NotEnoughCases, match=r"precision needs .* flagged"):
        trueness.check(cut(0, 0, 5, 5), "precision >= 0.5 at 0.5")


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(2)
    n = 800
    good = rng.random(n) < 0.8
    luck = rng.random((n, 3))
    luck = np.where(rng.random((n, 1)) < 0.6, luck[:, :1], luck)  # they err together
    said = np.where(good[:, None], luck < 0.95, luck < 0.6).astype(int)
    human = np.where(np.arange(n) < 150, good.astype(float), np.nan)
    return pd.DataFrame({"a": said[:, 0], "b": said[:, 1], "c": said[:, 2], "y": human})


def test_a_rate_from_judges_with_labels(judged):
    p = trueness.panel(judged, label="y", scores=["a", "b", "c"])
    r = trueness.prevalence(p, labelled="random")
    high, low = np.quantile(r.draws, [0.95, 0.05])
    ends = {"holds": low - 0.01, "cannot tell yet": r.value, "fails": high + 0.01}

    for word, bound in ends.items():
        [found] = trueness.check(p, [{**RATE, "at_least": bound}]).verdicts
        assert found.verdict == word
    assert "from 3 judges, 150 labels" in found.reason

    # the raw share, which is too high, would pass a bound that the truth does not meet
    raw = float(np.mean(judged[["a", "b", "c"]].to_numpy()))
    assert trueness.check(p, [{**RATE, "at_least": raw}]).verdict != "holds"

    # judges may repeat each other's errors, and no verdict would show it
    rule = {"metric": "prevalence", "judges": ["a", "b", "c"], "at_least": 0.01}
    [alone] = trueness.check(p, [rule]).verdicts
    assert (alone.verdict, alone.cases_needed) == ("cannot tell yet", None)
    assert "alone do not determine the rate" in alone.reason


def test_the_same_in_a_contract(judged, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged.to_csv("judged.csv", index=False)

    rule = (
        'label = "y"\n[[require]]\nmetric = "prevalence"\njudges = ["a", "b", "c"]\n'
        'labelled = "{}"\nat_least = 0.5\n'
    )

    for chosen, code in (("random", 0), ("somehow", 2)):
        Path("q.toml").write_text(rule.format(chosen))
        completed = run("check", "q.toml", "judged.csv")
        assert completed.exit_code == code, completed.stdout + completed.stderr
    assert "(line 5)" in completed.stderr
    assert '"by verdict"' in completed.stderr


@pytest.fixture(scope="module")
def images():
    """Images of a patient share most of their score; some weigh more."""
    rng = np.random.default_rng(5)
    y = np.repeat(rng.random(60) < 0.5, 8)
    own = np.repeat(rng.normal(size=60), 8)
    d = pd.DataFrame({"y": y.astype(int), "who": np.repeat(np.arange(60), 8)})
    for name, lift in (("s", 1.4), ("old", 1.2)):
        d[name] = 1 / (
            1 + np.exp(-(lift * y + 0.9 * own + 0.45 * rng.normal(size=480)))
        )
    d["w"] = np.where(rng.random(480) < 0.5, 0.5, 3.0)
    d["site"] = np.where(d["who"] % 2, "x", "y")
    return d


DESIGNS = {
    "counted": {},
    "weighted": {"weight": "w"},
    "clustered": {"cluster": "who"},
    "both": {"weight": "w", "cluster": "who"},
    "case-control": {"cluster": "who", "sampling": "case-control", "prevalence": 0.1},
}
ASKED = [
    {"metric": "auc", "at_least": 0.5},
    {"metric": "brier", "at_most": 0.9},
    {"metric": "precision", "threshold": 0.7, "at_least": 0.01},
    {"metric": "auc", "not_worse_than": "old", "margin": 0.1},
    {"metric": "recall", "threshold": 0.7, "not_worse_than": "old", "margin": 0.1},
]


def estimates_of_analyses(panel):
    """Return what each of ``ASKED`` is about, by the analyses themselves."""
    new = panel["s"]
    precision = trueness.at_threshold(new, 0.7, metrics=["precision"], level=0.9)
    recalls = trueness.compare_metric(panel, "recall", thresholds=0.7, level=0.9)
    return [
        trueness.auc(new, level=0.9),
        trueness.brier(new, level=0.9),
        precision["precision"],
        trueness.compare_auc(panel, level=0.9).pairs[0].difference,
        recalls.pairs[0].difference,
    ]


@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_are_those_of_the_analyses(design, images):
    options = DESIGNS[design]
    panel = trueness.panel(images, label="y", scores=["s", "old"], **options)

    verdicts = trueness.check(panel, ASKED, adjust="none").verdicts

    for verdict, estimate in zip(verdicts, estimates_of_analyses(panel), strict=True):
        assert verdict.value == pytest.approx(estimate.value)
        # of counts, the interval of a precision is Clopper and Pearson's
        is_exact = design == "counted" and verdict is verdicts[2]
        if not is_exact:
            interval = (estimate.low, estimate.high)
            assert (verdict.low, verdict.high) == pytest.approx(interval)


def test_a_verdict_counts_clusters(images):
    panel = trueness.panel(images, label="y", scores=["s", "old"], cluster="who")

    check = trueness.check(panel, ASKED, adjust="none")

    assert check.verdicts[0].cases == 60
    assert check.notes[0].startswith("Clusters are assumed to be independent")


def test_a_verdict_counts_the_effective_cases_of_weights(images):
    panel = trueness.panel(images, label="y", scores=["s", "old"], weight="w")

    check = trueness.check(panel, ASKED, adjust="none")

    kish = round(images.w.sum() ** 2 / (images.w**2).sum())
    assert check.verdicts[0].cases == kish


def as_toml(settings, requirements):
    """Write the file of a check."""
    lines = [f"{word} = {json.dumps(value)}" for word, value in settings.items()]
    for result in requirements:
        lines.append("[[require]]")
        lines += [f"{word} = {json.dumps(value)}" for word, value in result.items()]
    return "\n".join(lines)


@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_in_files_are_those_of_python(design, images, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = DESIGNS[design]
    settings = {"label": "y", "score": "s", "adjust": "none", **options}
    images.to_parquet("p.parquet")
    Path("q.toml").write_text(as_toml(settings, ASKED))

    rows = answer("check", "q.toml", "p.parquet")["result"]["verdicts"]

    panel = trueness.panel(images, label="y", scores=["s", "old"], **options)
    expected = trueness.check(panel, ASKED, adjust="none").verdicts
    for row, verdict in zip(rows, expected, strict=True):
        interval = (verdict.low, verdict.high)
        assert (row["low"], row["high"]) == pytest.approx(interval)


def test_clusters_widen_the_limits_of_a_prevalence(images):
    t = trueness.tally(images, label="y", score="s", cluster="who")
    [b] = trueness.check(t, "prevalence >= 0.1").verdicts

    [a] = trueness.check(t.without_clusters(), "prevalence >= 0.1").verdicts

    assert a.value == pytest.approx(b.value)
    assert b.high - b.low > 1.5 * (a.high - a.low)


@pytest.mark.parametrize(
    ("head", "metric", "message"),
    [
        ("", "precision", "depends on the prevalence"),
        ("prevalence = 2\n", "precision", "must be a proportion of positives"),
        ("", "prevalence", "do not estimate the prevalence"),
    ],
)
def test_a_contract_says_how_the_cases_came(
    head, metric, message, images, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    images.to_parquet("p.parquet")
    cut = "threshold = 0.5\n" if metric == "precision" else ""
    Path("q.toml").write_text(
        f'{head}label = "y"\nscore = "s"\nsampling = "case-control"\n'
        f'[[require]]\nmetric = "{metric}"\nat_least = 0.01\n{cut}'
    )

    refused = run("check", "q.toml", "p.parquet")

    assert refused.exit_code == 2
    assert message in refused.stderr


def test_a_margin_that_is_just_lost_is_rarely_called_held():
    """AUC .93 against .95 and a margin of .02, 40 positives among 400 cases."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(300):
        y = rng.random(400) < 0.1
        s = np.sqrt(0.8) * rng.normal(size=400)
        s = s + np.sqrt(0.2) * rng.normal(size=(2, 400))
        p = trueness.panel(
            y.astype(int), {"new": s[0] + 2.087 * y, "old": s[1] + 2.326 * y}
        )
        held += words(p, [OLD]) == ["holds"]
    assert held <= 30  # 22 of a size of .075, standard deviation 4.5


def made(passed, tried=1):
    n = len(passed)
    return Attempts([f"q{k:04}" for k in range(n)], passed, [tried] * n)


def test_rates_and_k_of_n_attempts():
    result = [f"pass_rate >= {bound}" for bound in (0.8, 0.97, 0.88)]
    check = words(made([1] * 90 + [0] * 10), result)
    assert check == ["holds", "fails", "cannot tell yet"]

    a = made([5] * 80 + [2] * 20, tried=5)
    check = trueness.check(
        a, ["pass_hat_k(k=3) >= 0.6", "pass_at_k(2) >= 0.99"], adjust="none"
    )
    one, two = check.verdicts
    assert one.value == trueness.pass_hat_k(a, 3).value
    assert one.low == trueness.pass_hat_k(a, 3, level=0.9).low
    assert two.value == trueness.pass_at_k(a, 2).value
    assert one.verdict == "holds"


def test_not_worse_than_a_baseline_is_paired_by_item():
    rng = np.random.default_rng(0)
    easy = rng.beta(2, 2, 400)
    old = rng.binomial(3, easy)
    new = rng.binomial(3, np.clip(easy + 0.02, 0, 1))
    result = {"metric": "pass_rate", "not_worse_than": "baseline", "margin": 0.05}
    check = trueness.check(made(new, 3), result, baseline=made(old, 3))

    assert check.verdict == "holds"
    assert not any("unpaired" in note for note in check.notes)

    fallen = made(rng.binomial(3, np.clip(easy - 0.2, 0, 1)), 3)
    assert trueness.check(fallen, result, baseline=made(old, 3)).verdict == "fails"


def test_the_gate_stops_a_fall(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for name, share in (("old", 0.9), ("new", 0.6)):
        passed = np.where(rng.random(150) < share, "C", "I")
        samples = [
            {"id": k, "epoch": 1, "scores": {"match": {"value": value}},
             "metadata": {"topic": "ab"[k % 2]}}
            for k, value in enumerate(passed.tolist())
        ]  # fmt: skip
        held = {"eval": {"model": name, "task": "t"}, "status": "success", "plan": {}}
        Path(f"{name}.json").write_text(json.dumps(held | {"samples": samples}))
    rate = '[[require]]\nmetric = "pass_rate"\n'
    baseline = f'{rate}not_worse_than = "baseline"\nmargin = 0.05\n'
    by = f'{rate}at_least = 0.3\nby = "metadata.topic"\n'
    Path("evals.toml").write_text(f"{rate}at_least = 0.5\n{baseline}{by}")
    fallen = run("check", "evals.toml", "new.json", "--baseline", "old.json")

    assert fallen.exit_code == 4, fallen.output
    assert "pass_rate not worse than baseline" in fallen.stdout
    assert "metadata.topic=a" in fallen.stdout

    same = run("check", "evals.toml", "old.json", "--baseline", "old.json", "--json")
    assert json.loads(same.stdout)["cases"]["n"] == 150
    assert same.exit_code in (0, 5)


def test_numbers_of_numpy_and_names_in_turn_are_taken():
    fpr = (np.float64(0), np.float64(0.2))
    result = requirement({"metric": "partial_auc", "at_least": 0.1, "fpr": fpr})
    assert result.fpr == (0.0, 0.2)
    assert requirement("recall >= 80.1% at 0.3").at_least == 0.801
    assert requirement({"metric": "auc", "at_least": "80%"}).at_least == 0.8

    named = trueness.watch("auc", at_least=0.3, by="g", groups=(g for g in "ab"))
    assert named.content["about"]["named"] == ["a", "b"]


@pytest.mark.parametrize(
    ("requirement", "verdict"),
    [
        ("recall >= 0.5 at 0.5", "holds"),
        ("recall >= 0.99 at 0.5", "fails"),
        ("recall >= 0.9 at 0.5", "cannot tell yet"),
    ],
)
def test_only_what_holds_is_true(requirement, verdict):
    check = trueness.check(cut(tp=90, fp=5, fn=10, tn=95), requirement)

    assert check.verdict == verdict
    assert bool(check) is (verdict == "holds")
    assert bool(check.verdicts[0]) is (verdict == "holds")


@pytest.mark.parametrize("fact", ["cases", "labelled", "positives", "negatives"])
def test_too_few_cases_cannot_tell_yet(fact):
    small = cut(tp=9, fp=1, fn=1, tn=9)

    check = trueness.check(small, f"{fact} >= 410")

    assert check.verdict == "cannot tell yet"
    assert check.verdicts[0].cases_needed == 410 - (10 if "tives" in fact else 20)


def test_a_smaller_batch_of_the_same_model_does_not_fail_its_first_contract(tmp_path):
    draw = np.random.default_rng(5)
    label = draw.integers(0, 2, 1000)
    score = np.round(draw.normal(label, 1.0), 3)
    for name, size in (("first", 1000), ("next", 120)):
        rows = {"y": label[:size], "p": score[:size]}
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    contract = tmp_path / "quality.toml"
    words = ("--label", "y", "--score", "p", "-o", contract)
    assert run("check", "--init", tmp_path / "first.csv", *words).exit_code == 0

    result = run("check", contract, tmp_path / "next.csv")

    assert result.exit_code == 5, result.stdout
    assert "No requirement fails" in result.stdout
