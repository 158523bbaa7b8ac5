"""A rule: what it says of scores, on paper, in SQL, in files, in scikit-learn."""

import numpy as np
import pytest

import trueness
from trueness import InputError, Rule, Tally

A = Tally([3, 2, 1], pos=[5, 4, 1], neg=[1, 3, 6])
B = Tally([3, 2, 1], pos=[2, 6, 2], neg=[0, 2, 8])
RULES = [
    Rule(2),
    Rule(np.inf),
    Rule(-np.inf),
    Rule(2.5, lower=1.5),
    Rule(np.inf, lower=2),
    Rule({"a": 2, "b": 1.5}),
    Rule({"a": 3, "b": 2.5}, lower={"a": 1.5, "b": 2.5}),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_rule_saves_itself_and_says_the_same_in_sql(rule, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    rule.save(tmp_path / "rule.json")
    assert Rule.load(tmp_path / "rule.json") == rule
    assert Rule.from_dict(rule.to_dict()) == rule
    rng = np.random.default_rng(1)
    score = rng.integers(0, 5, 60) + rng.choice([0, 0.5], 60)
    group = rng.choice(["a", "b"], 60)
    made = duckdb.connect()
    made.execute('CREATE TABLE t (n INT, score DOUBLE, "group" VARCHAR)')
    rows = [
        [k, float(s), str(g)] for k, (s, g) in enumerate(zip(score, group, strict=True))
    ]
    made.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    query = f"SELECT {rule.to_sql()} FROM t ORDER BY n"  # noqa: S608 - quoted by us
    said = [np.nan if v is None else v for (v,) in made.execute(query).fetchall()]
    np.testing.assert_array_equal(rule.decide(score, group), said)


def test_one_threshold_is_a_rule():
    assert trueness.confusion(A, Rule(2)) == trueness.confusion(A, 2)
    one, two = (trueness.at_threshold(A, x) for x in (2, Rule(2)))
    assert one == two
    assert one.threshold == 2
    point = trueness.best_threshold(A)
    assert trueness.at_threshold(A, point).rule == point.rule


def test_deferred_cases_are_in_no_cell():
    found = trueness.at_threshold(A, Rule(2.5, lower=1.5))
    assert [int(n) for n in found.confusion.cells] == [5, 1, 1, 6]
    assert found["accuracy"].value == pytest.approx(11 / 13)
    assert found["defer"].value == pytest.approx(7 / 20)
    low, high = found["defer"].low, found["defer"].high
    # Wilson's interval of 7 of 20
    assert (low, high) == pytest.approx((0.1812, 0.5671), abs=1e-4)
    zones = trueness.best_thresholds(A, minimize="cost(fp=1, fn=2, defer=0.4)")
    assert trueness.confusion(A, zones) == zones.confusion


def test_groups_are_judged_together():
    groups, rule = {"a": A, "b": B}, Rule({"a": 2.5, "b": 1.5})
    found = trueness.at_threshold(groups, rule)
    assert [int(n) for n in found.confusion.cells] == [13, 3, 7, 17]
    assert found["recall"].value == pytest.approx(13 / 20)
    fair = trueness.group_thresholds(groups, "accuracy", "recall_gap <= 0.1")
    c = trueness.confusion(groups, fair)
    assert float(trueness.accuracy(c)) == pytest.approx(fair.value)
    y, s, site = [1, 0, 1, 0], [3, 1, 2, 2], ["a", "a", "b", "b"]
    c = trueness.confusion(y, s, Rule({"a": 2, "b": 2.5}), by=site)
    assert [int(n) for n in c.cells] == [1, 0, 1, 2]
    # without groups in the rule each group is asked by itself
    assert trueness.confusion(groups, 2).keys() == groups.keys()


def test_weights_and_clusters_stay():
    rng = np.random.default_rng(2)
    y, s = rng.integers(0, 2, 90), rng.normal(size=90)
    t = trueness.tally(
        y, s, weight=rng.exponential(size=90), cluster=np.arange(90) // 3
    )
    judged = Rule(0.5, lower=-0.5).verdicts(t)
    assert judged.clusters.number == 30
    assert judged.n_pos == pytest.approx(t.n_pos)
    one = trueness.at_threshold(t, 0.5)["recall"]
    assert trueness.at_threshold(Rule(0.5).verdicts(t), 1)["recall"] == one


def test_validation_of_group_thresholds_knows_the_gap():
    rng = np.random.default_rng(4)
    groups = {}
    for name, shift in (("a", 1.0), ("b", 1.6)):
        y = rng.random(300) < 0.4
        groups[name] = trueness.tally(y, rng.normal(size=300) + shift * y)
    v = trueness.validate_threshold(
        groups, "accuracy", "recall_gap <= 0.05", replicates=100, rng=1
    )
    assert v.choice.rule.groups == ("a", "b")
    assert v.thresholds.keys() == {"a", "b"}
    assert v.corrected.value < v.value
    gap = v.metrics["recall_gap"]
    assert gap.high > v.choice.gaps["recall_gap"].value
    assert v.holds["recall_gap <= 0.05"] < 0.9


def test_wrong_rules():
    with pytest.raises(InputError, match="must not lie above"):
        Rule(1, lower=2)
    with pytest.raises(InputError, match="upper must be"):
        Rule("high")
    with pytest.raises(InputError, match="upper and a lower threshold for each"):
        Rule({"a": 1}, lower=0)
    with pytest.raises(InputError, match="is for the groups a; found 'b'"):
        Rule({"a": 1}).decide([1], "b")
    with pytest.raises(InputError, match="needs a tally of each"):
        trueness.confusion(A, Rule({"a": 1}))
    with pytest.raises(InputError, match="no file"):
        Rule.load("missing.json")
