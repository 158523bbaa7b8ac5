"""Watches: every kind, late labels, judges, groups, restarts, the command line."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shell
import trueness
from trueness import InputError, Tally
from trueness.plots import watch_history

ROWS = np.array(list(product((0.0, 1.0), repeat=3)))
GOOD = Tally([0.9, 0.1], neg=[20, 180], pos=[88, 12])
BAD = Tally([0.9, 0.1], neg=[20, 180], pos=[55, 45])
RECALL = {"metric": "recall", "threshold": 0.5, "at_least": 0.8}
SITES = {"a": GOOD, "b": BAD}


def cut(tp, fp, fn, tn, unknown=(0, 0)):
    return Tally([1.0, 0.0], neg=[fp, tn], pos=[tp, fn], unknown=list(unknown))


def batch(rng, right, n=200, share=0.5):
    """A score of .9 or .1 that is right with this probability."""
    y = (rng.random(n) < share).astype(int)
    good = rng.random(n) < right
    return trueness.tally(y, np.where(good == (y == 1), 0.9, 0.1), positive=1)


CUT = {"threshold": 0.5, "at_least": 0.8}
KINDS = {
    "recall": (CUT, 0.9, 0.6),
    "precision": (CUT, 0.9, 0.6),
    "f1": (CUT, 0.92, 0.6),
    "fpr": ({"threshold": 0.5, "at_most": 0.3}, 0.9, 0.5),
    "accuracy": (CUT, 0.9, 0.6),
    "auc": ({"at_least": 0.75}, 0.9, 0.6),
    "brier": ({"at_most": 0.2}, 0.9, 0.6),
    "calibration": ({}, 0.9, 0.5),
    "flagged_share": ({"threshold": 0.5, "at_most": 0.6}, 0.9, 0.9),
    "scores": ({"baseline": batch(np.random.default_rng(1), 0.9, 2000)}, 0.9, 0.9),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_quiet_when_all_is_well_and_cries_when_it_is_not(kind):
    rng = np.random.default_rng(7)
    options, well, ill = KINDS[kind]
    w = trueness.watch(kind, **options)
    for day in range(20):
        w.update(batch(rng, well), name=f"day {day}")
    assert not w.alarm
    assert w.since is w.change is None
    share = 0.9 if kind in ("flagged_share", "scores") else 0.5
    for day in range(20, 28):
        w.update(batch(rng, ill, share=share), name=f"day {day}")
    assert w.alarm
    assert w.since in ("day 20", "day 21", "day 22")
    assert w.change.first in ("day 18", "day 19", "day 20")
    assert w.change.likely == "day 20"
    assert w.change.low < w.change.value < w.change.high
    assert f"alarm since {w.since}. The change began" in w.sentence()
    if "at_least" in options:
        assert w.change.high < w.bound
    if "at_most" in options:
        assert w.change.low > w.bound
    drawn = repr(watch_history.figure_data(w))
    assert f"alarm: {w.since}" in drawn
    assert "day 27" in drawn
    assert f"alarm since {w.since}" in w.check().to_markdown()  # also without a bound


def test_an_auc_is_that_of_its_blocks():
    """Eight cases are one block; more are dealt out, and their mean is the AUC."""
    rng = np.random.default_rng(5)
    y = (rng.random(300) < 0.3).astype(int)
    s = (rng.normal(size=300) + 2 * y).round(1)
    one = trueness.watch("auc", at_least=0.5).update(y[:8], s[:8])
    pairs = s[:8][y[:8] == 1][:, None] - s[:8][y[:8] == 0]
    assert one.value == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    w = trueness.watch("auc", at_least=0.6)
    for a, b in zip(y, s, strict=True):  # single cases wait for a block of both classes
        w.update(trueness.tally([a], [b], positive=1))
    assert w.looks == 300
    assert w.value == pytest.approx(trueness.auc(y, s).value, abs=0.05)
    assert w.history[-1]["n"] > 25
    many = Tally([3, 2, 1], neg=[10**9, 10**9, 2 * 10**9], pos=[10**9, 0, 0])
    many = trueness.watch("auc", at_least=0.5).update(many)
    assert many.value == pytest.approx(7 / 8, abs=0.01)


def test_a_batch_may_be_arrays_a_frame_or_a_tally(rng):
    y, s = rng.integers(0, 2, 300), rng.random(300)
    site = np.where(rng.random(300) < 0.5, "north", "south")
    frame = pd.DataFrame({"y": y, "p": s, "site": site})

    def looked(*batch, **columns):
        w = trueness.watch("recall", threshold=0.3, at_least=0.6)
        w.update(*batch, **columns)
        return w.value, w.low, w.high, w.evidence

    expected = looked(trueness.tally(y, s))
    assert looked(y, s) == looked(y.tolist(), s.tolist()) == expected
    assert looked(frame, label="y", score="p") == expected
    groups = trueness.watch("recall", threshold=0.3, at_least=0.6, by="site")
    groups.update(y, s, by=site)
    assert set(groups.groups) == {"north", "south"}
    flagged = trueness.watch("flagged_share", threshold=0.3, at_most=0.9)
    assert flagged.update(s).value == pytest.approx((s >= 0.3).mean())
    votes = {"a": (s > 0.5) * 1, "b": (s > 0.4) * 1}
    judged = trueness.watch("prevalence", judges=["a", "b"], at_least=0.2)
    assert judged.update(y, votes).looks == 1
    for wrong in ((), (y, s, s), (y,)):
        with pytest.raises(InputError, match=r"Type .*y_true, y_score"):
            looked(*wrong)
    with pytest.raises(InputError, match="has no groups"):
        looked({"a": GOOD})
    with pytest.raises(InputError, match="is by 'site'"):
        groups.update(GOOD)


def test_a_baseline_with_its_doubt():
    rng = np.random.default_rng(3)
    w = trueness.watch("recall", threshold=0.5, baseline=batch(rng, 0.9), margin=0.05)
    assert w.bound < 0.85
    for _ in range(10):
        w.update(batch(rng, 0.9))
    assert not w.alarm
    for _ in range(5):
        w.update(batch(rng, 0.6))
    assert w.alarm
    assert w.change.first == "look 11"


def test_a_batch_is_counted_once_and_late_labels_are_welcome():
    w = trueness.watch("recall", threshold=0.5, at_least=0.9)
    first = cut(40, 0, 5, 40, unknown=(10, 5))
    w.update(first, name="monday")
    assert w.update(first, name="monday").looks == 1
    later = cut(45, 2, 8, 41, unknown=(3, 1))
    w.update(later, name="monday")
    assert w.looks == 2
    assert w.value == pytest.approx(45 / 53)
    with pytest.raises(InputError, match="other labels"):
        w.update(cut(1, 1, 1, 1), name="monday")
    with pytest.raises(InputError, match="name of a batch is text"):
        w.update(first, name=5)
    brier = trueness.watch("brier", at_most=0.2)
    with pytest.raises(InputError, match="needs scores from 0 to 1"):
        brier.update([0, 1], [3.0, 4.0], name="monday")
    assert brier.update([0, 1], [0.3, 0.4], name="monday").looks == 1


def test_a_restart_forgets_the_alarm_and_keeps_the_batches():
    w = trueness.watch(**RECALL)
    for day in range(3):
        w.update(BAD, name=f"day {day}")
    assert w.alarm
    assert w.restart() is w
    assert (w.alarm, w.since, w.change, w.evidence) == (False, None, None, 1.0)
    assert w.update(BAD, name="day 2").looks == 3  # counted before
    w.update(GOOD, name="day 3")
    assert w.value == pytest.approx(0.88)
    assert [row["name"] for row in w.history][-1] == "day 3"
    for day in range(4, 7):
        w.update(BAD, name=f"day {day}")
    assert w.alarm
    new, old = np.arange(200, 300).tolist(), Tally(np.arange(300), np.ones(300, int))
    scores = trueness.watch("scores", baseline=old)
    first = scores.update(new).value
    assert scores.restart().update(new).value == pytest.approx(first, abs=0.03)


def said(rng, n, rate):
    """Give truth and verdicts of three judges that mostly err together."""
    y = rng.random(n) < rate
    luck = rng.random((n, 3))
    luck = np.where(rng.random((n, 1)) < 0.6, luck[:, :1], luck)
    return y, np.where(y[:, None], luck < 0.9, luck < 0.4)


def panel(rng, n, labels, rate):
    y, x = said(rng, n, rate)
    code, known = x @ [4, 2, 1], np.arange(n) < labels
    kinds = (known & ~y, known & y, ~known)
    counts = (np.bincount(code[at], minlength=8) for at in kinds)
    return trueness.Panel(["a", "b", "c"], ROWS, *counts)


def hidden(p, known):
    """Give a panel whose first ``known`` cases in each row keep their label."""
    kept = [np.minimum(x, known) for x in (p.neg, p.pos)]
    gone = p.neg + p.pos - kept[0] - kept[1]
    return trueness.Panel(p.names, p.rows, *kept, p.unknown + gone)


def judged(**options):
    return trueness.watch("prevalence", judges=["a", "b", "c"], **options)


def test_verdicts_without_labels_raise_no_alarm_and_say_so():
    w = trueness.watch("prevalence", judges=["a"], at_least=0.9)
    w.update(trueness.panel([np.nan] * 4, {"a": [0.0, 1, 1, 1]}))
    assert "none can come without labels" in w.sentence()


def test_one_judge_and_no_unlabelled_cases_by_hand():
    """With every case labelled u is the label; of both detectors the larger, halved."""
    w = trueness.watch("prevalence", judges=["a"], at_least=0.9)
    w.update(trueness.Panel(["a"], [[1.0]], pos=[0], neg=[1]))
    assert w.value == 0
    eps = np.sqrt(2 * np.log(7300) / 2.0 ** np.arange(9))
    alone = 1 + np.minimum(eps / math.sqrt(0.9 * 0.1), 0.9 / 0.1) * 0.9
    # u lies between -1 and 2, so that its spread is at most that of -1 and 2
    by_judges = 1 + np.minimum(eps / math.sqrt(1.9 * 1.1), 0.9 / 1.1) * 0.9
    largest = max(alone.mean(), by_judges.mean())
    assert w.history[-1]["evidence"] == pytest.approx(largest / 2)


def test_the_mean_of_u_is_the_rate_whatever_the_judges_say(rng):
    w = judged(at_least=0.1)
    for _ in range(300):
        w.update(panel(rng, 40, 4, 0.7))
    assert abs(w.value - 0.7) < 4 * math.sqrt(0.7 * 0.3 / 1200)  # of labels alone
    assert w.low < 0.7 < w.high


def test_a_rate_from_judges_falls_late():
    rng = np.random.default_rng(1)
    w = judged(at_least=0.75)
    for day in range(60):
        w.update(panel(rng, 50, 5, 0.8), name=f"day {day}")
    assert not w.alarm
    for day in range(60, 90):
        w.update(panel(rng, 50, 5, 0.4), name=f"day {day}")
    assert 60 <= int(w.since.split()[1]) < 75
    assert int(w.change.first.split()[1]) <= 60 <= int(w.change.last.split()[1]) + 2


def test_labels_of_judged_cases_that_come_late(rng):
    """As good as in time while their cases wait; then among the labels alone."""
    days = [panel(rng, 40, 8, 0.7) for _ in range(6)]
    late, in_time, some = (judged(at_least=0.5) for _ in range(3))
    for k, day in enumerate(days):
        late.update(hidden(day, 0), name=f"day {k}")
        some.update(hidden(day, 0), name=f"day {k}")
    assert math.isnan(late.value)
    for k, day in enumerate(days):
        late.update(day, name=f"day {k}")
        in_time.update(day, name=f"day {k}")
    assert late.history[-1]["n"] == in_time.history[-1]["n"] == 48
    # other deals of the same cases, which only the seed of a look decides
    assert late.value == pytest.approx(in_time.value, abs=0.05)
    # one label uses up its own batch and those before it, not those that came since
    some.update(hidden(days[3], 1), name="day 3")
    before = some.history[-1]["n"]
    some.update(days[2], name="day 2")  # dealt out: they teach, and count alone
    assert some.history[-1]["n"] == before
    some.update(days[4], name="day 4")  # they still wait
    assert some.history[-1]["n"] == before + 8


def test_judged_streams_on_the_bound_raise_few_alarms():
    """With late labels too; promised is one in 40 looks, so in 10 a quarter of 30."""
    rng = np.random.default_rng(6)
    cried = 0
    for _ in range(30):
        w = judged(at_least=0.6, false_alarms=40)
        for k in range(5):
            day = panel(rng, 20, 4, 0.6)
            w.update(hidden(day, k % 2), name=str(k)).update(day, name=str(k))
        cried += w.alarm
    assert cried <= 13
    nothing = judged(at_least=0.6).update(panel(rng, 9, 0, 0.6))
    assert nothing.evidence == 1.0


def test_groups_share_the_false_alarms():
    """The k-th group has 1 / (k (k + 1)) of them; named ones have equal parts."""
    g = trueness.watch(**RECALL, by="site")
    g.update({"a": GOOD, "b": GOOD, "c": GOOD})
    parts = [7300 / w.alarm_at for w in g.groups.values()]
    assert parts == pytest.approx([1 / 2, 1 / 6, 1 / 12])
    named = trueness.watch(**RECALL, by="site", groups=["a", "b"])
    named.update(SITES, name="monday")
    assert [w.alarm_at for w in named.groups.values()] == [14600, 14600]
    with pytest.raises(InputError, match="begun for the groups a, b"):
        named.update({"c": GOOD})


def test_groups_answer_as_a_gate_and_one_raises_the_alarm_of_all():
    """The same sentence, the same verdicts, the same writers."""
    g, same = (
        trueness.watch("recall >= 0.8 at 0.5 by site"),
        trueness.watch(**RECALL, by="site"),
    )
    alone = trueness.watch(**RECALL, false_alarms=7300 * 6)
    for day in range(9):
        for w, x in ((g, SITES), (same, SITES), (alone, BAD)):
            w.update(x, name=f"day {day}")
    assert g.evidence == same.evidence >= g.alarm_at == 7300
    assert g.since == alone.since == g.groups["b"].since
    assert g.groups["b"].change == alone.change
    assert "1 of 2 groups: b: alarm since" in g.sentence()
    assert repr(g).count("\n") == 2
    assert len(watch_history.figure_data(g).data.parts) == 2
    c = g.check()
    assert {v.group: v.verdict for v in c.verdicts} == {"a": "holds", "b": "fails"}
    assert c.verdict == "fails"
    assert "alarm since day 0" in c.to_markdown()
    assert 'failures="1"' in c.to_junit()
    assert not g.restart().alarm
    assert g.update(SITES, name="day 1").looks == 9
    first = trueness.watch(**RECALL).update(cut(9, 1, 1, 9)).check()
    assert first.verdict == "cannot tell yet"


def run(*words):
    return shell.run("watch", *words)


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    for name, right in (("mon", 0.9), ("tue", 0.5), ("wed", 0.9), ("thu", 0.9)):
        y = rng.integers(0, 2, 300)
        p = np.where((rng.random(300) < right) == (y == 1), 0.9, 0.1)
        pd.DataFrame({"y": y, "p": p}).to_csv(f"{name}.csv", index=False)

    def said(file, *words, code=0):
        done = run("state.json", file, *words)
        assert done.exit_code == code, done.stderr
        return done.stdout

    columns = ("--label", "y", "--score", "p")
    begin = ["--metric", "recall", "--threshold", "0.5", "--at-least", "0.8"]
    begin += ["--false-alarms", "one in 2 years"]
    said("mon.csv", *columns, code=2)
    said("mon.csv", *columns, *begin)
    assert "counted before" in said("mon.csv", *columns)
    said("mon.csv", *columns, *begin, code=2)
    alarm = said("tue.csv", *columns, "--plot", "w.svg", code=4)
    assert "alarm since tue.csv. The change began with tue.csv" in alarm
    assert "alarm: tue.csv" in Path("w.svg").read_text()
    found = json.loads(said("wed.csv", *columns, "--json", code=4))["result"]
    assert found["change"]["likely"] == "tue.csv"
    said("thu.csv", "--restart")  # columns are kept


def test_the_command_line_watches_judges_and_groups(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    for name, n, labels in (("one.csv", 200, 60), ("two.csv", 100, 10)):
        y, x = said(rng, n, 0.7)
        frame = pd.DataFrame(x.astype(float), columns=["a", "b", "c"])
        frame["y"] = np.where(np.arange(n) < labels, y.astype(float), np.nan)
        frame["site"] = np.where(np.arange(n) % 2, "x", "z")
        frame.to_csv(name, index=False)

    def result(*words):
        found = run(*words, "--json")
        assert found.exit_code == 0, found.stderr + found.stdout
        return json.loads(found.stdout)["result"]

    judges = ("--judge", "a", "--judge", "b", "--label", "y")
    begin = ("--metric", "prevalence", "--at-least", "0.3")
    assert result("s.parquet", "one.csv", *judges, *begin)["looks"] == 1
    assert result("s.parquet", "two.csv", "--label", "y")["looks"] == 2
    found = result("g.json", "one.csv", *judges, *begin, "--by", "site")
    assert set(found["groups"]) == {"x", "z"}
    plot = ("--plot", "g.svg")
    assert not result("g.json", "one.csv", "--label", "y", *plot)["counted"]
    assert (tmp_path / "g.svg").stat().st_size > 1000


def test_a_file_under_another_name_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"y": rng.integers(0, 2, 60), "p": rng.random(60)})
    frame["site"] = np.where(rng.random(60) < 0.5, "north", "south")
    frame.to_csv("monday.csv", index=False)
    frame.to_csv("2026-11-16T00:30:00+02:00.csv", index=False)
    frame.head(3).to_csv("few.csv", index=False)
    frame.head(3).to_csv("again.csv", index=False)
    columns = ["--label", "y", "--score", "p"]
    begin = ["--metric", "auc", "--at-least", "0.1"]
    for state, by in (("one.json", []), ("groups.json", ["--by", "site"])):
        assert run(state, "monday.csv", *columns, *begin, *by).exit_code == 0
        for other in ("./monday.csv", "2026-11-16T00:30:00+02:00.csv"):
            done = run(state, other, *columns)
            assert done.exit_code == 2
            assert "exactly the cases of the batch 'monday.csv'" in done.stderr
        assert trueness.load_watch(state).looks == 1
        named = run(state, "./monday.csv", *columns, "--name", "another day")
        assert named.exit_code == 0
        # three cases may well be equal
        few = [run(state, f, *columns).exit_code for f in ("few.csv", "again.csv")]
        assert few == [0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "recal"}, "Did you mean 'recall'"),
        (
            {"metric": "mcc", "threshold": 0.5, "at_least": 0.5},
            "not a proportion of cases",
        ),
        ({"metric": "recall", "at_least": 0.5}, r"needs a .*Type threshold=0\.5"),
        ({"metric": "auc"}, "one of at_least"),
        ({"metric": "auc", "at_least": 0.5, "at_most": 0.9}, "one of at_least"),
        ({"metric": "auc", "at_least": 1.5}, r"must lie in \[0, 1\]"),
        ({"metric": "scores"}, "needs a baseline"),
        ({"metric": "calibration", "at_least": 0.5}, "has no bound"),
        ({"metric": "prevalence", "at_least": 0.5}, "needs judges"),
        ({"metric": "auc", "at_least": 0.5, "judges": ["a"]}, "needs judges"),
        ({"metric": "prevalence", "judges": "ab", "at_least": 0.5}, "list of columns"),
        ({"metric": "scores", "by": "g"}, "baseline of its own"),
    ],
)
def test_what_cannot_be_watched(options, message):
    with pytest.raises(InputError, match=message):
        trueness.watch(**options)
