"""How commands end: pipes, interrupts, full disks; files whole or not at all."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shell import ENVIRONMENT, TRUENESS, run

ROWS = "y,p,q\n" + "1,0.9,0.7\n1,0.8,0.9\n0,0.5,0.1\n1,0.5,0.6\n0,0.2,0.3\n" * 4

# every way to write a file: the words before its name, and its ending
WRITERS = {
    "report": ("report data.csv -l y -s p -o", ".html"),
    "rows as Parquet": ("calibrate data.csv -l y -s p --method platt -o", ".parquet"),
    "rows as CSV": ("combine data.csv -l y -s p -s q --method fidel -o", ".csv"),
    "a map": ("calibrate data.csv -l y -s p --method platt --save", ".json"),
    "SVG": ("evaluate data.csv -l y -s p --plot", ".svg"),
    "PNG": ("plan leaf --p 0.75 --confidence 0.95 --plot", ".png"),
    "HTML": ("leaves data.csv -l y --node q --plot", ".html"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(ROWS)
    return tmp_path


@pytest.fixture(params=WRITERS)
def writer(request, here):
    words, ending = WRITERS[request.param]
    return words.split(), f"out{ending}"


def left_over():
    return sorted(p.name for p in Path().iterdir() if p.name != "data.csv")


def test_an_existing_file_is_replaced(writer):
    words, name = writer
    Path(name).write_text("old")
    result = run(*words, name)
    assert result.exit_code == 0, result.stderr
    assert Path(name).read_bytes()[:3] != b"old"
    assert left_over() == [name]
    assert oct(Path(name).stat().st_mode & 0o777) == oct(0o666 & ~umask())


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def stop_with(monkeypatch, action):
    """Do something bad in the moment before a file takes its place."""
    monkeypatch.setattr("trueness._core.files._sync", lambda path: action())


def no_space():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt():
    # Python loses a signal that arrives while it clears away garbage: press again
    for _ in range(5):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)  # the signal ends this


TROUBLES = {
    "full disk": (no_space, 1, "No space left on device"),
    "interrupted": (interrupt, 130, "Interrupted; no file was left half-written"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("old", ["old", None], ids=["over a file", "a new file"])
def test_trouble_while_writing_changes_nothing(trouble, old, writer, monkeypatch):
    words, name = writer
    action, code, sentence = TROUBLES[trouble]
    if old:
        Path(name).write_text(old)
    stop_with(monkeypatch, action)
    result = run(*words, name)
    assert result.exit_code == code, result.stderr
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert left_over() == ([name] if old else [])
    if old:
        assert Path(name).read_text() == old


def test_places_that_cannot_be_written_stop_before_the_work(writer):
    words, name = writer
    Path(name).mkdir()
    for place, says in {
        name: "cannot be written: it is a folder",
        f"nowhere/{name}": "there is no folder nowhere",
        f"/proc/{name}": "cannot be written",
    }.items():
        result = run(*words, place)
        assert result.exit_code == 1
        assert says in result.stderr


def test_a_read_only_folder(here):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    folder = here / "locked"
    folder.mkdir(mode=0o500)
    result = run("evaluate", "data.csv", "-l", "y", "-s", "p", "--plot", "locked/x.svg")
    assert result.exit_code == 1
    assert "is read-only" in result.stderr


def test_the_input_is_never_replaced(here):
    words = ["calibrate", "data.csv", "-l", "y", "-s", "p", "--method", "platt"]
    Path("link.csv").symlink_to("data.csv")
    for name in ("data.csv", "./data.csv", "link.csv"):
        result = run(*words, "-o", name)
        assert result.exit_code == 2
        assert "is the input file, which would be overwritten" in result.stderr
    assert Path("data.csv").read_text() == ROWS
    result = run("calibrate", "*.csv", *words[2:], "-o", "data.csv")
    assert "is the input file, which would be overwritten" in result.stderr
    result = run(*words, "-o", "same.csv", "--save", "same.csv")
    assert "name the same file" in result.stderr


@pytest.mark.slow
def test_a_link_stays_a_link_and_a_device_a_device(here):
    Path("real.svg").write_text("old")
    Path("link.svg").symlink_to("real.svg")
    words = ["evaluate", "data.csv", "-l", "y", "-s", "p", "--plot"]
    assert run(*words, "link.svg").exit_code == 0
    assert Path("link.svg").is_symlink()
    assert Path("real.svg").read_text().startswith("<svg")
    os.mkfifo("pipe.html")
    command = [*TRUENESS, "report", "data.csv", "-l", "y", "-s", "p", "-o", "pipe.html"]
    running = subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert Path("pipe.html").read_text().startswith("<!doctype html>")
    assert running.wait(60) == 0
    assert Path("pipe.html").is_fifo()
    page = subprocess.run(
        [*command[:-1], "/dev/stdout"], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert page.stdout.startswith("<!doctype html>")
    assert page.stdout.rstrip().endswith("</html>")


@pytest.mark.slow
def test_a_real_limit_on_the_size_of_files(here):
    """The kernel stops the write in the middle of the file."""
    words = ["calibrate", "data.csv", "-l", "y", "-s", "p", "--method", "platt"]
    # set by the new process itself: a copy of this one may not fit into memory
    limited = (
        "import os, resource, sys; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    result = subprocess.run(
        [sys.executable, "-c", limited, *TRUENESS, *words, "-o", "rows.csv"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1, result.stderr
    assert "Error: rows.csv cannot be written: File too large" in result.stderr
    assert left_over() == []


def test_full_disk_of_standard_output(here):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*TRUENESS, "evaluate", "data.csv", "-l", "y", "-s", "p"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
    assert result.returncode == 1
    assert result.stderr == "Error: cannot write or read: No space left on device.\n"


def test_broken_pipe_is_quiet(here):
    shown = " ".join(TRUENESS)
    command = (
        f"{shown} evaluate data.csv -l y -s p | head -c 1; echo ${{PIPESTATUS[0]}}"
    )
    result = subprocess.run(
        ["bash", "-c", command], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert result.stdout in ("21\n", "20\n")  # the writer may have been quicker
    assert result.stderr == ""
    closed = subprocess.run(
        ["bash", "-c", f"{shown} evaluate data.csv -l y -s p --json >&-"],
        env=ENVIRONMENT, capture_output=True, text=True,
    )  # fmt: skip
    assert closed.returncode == 1
    assert closed.stderr == "Error: standard output is closed.\n"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_cleanly(name, here):
    running = subprocess.Popen(
        [*TRUENESS, "calibrate", "-", "-l", "y", "-s", "p", "-o", "rows.csv"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "TMPDIR": str(here)},
    )
    running.stdin.write(b"y,p\n")
    running.stdin.flush()
    wait_until_reading(running.pid)
    running.send_signal(getattr(signal, name))
    _, said = running.communicate(timeout=30)
    assert running.returncode == {"SIGINT": 130, "SIGTERM": 143}[name]
    assert b"Traceback" not in said
    assert left_over() == []  # the spool of standard input lay here too


def wait_until_reading(pid):
    """Wait until a process sleeps in a read of its standard input."""
    for _ in range(600):
        stack = Path(f"/proc/{pid}/wchan").read_text()
        maps = Path(f"/proc/{pid}/maps").read_text()
        if "pipe" in stack and "duckdb" in maps:
            return
        subprocess.run(["sleep", "0.05"], check=True)


SWALLOWED = """
import os, sys
from trueness.cli import _app

def engine_that_swallows():
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
    except BaseException:
        pass
    raise RuntimeError("Query interrupted")

_app.app = engine_that_swallows
_app.main()
"""
FORGOTTEN = """
import os, sys
from trueness._core.progress import steps
from trueness.cli import _app

def library_that_forgets():
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
    except BaseException:
        pass
    for _ in steps(range(10**9), "Bootstrap"):
        pass

_app.app = library_that_forgets
_app.main()
"""


@pytest.mark.parametrize("code", [SWALLOWED, FORGOTTEN])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_an_engine_swallows_ends_the_command(code, number):
    words = [sys.executable, "-c", code, str(int(number))]

    done = subprocess.run(
        words, env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 128 + number
    assert done.stderr == ""
