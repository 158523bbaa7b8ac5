"""Watches: evidence by integration, fairness by enumeration, streams, files, shell."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import kstest
from typer.testing import CliRunner

import trueness
from trueness import InputError, Tally
from trueness.cli import app
from trueness.monitoring.evidence import mean_evidence, share_evidence, share_limits
from trueness.monitoring.ranks import _earlier, _ranks, rank_wealth


def cut(tp, fp, fn, tn, unknown=(0, 0)):
    return Tally([1.0, 0.0], neg=[fp, tn], pos=[tp, fn], unknown=list(unknown))


@pytest.mark.parametrize(
    ("k", "n", "bound"), [(3, 10, 0.5), (9.5, 10, 0.9), (0, 4, 0.2)]
)
def test_evidence_of_a_share_is_the_average_likelihood_ratio(k, n, bound):
    def ratio(q):
        return (q / bound) ** k * ((1 - q) / (1 - bound)) ** (n - k)

    below = quad(ratio, 0, bound)[0] / bound
    above = quad(ratio, bound, 1)[0] / (1 - bound)
    assert math.exp(share_evidence(k, n, bound, 1)) == pytest.approx(below, rel=1e-8)
    assert math.exp(share_evidence(k, n, bound, -1)) == pytest.approx(above, rel=1e-8)


@pytest.mark.parametrize("true", [0.3, 0.5])
def test_evidence_cannot_be_expected_to_grow(true):
    """All streams of 8 cases: the mean evidence is one on the bound, less inside it."""
    n = 8
    for share in (true, true + 0.2):
        mean = 0.0
        for x in product((0, 1), repeat=n):
            chance = math.prod(share if v else 1 - share for v in x)
            mean += chance * math.exp(share_evidence(sum(x), n, true, 1))
        assert mean <= 1 + 1e-12


def test_evidence_of_a_mean_cannot_be_expected_to_grow():
    values, law = np.array([0.0, 0.3, 1.0]), np.array([0.5, 0.3, 0.2])
    bound = float(values @ law)
    for side in (1, -1):
        mean = 0.0
        for x in product(range(3), repeat=6):
            v = values[list(x)]
            log = mean_evidence(6, v.sum(), (v**2).sum(), bound, side)
            mean += law[list(x)].prod() * math.exp(log)
        assert mean <= 1 + 1e-12


def test_false_alarms_over_many_looks():
    """2,000 streams exactly on their bound, 150 looks each: at most 5 % ever cry."""
    rng = np.random.default_rng(4)
    k = (rng.random((2000, 2000)) < 0.9).cumsum(1)
    ever = np.zeros(2000, bool)
    for n in np.unique(np.geomspace(1, 2000, 150).astype(int)):
        values, where = np.unique(k[:, n - 1], return_inverse=True)
        logs = [share_evidence(float(v), float(n), 0.9, 1) for v in values]
        ever |= np.array(logs)[where] >= math.log(20)
    assert ever.mean() <= 0.05


def test_ranks_among_all_before_are_fair_bets():
    """Ranks are uniform, with ties too; few streams win, and a shift wins for sure."""
    rng = np.random.default_rng(1)
    wealth, ranks = [], []
    for _ in range(400):
        old, counts = np.unique(rng.normal(size=30).round(1), return_counts=True)
        new = rng.normal(size=20).round(1)
        ranks.append(_ranks(old, counts * 1.0, new, rng))
        log = rank_wealth(old, counts * 1.0, new, rng)
        wealth.append(np.exp(log).mean())
    assert kstest(np.concatenate(ranks), "uniform").pvalue > 0.01
    assert np.mean(np.array(wealth) >= 20) <= 0.05
    old, counts = np.unique(rng.normal(size=500), return_counts=True)
    moved = rank_wealth(old, counts * 1.0, rng.normal(size=200) + 1, rng)
    assert np.logaddexp.reduce(moved) - math.log(30) > math.log(20)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1500])
def test_ranks_among_earlier_scores_are_those_of_counting(n, rng):
    x = rng.normal(size=n).round(1)
    less, ties = _earlier(x)
    assert less.tolist() == [(x[:k] < x[k]).sum() for k in range(n)]
    assert ties.tolist() == [(x[:k] == x[k]).sum() for k in range(n)]


def test_batches_of_any_size_give_the_same():
    rng = np.random.default_rng(2)
    y, s = (rng.random(300) < 0.5).astype(int), rng.random(300)
    whole = trueness.watch("recall", threshold=0.3, at_least=0.6)
    parts = trueness.watch("recall", threshold=0.3, at_least=0.6)
    whole.update(trueness.tally(y, s))
    for part in np.array_split(np.arange(300), 7):
        parts.update(trueness.tally(y[part], s[part]))
    assert (whole.value, whole.low, whole.high) == (parts.value, parts.low, parts.high)
    assert whole.low <= whole.value <= whole.high


KINDS = {
    "recall": ({"threshold": 0.5, "at_least": 0.8}, 0.9, 0.6),
    "precision": ({"threshold": 0.5, "at_least": 0.8}, 0.9, 0.6),
    "f1": ({"threshold": 0.5, "at_least": 0.8}, 0.92, 0.6),
    "fpr": ({"threshold": 0.5, "at_most": 0.3}, 0.9, 0.5),
    "accuracy": ({"threshold": 0.5, "at_least": 0.8}, 0.9, 0.6),
    "auc": ({"at_least": 0.75}, 0.9, 0.6),
    "brier": ({"at_most": 0.2}, 0.9, 0.6),
    "calibration": ({}, 0.9, 0.5),
    "flagged_share": ({"threshold": 0.5, "at_most": 0.6}, 0.9, 0.9),
}


def batch(rng, right, n=200, share=0.5):
    """A score of .9 or .1 that is right with this probability."""
    y = (rng.random(n) < share).astype(int)
    good = rng.random(n) < right
    return trueness.tally(y, np.where(good == (y == 1), 0.9, 0.1), positive=1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_quiet_when_all_is_well_and_cries_when_it_is_not(kind):
    rng = np.random.default_rng(7)
    options, well, ill = KINDS[kind]
    w = trueness.watch(kind, **options)
    for day in range(5):
        w.update(batch(rng, well), name=f"day {day}")
    assert not w.alarm
    assert w.since is None
    share = 0.9 if kind == "flagged_share" else 0.5
    for day in range(5, 25):
        w.update(batch(rng, ill, share=share), name=f"day {day}")
    assert w.alarm
    assert int(w.since.split()[1]) >= 5
    assert "alarm since day" in w.sentence()


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


def test_scores_that_change_without_any_label():
    rng = np.random.default_rng(7)

    def scores(shift):
        y = np.full(300, np.nan)
        return trueness.tally(y, rng.normal(size=300) + shift, positive=1)

    w = trueness.watch("scores", baseline=scores(0))
    for _ in range(8):
        w.update(scores(0))
    assert not w.alarm
    for _ in range(8):
        w.update(scores(0.5))
    assert w.alarm


def test_a_baseline_with_its_doubt():
    rng = np.random.default_rng(3)
    w = trueness.watch("recall", threshold=0.5, baseline=batch(rng, 0.9), margin=0.05)
    assert w.bound < 0.85
    for _ in range(10):
        w.update(batch(rng, 0.9))
    assert not w.alarm
    for _ in range(20):
        w.update(batch(rng, 0.6))
    assert w.alarm


def test_a_batch_is_counted_once_and_late_labels_are_welcome():
    w = trueness.watch("recall", threshold=0.5, at_least=0.9)
    first = cut(40, 0, 5, 40, unknown=(10, 5))
    w.update(first, name="monday")
    before = w.value
    assert w.update(first, name="monday").looks == 1
    later = cut(45, 2, 8, 41, unknown=(3, 1))
    w.update(later, name="monday")
    assert w.looks == 2
    assert w.value == pytest.approx(45 / 53)
    assert w.value != before
    with pytest.raises(InputError, match="other labels"):
        w.update(cut(1, 1, 1, 1), name="monday")
    once = trueness.watch("recall", threshold=0.5, at_least=0.9)
    assert once.update(later).value == w.value


def test_single_cases_wait_until_an_auc_can_be_had():
    rng = np.random.default_rng(5)
    y = (rng.random(300) < 0.3).astype(int)
    s = rng.normal(size=300) + 2 * y
    w = trueness.watch("auc", at_least=0.6)
    for one, score in zip(y, s, strict=True):
        w.update(trueness.tally([one], [score], positive=1))
    assert w.looks == 300
    assert w.value == pytest.approx(0.92, abs=0.06)
    assert not w.alarm


def test_the_state_is_one_file_and_survives_a_kill(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    w = trueness.watch("recall", threshold=0.5, at_least=0.9)
    w.update(cut(40, 0, 5, 40), name="a").save(path)
    again = trueness.load_watch(path)
    assert (again.value, again.low, again.evidence) == (w.value, w.low, w.evidence)
    assert again.update(cut(40, 0, 5, 40), name="a").looks == 1
    kept = path.read_text()

    def killed(*_, **__):
        raise KeyboardInterrupt

    again.update(cut(1, 0, 50, 1), name="b")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            again.save(path)
    assert path.read_text() == kept
    path.write_text("{")
    with pytest.raises(InputError, match="not the state of a watch"):
        trueness.load_watch(path)
    path.write_text(json.dumps({"trueness": "watch", "version": 99}))
    with pytest.raises(InputError, match="newer Trueness"):
        trueness.load_watch(path)


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)

    def day(name, right):
        y = rng.integers(0, 2, 300)
        p = np.where((rng.random(300) < right) == (y == 1), 0.9, 0.1)
        pd.DataFrame({"y": y, "p": p}).to_csv(name, index=False)

    def run(*words):
        return CliRunner().invoke(app, ["watch", "state.json", *words])

    columns = ["--label", "y", "--score", "p"]
    day("monday.csv", 0.9)
    assert run("monday.csv", *columns).exit_code == 2
    begin = ["--metric", "recall", "--threshold", "0.5", "--at-least", "0.8"]
    assert run("monday.csv", *columns, *begin).exit_code == 0
    again = run("monday.csv", *columns)
    assert (again.exit_code, "counted before" in again.stdout) == (0, True)
    assert run("monday.csv", *columns, *begin).exit_code == 2
    day("tuesday.csv", 0.5)
    done = run("tuesday.csv", *columns, "--plot", "w.svg")
    assert done.exit_code == 4, done.stderr
    assert "alarm since tuesday.csv" in done.stdout
    assert Path("w.svg").read_text().startswith("<svg")


def test_a_file_under_another_name_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"y": rng.integers(0, 2, 60), "p": rng.random(60)})
    frame["site"] = np.where(rng.random(60) < 0.5, "north", "south")
    frame.to_csv("monday.csv", index=False)
    frame.to_csv("2026-11-16T00:30:00+02:00.csv", index=False)
    frame.head(3).to_csv("few.csv", index=False)
    frame.head(3).to_csv("again.csv", index=False)
    begin = ["--metric", "auc", "--at-least", "0.1"]
    for state, by in (("one.json", []), ("groups.json", ["--by", "site"])):

        def run(file, *words, state=state):
            columns = ["--label", "y", "--score", "p"]
            return CliRunner().invoke(app, ["watch", state, file, *columns, *words])

        assert run("monday.csv", *begin, *by).exit_code == 0
        for other in ("./monday.csv", "2026-11-16T00:30:00+02:00.csv"):
            done = run(other)
            assert done.exit_code == 2
            assert "exactly the cases of the batch 'monday.csv'" in done.stderr
        assert trueness.load_watch(state).looks == 1
        assert run("./monday.csv", "--name", "another day").exit_code == 0
        # three cases may well be equal
        assert [run(f).exit_code for f in ("few.csv", "again.csv")] == [0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"what": "recal"}, "Did you mean 'recall'"),
        ({"what": "mcc", "threshold": 0.5, "at_least": 0.5}, "not a share of cases"),
        ({"what": "recall", "at_least": 0.5}, "needs a threshold"),
        ({"what": "auc"}, "one of at_least"),
        ({"what": "auc", "at_least": 0.5, "at_most": 0.9}, "one of at_least"),
        ({"what": "auc", "at_least": 1.5}, r"must lie in \[0, 1\]"),
        ({"what": "scores"}, "needs a baseline"),
        ({"what": "calibration", "at_least": 0.5}, "has no bound"),
    ],
)
def test_what_cannot_be_watched(options, message):
    with pytest.raises(InputError, match=message):
        trueness.watch(**options)
    assert share_limits(0, 0, 0.05) == (0.0, 1.0)


@pytest.mark.parametrize("text", ["[]", "{}", '{"trueness": "watch"}', "no JSON"])
def test_what_is_no_watch_is_said(tmp_path, text):
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(trueness.InputError, match="is not the state of a watch"):
        trueness.load_watch(path)


def test_what_is_no_file_is_said(tmp_path):
    with pytest.raises(trueness.InputError, match="the name of a file; found None"):
        trueness.load_watch(None)
    with pytest.raises(trueness.InputError, match="cannot be read"):
        trueness.load_watch(tmp_path)
