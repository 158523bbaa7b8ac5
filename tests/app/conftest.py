"""A workbench that runs, and a small file for it."""

import http.client
import json
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlencode, urlsplit

import numpy as np
import pandas as pd
import pytest


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
    """A server in a thread of this process, and a client that knows its token."""

    def __init__(self, address):
        self.address = address
        parts = urlsplit(address)
        self.host, self.port = parts.hostname, parts.port
        self.token = parts.query.rpartition("token=")[2]
        self.own = f"{self.host}:{self.port}"

    def ask(self, path, method="GET", body=None, cookie=True, **headers):
        """Send one request, with the cookie unless told otherwise."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        if cookie:
            headers.setdefault("Cookie", f"trueness_{self.port}={self.token}")
        names = {k.replace("_", "-"): v for k, v in headers.items()}
        connection.putrequest(method, path, skip_host="Host" in names)
        for name, value in names.items():
            connection.putheader(name, value)
        if body is not None and "Content-Length" not in names:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer

    def json(self, path, **query):
        answer = self.ask(f"{path}?{urlencode(query, doseq=True)}")
        assert answer.status == 200, answer.text
        return json.loads(answer.text)

    def section(self, key, **query):
        """Ask for a section until it is there."""
        path = f"/section/{key}?{urlencode(query, doseq=True)}"
        for _ in range(400):
            answer = self.ask(path)
            if answer.status != 202:
                return answer.text
            time.sleep(0.05)
        raise AssertionError("the section never came")


@contextmanager
def running(given=None, **options):
    """Start a server, and end it."""
    server = pytest.importorskip("trueness.app.server")
    with server.prepared(given and str(given), **options) as (address, web, run):
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        while not web.started:
            time.sleep(0.01)
        try:
            yield Running(address)
        finally:
            web.should_exit = True
            thread.join(20)


@pytest.fixture(scope="module")
def served(small):
    with running(small) as server:
        yield server
