"""Who may ask: tokens, hosts, origins, paths, sizes; and that nothing stays behind."""

import contextlib
import json
import re
import shlex
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from app.conftest import running
from trueness._core.files import process_folder
from trueness.app import access, jobs
from trueness.app.files import DataFile
from trueness.cli._source import open_source


def test_without_the_token_there_is_no_answer(served):
    for path in ("/", "/look?file=given", "/count?file=given", "/at?file=given"):
        for secret in (None, "wrong", served.token):
            answer = served.ask(path, secret=secret)
            assert answer.status == 403
            assert "the address that trueness app printed" in answer.text
    assert served.ask("/upload?name=x.csv", body=b"y,p\n", secret=None).status == 403


def test_the_token_opens_one_session_and_no_second_one(small):
    with running(small) as server:
        assert server.ask("/session", secret="wrong").status == 403  # noqa: S106
        first = server.ask("/session", secret=server.token)
        second = server.ask("/session", secret=server.token)

        assert len(json.loads(first.text)["secret"]) >= 43
        assert server.token not in first.text
        assert second.status == 403
        assert "works once, in one browser" in second.text


def test_no_cookie_is_set_or_taken(served):
    for path in ("/", "/look?file=given", "/check?file=given"):
        assert "set-cookie" not in served.ask(path).headers
    cookie = f"trueness_{served.port}={served.secret}"
    assert served.ask("/", secret=None, Cookie=cookie).status == 403


def test_a_browser_that_goes_to_an_address_starts_no_work(served, monkeypatch):
    begun = []
    monkeypatch.setattr(jobs.Jobs, "find_or_begin", lambda *_, **__: begun.append(1))
    monkeypatch.setattr(DataFile, "locked", lambda _: begun.append(1))

    for secret in (None, served.secret):
        for path in ("/", "/look?file=given"):
            page = served.ask(path, "GET", secret=secret)
            assert page.status == 200
            assert "given" not in page.text
            assert "small.csv" not in page.text
        for path in ("/count", "/section/summary", "/at", "/check", "/take/map.json"):
            answer = served.ask(f"{path}?file=given", "GET", secret=secret)
            assert answer.status == (403 if secret is None else 405)
    assert begun == []


def test_a_form_with_the_secret_downloads(served):
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    path = "/take/flagged.csv?file=given&cut=0.5"
    right = f"session={served.secret}".encode()

    assert served.ask(path, body=right, secret=None, **form).status == 200
    assert served.ask(path, body=b"session=x", secret=None, **form).status == 403
    assert served.ask(path, body=b"x" * 9000, secret=None, **form).status == 403
    # no other address takes it from a form
    other = served.ask("/check?file=given", body=right, secret=None, **form)
    assert other.status == 403


UPLOAD = "/upload?name=x.csv", "POST", b"y,p\n1,0.5\n0,0.4\n"


@pytest.mark.parametrize(
    ("asked", "headers", "status"),
    [
        *((("/",), {"Host": h}, 421)
          for h in ("evil.example", "127.0.0.1", "127.0.0.1:1", "")),
        *((("/",), {"Host": h + ":{port}"}, 200)
          for h in ("localhost", "127.0.0.1", "[::1]")),
        *((asked, {"Origin": o}, 403) for asked in (("/",), UPLOAD)
          for o in ("http://evil.example", "null", "https://127.0.0.1")),
        (UPLOAD, {"Sec_Fetch_Site": "cross-site"}, 403),
        (UPLOAD, {"Origin": "http://127.0.0.1:{port}"}, 200),
    ],
)  # fmt: skip
def test_only_its_own_pages_may_ask_even_with_the_secret(
    served, asked, headers, status
):
    words = {k: v.format(port=served.port) for k, v in headers.items()}
    answer = served.ask(*asked, **words)
    assert answer.status == status
    assert status != 403 or "another page" in answer.text


def test_the_policy_allows_no_inline_script_and_nothing_from_elsewhere(served):
    for path in ("/", "/look?file=given", "/nothing", "/static/app.js"):
        headers = served.ask(path, "GET").headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert not re.search("unsafe|http", policy)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e%2fserver.py",
        "/static/server.py",
        "/static/look.html.j2",
        "/take/..%2f..%2fetc%2fpasswd?file=given",
        "/look?file=/etc/passwd",
        "/look?file=../../etc/passwd",
        "/look?file=given::x",
        "/section/summary?file=%2Fetc%2Fpasswd",
        "/take/report.html?file=%2Fetc%2Fpasswd",
    ],
)
def test_nothing_else_on_the_disk_can_be_read(served, path):
    answer = served.ask(path, "GET" if path.startswith("/static") else "POST")
    assert "root:" not in answer.text
    assert "import" not in answer.text
    assert answer.status == 404 or "no longer on the workbench" in answer.text


def test_names_of_uploads_stay_in_their_folder(served):
    for name in ("../../evil.csv", "/etc/cron.d/x.csv", "a\\b\\c.csv", "\0.csv"):
        assert served.upload(name, UPLOAD[2])[0] == 200
    assert not Path("/etc/cron.d/x.csv").exists()
    assert not Path(tempfile.gettempdir(), "evil.csv").exists()


def test_an_upload_that_is_too_large_is_refused_with_what_to_do(small):
    with running(limit=1) as server:
        large = b"y,p\n" + b"1,0.5\n" * 200_000
        status, told = server.upload("a.csv", large)
        assert status == 413
        assert "larger than 1 MB" in told["problem"]
        assert "trueness app FILE" in told["problem"]
        # one that does not say how large it is
        body = b"%x\r\n%s\r\n" % (len(large), large)
        assert b" 413 " in chunked(server, body + b"0\r\n\r\n")
        assert server.ask("/").status == 200


def chunked(server, body):
    with socket.create_connection((server.host, server.port), timeout=30) as line:
        line.sendall(
            b"POST /upload?name=a.csv HTTP/1.1\r\n"
            + f"Host: {server.own}\r\n".encode()
            + f"X-Trueness-Session: {server.secret}\r\n".encode()
            + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        with suppress(OSError):  # it may hang up before it has heard all
            line.sendall(body)
        return line.recv(4096)


@pytest.mark.parametrize(
    ("row", "column"),
    [('{"y": %d, "p": {"a": [1]}}', "p.a"), ('{"y": [%d], "p": 0.5}', "p")],
)
def test_columns_of_structures_are_told(served, row, column):
    body = "".join(f"{row % (k % 2)}\n" for k in range(20)).encode()
    where = served.upload("nested.jsonl", body)[1]["address"]
    assert served.ask(where).status == 200
    file = where.rpartition("=")[2]

    told = served.section("summary", file=file, label="y", column=column)

    assert 'role="alert"' in told
    assert "must hold one value per row" in told
    assert "Error" not in told


def test_a_column_of_structures_is_not_taken_for_scores(served):
    body = b'{"y": 0, "p": {"a": [1]}}\n{"y": 1, "p": {"a": [1]}}\n' * 10
    where = served.upload("nested.jsonl", body)[1]["address"]

    problems = served.json("/check", file=where.rpartition("=")[2])["problems"]

    assert problems == {
        "column": "Which columns hold the scores? Column 'p.a' holds lists or "
        "objects: extract the part that you need. Choose one under Scores."
    }


@pytest.mark.parametrize("name", ["[x]*?.csv", "~x.csv", "-x.csv", "sample:x.csv",
                                  "a::b.csv", "a\nb.csv"])  # fmt: skip
def test_uploads_keep_their_names_and_commands_open_them(served, name, tmp_path):
    body = b"y,p\n" + b"1,0.5\n0,0.4\n" * 20
    word = served.upload(name, body)[1]["address"].rpartition("=")[2]
    words = shlex.split(served.json("/check", file=word)["taken"]["command"])
    assert words[2].removeprefix("./") == name
    (tmp_path / name).write_bytes(body)
    with contextlib.chdir(tmp_path):
        assert open_source(words[2]).rows.fetchall() == [(1, 0.5), (0, 0.4)] * 20


def test_it_listens_on_this_machine_only_and_leaves_nothing_behind(small):
    with running(small) as server:
        assert server.host == "127.0.0.1"
        other = socket.gethostbyname(socket.gethostname())
        if not other.startswith("127."):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((other, server.port), timeout=2)
        assert server.upload("a.csv", UPLOAD[2])[0] == 200
        mine = list(process_folder().rglob("a.csv"))
        assert len(mine) == 1
    assert not mine[0].exists()


def test_tokens_and_secrets_differ_and_are_long():
    guards = [access.Guard(None, 1) for _ in range(2)]

    words = {word for guard in guards for word in (guard.token, guard._secret)}

    assert len(words) == 4
    assert min(map(len, words)) >= 43


def test_who_lets_others_in_is_found_under_the_names_of_the_machine():
    name = socket.gethostname()
    with running(host="0.0.0.0") as server:  # noqa: S104
        assert server.host == name.lower()
        assert server.ask("/", Host=f"{name}:{server.port}").status == 200
        assert server.ask("/", Host=f"evil.example:{server.port}").status == 421
