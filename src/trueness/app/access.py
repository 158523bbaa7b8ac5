r"""Who may ask, and how long is waited for? One person at this machine, in this page.

The address that is printed holds a token behind ``#``, which no browser sends. A script
of the page exchanges it, once, for the secret of the session, and sends that with every
request: as a header, or as a field of a form that downloads. There is no cookie, which
would reach other ports of this machine. What can be had without the secret, an empty
page and its scripts, says nothing about any file and starts no work.

The host is compared, so that a name that is pointed at 127.0.0.1 later (DNS rebinding)
gets no answer. Connections that begin a request and do not go on are closed, and so are
connections beyond a number that leaves handles for files.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable
from contextlib import suppress
from secrets import token_urlsafe
from typing import final
from urllib.parse import parse_qs

import h11
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # "no-referrer" would make browsers send forms of our own page with no origin
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
REQUEST_TIMEOUT_S = 5.0  # for the head of a request, and for each part of its body
MIN_BODY_PART = 1024  # bytes of a body that must come in that time
MAX_FORM_BYTES = 4096  # of a form that asks for a download
DEFAULT_MAX_CONNECTIONS = 200
SESSION_HEADER = "x-trueness-session"
SESSION_FIELD = "session"
LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
PUBLIC_PAGES = ("/", "/look")
PUBLIC_FOLDER = "/static/"
WRONG_HOST = "This server answers under its own address only.\n"
WRONG_ORIGIN = "This request came from another page, and was refused.\n"
STOPPING = "The server is stopping.\n"
UNKNOWN_SESSION = (
    "Open this page with the address that trueness app printed. It works once, in "
    "one browser. For another browser, restart trueness app and copy the new "
    "address.\n"
)


@final
class Guard:
    """Lets requests of its session through, for a port and names of this machine."""

    def __init__(
        self, app: ASGIApp, port: int, hosts: Iterable[str] = LOCAL_HOSTS
    ) -> None:
        self.app = app
        self.port = port
        self.addresses = {f"{host}:{port}" for host in hosts}
        self.token = token_urlsafe(32)
        self._token_is_used = False
        self._secret = token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with a sentence."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            answer = await self._own_answer(Request(scope, receive))
            await (answer or self.app)(scope, receive, send_with_headers)
        except asyncio.CancelledError:  # the server ends, and this took too long
            stopping = PlainTextResponse(STOPPING, 503)
            with suppress(RuntimeError):  # where an answer has begun
                await stopping(scope, receive, send_with_headers)

    async def _own_answer(self, request: Request) -> Response | None:
        """Return a refusal, or the secret for a token; None where the app answers."""
        if request.headers.get("host") not in self.addresses:
            return PlainTextResponse(WRONG_HOST, 421)
        if not self._from_own_page(request):
            return PlainTextResponse(WRONG_ORIGIN, 403)
        if request.method == "POST" and request.url.path == "/session":
            return self._open_session(request)
        if _is_public(request) or await self._has_secret(request):
            return None
        return PlainTextResponse(UNKNOWN_SESSION, 403)

    def _from_own_page(self, request: Request) -> bool:
        """Return whether a page of this server asks, or no page at all."""
        origin = request.headers.get("origin")
        if origin is not None:
            return origin in {f"http://{address}" for address in self.addresses}
        if request.method in ("GET", "HEAD"):
            return True

        site = request.headers.get("sec-fetch-site", "none")
        return site in ("same-origin", "none")

    def _open_session(self, request: Request) -> Response:
        """Exchange the token of the printed address for the secret, once."""
        token = request.headers.get(SESSION_HEADER, "")
        if self._token_is_used or not _are_equal(token, self.token):
            return PlainTextResponse(UNKNOWN_SESSION, 403)
        self._token_is_used = True
        return JSONResponse({"secret": self._secret})

    async def _has_secret(self, request: Request) -> bool:
        secret = request.headers.get(SESSION_HEADER)
        if secret is None:
            secret = await _secret_in_form(request)
        return _are_equal(secret, self._secret)


def _is_public(request: Request) -> bool:
    """Return whether this is an empty page, or one of its scripts and styles."""
    path = request.url.path
    public_paths = path in PUBLIC_PAGES or path.startswith(PUBLIC_FOLDER)
    return public_paths and request.method in ("GET", "HEAD")


def _are_equal(text: str, secret: str) -> bool:
    """Compare with a secret; this takes as long for every wrong text."""
    return hmac.compare_digest(text.encode(), secret.encode())


async def _secret_in_form(request: Request) -> str:
    """Read the secret from the form that asks for a download."""
    kind = request.headers.get("content-type", "")
    is_download = request.method == "POST" and request.url.path.startswith("/take/")
    if not is_download or kind != "application/x-www-form-urlencoded":
        return ""

    body = b""

    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return ""

    fields = parse_qs(body.decode("latin-1"))
    return fields.get(SESSION_FIELD, [""])[0]


def max_connections() -> int:
    """Return how many connections may be open: a quarter of the handles, at most 200.

    The others are for files, the engine and connections that are about to be refused.
    """
    try:
        import resource  # not there on Windows, which has no such limit

        handles = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except ImportError:
        return DEFAULT_MAX_CONNECTIONS
    return max(8, min(DEFAULT_MAX_CONNECTIONS, handles // 4))


@final
class ImpatientProtocol(H11Protocol):
    """HTTP that closes a connection whose request stops: uvicorn waits for ever."""

    _timer: asyncio.TimerHandle | None = None
    _body_part = 0
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the head of the first request; refuse a connection too many."""
        if len(self.connections) >= max_connections():
            self._is_refused = True
            transport.abort()
            return
        super().connection_made(transport)
        self._restart_timer()

    def data_received(self, data: bytes) -> None:
        """Wait anew where a head begins, and for each part of a body."""
        if self._is_refused:
            return

        self._body_part += len(data)
        if self.conn.their_state is h11.SEND_BODY:
            request_goes_on = self._body_part >= MIN_BODY_PART
        else:
            request_goes_on = not self.conn.trailing_data[0]

        if request_goes_on:
            self._restart_timer()

        super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._restart_timer()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        if self._is_refused:
            return
        self._cancel_timer()
        super().connection_lost(exc)

    def _restart_timer(self) -> None:
        self._cancel_timer()
        self._timer = self.loop.call_later(REQUEST_TIMEOUT_S, self._time_out)

    def _cancel_timer(self) -> None:
        self._body_part = 0
        if self._timer is not None:
            self._timer.cancel()

    def _time_out(self) -> None:
        """Close, unless the request is whole, or the server is the slow one."""
        is_whole = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        if is_whole or self.flow.read_paused:
            self._restart_timer()
        else:
            self.transport.abort()
