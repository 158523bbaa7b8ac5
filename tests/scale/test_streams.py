"""A stream loses no batch and counts none twice, whatever happens to the process."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import trueness
from trueness import InputError, Stream, Tally

SOURCE = str(Path(trueness.__file__).parents[1])
TINY = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.5, 0.9]})


def batch(seed, n=50):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    p = np.round(rng.random(n), 2)
    return pl.DataFrame({"y": y, "p": p, "day": rng.choice(["mon", "tue"], n)})


def stream(path, **options):
    return Stream(path / "s.parquet", label="y", score="p", **options)


def run(code):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_batches_add_up_once(tmp_path):
    s = stream(tmp_path)
    assert s.tally() == Tally()

    parts = [batch(k) for k in range(4)]
    for k, part in enumerate(parts):
        assert s.add(f"batch {k}", part.lazy() if k % 2 else part)
        assert not s.add(f"batch {k}", part)
    assert s.batches() == 4

    all_rows = pl.concat(parts)
    assert s.tally() == trueness.tally(all_rows["y"], all_rows["p"])
    assert stream(tmp_path).tally() == s.tally()


CLUSTERED = {"label": "y", "score": "p", "cluster": "day", "prevalence": 0.1}


@pytest.mark.parametrize("at_most", [None, 5])
def test_clusters_and_the_design_stay(tmp_path, at_most):
    s = Stream(tmp_path / "s.parquet", **CLUSTERED, by="day", at_most=at_most)
    all_cases = trueness.tally(pl.concat([batch(1), batch(2)]), **CLUSTERED)

    s.add("1", batch(1))
    s.add("2", batch(2))

    if at_most is None:
        assert s.tally() == all_cases
    assert s.tally().clusters.names.tolist() == ["mon", "tue"]
    assert s.tally().design == all_cases.design


def test_a_forgotten_window_takes_its_clusters_along(tmp_path):
    s = Stream(tmp_path / "s.parquet", **CLUSTERED, by="day")
    s.add("1", batch(1))

    s.forget("mon")

    assert s.tally().clusters.names.tolist() == ["tue"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": ["x", "y"]}, r"prevalence 0\.1 and None"),
        ({"prevalence": 0.1}, "must have clusters, or none"),
    ],
)
def test_a_batch_of_another_design_is_not_counted(tmp_path, options, message):
    s = Stream(tmp_path / "s.parquet", **CLUSTERED, by="day")
    s.add("1", batch(1))

    with pytest.raises(InputError, match=message):
        s.add("2", {"wed": trueness.tally([1, 0], [0.5, 0.4], **options)})

    assert s.batches() == 1


def test_each_window_has_its_counts(tmp_path):
    s = stream(tmp_path, by="day")
    all_rows = pl.concat([batch(1), batch(2)])

    s.add("1", batch(1))
    s.add("2", batch(2))

    assert s.windows() == trueness.tally(all_rows, label="y", score="p", by="day")
    assert s.tally() == trueness.tally(all_rows, label="y", score="p")


def test_a_batch_of_a_forgotten_window_stays_known(tmp_path):
    s = stream(tmp_path, by="day")
    s.add("1", batch(1))

    s.forget("mon")

    assert list(s.windows()) == ["tue"]
    assert not s.add("1", batch(1))
    with pytest.raises(InputError, match=r"window must be one of.*found 'mon'"):
        s.forget("mon")


def three_days(path):
    """A stream of two cases a day, on three days."""
    s = stream(path, by="day")
    for day in ("2026-11-13", "2026-11-14", "2026-11-15"):
        s.add(day, pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2], "day": day}))
    return s


def test_windows_are_chosen_by_number_or_by_name(tmp_path):
    s = three_days(tmp_path)

    assert s.window(last=2).n == 4
    assert s.window(since="2026-11-14", until="2026-11-14").n == 2
    assert s.window() == s.tally()
    assert s.window(since="2027").n == 0
    with pytest.raises(InputError, match="last must be a whole number"):
        s.window(last=0)


def test_what_came_since_is_a_difference(tmp_path):
    s = three_days(tmp_path)
    before = s.tally()

    s.add("late", pl.DataFrame({"y": [1], "p": [0.9], "day": "2026-11-15"}))

    assert s.tally() - before == Tally([0.9], pos=[1])


def test_counted_elsewhere_and_bounded(tmp_path):
    s = Stream(tmp_path / "s.parquet", at_most=10)
    parts = [trueness.tally(batch(k)["y"], batch(k)["p"]) for k in range(5)]
    for k, t in enumerate(parts):
        s.add(str(k), t)

    assert len(s.tally()) <= 10

    exact = trueness.auc(sum(parts)).value
    bounds = trueness.bounds("auc", s.tally())
    assert bounds.low <= exact <= bounds.high


def test_files_are_folded_once(tmp_path):
    s = stream(tmp_path)
    incoming = tmp_path / "in"
    incoming.mkdir()
    batch(1).write_parquet(incoming / "1.parquet")
    content = (incoming / "1.parquet").read_bytes()
    (incoming / "2.parquet").write_bytes(content[: len(content) // 2])
    done = s.add_files(f"{incoming}/*.parquet")

    assert [Path(f).name for f in done.counted] == ["1.parquet"]
    assert "cannot be read" in done.failed[str(incoming / "2.parquet")]

    batch(2).write_parquet(incoming / "2.parquet")
    done = s.follow(f"{incoming}/*.parquet", every=0.01, rounds=2)
    assert (done.counted, done.already_counted, done.failed) == ((), 2, {})
    assert s.tally().n == 100


KILLED = """
    import os, signal, polars as pl, trueness
    moment = {moment!r}
    s = trueness.Stream({folder!r} + "/s.parquet", label="y", score="p")
    rows = pl.DataFrame({{"y": [0, 1, 1], "p": [0.1, 0.5, 0.9]}})
    s.add("first", rows)
    real = os.replace
    def replace(*names):
        if moment == "after":
            real(*names)
        os.kill(os.getpid(), signal.SIGKILL)
    os.replace = replace
    s.add("second", rows)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "known"), [("before", 1), ("after", 2)])
def test_a_process_killed_in_the_middle_of_a_batch(tmp_path, moment, known):
    dead = run(KILLED.format(folder=str(tmp_path), moment=moment))
    dead.communicate(timeout=60)
    assert dead.returncode == -signal.SIGKILL

    s = stream(tmp_path)
    assert s.batches() == known
    assert s.tally().n == 3 * known
    assert s.add("second", TINY) == (moment == "before")
    assert s.tally().n == 6
    assert {p.name for p in tmp_path.iterdir()} == {"s.parquet"}


@pytest.mark.slow
def test_two_processes_at_once(tmp_path):
    code = """
        import os, polars as pl, trueness
        s = trueness.Stream({path!r}, label="y", score="p")
        for k in range(8):
            s.add(f"{name} {{k}}", pl.DataFrame({{"y": [0, 1], "p": [0.1, 0.9]}}))
            s.add(f"shared {{k}}", pl.DataFrame({{"y": [0, 1], "p": [0.1, 0.9]}}))
        # threads of the libraries may abort the end of the interpreter
        os._exit(0)
    """
    path = str(tmp_path / "s.parquet")
    both = [run(code.format(path=path, name=name)) for name in ("one", "two")]
    errors = [process.communicate(timeout=120)[1] for process in both]

    assert [process.returncode for process in both] == [0, 0], errors

    s = Stream(path, label="y", score="p")
    assert s.batches() == 24
    assert s.tally().n == 48


def test_following_ends_cleanly(tmp_path):
    code = f"""
        import trueness
        s = trueness.Stream({str(tmp_path / "s.parquet")!r}, label="y", score="p")
        print("ready", flush=True)
        print(s.follow({str(tmp_path / "in" / "*.csv")!r}, every=0.05).already_counted)
    """
    (tmp_path / "in").mkdir()
    batch(1).write_csv(tmp_path / "in" / "1.csv")
    process = run(code)

    assert process.stdout.readline() == "ready\n"

    s = stream(tmp_path)
    deadline = time.monotonic() + 60
    while s.batches() < 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        # a library may swallow it: then it is sent again, as a person would
        with contextlib.suppress(subprocess.TimeoutExpired):
            _, errors = process.communicate(timeout=10)
            break
    assert process.returncode == 0, errors
    assert s.tally().n == 50


def test_a_full_disk_leaves_what_was_there(tmp_path):
    code = f"""
        import os, resource, signal, numpy as np, trueness
        path = {str(tmp_path / "t.parquet")!r}
        trueness.Tally([0.5], pos=[1]).write(path)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        scores = np.random.default_rng(0).random(100_000)
        try:
            trueness.tally(None, scores).write(path)
        except OSError as err:
            print(err, flush=True)
        assert trueness.read_tally(path).n == 1
        os._exit(0)  # as above: what ends with the interpreter is not tested here
    """
    process = run(code)

    out, errors = process.communicate(timeout=60)

    assert process.returncode == 0, errors
    assert "t.parquet cannot be written" in out
    assert "Nothing was changed" in out
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_slips(tmp_path):
    s = stream(tmp_path)
    nowhere = Stream(tmp_path / "none" / "s.parquet")
    Tally([1], pos=[1]).write(tmp_path / "t.parquet")
    for message, ask in {
        "A batch must have a name": lambda: s.add("", batch(1)),
        "must name a column": lambda: s.add("1", batch(1).rename({"p": "q"})),
        "there is no folder": lambda: nowhere.add("1", Tally()),
        "holds a tally": Stream(tmp_path / "t.parquet").tally,
        "every must be above zero": lambda: s.follow("*.csv", every=0),
    }.items():
        with pytest.raises(InputError, match=message):
            ask()
    assert s.batches() == 0


def test_files_of_one_name_in_several_folders_are_all_counted(tmp_path):
    for day in (1, 2):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "part-0.csv").write_text(f"y,p\n1,0.{day}\n0,0.1\n")
    s = stream(tmp_path)
    assert len(s.add_files(str(tmp_path / "day=*" / "part-*.csv")).counted) == 2
    assert s.tally().n == 4
    assert (
        s.add_files(str(tmp_path / "day=*")).already_counted == 2
    )  # a folder means its files

    (tmp_path / "day=2" / "part-1.csv").write_text("y,p\n1,0.7\n")
    assert len(s.add_files(str(tmp_path / "day=*")).counted) == 1
    assert s.tally().n == 5


def test_labels_are_the_same_two_in_all_batches(tmp_path, lazy_engine):
    s = stream(tmp_path, positive="yes")
    assert s.add("1", lazy_engine({"y": ["yes", "no", None], "p": [0.1, 0.2, 0.3]}))
    assert s.add("2", lazy_engine({"y": ["yes"], "p": [0.5]}))
    with pytest.raises(InputError, match=r"earlier ones had .*, this one has 'maybe'"):
        s.add("3", lazy_engine({"y": ["maybe"], "p": [0.4]}))
    assert s.batches() == 2
    assert s.add("3", lazy_engine({"y": ["no"], "p": [0.4]}))
    assert (s.tally().n_neg, s.tally().n_pos, s.tally().n_unknown) == (2, 2, 1)

    signs = Stream(tmp_path / "t.parquet", label="y", score="p")
    signs.add("1", lazy_engine({"y": [-1, 1], "p": [0.1, 0.2]}))
    with pytest.raises(InputError, match="must have two values over all batches"):
        signs.add("2", lazy_engine({"y": [0, 1], "p": [0.1, 0.2]}))


@pytest.mark.parametrize("description", ["[]", "{}", '{"windows": 3}', "[" * 100_000])
def test_a_forged_stream_gets_a_sentence(tmp_path, description):
    s = stream(tmp_path)
    s.add("a", batch(1))
    kind = description.replace("{", '{"kind": "stream", ').replace(", }", "}")
    table = pq.read_table(s.path).replace_schema_metadata({"trueness": kind})

    pq.write_table(table, s.path)

    with pytest.raises(InputError, match="does not hold a stream"):
        s.tally()
