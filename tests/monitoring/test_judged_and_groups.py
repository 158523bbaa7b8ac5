"""Watches on rates from judges, on groups, and their state as Parquet."""

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli._app import app
from trueness.monitoring.judged import add_judged, add_late, rate_evidence

ROWS = np.array(list(product((0.0, 1.0), repeat=3)))


def said(rng, n, rate):
    """Give truth and verdicts of three judges that mostly err together."""
    y = rng.random(n) < rate
    luck = rng.random((n, 3))
    luck = np.where(rng.random((n, 1)) < 0.6, luck[:, :1], luck)
    return y, np.where(y[:, None], luck < 0.9, luck < 0.4)


def verdicts(rng, n, labels, rate):
    y, x = said(rng, n, rate)
    frame = pd.DataFrame(x.astype(float), columns=["a", "b", "c"])
    frame["y"] = np.where(np.arange(n) < labels, y.astype(float), np.nan)
    return frame


def panel(rng, n, labels, rate):
    """Count the same without a frame, which is faster."""
    y, x = said(rng, n, rate)
    code, known = x @ [4, 2, 1], np.arange(n) < labels
    neg, pos, unknown = (
        np.bincount(code[at], minlength=8) for at in (known & ~y, known & y, ~known)
    )
    return trueness.Panel(["a", "b", "c"], ROWS, neg, pos, unknown)


def begun(**options):
    return trueness.watch("prevalence", judges=["a", "b", "c"], **options)


def test_by_hand_one_judge_no_unlabelled_cases():
    """With every case labelled u is the label, and the watch is one on labels."""
    w = trueness.watch("prevalence", judges=["a"], at_least=0.9)
    p = trueness.Panel(["a"], [[1.0], [0.0]], pos=[6, 1], neg=[1, 2])
    w.update(p)
    assert w.value == pytest.approx(7 / 10)
    assert w._state["squares"] == pytest.approx(7)  # of zeros and ones
    # y = (b - u) / (2 - b) has sum (9 - 7) / 1.1 and squares 7 * .01 + 3 * .81
    bets = np.geomspace(0.005, 0.9, 24)
    y, y2 = 2 / 1.1, (7 * 0.01 + 3 * 0.81) / 1.1**2
    e = np.exp(bets * y + (np.log1p(-bets) + bets) * y2).mean()
    # and of the labels alone: likelihood ratios averaged over all lower rates
    q = (np.arange(100_000) + 0.5) / 100_000 * 0.9
    alone = ((q / 0.9) ** 7 * ((1 - q) / 0.1) ** 3).mean()
    assert w.history[-1]["evidence"] == pytest.approx(max(e, alone) / 2, rel=1e-6)


def test_the_mean_of_u_is_the_rate_whatever_the_judges_say(rng):
    state = begun(at_least=0.5)._state
    u, square = 0.0, 0.0
    for k in range(300):
        state["looks"] = k
        add_judged({"rng": 0}, state, panel(rng, 40, 4, 0.7), None)
    u, square = state["total"] / state["n"], state["squares"] / state["n"]
    sd = math.sqrt(square - u * u)
    assert abs(u - 0.7) < 4 * sd / math.sqrt(state["n"])
    assert sd < math.sqrt(0.7 * 0.3)  # less than that of the labels alone


def test_a_fall_is_seen_and_a_rate_on_the_bound_is_quiet():
    rng = np.random.default_rng(1)
    w = begun(at_least=0.8)
    for day in range(30):
        w.update(panel(rng, 50, 5, 0.8), name=f"day {day}")
    assert not w.alarm
    assert w.low < 0.8 < w.high
    for day in range(60):
        w.update(panel(rng, 50, 5, 0.45), name=f"bad {day}")
    assert w.alarm
    assert w.since.startswith("bad")


def test_streams_on_the_bound_raise_few_alarms():
    rng = np.random.default_rng(4)
    cried = 0
    for _ in range(25):
        state = begun(at_least=0.5)._state
        for k in range(40):
            state["looks"] = k
            add_judged({"rng": 0}, state, panel(rng, 20, 2, 0.6), None)
            if rate_evidence(state, 0.6, 1) >= math.log(20):
                cried += 1
                break
    assert cried <= 4


def test_batches_without_labels_wait(rng):
    w = begun(at_most=0.9)
    w.update(panel(rng, 30, 0, 0.7))
    assert math.isnan(w.value)
    assert w._state["n"] == 0
    w.update(panel(rng, 10, 10, 0.7))
    assert w._state["n"] == 10
    assert w._state["waiting"] is None


def test_a_named_batch_counts_once_and_late_labels_are_welcome(rng):
    """Its cases were dealt out to its first labels: late ones count by themselves."""
    w = begun(at_least=0.5)
    frame = verdicts(rng, 30, 3, 0.7)
    w.update(frame, label="y", name="monday")
    before = w.history
    w.update(frame, label="y", name="monday")
    assert w.history == before
    early = {**w._state}
    frame.loc[3:12, "y"] = [1.0, 0.0] * 5
    w.update(frame, label="y", name="monday")
    now = w._state
    assert (now["judged"], now["total"]) == (3.0, early["total"])
    assert (now["n"], now["yes"]) == (13.0, early["yes"] + 5)
    assert sum(map(sum, now["labels"].values())) == 13  # later guesses know them
    frame.loc[0, "y"] = 1 - frame.loc[0, "y"]
    with pytest.raises(trueness.InputError, match="Only labels that were unknown"):
        w.update(frame, label="y", name="monday")


def hidden(p, known):
    """Give a panel whose first ``known`` cases in each row keep their label."""
    kept = [np.minimum(x, known) for x in (p.neg, p.pos)]
    gone = p.neg + p.pos - kept[0] - kept[1]
    return trueness.Panel(p.names, p.rows, *kept, p.unknown + gone)


def test_a_label_is_as_good_as_in_time_while_its_case_waits(rng):
    """Batches whose labels come a batch later lose nothing but time."""
    days = [panel(rng, 40, 8, 0.7) for _ in range(6)]
    late, in_time = begun(at_least=0.5), begun(at_least=0.5)
    for k, day in enumerate(days):
        late.update(hidden(day, 0), name=f"day {k}")
    assert [name for name, _ in late._state["waiting"]] == [
        f"day {k}" for k in range(6)
    ]
    for k, day in enumerate(days):
        late.update(day, name=f"day {k}")
        in_time.update(day, name=f"day {k}")
    assert late._state["judged"] == in_time._state["judged"] == 48
    assert late._state["labels"] == in_time._state["labels"]
    assert late._state["waiting"] is None
    # other deals of the same cases, which only the seed of a look decides
    assert late.value == pytest.approx(in_time.value, abs=0.05)
    # one label uses up its own batch and those before it, not those that came since
    some = begun(at_least=0.5)
    for k, day in enumerate(days):
        some.update(hidden(day, 0), name=f"day {k}")
    some.update(hidden(days[3], 1), name="day 3")
    assert [name for name, _ in some._state["waiting"]] == ["day 4", "day 5"]
    some.update(days[2], name="day 2")
    assert some._state["n"] > some._state["judged"]


def test_late_labels_raise_few_alarms():
    """On the bound; most labels come a day late, some of cases that were used."""
    rng = np.random.default_rng(6)
    cried = 0
    for _ in range(25):
        state, days = begun(at_least=0.6)._state, []
        for k in range(30):
            days.append(panel(rng, 20, 4, 0.6))
            early = hidden(days[k], k % 2)
            add_judged({"rng": 0}, state, early, str(k))
            if k:
                before = hidden(days[k - 1], (k - 1) % 2)
                rest = [days[k - 1].neg - before.neg, days[k - 1].pos - before.pos]
                late = trueness.Panel(before.names, before.rows, *rest)
                add_late({"rng": 0}, state, late, str(k - 1))
            state["looks"] = k
            if rate_evidence(state, 0.6, 1) >= math.log(20):
                cried += 1
                break
    assert 0 < state["judged"] < state["n"]
    assert cried <= 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"what": "prevalence", "at_least": 0.5}, "needs judges"),
        ({"what": "auc", "at_least": 0.5, "judges": ["a"]}, "needs judges"),
        ({"what": "prevalence", "judges": "ab", "at_least": 0.5}, "list of columns"),
        ({"what": "scores", "by": "g"}, "baseline of its own"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(trueness.InputError, match=message):
        trueness.watch(**options)


GOOD = trueness.Tally([0.9, 0.1], neg=[20, 180], pos=[88, 12])
BAD = trueness.Tally([0.9, 0.1], neg=[20, 180], pos=[55, 45])


def test_groups_share_the_error():
    """The k-th group has alpha / (k (k + 1)); named ones have equal parts."""
    g = trueness.watch("recall", threshold=0.5, at_least=0.8, by="site")
    g.update({"a": GOOD, "b": GOOD, "c": GOOD})
    parts = [w.error for w in g.groups.values()]
    assert parts == pytest.approx([0.05 / 2, 0.05 / 6, 0.05 / 12])
    named = trueness.watch(
        "recall", threshold=0.5, at_least=0.8, by="site", groups=["a", "b"]
    )
    named.update({"a": GOOD, "b": BAD}, name="monday")
    assert [w.error for w in named.groups.values()] == pytest.approx([0.025, 0.025])
    with pytest.raises(trueness.InputError, match="begun for the groups a, b"):
        named.update({"c": GOOD})


def test_one_group_raises_the_alarm_of_all():
    g = trueness.watch("recall", threshold=0.5, at_least=0.8, by="site")
    for day in range(4):
        g.update({"a": GOOD, "b": BAD}, name=f"day {day}")
    alone = trueness.watch("recall", threshold=0.5, at_least=0.8, level=1 - 0.05 / 6)
    for day in range(4):
        alone.update(BAD, name=f"day {day}")
    assert g.alarm
    assert g.since == alone.since == g.groups["b"].since
    assert not g.groups["a"].alarm
    assert g.evidence >= 20
    assert "1 of 2 groups: b: alarm since" in g.sentence()


@pytest.mark.parametrize("ending", ["json", "parquet"])
@pytest.mark.parametrize("kind", ["share", "groups", "judges"])
def test_a_watch_goes_on_from_its_file(ending, kind, tmp_path, rng):
    path = tmp_path / f"state.{ending}"
    if kind == "share":
        w, batch = trueness.watch("recall", threshold=0.5, at_least=0.8), GOOD
    elif kind == "groups":
        w = trueness.watch("recall", threshold=0.5, at_least=0.8, by="site")
        batch = {"a": GOOD, "b": BAD}
    else:
        w, batch = begun(at_least=0.5), panel(rng, 30, 5, 0.8)
    w.update(batch, name="one")
    w.save(path)
    again = trueness.load_watch(path)
    assert repr(again) == repr(w)
    for one in (w, again):
        one.update(batch, name="one")  # counted before
        one.update(batch, name="two")
    assert repr(again) == repr(w)
    assert again.looks == 2
    if ending == "parquet":
        rows = pd.read_parquet(path)
        assert rows["look"].tolist() == ([1.0, 1.0] if kind == "groups" else [1.0])


def test_a_parquet_file_that_is_no_watch(tmp_path):
    GOOD.write(tmp_path / "tally.parquet")
    with pytest.raises(trueness.InputError, match="not the state of a watch"):
        trueness.load_watch(tmp_path / "tally.parquet")


def test_the_command_line_watches_judges_and_groups(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    frame = verdicts(rng, 200, 60, 0.7)
    frame["site"] = np.where(np.arange(200) % 2, "x", "z")
    frame.to_csv("one.csv", index=False)
    verdicts(rng, 100, 10, 0.7).to_csv("two.csv", index=False)

    def run(*words):
        found = CliRunner().invoke(app, ["watch", *words, "--json"])
        assert found.exit_code == 0, found.stderr + found.stdout
        return json.loads(found.stdout)["result"]

    judges = ("--judge", "a", "--judge", "b", "--label", "y")
    begin = ("--metric", "prevalence", "--at-least", "0.3")
    assert run("s.parquet", "one.csv", *judges, *begin)["looks"] == 1
    assert run("s.parquet", "two.csv", "--label", "y")["looks"] == 2
    found = run("g.json", "one.csv", *judges, *begin, "--by", "site")
    assert set(found["groups"]) == {"x", "z"}
    plot = ("--plot", "g.svg")
    assert not run("g.json", "one.csv", "--label", "y", *plot)["counted"]
    assert (tmp_path / "g.svg").stat().st_size > 1000
