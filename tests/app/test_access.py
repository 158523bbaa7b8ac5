"""Who may ask: tokens, hosts, origins, paths, sizes; and that nothing stays behind."""

import contextlib
import json
import shlex
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

import trueness
from app.conftest import running
from trueness._core.files import process_folder
from trueness.app import access, files
from trueness.cli._source import open_source
from trueness.samples import SAMPLES


def test_without_the_token_there_is_no_answer(served):
    for path in ("/", "/look?file=given", "/static/app.js", "/at?file=given"):
        answer = served.ask(path, cookie=False)
        assert answer.status == 403
        assert "the address that trueness app has printed" in answer.text
    assert served.ask("/?token=wrong", cookie=False).status == 403
    wrong = served.ask("/", Cookie=f"trueness_{served.port}=wrong")
    assert wrong.status == 403


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_page_has(served):
    answer = served.ask(f"/look?file=given&token={served.token}", cookie=False)
    assert answer.status == 303
    assert answer.headers["location"] == "/look?file=given"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    away = served.ask(f"//evil.example/?token={served.token}", cookie=False)
    assert away.headers["location"].startswith("/evil.example")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_forged_host_is_refused_even_with_the_cookie(served, host):
    assert served.ask("/", Host=host).status == 421


def test_names_of_this_machine_are_the_same_server(served):
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert served.ask("/", Host=f"{name}:{served.port}").status == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1"])
def test_a_forged_origin_is_refused(served, method, origin):
    path = "/" if method == "GET" else "/upload?name=a.csv"
    answer = served.ask(path, method, b"y,p\n1,1\n", Origin=origin)
    assert answer.status == 403
    assert "another page" in answer.text


def test_a_form_of_another_page_is_refused_without_an_origin_too(served):
    answer = served.ask("/upload", "POST", b"", Sec_Fetch_Site="cross-site")
    assert answer.status == 403


def test_its_own_pages_may_ask(served):
    body = b"y,p\n1,0.5\n0,0.4\n"
    origin = f"http://{served.own}"
    answer = served.ask("/upload?name=x.csv", "POST", body, Origin=origin)
    assert json.loads(answer.text)["address"].startswith("/look?file=upload-")


def test_the_policy_allows_no_inline_script_and_nothing_from_elsewhere(served):
    for path in ("/", "/look?file=given", "/nothing", "/static/app.js"):
        policy = served.ask(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert served.ask(path).headers["x-content-type-options"] == "nosniff"
        assert served.ask(path).headers["cache-control"] == "no-store"


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
    answer = served.ask(path)
    assert "root:" not in answer.text
    assert "import" not in answer.text
    assert answer.status == 404 or "no longer on the workbench" in answer.text


def test_names_of_uploads_stay_in_their_folder(served):
    for name in ("../../evil.csv", "/etc/cron.d/x.csv", "a\\b\\c.csv", "%00.csv"):
        path = f"/upload?name={name}".replace("\\", "%5C")
        answer = served.ask(path, "POST", b"y,p\n1,0.5\n0,0.4\n")
        assert answer.status == 200, answer.text
    assert not Path("/etc/cron.d/x.csv").exists()
    assert not Path(tempfile.gettempdir(), "evil.csv").exists()


def test_an_upload_that_is_too_large_is_refused_with_what_to_do(small):
    with running(limit=1) as server:
        large = b"y,p\n" + b"1,0.5\n" * 200_000
        told = server.ask("/upload?name=a.csv", "POST", large)
        assert told.status == 413
        assert "larger than 1 MB" in told.text
        assert "trueness app FILE" in told.text
        # one that does not say how large it is
        chunks = b"".join(
            b"%x\r\n%s\r\n" % (len(large) // 4, large[k : k + len(large) // 4])
            for k in range(0, len(large) // 4 * 4, len(large) // 4)
        )
        answer = chunked(server, chunks + b"0\r\n\r\n")
        assert b" 413 " in answer
        assert server.ask("/").status == 200


def chunked(server, body):
    with socket.create_connection((server.host, server.port), timeout=30) as line:
        line.sendall(
            b"POST /upload?name=a.csv HTTP/1.1\r\n"
            + f"Host: {server.own}\r\n".encode()
            + f"Cookie: trueness_{server.port}={server.token}\r\n".encode()
            + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        with suppress(OSError):  # it may hang up before it has heard all
            line.sendall(body)
        return line.recv(4096)


@pytest.mark.parametrize(
    ("name", "body", "told"),
    [
        ("a.parquet", b"no parquet at all", "a.parquet"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"y,p\n", "no rows"),
        ("a.xlsx", b"PK", "spreadsheet"),
        ("a.exe", b"MZ", "files of one kind"),
        ("a.csv.gz", b"no gzip", "a.csv.gz"),
        ("a.jsonl", b"{]", "a.jsonl"),
        ("noise.csv", bytes(range(256)) * 40, "noise.csv"),
        ("short.parquet", b"PAR1" + bytes(40), "short.parquet"),
    ],
)
def test_a_wrong_file_is_told_and_never_ends_the_server(served, name, body, told):
    answer = served.ask(f"/upload?name={name}", "POST", body)
    assert answer.status == 400
    problem = json.loads(answer.text)["problem"]
    assert told in problem
    assert "Traceback" not in problem
    assert tempfile.gettempdir() not in problem  # where it lies is nobody's concern
    assert served.ask("/").status == 200


@pytest.mark.parametrize("row", ['{"y": %d, "p": {"a": [1]}}', '{"y": [%d], "p": 0.5}'])
def test_columns_of_structures_are_told(served, row):
    body = "".join(f"{row % (k % 2)}\n" for k in range(20)).encode()
    answer = served.ask("/upload?name=nested.jsonl", "POST", body)
    where = json.loads(answer.text)["address"]
    assert served.ask(where).status == 200
    told = served.section("summary", file=where.rpartition("=")[2])
    assert 'role="alert"' in told
    assert "Error" not in told


@pytest.mark.parametrize("name", ["[x]*?.csv", "~x.csv", "-x.csv", "sample:x.csv",
                                  "a::b.csv", "a\nb.csv"])  # fmt: skip
def test_uploads_keep_their_names_and_commands_open_them(served, name, tmp_path):
    from urllib.parse import quote

    body = b"y,p\n" + b"1,0.5\n0,0.4\n" * 20
    answer = served.ask(f"/upload?name={quote(name)}", "POST", body)
    address = json.loads(answer.text)["address"].replace("/look", "/check")
    words = shlex.split(json.loads(served.ask(address).text)["taken"]["command"])
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
        served = server.ask("/upload?name=a.csv", "POST", b"y,p\n1,0.5\n0,0.4\n")
        assert served.status == 200
        mine = list(process_folder().rglob("a.csv"))
        assert len(mine) == 1
    assert not mine[0].exists()


def test_tokens_differ_and_are_long():
    first, second = access.Key(1), access.Key(1)
    assert first.token != second.token
    assert len(first.token) >= 43
    assert not first.fits(None)


def test_the_samples_on_the_first_page_are_there():
    assert set(files.SHOWN_SAMPLES) <= set(SAMPLES)
    assert trueness.samples.path(files.SHOWN_SAMPLES[0]).is_file()


def test_who_lets_others_in_is_found_under_the_names_of_the_machine():
    name = socket.gethostname()
    with running(host="0.0.0.0") as server:  # noqa: S104
        assert server.host == name.lower()
        assert server.ask("/", Host=f"{name}:{server.port}").status == 200
        assert server.ask("/", Host=f"evil.example:{server.port}").status == 421
