"""Kills at random moments, and threads and forks that share one Tally, one Stream."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import trueness

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("TRUENESS_FUZZ_KILLS", "4"))
SOURCE = Path(trueness.__file__).parents[1]
# One process has everything imported and forks the writers: a kill costs milliseconds.
# What a writer leaves is read by another fork, since threads do not survive a fork.
NURSERY = """
import os, random, signal, sys, time
from pathlib import Path

import trueness
from trueness.cli import app
import trueness.cli._app, trueness.plots, trueness.reports

folder, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
os.chdir(folder)
chance = random.Random(seed)
t = trueness.simulate_tally(40, 20, 0.8, rng=0)
t = t.map(trueness.calibrate(t, method="platt"))
rows = list(zip(*[x.tolist() for x in (t.score, t.neg, t.pos)]))
lines = [f"{s},{y}" for s, n, p in rows for y, k in ((0, n), (1, p)) for _ in range(k)]
Path("cases.csv").write_text("p,y\\n" + "\\n".join(lines) + "\\n")
Path("c.toml").write_text(
    'label = "y"\\nscore = "p"\\n[[require]]\\nmetric = "auc"\\nat_least = 0.5\\n'
)
cases = ["--label", "y", "--score", "p"]


def shell(*words):
    app([*words], standalone_mode=False)


def begun():
    return trueness.watch("recall", threshold=0.3, at_least=0.1)


def watched(path):
    w = trueness.load_watch(path) if Path(path).exists() else begun()
    w.update(t, name=str(w.looks)).save(path)


def streamed():
    s = trueness.Stream("stream.parquet", label="y", score="p", positive=1)
    s.add(str(time.time_ns()), t)


WRITERS = {
    "map.json": lambda: trueness.save_map(trueness.calibrate(t), "map.json"),
    "tally.parquet": lambda: t.write("tally.parquet"),
    "watch.json": lambda: watched("watch.json"),
    "watch.parquet": lambda: watched("watch.parquet"),
    "roc.svg": lambda: trueness.plots.save(
        trueness.plots.roc.figure_data(t), "roc.svg"
    ),
    "page.html": lambda: trueness.report(t, "page.html"),
    "stream.parquet": streamed,
    "cli.json": lambda: shell("watch", "cli.json", "cases.csv", *cases, "--name",
        str(time.time_ns()), *([] if Path("cli.json").exists() else
        ["--metric", "auc", "--at-least", "0.1"])),
    "gate.xml": lambda: shell("check", "c.toml", "cases.csv", "--junit", "gate.xml",
        "--markdown", "gate.md"),
}


def whole():
    here = lambda name: Path(name).exists()
    if here("map.json"):
        assert trueness.load_map("map.json")([0.5])[0] >= 0
    if here("tally.parquet"):
        assert trueness.read_tally("tally.parquet") == t
    for name in ("watch.json", "watch.parquet", "cli.json"):
        if here(name):
            assert trueness.load_watch(name).looks > 0
    if here("stream.parquet"):
        s = trueness.Stream("stream.parquet", label="y", score="p", positive=1)
        assert s.tally().n % t.n == 0
    for name, end in (("roc.svg", "</svg>"), ("page.html", "</html>"),
                      ("gate.xml", "</testsuites>")):
        if here(name):
            assert Path(name).read_text().rstrip().endswith(end), name


def forked(act):
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        try:
            act()
            os._exit(0)
        except SystemExit:
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    return child


def ended(child):
    assert os.waitpid(child, 0)[1] == 0


def again_and_again(write):
    while True:
        write()


for k in range(kills):
    write = chance.choice(list(WRITERS.values()))
    child = forked(lambda: again_and_again(write))
    time.sleep(chance.random() * (0.2 if k % 3 else 2.0))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if k % 10 == 9 or k == kills - 1:
        ended(forked(whole))
for write in WRITERS.values():  # the next write clears away what the dead have left
    ended(forked(write))
ended(forked(whole))
left = {p.name for p in folder.iterdir()} - {*WRITERS, "gate.md", "cases.csv", "c.toml"}
assert not left, left
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is a word of POSIX")
def test_a_killed_writer_leaves_whole_files(tmp_path):
    seed = os.environ.get("TRUENESS_FUZZ_SEED", "0")
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", NURSERY, tmp_path, str(KILLS), seed],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def _answers(t):
    return (
        trueness.auc(t).to_dict(),
        trueness.brier(t).to_dict(),
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
    s.add_files(sys.argv[2])
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
