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
from trueness.watches.judged import add_judged, rate_evidence

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
    assert w.history[-1]["evidence"] == pytest.approx((e + alone) / 2, rel=1e-6)


def test_the_mean_of_u_is_the_rate_whatever_the_judges_say(rng):
    state = {"n": 0.0, "total": 0.0, "squares": 0.0, "looks": 0, "waiting": None}
    state["labels"] = {}
    u, square = 0.0, 0.0
    for k in range(300):
        state["looks"] = k
        add_judged({"rng": 0}, state, panel(rng, 40, 4, 0.7))
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
        state = {"n": 0.0, "total": 0.0, "squares": 0.0, "looks": 0}
        state |= {"waiting": None, "labels": {}}
        for k in range(40):
            state["looks"] = k
            add_judged({"rng": 0}, state, panel(rng, 20, 2, 0.6))
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


def test_a_named_batch_counts_once_and_late_labels_are_refused(rng):
    w = begun(at_least=0.5)
    frame = verdicts(rng, 30, 3, 0.7)
    w.update(frame, label="y", name="monday")
    before = w.history
    w.update(frame, label="y", name="monday")
    assert w.history == before
    frame["y"] = 1.0
    with pytest.raises(trueness.InputError, match="a batch of their own"):
        w.update(frame, label="y", name="monday")


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
