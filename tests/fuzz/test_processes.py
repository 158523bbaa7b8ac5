"""Kills at random moments, and threads and forks that share one Tally, one Stream."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import trueness

KILLS = int(os.environ.get("TRUENESS_FUZZ_KILLS", "4"))
SOURCE = Path(trueness.__file__).parents[1]
WRITER = """
import sys, trueness
folder = sys.argv[1]
t = trueness.simulate_tally(400, 100, 0.8, rng=0)
c = trueness.calibrate(t, method="isotonic")
print("ready", flush=True)
while True:
    trueness.save_map(c, f"{folder}/map.json")
    t.write(f"{folder}/tally.parquet")
"""


def _whole(folder):
    """What is there can be read, and nothing else is."""
    if (folder / "map.json").exists():
        assert trueness.load_map(folder / "map.json")([0.5])[0] >= 0
    if (folder / "tally.parquet").exists():
        assert trueness.read_tally(folder / "tally.parquet").n == 400


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is a word of POSIX")
def test_a_killed_writer_leaves_whole_files(tmp_path):
    chance = np.random.default_rng(int(os.environ.get("TRUENESS_FUZZ_SEED", "0")))
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    for _ in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            env=environment,
            stdout=subprocess.PIPE,
        )
        assert process.stdout.readline() == b"ready\n"
        time.sleep(chance.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        _whole(tmp_path)
    # the next write clears away what the dead have left
    t = trueness.simulate_tally(400, 100, 0.8, rng=0)
    trueness.save_map(trueness.calibrate(t, method="isotonic"), tmp_path / "map.json")
    t.write(tmp_path / "tally.parquet")
    left = {p.name for p in tmp_path.iterdir()} - {"map.json", "tally.parquet"}
    assert not left


def _answers(t):
    return (
        trueness.auc(t).to_dict(),
        trueness.brier(t, replicates=30).to_dict(),
        trueness.calibrate(t, method="beta"),
    )


def _forked(t, pipe):
    first, second, third = _answers(t)
    pipe.send((first, second, third.a, third.b, third.c))
    pipe.close()


def test_threads_and_forks_share_one_tally():
    t = trueness.simulate_tally(3000, 900, 0.8, rng=1)
    t = t.map(trueness.calibrate(t, method="platt"))
    alone = _answers(t)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: _answers(t), range(16)):
            assert found == alone
    if "fork" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        child = context.Process(target=_forked, args=(t, theirs))
        child.start()
        first, second, *numbers = ours.recv()
        child.join()
        assert (first, second) == alone[:2]
        assert numbers == [alone[2].a, alone[2].b, alone[2].c]


FOLDER = """
import sys, trueness
s = trueness.Stream(sys.argv[1], label="y", score="p", positive=1)
for _ in range(3):
    s.fold(sys.argv[2])
"""


def test_processes_and_threads_share_one_stream(tmp_path):
    for k in range(12):
        (tmp_path / f"{k}.csv").write_text(f"y,p\n1,0.{k}5\n0,0.2\n")
    state, pattern = str(tmp_path / "state.parquet"), str(tmp_path / "*.csv")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    folding = [
        subprocess.Popen(
            [sys.executable, "-c", FOLDER, state, pattern], env=environment
        )
        for _ in range(3)
    ]
    assert [process.wait() for process in folding] == [0, 0, 0]
    stream = trueness.Stream(state, label="y", score="p", positive=1)
    assert stream.tally().n == 24  # every file once, whoever came first
    with ThreadPoolExecutor(4) as pool:
        assert {t.n for t in pool.map(lambda _: stream.tally(), range(8))} == {24}
