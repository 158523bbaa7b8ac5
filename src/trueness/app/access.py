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
from collections.abc import Iterable
from secrets import token_urlsafe
from typing import final
from urllib.parse import urlencode

import h11
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
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
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
WAIT = 5.0  # seconds for the head of a request, and for each part of its body
PART = 1024  # bytes of a body that must come in that time
LOCAL = ("127.0.0.1", "localhost", "[::1]")
WRONG_HOST = "This server answers under its own address only.\n"
WRONG_ORIGIN = "This request came from another page, and was refused.\n"
UNKNOWN = (
    "This page opens with the address that trueness app has printed, which holds a "
    "token. After a restart the token is new: copy the address from the terminal "
    "again.\n"
)


@final
class Guard:
    """Lets requests with the token through, for a port and names of this machine."""

    def __init__(self, app: ASGIApp, port: int, hosts: Iterable[str] = LOCAL) -> None:
        self.app, self.port, self.token = app, port, token_urlsafe(32)
        self.addresses = {f"{host}:{port}" for host in hosts}
        self.cookie = f"trueness_{port}"  # cookies do not know ports

    def fits(self, given: str | None) -> bool:
        """Is this the token? Takes as long for every wrong one."""
        return hmac.compare_digest((given or "").encode(), self.token.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with a sentence."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = self._refusal(Request(scope))
        await (refused or self.app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("host") not in self.addresses:
            return PlainTextResponse(WRONG_HOST, 421)
        # does it come from a page of this server, or from nobody's page?
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site", "none")
        own = request.method in ("GET", "HEAD") or site in ("same-origin", "none")
        if origin is not None:
            own = origin in {f"http://{a}" for a in self.addresses}
        if not own:
            return PlainTextResponse(WRONG_ORIGIN, 403)
        if self.fits(request.query_params.get("token")):
            return self._welcome(request)
        if not self.fits(request.cookies.get(self.cookie)):
            return PlainTextResponse(UNKNOWN, 403)
        return None

    def _welcome(self, request: Request) -> Response:
        """Turn the token of the address into a cookie, and forget it there."""
        rest = [(k, v) for k, v in request.query_params.multi_items() if k != "token"]
        where = request.url.path + (f"?{urlencode(rest)}" if rest else "")
        # a path that begins with two slashes would name another host
        answer = RedirectResponse("/" + where.lstrip("/"), 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
        return answer


@final
class Impatient(H11Protocol):
    """HTTP that hangs up on who stops in a request: uvicorn waits for ever."""

    _timer: asyncio.TimerHandle | None = None
    _part = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
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
