"""Servers of databases for tests, each in a folder of its own and as its own user."""

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", *map(str, SERVERS)])


def needs(*programs):
    places = [shutil.which(p, path=PATH) for p in programs]
    if None in places:
        pytest.skip(f"{programs[places.index(None)]} is not installed")
    return places


@contextmanager
def house(user):
    """Give a folder for a server, and the words that run it as its own user.

    No server runs as root.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if os.geteuid() != 0:
            yield Path(folder), []
            return
        shutil.chown(folder, user)
        yield Path(folder), ["runuser", "-u", user, "--"]


def output(words, text=""):
    made = subprocess.run(words, input=text, capture_output=True, text=True)
    assert not made.returncode, made.stdout + made.stderr
    return made.stdout


@contextmanager
def serving(words, ask):
    """Start a server, wait until it answers, and stop it at the end."""
    nowhere = subprocess.DEVNULL
    started = subprocess.Popen(words, stdout=nowhere, stderr=nowhere)
    try:
        end = time.monotonic() + 30
        while subprocess.run(ask, capture_output=True).returncode:
            assert time.monotonic() < end
            time.sleep(0.1)
        yield
    finally:
        started.terminate()
        started.wait(20)


@contextmanager
def postgres_server():
    """Give the folder of the socket of a PostgreSQL, and the words that call it."""
    initdb, server, client = needs("initdb", "postgres", "psql")
    with house("postgres") as (home, user):
        init = [*user, initdb, "-D", home / "data", "-U", "me", "-A", "trust"]
        output([*init, "-E", "UTF8", "--no-sync"])
        words = [*user, server, "-D", home / "data", "-k", home]
        call = [client, "-h", home, "-U", "me", "-d", "postgres", "-q", "--csv"]
        call += ["-v", "ON_ERROR_STOP=1"]
        with serving([*words, "-c", "listen_addresses="], [*call, "-c", "SELECT 1"]):
            yield home, call
