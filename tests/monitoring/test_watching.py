"""Watches: every kind, late labels, judges, groups, restarts, the command line."""

import json
import math
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import shell
import trueness
from trueness import InputError, Tally
from trueness.plots import watch_history

PATTERNS = np.array(list(product((0.0, 1.0), repeat=3)))  # of three judges
GOOD = Tally([0.9, 0.1], neg=[20, 180], pos=[88, 12])
BAD = Tally([0.9, 0.1], neg=[20, 180], pos=[55, 45])
SITES = {"a": GOOD, "b": BAD}


def watch_recall(**options):
    return trueness.watch("recall", threshold=0.5, at_least=0.8, **options)


def cells(tp, fp, fn, tn, unknown=(0, 0)):
    """Return a tally of two scores with these counts."""
    return Tally([1.0, 0.0], neg=[fp, tn], pos=[tp, fn], unknown=list(unknown))


def draw_batch(rng, right, n=200, prevalence=0.5):
    """Draw cases with a score of .9 or .1 that is right with this probability."""
    label = (rng.random(n) < prevalence).astype(int)
    is_right = rng.random(n) < right
    score = np.where(is_right == (label == 1), 0.9, 0.1)
    return trueness.tally(label, score, positive=1)


class Drift(NamedTuple):
    """Options of a watch, and how batches are while all is well, and after that."""

    options: dict
    well: float = 0.9  # how often a score is right
    ill: float = 0.6
    prevalence_when_ill: float = 0.5


AT_THRESHOLD = {"threshold": 0.5, "at_least": 0.8}
DRIFTS = {
    "recall": Drift(AT_THRESHOLD),
    "precision": Drift(AT_THRESHOLD),
    "f1": Drift(AT_THRESHOLD, well=0.92),
    "fpr": Drift({"threshold": 0.5, "at_most": 0.3}, ill=0.5),
    "accuracy": Drift(AT_THRESHOLD),
    "auc": Drift({"at_least": 0.75}),
    "brier": Drift({"at_most": 0.2}),
    "calibration": Drift({}, ill=0.5),
    "flagged_rate": Drift(
        {"threshold": 0.5, "at_most": 0.6}, ill=0.9, prevalence_when_ill=0.9
    ),
    "scores": Drift(
        {"baseline": draw_batch(np.random.default_rng(1), 0.9, 2000)},
        ill=0.9,
        prevalence_when_ill=0.9,
    ),
}


def watch_good_days(kind, rng):
    """Return a watch after twenty days on which all was well."""
    drift = DRIFTS[kind]
    watch = trueness.watch(kind, **drift.options)
    for day in range(20):
        watch.update(draw_batch(rng, drift.well), name=f"day {day}")
    return watch


def watch_drift(kind):
    """Return a watch after twenty good days, and eight bad ones from day 20 on."""
    rng = np.random.default_rng(7)
    drift = DRIFTS[kind]
    watch = watch_good_days(kind, rng)
    for day in range(20, 28):
        batch = draw_batch(rng, drift.ill, prevalence=drift.prevalence_when_ill)
        watch.update(batch, name=f"day {day}")
    return watch


@pytest.mark.parametrize("kind", DRIFTS)
def test_every_kind_is_quiet_when_all_is_well(kind):
    watch = watch_good_days(kind, np.random.default_rng(7))

    assert not watch.alarm
    assert watch.since is None
    assert watch.change is None


@pytest.mark.parametrize("kind", DRIFTS)
def test_every_kind_finds_when_it_changed(kind):
    watch = watch_drift(kind)

    assert watch.alarm
    assert watch.since in ("day 20", "day 21", "day 22")
    assert watch.change.first in ("day 18", "day 19", "day 20")
    assert watch.change.most_likely == "day 20"
    assert f"alarm since {watch.since}. The change began" in watch.sentence()


@pytest.mark.parametrize("kind", DRIFTS)
def test_every_kind_says_to_what_it_changed(kind):
    watch = watch_drift(kind)

    change = watch.change
    assert change.low < change.value < change.high
    if "at_least" in DRIFTS[kind].options:
        assert change.high < watch.bound
    if "at_most" in DRIFTS[kind].options:
        assert change.low > watch.bound


@pytest.mark.parametrize("kind", DRIFTS)
def test_every_kind_is_drawn_and_checked_with_its_alarm(kind):
    watch = watch_drift(kind)

    figure = repr(watch_history.figure_data(watch))

    assert f"alarm: {watch.since}" in figure
    assert "day 27" in figure
    # also without a bound
    assert f"alarm since {watch.since}" in watch.check().to_markdown()


@pytest.fixture
def labels_and_scores():
    rng = np.random.default_rng(5)
    label = (rng.random(300) < 0.3).astype(int)
    score = (rng.normal(size=300) + 2 * label).round(1)
    return label, score


def test_the_auc_of_eight_cases_is_that_of_one_block(labels_and_scores):
    label = labels_and_scores[0][:8]
    score = labels_and_scores[1][:8]
    pairs = score[label == 1][:, None] - score[label == 0]

    watch = trueness.watch("auc", at_least=0.5).update(label, score)

    assert watch.value == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))


def test_single_cases_wait_for_a_block_of_both_classes(labels_and_scores):
    label, score = labels_and_scores
    watch = trueness.watch("auc", at_least=0.6)

    for case in range(300):
        watch.update(trueness.tally([label[case]], [score[case]], positive=1))

    assert watch.looks == 300
    assert watch.value == pytest.approx(trueness.auc(label, score).value, abs=0.05)
    assert watch.history[-1]["n"] > 25


def test_the_auc_of_billions_of_cases_is_watched_in_a_part_of_them():
    billions = Tally([3, 2, 1], neg=[10**9, 10**9, 2 * 10**9], pos=[10**9, 0, 0])

    watch = trueness.watch("auc", at_least=0.5).update(billions)

    assert watch.value == pytest.approx(7 / 8, abs=0.01)


def look_at(*batch, **columns):
    """Return what a watch on recall says of one batch."""
    watch = trueness.watch("recall", threshold=0.3, at_least=0.6)
    watch.update(*batch, **columns)
    return watch.value, watch.low, watch.high, watch.evidence


def test_a_batch_may_be_arrays_lists_a_frame_or_a_tally(labels_and_scores):
    label, score = labels_and_scores
    frame = pd.DataFrame({"y": label, "p": score})

    expected = look_at(trueness.tally(label, score))

    assert look_at(label, score) == expected
    assert look_at(label.tolist(), score.tolist()) == expected
    assert look_at(frame, label="y", score="p") == expected


def test_a_batch_of_groups_may_be_arrays(labels_and_scores):
    label, score = labels_and_scores
    site = np.where(np.arange(300) % 2, "north", "south")
    watch = trueness.watch("recall", threshold=0.3, at_least=0.6, by="site")

    watch.update(label, score, by=site)

    assert set(watch.groups) == {"north", "south"}


def test_scores_alone_are_a_batch_where_no_labels_are_needed(labels_and_scores):
    _, score = labels_and_scores
    watch = trueness.watch("flagged_rate", threshold=0.3, at_most=0.9)

    watch.update(score)

    assert watch.value == pytest.approx((score >= 0.3).mean())


def test_verdicts_by_judge_are_a_batch_of_a_rate(labels_and_scores):
    label, score = labels_and_scores
    verdicts = {"a": (score > 0.5) * 1, "b": (score > 0.4) * 1}
    watch = trueness.watch("prevalence", judges=["a", "b"], at_least=0.2)

    watch.update(label, verdicts)

    assert watch.looks == 1


@pytest.mark.parametrize("number", [0, 1, 3])
def test_other_numbers_of_arrays_are_no_batch(number):
    with pytest.raises(InputError, match=r"Type .*y_true, y_score"):
        look_at(*[np.arange(9)] * number)


def test_groups_and_their_absence_are_refused():
    by_site = watch_recall(by="site")

    with pytest.raises(InputError, match="has no groups"):
        look_at({"a": GOOD})
    with pytest.raises(InputError, match="is by 'site'"):
        by_site.update(GOOD)


def test_a_baseline_with_its_doubt():
    rng = np.random.default_rng(3)
    watch = trueness.watch(
        "recall", threshold=0.5, baseline=draw_batch(rng, 0.9), margin=0.05
    )
    assert watch.bound < 0.85

    for _ in range(10):
        watch.update(draw_batch(rng, 0.9))
    assert not watch.alarm

    for _ in range(5):
        watch.update(draw_batch(rng, 0.6))
    assert watch.alarm
    assert watch.change.first == "look 11"


@pytest.fixture
def monday():
    """Return a watch that counted one batch, some of whose labels are unknown."""
    watch = trueness.watch("recall", threshold=0.5, at_least=0.9)
    return watch.update(cells(40, 0, 5, 40, unknown=(10, 5)), name="monday")


def test_a_batch_is_counted_once(monday):
    monday.update(cells(40, 0, 5, 40, unknown=(10, 5)), name="monday")

    assert monday.looks == 1


def test_late_labels_are_welcome(monday):
    monday.update(cells(45, 2, 8, 41, unknown=(3, 1)), name="monday")

    assert monday.looks == 2
    assert monday.value == pytest.approx(45 / 53)


def test_other_cases_under_the_same_name_are_refused(monday):
    with pytest.raises(InputError, match="different cases or labels"):
        monday.update(cells(1, 1, 1, 1), name="monday")


def test_the_name_of_a_batch_is_text(monday):
    with pytest.raises(InputError, match="name of a batch is text"):
        monday.update(GOOD, name=5)


def test_a_batch_that_was_refused_is_not_counted():
    watch = trueness.watch("brier", at_most=0.2)
    with pytest.raises(InputError, match="needs scores from 0 to 1"):
        watch.update([0, 1], [3.0, 4.0], name="monday")

    watch.update([0, 1], [0.3, 0.4], name="monday")

    assert watch.looks == 1


@pytest.fixture
def restarted():
    """Return a watch that raised an alarm in three days, and was begun anew."""
    watch = watch_recall()
    for day in range(3):
        watch.update(BAD, name=f"day {day}")
    assert watch.alarm
    return watch.restart()


def test_a_restart_forgets_the_alarm(restarted):
    assert not restarted.alarm
    assert restarted.since is None
    assert restarted.change is None
    assert restarted.evidence == 1.0


def test_a_restart_keeps_the_batches_and_the_history(restarted):
    restarted.update(BAD, name="day 2")
    assert restarted.looks == 3  # counted before

    restarted.update(GOOD, name="day 3")
    assert restarted.value == pytest.approx(0.88)
    assert restarted.history[-1]["name"] == "day 3"


def test_after_a_restart_another_alarm_may_come(restarted):
    for day in range(4, 7):
        restarted.update(BAD, name=f"day {day}")

    assert restarted.alarm


def test_after_a_restart_scores_are_compared_with_the_baseline_again():
    baseline = Tally(np.arange(300), np.ones(300, int))
    highest = np.arange(200, 300).tolist()
    watch = trueness.watch("scores", baseline=baseline)
    first = watch.update(highest).value

    watch.restart().update(highest)

    assert watch.value == pytest.approx(first, abs=0.03)


def draw_verdicts(rng, n, rate):
    """Return truth and verdicts of three judges that mostly err together."""
    truth = rng.random(n) < rate
    luck = rng.random((n, 3))
    luck = np.where(rng.random((n, 1)) < 0.6, luck[:, :1], luck)
    return truth, np.where(truth[:, None], luck < 0.9, luck < 0.4)


def draw_panel(rng, n, labels, rate):
    """Return a panel of three judges, whose first cases have a label."""
    truth, verdicts = draw_verdicts(rng, n, rate)
    pattern = verdicts @ [4, 2, 1]
    has_label = np.arange(n) < labels

    def count(cases):
        return np.bincount(pattern[cases], minlength=8)

    return trueness.Panel(
        ["a", "b", "c"],
        PATTERNS,
        neg=count(has_label & ~truth),
        pos=count(has_label & truth),
        unknown=count(~has_label),
    )


def hide_labels(panel, at_most):
    """Return a panel with at most so many labels of each class and pattern."""
    neg = np.minimum(panel.neg, at_most)
    pos = np.minimum(panel.pos, at_most)
    hidden = panel.neg + panel.pos - neg - pos
    return trueness.Panel(panel.names, panel.rows, neg, pos, panel.unknown + hidden)


def watch_judges(**options):
    return trueness.watch("prevalence", judges=["a", "b", "c"], **options)


def test_verdicts_without_labels_raise_no_alarm_and_say_so():
    watch = trueness.watch("prevalence", judges=["a"], at_least=0.9)

    watch.update(trueness.panel([np.nan] * 4, {"a": [0.0, 1, 1, 1]}))

    assert "none is possible without labels" in watch.sentence()


def test_one_judge_and_no_unlabelled_cases_by_hand():
    """With every case labelled u is the label; of both detectors the larger, halved."""
    watch = trueness.watch("prevalence", judges=["a"], at_least=0.9)
    effect = np.sqrt(2 * np.log(7300) / 2.0 ** np.arange(9))
    by_labels = 1 + np.minimum(effect / math.sqrt(0.9 * 0.1), 0.9 / 0.1) * 0.9
    # u lies between -1 and 2, so that its variance is at most that of -1 and 2
    by_judges = 1 + np.minimum(effect / math.sqrt(1.9 * 1.1), 0.9 / 1.1) * 0.9

    watch.update(trueness.Panel(["a"], [[1.0]], pos=[0], neg=[1]))

    largest = max(by_labels.mean(), by_judges.mean())
    assert watch.value == 0
    assert watch.history[-1]["evidence"] == pytest.approx(largest / 2)


def test_the_mean_of_u_is_the_rate_whatever_the_judges_say(rng):
    watch = watch_judges(at_least=0.1)

    for _ in range(300):
        watch.update(draw_panel(rng, 40, 4, 0.7))

    standard_error_of_labels = math.sqrt(0.7 * 0.3 / 1200)
    assert abs(watch.value - 0.7) < 4 * standard_error_of_labels
    assert watch.low < 0.7 < watch.high


def day_of(name):
    return int(name.split()[1])


def test_a_rate_from_judges_falls_late():
    rng = np.random.default_rng(1)
    watch = watch_judges(at_least=0.75)
    for day in range(60):
        watch.update(draw_panel(rng, 50, 5, 0.8), name=f"day {day}")
    assert not watch.alarm

    for day in range(60, 90):
        watch.update(draw_panel(rng, 50, 5, 0.4), name=f"day {day}")

    assert 60 <= day_of(watch.since) < 75
    assert day_of(watch.change.first) <= 60 <= day_of(watch.change.last) + 2


@pytest.fixture
def days(rng):
    """Return six batches of judged cases, with eight labels each."""
    return [draw_panel(rng, 40, 8, 0.7) for _ in range(6)]


def test_late_labels_of_judged_cases_are_as_good_as_in_time(days):
    late = watch_judges(at_least=0.5)
    in_time = watch_judges(at_least=0.5)
    for day, panel in enumerate(days):
        late.update(hide_labels(panel, 0), name=f"day {day}")
    assert math.isnan(late.value)

    for day, panel in enumerate(days):
        late.update(panel, name=f"day {day}")
        in_time.update(panel, name=f"day {day}")

    assert late.history[-1]["n"] == in_time.history[-1]["n"] == 48
    # other deals of the same cases, which only the seed of a look decides
    assert late.value == pytest.approx(in_time.value, abs=0.05)


def test_a_label_uses_up_the_cases_that_waited_until_then(days):
    watch = watch_judges(at_least=0.5)
    for day, panel in enumerate(days):
        watch.update(hide_labels(panel, 0), name=f"day {day}")
    watch.update(hide_labels(days[3], 1), name="day 3")
    cases = watch.history[-1]["n"]

    watch.update(days[2], name="day 2")  # dealt out: they teach, and count alone
    assert watch.history[-1]["n"] == cases
    watch.update(days[4], name="day 4")  # they still wait
    assert watch.history[-1]["n"] == cases + 8


def test_judged_streams_on_the_bound_raise_few_alarms():
    """With late labels too; promised is one in 40 looks, so in 10 a quarter of 30."""
    rng = np.random.default_rng(6)
    alarms = 0
    for _ in range(30):
        watch = watch_judges(at_least=0.6, false_alarms=40)
        for day in range(5):
            panel = draw_panel(rng, 20, 4, 0.6)
            watch.update(hide_labels(panel, day % 2), name=str(day))
            watch.update(panel, name=str(day))
        alarms += watch.alarm

    assert alarms <= 13


def test_judged_cases_without_labels_are_no_evidence(rng):
    watch = watch_judges(at_least=0.6)

    watch.update(draw_panel(rng, 9, 0, 0.6))

    assert watch.evidence == 1.0


def test_the_kth_group_has_its_part_of_the_false_alarms():
    watch = watch_recall(by="site")

    watch.update({"a": GOOD, "b": GOOD, "c": GOOD})

    # 1 / (k (k + 1)) of them
    parts = [7300 / group.alarm_at for group in watch.groups.values()]
    assert parts == pytest.approx([1 / 2, 1 / 6, 1 / 12])


def test_named_groups_have_equal_parts_of_the_false_alarms():
    watch = watch_recall(by="site", groups=["a", "b"])

    watch.update(SITES, name="monday")

    assert [group.alarm_at for group in watch.groups.values()] == [14600, 14600]
    with pytest.raises(InputError, match="covers the groups a, b"):
        watch.update({"c": GOOD})


@pytest.fixture
def by_site():
    """Return a watch on two groups after nine days; the second one is bad."""
    watch = trueness.watch("recall >= 0.8 at 0.5 by site")
    for day in range(9):
        watch.update(SITES, name=f"day {day}")
    return watch


def test_a_sentence_and_its_parts_begin_the_same_watch(by_site):
    watch = watch_recall(by="site")
    for day in range(9):
        watch.update(SITES, name=f"day {day}")

    assert by_site.evidence == watch.evidence >= by_site.alarm_at == 7300


def test_a_group_raises_the_alarm_of_all(by_site):
    # the second group has a sixth of the false alarms
    alone = watch_recall(false_alarms=7300 * 6)
    for day in range(9):
        alone.update(BAD, name=f"day {day}")

    assert by_site.since == alone.since == by_site.groups["b"].since
    assert by_site.groups["b"].change == alone.change


def test_groups_are_said_and_drawn(by_site):
    assert "1 of 2 groups: b: alarm since" in by_site.sentence()
    assert repr(by_site).count("\n") == 2
    assert len(watch_history.figure_data(by_site).data.parts) == 2


def test_groups_answer_as_a_gate(by_site):
    check = by_site.check()

    verdicts = {verdict.group: verdict.verdict for verdict in check.verdicts}
    assert verdicts == {"a": "holds", "b": "fails"}
    assert check.verdict == "fails"
    assert "alarm since day 0" in check.to_markdown()
    assert 'failures="1"' in check.to_junit()


def test_groups_restart_together(by_site):
    by_site.restart()

    assert not by_site.alarm
    assert by_site.update(SITES, name="day 1").looks == 9  # counted before


def test_a_watch_with_few_cases_cannot_tell_yet():
    watch = watch_recall().update(cells(9, 1, 1, 9))

    assert watch.check().verdict == "cannot tell yet"


def run(*arguments):
    return shell.run("watch", *arguments)


COLUMNS = ("--label", "y", "--score", "p")
BEGIN_RECALL = (
    *("--metric", "recall", "--threshold", "0.5", "--at-least", "0.8"),
    *("--false-alarms", "one in 2 years"),
)


@pytest.fixture
def four_days(tmp_path, monkeypatch):
    """Write a file for each of four days, of which the second is bad."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    for name, right in (("mon", 0.9), ("tue", 0.5), ("wed", 0.9), ("thu", 0.9)):
        label = rng.integers(0, 2, 300)
        is_right = rng.random(300) < right
        score = np.where(is_right == (label == 1), 0.9, 0.1)
        pd.DataFrame({"y": label, "p": score}).to_csv(f"{name}.csv", index=False)


def watch_file(file, *arguments, code=0):
    """Look at a file, and return what was printed."""
    done = run("state.json", file, *arguments)
    assert done.exit_code == code, done.stderr
    return done.stdout


def test_the_command_line_begins_a_watch_once(four_days):
    watch_file("mon.csv", *COLUMNS, code=2)  # what is watched is not said

    watch_file("mon.csv", *COLUMNS, *BEGIN_RECALL)

    assert "counted before" in watch_file("mon.csv", *COLUMNS)
    watch_file("mon.csv", *COLUMNS, *BEGIN_RECALL, code=2)


def test_the_command_line_raises_an_alarm(four_days):
    watch_file("mon.csv", *COLUMNS, *BEGIN_RECALL)

    alarm = watch_file("tue.csv", *COLUMNS, "--plot", "w.svg", code=4)

    assert "alarm since tue.csv. The change began with tue.csv" in alarm
    assert "alarm: tue.csv" in Path("w.svg").read_text()


def test_the_command_line_answers_in_json_and_restarts(four_days):
    watch_file("mon.csv", *COLUMNS, *BEGIN_RECALL)
    watch_file("tue.csv", *COLUMNS, code=4)

    answer = json.loads(watch_file("wed.csv", *COLUMNS, "--json", code=4))

    assert answer["result"]["change"]["most_likely"] == "tue.csv"
    watch_file("thu.csv", "--restart")  # columns are kept


@pytest.fixture
def judged_files(tmp_path, monkeypatch, rng):
    """Write two files of verdicts, whose first cases have a label."""
    monkeypatch.chdir(tmp_path)
    for name, n, labels in (("one.csv", 200, 60), ("two.csv", 100, 10)):
        truth, verdicts = draw_verdicts(rng, n, 0.7)
        frame = pd.DataFrame(verdicts.astype(float), columns=["a", "b", "c"])
        frame["y"] = np.where(np.arange(n) < labels, truth.astype(float), np.nan)
        frame["site"] = np.where(np.arange(n) % 2, "x", "z")
        frame.to_csv(name, index=False)


def json_result(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.stderr + done.stdout
    return json.loads(done.stdout)["result"]


BEGIN_RATE = (
    *("--judge", "a", "--judge", "b", "--label", "y"),
    *("--metric", "prevalence", "--at-least", "0.3"),
)


def test_the_command_line_watches_judges(judged_files):
    first = json_result("s.parquet", "one.csv", *BEGIN_RATE)
    second = json_result("s.parquet", "two.csv", "--label", "y")

    assert first["looks"] == 1
    assert second["looks"] == 2


def test_the_command_line_watches_groups(judged_files):
    first = json_result("g.json", "one.csv", *BEGIN_RATE, "--by", "site")
    again = json_result("g.json", "one.csv", "--label", "y", "--plot", "g.svg")

    assert set(first["groups"]) == {"x", "z"}
    assert not again["counted"]
    assert Path("g.svg").stat().st_size > 1000


@pytest.fixture(params=[(), ("--by", "site")], ids=["all cases", "groups"])
def watched_monday(request, tmp_path, monkeypatch):
    """Watch a file, and write the same cases under other names."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"y": rng.integers(0, 2, 60), "p": rng.random(60)})
    frame["site"] = np.where(rng.random(60) < 0.5, "north", "south")
    frame.to_csv("monday.csv", index=False)
    frame.to_csv("2026-11-16T00:30:00+02:00.csv", index=False)
    frame.head(3).to_csv("few.csv", index=False)
    frame.head(3).to_csv("again.csv", index=False)
    watch_file(
        "monday.csv", *COLUMNS, "--metric", "auc", "--at-least", "0.1", *request.param
    )


@pytest.mark.parametrize("file", ["./monday.csv", "2026-11-16T00:30:00+02:00.csv"])
def test_a_file_under_another_name_is_noticed(watched_monday, file):
    done = run("state.json", file, *COLUMNS)

    assert done.exit_code == 2
    assert "exactly the cases of the batch 'monday.csv'" in done.stderr
    assert trueness.load_watch("state.json").looks == 1


def test_the_same_cases_are_counted_under_a_name_that_is_given(watched_monday):
    watch_file("./monday.csv", *COLUMNS, "--name", "another day")


def test_three_cases_may_well_be_equal(watched_monday):
    watch_file("few.csv", *COLUMNS)
    watch_file("again.csv", *COLUMNS)


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
        ({"metric": "scores", "by": "g"}, "its own baseline"),
    ],
)
def test_what_cannot_be_watched(options, message):
    with pytest.raises(InputError, match=message):
        trueness.watch(**options)
