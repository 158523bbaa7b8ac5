"""Which addresses are there, and how does the server begin and end?"""

from __future__ import annotations

import asyncio
import re
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, final

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from trueness._core.checks.errors import InputError
from trueness.app import downloads, pages
from trueness.app import session as answers
from trueness.app.access import LOCAL, Guard, Impatient, Key
from trueness.app.address import DATA, KINDS, Asked, complete, field_of, in_page, read
from trueness.app.files import GIVEN, DataFile, Files, TooLargeError, too_large
from trueness.app.jobs import Job, Jobs
from trueness.app.lines import COMBINER, combines, flagged_line, lines_of
from trueness.app.session import Bench, Counted
from trueness.cli._columns import Chosen

LIMIT = 512  # megabytes of an upload
ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - refused without --i-know
READERS = 8  # threads that read files beside the server
SOON = 0.25  # seconds that an answer may take before progress is told instead
STOPPED = "This was stopped."
FIGURE = re.compile(r"([a-z]+)-(\d+)\.(svg|png)")
TYPES = {".html": "text/html", ".json": "application/json", ".svg": "image/svg+xml",
         ".png": "image/png"}  # fmt: skip


@final
class Workbench:
    """One server: its files, its counts, its jobs."""

    def __init__(self, given: str | None = None, limit: int = LIMIT * 2**20) -> None:
        self.files, self.bench, self.jobs = Files(given, limit), Bench(), Jobs()
        self._chosen: dict[Any, tuple[Asked, Chosen | None]] = {}

    def close(self) -> None:
        """Stop what runs and delete what was uploaded."""
        self.jobs.close()
        self.bench.close()
        self.files.close()

    async def asked(self, request: Request) -> tuple[DataFile, Asked, Chosen | None]:
        """Read an address, and guess what it leaves open."""
        asked = read(request.query_params)
        file = self.files.get(asked.file)
        if asked.data not in self._chosen:
            found = await run_in_threadpool(complete, file, asked)
            if len(self._chosen) > 200:
                self._chosen.clear()
            self._chosen[asked.data] = found
        known, chosen = self._chosen[asked.data]
        data = {name: getattr(known, name) for name in DATA}
        problems = (known.problems if chosen is None else {}) | asked.problems
        return file, replace(asked, **data, problems=problems), chosen

    # pages

    async def start(self, request: Request) -> Response:
        """Show the first page."""
        return HTMLResponse(pages.start(self.files))

    async def look(self, request: Request) -> Response:
        """Show the page about a file."""

        def page() -> str:  # this may read the file, and is done beside the server
            if chosen is None:
                return pages.look(file, asked, None, [], request.query_params)
            taken = lines_of(asked, chosen, file)
            binned = asked.kind == "scores" and file.rows > answers.MOST_ROWS
            keys = pages.sections_of(asked, binned)
            return pages.look(file, asked, taken, keys, request.query_params)

        try:
            file, asked, chosen = await self.asked(request)
            return HTMLResponse(await run_in_threadpool(page))
        except InputError as err:
            return HTMLResponse(pages.start(self.files, in_page(str(err))), 404)
        except Exception as err:  # whatever a file holds, the server goes on
            words = f"This file could not be shown: {type(err).__name__}: {err}"
            return HTMLResponse(pages.start(self.files, words), 500)

    async def static(self, request: Request) -> Response:
        """Give a style or a script."""
        name = request.path_params["name"]
        if name not in pages.STATIC:
            raise HTTPException(404)
        return Response(pages.static(name), media_type=pages.STATIC[name])

    # files

    async def upload(self, request: Request) -> Response:
        """Take a file that was dropped or chosen."""
        size = request.headers.get("content-length", "")
        if size.isdigit() and int(size) > self.files.limit:
            return _problem(too_large(self.files.limit), 413)
        name = request.query_params.get("name", "")
        try:
            file = await self.files.receive(name, request.stream())
        except ClientDisconnect:
            return Response(status_code=400)
        except InputError as err:
            code = 413 if isinstance(err, TooLargeError) else 400
            return _problem(in_page(str(err)), code)
        except OSError as err:
            return _problem(f"The file could not be kept: {err.strerror}.", 507)
        return JSONResponse({"address": f"/look?file={file.word}"})

    # answers

    async def count(self, request: Request) -> Response:
        """Count, and say how far that is, or at which field something is wrong."""
        file, asked, chosen = await self.asked(request)
        if chosen is None:
            return JSONResponse({"problems": asked.problems})

        def make() -> dict[str, Any]:
            try:
                self.bench.count(file, asked, chosen)
            except InputError as err:
                where = field_of(str(err), KINDS[str(asked.kind)][0])
                return {"problems": {where: in_page(str(err), chosen.label)}}
            return {"problems": {}}

        what = ("count", asked.data)
        job = self._ask(request, file, what, make, lane=0, topic="count")
        if not await _over(job, SOON):
            return JSONResponse(job.progress(), 202)
        if job.state != "done" or job.result["problems"]:
            self.jobs.drop(what)
        if job.state == "done":
            return JSONResponse(job.result)
        return JSONResponse({"problems": {}, "problem": _why(job)})

    async def section(self, request: Request) -> Response:
        """Give a section, or how far it is."""
        try:
            file, asked, chosen = await self.asked(request)
        except InputError as err:
            return HTMLResponse(pages.problem(in_page(str(err))))
        key = request.path_params["key"]
        if chosen is None or key not in pages.titles():
            raise HTTPException(404)
        quick = "quick" in request.query_params
        what, make = self._section(file, asked, chosen, key, quick)
        lane = 0 if quick else 1
        job = self._ask(request, file, what, make, lane, topic=(key, quick))
        if not await _over(job, SOON):
            return JSONResponse(job.progress(), 202)
        if job.state == "done":
            return HTMLResponse(job.result[0])
        return HTMLResponse(pages.problem(_why(job), again=job.state == "stopped"))

    def _section(
        self, file: DataFile, asked: Asked, chosen: Chosen, key: str, quick: bool
    ) -> tuple[Any, Callable[[], Any]]:
        """Say what a section depends on, and how it is made."""

        def make() -> Any:
            return _made(self.bench.count(file, asked, chosen), asked, key, quick)

        return ("section", quick, asked.data, answers.depends(asked, key)), make

    def _ask(
        self,
        request: Request,
        file: DataFile,
        what: Any,
        make: Callable[[], Any],
        lane: int,
        topic: Any = None,
    ) -> Job:
        tab = request.query_params.get("tab", "")
        if "again" in request.query_params:
            self.jobs.drop(what)
        return self.jobs.ask(what, make, tab, lane, topic if tab else None, file)

    async def stop(self, request: Request) -> Response:
        """Stop what a section, or something to take away, is waiting for."""
        file, asked, chosen = await self.asked(request)
        if chosen is not None:
            key = request.path_params["key"]
            for quick in (False, True):
                self.jobs.stop(self._section(file, asked, chosen, key, quick)[0])
            self.jobs.stop(_taken(asked, key))
            self.jobs.stop((key, asked.data))
        return JSONResponse({})

    async def at(self, request: Request) -> Response:
        """Look up every number at one step of the slider, and say how long it took."""
        begun = time.perf_counter()
        asked = read(request.query_params)
        counted = self.bench.find(asked)
        if counted is None:  # counted again, after other files were
            file, asked, chosen = await self.asked(request)
            if chosen is None:
                raise HTTPException(404)
            counted = await run_in_threadpool(self.bench.count, file, asked, chosen)
        model, at = (_whole(request, name) for name in ("model", "at"))
        found = answers.look_up(counted, asked, model, at)
        cut, typed = found["values"]["threshold"], self.files.get(asked.file).typed
        found["flagged"] = ""
        if cut is not None and asked.columns:
            found["flagged"] = flagged_line(typed, asked.score, cut)
        answer = JSONResponse(found)
        took = 1000 * (time.perf_counter() - begun)
        answer.headers["server-timing"] = f"look;dur={took:.2f}"
        return answer

    async def check(self, request: Request) -> Response:
        """Say what is wrong with what was typed, and the lines that give the same."""
        file, asked, chosen = await self.asked(request)
        taken = chosen and lines_of(asked, chosen, file)
        counted = self.bench.find(asked) if "unmet" in request.query_params else None
        unmet: dict[str, str] = {}
        if counted is not None and asked.kind == "scores" and not asked.problems:
            unmet = await run_in_threadpool(answers.unmet, counted, asked)
        found = {
            "problems": asked.problems,
            "unmet": unmet,
            "taken": taken and asdict(taken),
            "asks": [k for k in pages.WAITING if pages.asks(asked, k)],
        }
        return JSONResponse(found)

    # to take away

    async def take(self, request: Request) -> Response:
        """Give a file to take away; ``ready`` asks how far it is."""
        try:
            file, asked, chosen = await self.asked(request)
        except InputError as err:
            return _problem(in_page(str(err)), 404)
        name = request.path_params["name"]
        if chosen is None:
            raise HTTPException(404)
        if name in ("flagged.csv", "flagged.parquet"):
            return await self._flagged(request, file, asked, chosen, name)
        job = self._making(request, file, asked, chosen, name)
        ready = "ready" in request.query_params
        if not await _over(job, SOON if ready else None):
            return JSONResponse(job.progress(), 202)
        if job.state != "done":
            return _problem(_why(job), 409)
        if ready:
            return JSONResponse({"ready": True})
        found, figure = job.result, FIGURE.fullmatch(name)
        if figure:
            found = await run_in_threadpool(_drawn, figure, found)
        return Response(
            found,
            media_type=TYPES[Path(name).suffix],
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    def _making(
        self, request: Request, file: DataFile, asked: Asked, chosen: Chosen, name: str
    ) -> Job:
        """Begin what makes a file: the section with the figure, or the file itself."""
        figure = FIGURE.fullmatch(name)
        if figure and figure[1] in pages.titles():
            what, make = self._section(file, asked, chosen, figure[1], quick=False)
            return self._ask(request, file, what, make, lane=1)
        alone = name == COMBINER and not combines(asked)
        alone |= name == "report.json" and asked.kind == "systems"
        if alone or name not in downloads.FILES:
            raise HTTPException(404)

        def make_file() -> Any:
            counted = self.bench.count(file, asked, chosen)
            return downloads.file_made(counted, asked, name)

        return self._ask(request, file, _taken(asked, name), make_file, lane=1)

    async def _flagged(
        self, request: Request, file: DataFile, asked: Asked, chosen: Chosen, name: str
    ) -> Response:
        try:
            cut = float(request.query_params.get("cut", ""))
        except ValueError:
            return _problem("The address names no threshold.", 400)
        if asked.kind != "scores":
            raise HTTPException(404)
        target = self.files.folder / f"{uuid.uuid4().hex}{Path(name).suffix}"

        def write() -> None:
            counted = self.bench.count(file, asked, chosen)
            with file.held():
                downloads.flagged_rows(counted, asked.score, cut, target)

        await run_in_threadpool(write)
        gone = BackgroundTask(target.unlink, missing_ok=True)
        return FileResponse(target, filename=name, background=gone)

    @property
    def routes(self) -> list[Route]:
        """List all addresses."""
        return [
            Route("/", self.start),
            Route("/look", self.look),
            Route("/static/{name}", self.static),
            Route("/upload", self.upload, methods=["POST"]),
            Route("/count", self.count),
            Route("/section/{key}", self.section),
            Route("/stop/{key}", self.stop, methods=["POST"]),
            Route("/at", self.at),
            Route("/check", self.check),
            Route("/take/{name}", self.take),
        ]


def _whole(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    return int(text) if re.fullmatch(r"\d{1,12}", text) else 0


async def _over(job: Job, seconds: float | None = None) -> bool:
    """Wait until a job is over, for a while; other requests go on meanwhile."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not job.is_over:
                await asyncio.sleep(0.01)
    return job.is_over


def _why(job: Job) -> str:
    """Say why a job that is over has given nothing."""
    return STOPPED if job.state == "stopped" else in_page(job.result)


def _taken(asked: Asked, name: str) -> Any:
    """What does a file to take away depend on?"""
    wanted = tuple(map(str, asked.wanted.items()))
    rest = (asked.one_share, *asked.sections.values())
    return ("take", name, asked.data, wanted, rest)


def _made(
    counted: Counted, asked: Asked, key: str, quick: bool
) -> tuple[str, Any, *tuple[str, ...]]:
    """Make a section: its HTML, what it was made of, and whom its figures name."""
    if key == "leaves":
        made = answers.leaves(counted, asked)
        return pages.section(made, key, asked), made
    if key == "threshold":
        made, slider = answers.operating(counted, asked, quick)
        names = (m["name"] for m in slider["models"])
        return pages.operating(made, slider), made, *names
    whole = {"systems": answers.systems, "judges": answers.judged,
             "nogold": answers.without_labels}.get(key)  # fmt: skip
    if key == "summary" and not counted.labelled:
        whole = answers.without_labels
    if whole is None and key != "summary":
        found = answers.section(counted, asked, key)
        width = answers.options_of(counted, asked).half_width
        share = float(counted.first.prevalence)
        return pages.section(found, key, asked, width, share), found
    page = whole(counted, asked) if whole else answers.summary(counted, asked, quick)
    figures = tuple(f for s in page.findings for f in s.figures)
    one = replace(page.findings[0], figures=figures) if page.findings else None
    shown = replace(page, answers=()) if key == "systems" else page  # said below
    return pages.head(shown, counted.known.get("cleaned", ())), one


def _drawn(figure: re.Match[str], made: tuple[Any, ...]) -> bytes:
    """Draw one figure of a section as a file of its own."""
    _, section, *names = made
    at = int(figure[2])
    if section is None or at >= len(section.figures):
        raise HTTPException(404)
    draw = downloads.figure_svg if figure[3] == "svg" else downloads.figure_png
    return draw(section.figures[at], names)


def _problem(words: str, code: int) -> Response:
    return JSONResponse({"problem": words}, code)


async def _wrong(request: Request, err: Exception) -> Response:
    """Answer whatever went wrong: the server goes on."""
    words = in_page(str(err)) if isinstance(err, InputError) else f"{err}"
    return _problem(f"This could not be answered: {words}", 400)


async def _nothing(request: Request, err: Exception) -> Response:
    code = getattr(err, "status_code", 404)
    return _problem("There is nothing at this address.", code)


def application(workbench: Workbench, key: Key) -> Any:
    """Put the guard before the addresses."""

    @asynccontextmanager
    async def life(_: Any) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = READERS
        try:
            yield
        finally:
            workbench.close()

    wrong = {InputError: _wrong, HTTPException: _nothing, Exception: _wrong}
    app = Starlette(routes=workbench.routes, lifespan=life, exception_handlers=wrong)
    return Guard(app, key)


@contextmanager
def prepared(
    given: str | None, *, host: str = "127.0.0.1", port: int = 0, limit: int = LIMIT
) -> Iterator[tuple[str, uvicorn.Server, Callable[[], None]]]:
    """Get a server ready: its first address, itself, and what runs it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only where the protocol is named: without it
    # every look-up waits 40 ms for an acknowledgement that the other side delays
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(64)
        key = Key(listening.getsockname()[1], _names(host))
        workbench = Workbench(given, limit * 2**20)
        config = uvicorn.Config(
            application(workbench, key),
            log_level="error",
            access_log=False,
            server_header=False,
            http=Impatient,
            ws="none",
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        try:
            first = address(key, host, workbench)
            yield first, server, lambda: server.run(sockets=[listening])
        finally:
            workbench.close()


def serve(given: str | None, *, opened: Callable[[str], None], **where: Any) -> None:
    """Serve until the end; ``opened`` hears the address with its token."""
    with prepared(given, **where) as (first, _, run):
        opened(first)
        run()


def _names(host: str) -> tuple[str, ...]:
    """Under which names may this server be asked? All of this machine if others may."""
    shown = f"[{host}]" if ":" in host else host
    if shown in LOCAL:
        return LOCAL
    names = [shown, socket.gethostname(), socket.getfqdn()]
    with suppress(OSError):
        names += socket.gethostbyname_ex(socket.gethostname())[2]
    return tuple(dict.fromkeys((*LOCAL, *names)))


def address(key: Key, host: str, workbench: Workbench) -> str:
    """Give the first address: with the token, and the file if there is one."""
    name = f"[{host}]" if ":" in host else host
    if host in ANYWHERE:
        name = socket.gethostname()
    own = workbench.files.own
    where = f"look?file={GIVEN}&" if [f.word for f in own] == [GIVEN] else "?"
    return f"http://{name}:{key.port}/{where}token={key.token}"
