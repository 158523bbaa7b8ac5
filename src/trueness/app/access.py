r"""Who may ask, and how long is waited for? One person at this machine, in this page.

Every answer needs the cookie that the first address (with its token) has set. Other
pages that are open in the same browser cannot send it (``SameSite=Strict``), read it
(``HttpOnly``) or reach the server under a name of their own (the host is compared, so
that a name that is pointed at 127.0.0.1 later, DNS rebinding, gets no answer).

Who begins a request and does not go on is hung up on.
"""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass, field
from secrets import token_urlsafe
from typing import Any, final
from urllib.parse import urlencode

import h11
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
WAIT = 5.0  # seconds for the head of a request, and for each part of its body
PART = 1024  # bytes of a body that must come in that time
LOCAL = ("127.0.0.1", "localhost", "[::1]")
WRONG_HOST = "This server answers under its own address only."
WRONG_ORIGIN = "This request came from another page, and was refused."
UNKNOWN = (
    "This page opens with the address that trueness app has printed, which holds a "
    "token. After a restart the token is new: copy the address from the terminal again."
)


@final
@dataclass(frozen=True)
class Key:
    """What opens the server: a token, for a port and the names of this machine."""

    port: int
    hosts: tuple[str, ...] = LOCAL
    token: str = field(default_factory=lambda: token_urlsafe(32))

    @property
    def cookie(self) -> str:
        """Name the cookie; cookies do not know ports, so the name holds it."""
        return f"trueness_{self.port}"

    @property
    def addresses(self) -> set[str]:
        """Give the hosts, as browsers write them, that mean this server."""
        return {f"{host}:{self.port}" for host in self.hosts}

    def fits(self, given: str | None) -> bool:
        """Is this the token? Takes as long for every wrong one."""
        return hmac.compare_digest((given or "").encode(), self.token.encode())


@final
class Guard:
    """Stands before the application and lets right requests through."""

    def __init__(self, app: Any, key: Key) -> None:
        self.app, self.key = app, key

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it with a sentence."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        request = Request(scope)
        refused = self._refusal(request)
        await (refused or self.app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("host") not in self.key.addresses:
            return _no(WRONG_HOST, 421)
        if not self._own(request):
            return _no(WRONG_ORIGIN, 403)
        given = request.query_params.get("token")
        if self.key.fits(given):
            return self._welcome(request)
        if not self.key.fits(request.cookies.get(self.key.cookie)):
            return _no(UNKNOWN, 403)
        return None

    def _own(self, request: Request) -> bool:
        """Does it come from a page of this server, or from nobody's page?"""
        origin = request.headers.get("origin")
        if origin is not None:
            return origin in {f"http://{a}" for a in self.key.addresses}
        site = request.headers.get("sec-fetch-site", "none")
        return request.method in ("GET", "HEAD") or site in ("same-origin", "none")

    def _welcome(self, request: Request) -> Response:
        """Turn the token of the address into a cookie, and forget it there."""
        rest = [(k, v) for k, v in request.query_params.multi_items() if k != "token"]
        where = request.url.path + (f"?{urlencode(rest)}" if rest else "")
        # a path that begins with two slashes would name another host
        answer = RedirectResponse("/" + where.lstrip("/"), 303)
        answer.set_cookie(
            self.key.cookie, self.key.token, httponly=True, samesite="strict", path="/"
        )
        return answer


def _no(words: str, code: int) -> Response:
    return PlainTextResponse(words + "\n", code)


@final
class Impatient(H11Protocol):
    """HTTP that hangs up on who begins a request and does not go on with it.

    uvicorn limits only the time between two requests.
    """

    _timer: asyncio.TimerHandle | None = None
    _part = 0

    def connection_made(self, transport: Any) -> None:
        """Wait for the head of the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait anew where a head begins, and for each part of a body."""
        self._part += len(data)
        in_body = self.conn.their_state is h11.SEND_BODY
        if self._part >= PART if in_body else not self.conn.trailing_data[0]:
            self._wait()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._forget()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._forget()
        self._timer = self.loop.call_later(WAIT, self._late)

    def _forget(self) -> None:
        self._part = 0
        if self._timer is not None:
            self._timer.cancel()

    def _late(self) -> None:
        """Hang up, unless the request is whole, or the server is the slow one."""
        whole = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        if whole or self.flow.read_paused:
            self._wait()
        else:
            self.transport.abort()
