"""Gates: limits by brute force, truths on the bound by enumeration, every word."""

from collections import Counter
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm, t

import trueness
from trueness import InputError, NotEnoughCases, Tally
from trueness.metrics.grammar import metric
from trueness.monitoring.requirements import requirement


def cut(tp, fp, fn, tn):
    return Tally([1.0, 0.0], neg=[fp, tn], pos=[tp, fn])


@pytest.mark.parametrize(("k", "n"), [(0, 7), (7, 7), (3, 11), (180, 200)])
def test_limits_of_a_share_are_exact(k, n):
    """At level .9, since one side may err in 5 %; SciPy has Clopper and Pearson's."""
    exact = binomtest(k, n).proportion_ci(0.90, "exact")
    v = trueness.check(cut(k, 3, n - k, 9), "recall >= 0.5 at 0.5").verdicts[0]
    if k == n:
        assert v.low == pytest.approx(0.05 ** (1 / n))
    elif k:
        assert (v.low, v.high) == pytest.approx((exact.low, exact.high))
    assert v.cases == n


@pytest.mark.parametrize("n", [20, 60, 200])
@pytest.mark.parametrize("true", [0.1, 0.5, 0.85, 0.9, 0.97])
def test_a_share_exactly_on_its_bound_is_rarely_called(n, true):
    """Sum the probability of every outcome that is called: no simulation."""
    called = {"holds": 0.0, "fails": 0.0, "cannot tell yet": 0.0}
    for k in range(n + 1):
        c = trueness.check(cut(k, 3, n - k, 9), f"recall >= {true} at 0.5")
        called[c.verdict] += binom.pmf(k, n, true)
    assert called["holds"] <= 0.05
    assert called["fails"] <= 0.05


def test_f1_exactly_on_its_bound_by_enumeration():
    """All outcomes of 16 cases from a law of the four counts with a known F1."""
    law = np.array([0.3, 0.1, 0.2, 0.4])
    true = 2 * law[0] / (2 * law[0] + law[1] + law[2])
    said = {"holds": 0.0, "fails": 0.0, "cannot tell yet": 0.0}
    n = 16
    logs = np.cumsum([0.0, *np.log(np.arange(1, n + 1))])
    for tp, fp, fn in product(range(n + 1), repeat=3):
        if tp + fp + fn > n or tp + fp + fn == 0:
            continue
        k = np.array([tp, fp, fn, n - tp - fp - fn])
        chance = np.exp(logs[n] - logs[k].sum() + k @ np.log(law))
        said[trueness.check(cut(*k), f"f1 >= {float(true)!r} at 0.5").verdict] += chance
    assert said["holds"] <= 0.075
    assert said["fails"] <= 0.075
    assert sum(said.values()) > 0.99


@pytest.mark.parametrize("name", ["youden", "mcc", "0.5*recall + 0.5*precision"])
def test_other_metrics_have_limits_near_the_bootstrap(name):
    counts = np.array([150, 60, 50, 740])
    v = trueness.check(cut(*counts), f"{name} >= 0.5 at 0.5").verdicts[0]
    draws = np.random.default_rng(0).multinomial(1000, counts / 1000, 4000).T
    values = metric(name)(trueness.Confusion(*draws))
    assert v.low == pytest.approx(np.quantile(values, 0.05), abs=0.015)
    assert v.high == pytest.approx(np.quantile(values, 0.95), abs=0.015)


def test_auc_and_its_level():
    t = trueness.simulate_tally(400, 100, 0.85, rng=2)
    a = trueness.auc(t, level=0.90)
    held = trueness.check(t, f"auc >= {a.low - 1e-6}")
    failed = trueness.check(t, f"auc >= {a.high + 1e-6}")
    open_ = trueness.check(t, f"auc >= {a.low + 1e-6}")
    assert [c.verdict for c in (held, failed, open_)] == [
        "holds",
        "fails",
        "cannot tell yet",
    ]
    assert open_.verdicts[0].more > 0
    assert "more such cases would be enough to decide" in open_.verdicts[0].reason


def test_holm_is_that_of_the_limits():
    """The most certain claim is tried at alpha / 5, the next at alpha / 4, ..."""
    found = {g: cut(k, 5, 100 - k, 95) for g, k in enumerate((97, 95, 93, 96, 85))}
    c = trueness.check(found, "recall >= 0.88 at 0.5")
    order = sorted(found, key=lambda g: -found[g].pos[0])
    held = set()
    for step, g in enumerate(order):
        level = 1 - 2 * 0.05 / (len(order) - step)
        k = int(found[g].pos[0])
        if binomtest(k, 100).proportion_ci(level, "exact").low <= 0.88:
            break
        held.add(g)
    assert held
    assert {int(v.group) for v in c.verdicts if v.verdict == "holds"} == held


def test_more_cases_do_tell():
    c = trueness.check(cut(93, 5, 7, 95), "recall >= 0.9 at 0.5").verdicts[0]
    times = (c.more + 100) / 100
    grown = cut(round(93 * times), 5, round(7 * times), 95)
    assert trueness.check(grown, "recall >= 0.9 at 0.5").verdict == "holds"


def test_baselines_paired_and_unpaired():
    p = trueness.simulate_panel(
        3000, 1000, {"new": 0.86, "old": 0.85}, correlation=0.8, rng=1
    )
    rule = {"metric": "auc", "not_worse_than": "old", "margin": 0.02}
    paired = trueness.check(p, [rule])
    assert paired.verdict == "holds"
    assert "paired: the same cases" in paired.verdicts[0].reason
    assert paired.verdicts[0].bound == -0.02
    unpaired = trueness.check(
        p["new"], [{**rule, "not_worse_than": "baseline"}], baseline=p["old"]
    )
    wide, narrow = unpaired.verdicts[0], paired.verdicts[0]
    assert wide.high - wide.low > narrow.high - narrow.low
    assert "unpaired" in wide.reason
    recall = {"metric": "recall", "threshold": 0.0, "not_worse_than": "old"}
    assert trueness.check(p, [{**recall, "margin": 0.1}]).verdict == "holds"
    with pytest.raises(InputError, match="needs a baseline"):
        trueness.check(p["new"], [rule])


def test_baselines_by_group():
    """In each group, paired or not; one in which it is worse is named."""
    good, bad = (
        trueness.simulate_panel(2000, 500, aucs, correlation=0.8, rng=k)
        for k, aucs in enumerate(
            ({"new": 0.88, "old": 0.85}, {"new": 0.7, "old": 0.85})
        )
    )
    rule = {"metric": "auc", "not_worse_than": "old", "margin": 0.02, "by": "site"}
    c = trueness.check({"a": good, "b": bad}, [rule])
    assert {v.group: v.verdict for v in c.verdicts} == {
        "site=a": "holds",
        "site=b": "fails",
    }
    tallies, olds = (
        {g: p[n] for g, p in (("a", good), ("b", bad))} for n in ("new", "old")
    )
    apart = {**rule, "not_worse_than": "baseline"}
    found = trueness.check(tallies, [apart], baseline=olds).verdicts
    assert [v.verdict for v in found] == ["holds", "fails"]
    assert "unpaired" in found[0].reason
    with pytest.raises(InputError, match="needs a baseline in site=b"):
        trueness.check(tallies, [apart], baseline={"a": olds["a"]})


def test_a_threshold_may_be_a_saved_rule(tmp_path):
    """One cut, a zone for doubt, or cuts by group; metrics of what is decided."""
    t = Tally([3, 2, 1], pos=[80, 30, 10], neg=[10, 30, 90])
    two = trueness.Rule(3, lower=2)
    two.save(tmp_path / "rule.json")
    v = trueness.check(t, f"accuracy >= 0.8 at {tmp_path}/rule.json").verdicts[0]
    assert (v.value, v.cases) == (170 / 190, 190)
    assert "by the rule (flag from 3 on, defer from 2 on)" in v.requirement
    asked = {"metric": "recall", "at_least": 0.5}
    by_site = {**asked, "by": "site", "threshold": trueness.Rule({"a": 3, "b": 2})}
    found = trueness.check({"a": t, "b": t}, [by_site])
    assert [v.value for v in found.verdicts] == [80 / 120, 110 / 120]
    one = trueness.check(t, [{**asked, "threshold": {"upper": 2}}])
    assert one.verdicts[0].value == 110 / 120
    with pytest.raises(InputError, match="needs groups"):
        trueness.check(t, [{**asked, "threshold": {"upper": {"a": 3}}}])
    p = trueness.simulate_panel(300, 100, {"new": 0.8, "old": 0.8}, rng=0)
    rule = {"metric": "recall", "not_worse_than": "old", "threshold": two}
    with pytest.raises(InputError, match="defers leaves other cases"):
        trueness.check(p, [rule])
    with pytest.raises(InputError, match="threshold must be a finite number"):
        requirement({**asked, "threshold": True})


@pytest.mark.parametrize(
    ("pos", "neg", "gap"), [(10, 190, 2.0), (20, 980, 2.5), (25, 60, 1.0)]
)
def test_areas_on_their_bound_with_few_positives(pos, neg, gap):
    """In at most .06 of samples on either side; 300 of them, four standard errors."""
    rng = np.random.default_rng(3)
    y = np.repeat([1, 0], [pos, neg])
    true = norm.cdf(gap / np.sqrt(2))
    said = Counter(
        trueness.check(
            trueness.tally(y, rng.normal(size=y.size) + gap * y, positive=1),
            f"auc >= {true}",
        ).verdict
        for _ in range(300)
    )
    assert max(said["holds"], said["fails"]) <= 18 + 16


def test_a_perfect_area_is_as_sure_as_a_share_of_the_rarer_class():
    t = Tally([1.0, 0.0], pos=[30, 0], neg=[0, 500])
    v = trueness.check(t, "auc >= 0.9").verdicts[0]
    assert v.low == pytest.approx(0.05 ** (1 / 30))
    assert v.verdict == "holds"


def test_average_precision_allows_for_its_bias(rng):
    """Its limits hold those of the jackknife, by leaving out case after case."""
    y = rng.integers(0, 2, 80)
    s = (rng.normal(size=80) + y).round(1)
    v = trueness.check(trueness.tally(y, s), "average_precision >= 0.5").verdicts[0]
    engine = trueness.average_precision(y, s, level=0.9)
    left = [
        trueness.average_precision(np.delete(y, k), np.delete(s, k)).value
        for k in range(80)
    ]
    value = 80 * engine.value - 79 * np.mean(left)
    n = value * (1 - value) / (79 / 80 * np.sum((left - np.mean(left)) ** 2))
    k = t.ppf(0.95, 79) ** 2 / n
    half = np.sqrt(k * value * (1 - value) + k * k / 4)
    low, high = (value + k / 2 - half) / (1 + k), (value + k / 2 + half) / (1 + k)
    assert v.low == pytest.approx(min(low, engine.low))
    assert v.high == pytest.approx(max(high, engine.high))


def test_lower_is_better_against_a_baseline():
    t = trueness.tally([0, 1] * 200, [0.2, 0.8] * 200)
    bad = trueness.tally([0, 1] * 200, [0.4, 0.6] * 200)
    rule = {"metric": "brier", "not_worse_than": "baseline", "margin": 0.01}
    assert trueness.check(t, [rule], baseline=bad).verdict == "holds"
    assert trueness.check(bad, [rule], baseline=t).verdict == "fails"


def test_gaps_between_groups():
    groups = {"a": cut(900, 50, 100, 950), "b": cut(880, 50, 120, 950)}
    rule = {"metric": "recall", "threshold": 0.5, "by": "site", "gap_at_most": 0.1}
    assert trueness.check(groups, [rule]).verdict == "holds"
    assert trueness.check(groups, [{**rule, "gap_at_most": 0.02}]).verdict == (
        "cannot tell yet"
    )
    far = {**groups, "c": cut(600, 50, 400, 950)}
    c = trueness.check(far, [rule])
    assert c.verdict == "fails"
    assert {v.group for v in c.verdicts if v.verdict == "fails"} == {
        "site=a and site=c",
        "site=b and site=c",
    }


def test_a_prevalence_from_judges():
    aucs = {"A": 0.95, "B": 0.93, "C": 0.94, "D": 0.92, "E": 0.95}
    votes = trueness.simulate_panel(2000, 600, aucs, rng=3).vote(
        dict.fromkeys(aucs, 0.8)
    )
    rule = {"metric": "prevalence", "judges": list(aucs), "labelled": "random"}
    assert trueness.check(votes, [{**rule, "at_least": 0.2}]).verdict == "holds"
    assert trueness.check(votes, [{**rule, "at_least": 0.5}]).verdict == "fails"


def test_judges_that_cannot_tell_decide_nothing():
    """Judges may repeat each other's errors, and no verdict would show it."""
    aucs = {"A": 0.95, "B": 0.93, "C": 0.94}
    votes = trueness.simulate_panel(2000, 600, aucs, rng=3).vote(
        dict.fromkeys(aucs, 0.8)
    )
    found = trueness.check(
        votes, [{"metric": "prevalence", "judges": list(aucs), "at_least": 0.01}]
    )
    assert found.verdict == "cannot tell yet"
    assert "alone do not determine the rate" in found.verdicts[0].reason
    assert found.verdicts[0].more is None


def test_facts_have_no_doubt():
    t = cut(10, 5, 10, 75)
    facts = [
        "positives >= 20",
        "cases >= 101",
        "highest_score <= 1",
        "flagged <= 15 at 0.5",
    ]
    found = trueness.check(t, facts).verdicts
    assert [v.verdict for v in found] == ["holds", "fails", "holds", "holds"]


def test_require_raises_what_a_test_shows():
    t = cut(60, 5, 40, 95)
    c = trueness.check(t, ["recall >= 0.9 at 0.5", "recall >= 0.62 at 0.5"])
    with pytest.raises(AssertionError, match=r"2 of 2 requirements are not met") as err:
        c.require()
    assert "measured 0.6 in 100 positive cases" in str(err.value)
    with pytest.raises(AssertionError, match="1 of 2"):
        c.require(undecided="pass")
    trueness.check(t, "recall >= 0.3 at 0.5").require()


def test_junit_and_markdown_are_safe_and_complete():
    groups = {'<b>"x"|y</b>': cut(60, 5, 40, 95), "ok": cut(99, 5, 1, 95)}
    c = trueness.check(groups, "recall >= 0.9 at 0.5")
    suite = ElementTree.fromstring(c.to_junit()).find("testsuite")  # noqa: S314 - ours
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert suite.find("testcase").get("name").startswith('<b>"x"|y</b>')
    text = c.to_markdown()
    assert "<b>" not in text.partition("```")[0]
    assert "[-" in text
    assert c.to_dict()["verdicts"][0]["verdict"] in ("fails", "holds")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("acu >= 0.8", "Did you mean 'auc'"),
        ("recall >= 0.9", "needs a threshold"),
        ("auc >= 0.8 at 0.3", "does not depend on a threshold"),
        ("recall >= 1.2 at 0.3", "outside that range"),
        ("auc", "a metric, >= or <=, and a number"),
        ("auc >= x", "Cannot read"),
        ({"metric": "auc"}, "needs a bound"),
        ({"metric": "auc", "atleast": 0.8}, "Did you mean 'at_least'"),
        ({"metric": "auc", "min": 0.8}, r"no field 'min'; write at_least = 0.8\."),
        ({"metric": "auc", "at_least": "0.8"}, "at_least must be a finite number"),
        ({"metric": "auc", "at_least": True}, "at_least must be a finite number"),
        ({"at_least": 0.8}, "needs metric"),
        ({"metric": "recall", "gap_at_most": 0.1, "threshold": 0.5}, "needs groups"),
        ({"metric": "auc", "not_worse_than": "b", "margin": -1}, "margin"),
        (3, "a sentence or a table"),
    ],
)
def test_requirements_that_cannot_be_read(asked, message):
    with pytest.raises(InputError, match=message):
        requirement(asked)


def test_what_cannot_be_judged_is_said():
    with pytest.raises(NotEnoughCases, match=r"precision needs .* flagged"):
        trueness.check(cut(0, 0, 5, 5), "precision >= 0.5 at 0.5")
    with pytest.raises(InputError, match="found none"):
        trueness.check(cut(1, 1, 1, 1), [])
    with pytest.raises(InputError, match="needs a tally"):
        trueness.check([1, 2], "auc >= 0.8")
    with pytest.raises(InputError, match="needs groups"):
        trueness.check(cut(1, 1, 1, 1), "recall >= 0.5 at 0.5 by site")
    with pytest.raises(InputError, match="needs probabilities"):
        trueness.check(trueness.tally([0, 1], [3.0, 4.0]), "brier <= 0.2")
