"""A workbench that runs, and a small file for it."""

import http.client
import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, redirect_stdout
from functools import cached_property
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """400 cases, two classifiers, two groups; scores with many ties."""
    rng = np.random.default_rng(3)
    y = (np.arange(400) % 5 < 2).astype(int)
    a = np.round(rng.normal(size=400) + y, 1)
    frame = pd.DataFrame(
        {
            "y": y,
            "a": np.round(1 / (1 + np.exp(-a)), 3),
            "b": np.round(1 / (1 + np.exp(-a - rng.normal(size=400))), 3),
            "site": np.where(np.arange(400) % 2, "north", "south"),
        }
    )
    path = tmp_path_factory.mktemp("app") / "small.csv"
    frame.to_csv(path, index=False)
    return path


class Running:
    """A server in a thread of this process, and a client in its session."""

    def __init__(self, address):
        self.address = address
        parts = urlsplit(address)
        self.host, self.port = parts.hostname, parts.port
        self.token = parts.fragment.removeprefix("token=")
        self.own = f"{self.host}:{self.port}"

    @cached_property
    def secret(self):
        """Exchange the token for the secret of the session, as the page does."""
        answer = self.ask("/session", secret=self.token)
        return json.loads(answer.text)["secret"]

    def ask(self, path, method="POST", body=None, secret="", **headers):
        """Send one request, with the secret of the session unless it is None."""
        if secret is not None:
            headers.setdefault("X_Trueness_Session", secret or self.secret)
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        names = {k.replace("_", "-"): v for k, v in headers.items()}
        connection.putrequest(method, path, skip_host="Host" in names)
        for name, value in names.items():
            connection.putheader(name, value)
        if method == "POST" and "Content-Length" not in names:
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.body = answer.read()
        answer.text = answer.body.decode("utf-8", "replace")
        connection.close()
        return answer

    def get(self, path, **query):
        """Ask for what is there."""
        answer = self.ask(f"{path}?{urlencode(query, doseq=True)}")
        assert answer.status == 200, answer.text
        return answer

    def json(self, path, **query):
        return json.loads(self.get(path, **query).text)

    def upload(self, name, body):
        answer = self.ask(f"/upload?name={quote(name)}", "POST", body)
        return answer.status, json.loads(answer.text)

    def section(self, key, **query):
        """Ask for a section until it is there."""
        path = f"/section/{key}?{urlencode(query, doseq=True)}"
        for _ in range(400):
            answer = self.ask(path)
            if answer.status != 202:
                return answer.text.replace("\N{NO-BREAK SPACE}", " ")
            time.sleep(0.05)
        raise AssertionError("the section never came")


@contextmanager
def running(given=None, **options):
    """Start a server, and end it."""
    server = pytest.importorskip("trueness.app.server")
    with server.prepare_server(given and str(given), **options) as (address, web, run):
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        while not web.started:
            time.sleep(0.01)
        try:
            yield Running(address)
        finally:
            web.should_exit = True
            thread.join(20)


@contextmanager
def process(*words, first="", **environment):
    """Run a server in a process of its own, after a line of Python."""
    source = str(Path(trueness.__file__).parents[1])
    start = f"{first}\nfrom trueness.cli._start import main; main()"
    made = subprocess.Popen(
        [sys.executable, "-c", start, "app", *map(str, words), "--no-browser"],
        env={**os.environ, "PYTHONPATH": source, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield made, Running(made.stdout.readline().strip())
    finally:
        made.kill()
        made.communicate()


@pytest.fixture
def one_lane():
    made = pytest.importorskip("trueness.app.jobs").Jobs(lanes=1)
    yield made
    made.close()


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory):
    """Answers of two systems, judged by two judges; people looked at some."""
    rng, rows = np.random.default_rng(1), []
    for system, share in (("A", 0.7), ("it's B", 0.6)):
        for k in range(120):
            truth, seen = rng.random() < share, rng.random() < 0.5
            label = ("yes" if truth else "no") if seen else None
            for judge in ("j1", "it's j2"):
                said = truth if rng.random() < 0.85 else not truth
                word = "pass" if said else "fail"
                rows.append((f"q{k:03d}", system, judge, word, label))
    columns = ["item", "system", "judge", "said", "human"]
    path = tmp_path_factory.mktemp("judged") / "long.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def panel(small):
    return trueness.panel(pd.read_csv(small), label="y", scores=["a", "b"])


@pytest.fixture(scope="module")
def served(small):
    with running(small) as server:
        yield server


class Elsewhere:
    """What the lines give that a page shows: in a shell, and in Python."""

    def __init__(self, server, query):
        self.lines = server.json("/check", **query)["taken"]
        self.query, self.server = query, server

    def taken(self, name):
        answer = self.server.get(f"/take/{name}", **self.query)
        assert f'filename="{name}"' in answer.headers["content-disposition"]
        return answer.text

    def typed(self, which="command", *more):
        """Run a command in this process, as a shell would."""
        from trueness.cli import app

        words = shlex.split(self.lines[which])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", words)
            result = CliRunner().invoke(app, [*words[1:], *more])
        assert result.exit_code == 0, result.stderr
        return result.stdout

    def spoken(self):
        """Run the lines of Python."""
        with redirect_stdout(io.StringIO()) as spoken:
            exec(compile(self.lines["python"], "lines", "exec"), {})  # noqa: S102
        return spoken.getvalue()

    def same_report(self, said=True):
        """The page, the command and the lines write one report, and say the same."""
        page = self.taken("report.html")
        told = json.loads(self.typed("command", "--json"))
        assert Path("report.html").read_text(encoding="utf-8") == page
        if said:
            assert json.loads(self.taken("report.json")) == told
        spoken = self.spoken()
        mine = Path("report.html").read_text(encoding="utf-8")
        assert mine == re.sub(r" with <code>.*?</code>", "", page, flags=re.S)
        return page, told, spoken


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Run lines in a folder of their own, at one time."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(tmp_path)
    return lambda server, **query: Elsewhere(server, query)
