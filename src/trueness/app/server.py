"""Which addresses are there, and how does the server begin and end?"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import FrameType
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

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness.app import pages
from trueness.app import session as answers
from trueness.app.access import LOCAL_HOSTS, Guard, ImpatientProtocol
from trueness.app.address import (
    KINDS,
    Address,
    DataChoice,
    marked_field,
    page_text,
    read_address,
)
from trueness.app.counting import (
    MAX_COUNTED_FILES,
    FileCounts,
    SectionKey,
    at_prevalence,
    count,
)
from trueness.app.files import GIVEN, Files, TooLargeError, too_large
from trueness.app.guessed_columns import complete_columns
from trueness.app.jobs import Job, Jobs, describe_failure
from trueness.app.session import COMBINER, can_combine
from trueness.counts.values import Panel, Tally
from trueness.data.engines import interrupt_connections
from trueness.findings.records import Finding

MAX_UPLOAD_MB = 512  # megabytes of an upload
ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104 - refused without --allow-remote
BACKLOG = 64  # connections that are accepted at a time
READER_THREADS = 8  # threads that read files beside the server
ANSWER_WITHIN_S = 0.25  # after this time the answer is how far the job is
STOPPED = "This was stopped."
FIGURE_NAME = re.compile(r"([a-z-]+)-(\d+)\.(svg|png)")
MEDIA_TYPES = {
    ".html": "text/html",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


@final
class Workbench:
    """One server: its files, its counts, its jobs."""

    def __init__(
        self, file: str | None = None, limit: int = MAX_UPLOAD_MB * 2**20
    ) -> None:
        self.files = Files(file, limit)
        self.jobs = Jobs()
        self.is_stopping = False
        self._complete = lru_cache(200)(complete_columns)
        # of several files the counts of the last ones stay in memory
        self._count = lru_cache(MAX_COUNTED_FILES)(count)

    def begin_to_stop(self) -> None:
        """Let requests that wait end now; called by a handler of signals: no locks."""
        self.is_stopping = True
        interrupt_connections()

    def close(self) -> None:
        """Stop what runs and delete what was uploaded."""
        self.jobs.close()
        self._count.cache_clear()
        self.files.close()

    async def address(self, request: Request) -> Address:
        """Read an address, and guess what it leaves open."""
        query = request.query_params
        address = read_address(query, self.files.get(query.get("file", "")))
        completed = await run_in_threadpool(self._complete, address.data)

        return replace(
            address,
            data=completed.data,
            chosen_columns=completed.chosen_columns,
            problems={**completed.problems, **address.problems},
        )

    async def answerable(self, request: Request) -> Address:
        """Read an address that names all that an answer needs."""
        address = await self.address(request)
        if address.chosen_columns is None:
            raise HTTPException(404)
        return address

    def counts_of(self, address: Address) -> FileCounts:
        """Count, once, for the prevalence that is asked for."""
        assert address.chosen_columns is not None  # noqa: S101 - "answerable" sees to it
        counts = self._count(address.data, address.chosen_columns)
        return at_prevalence(counts, address.prevalence)

    # pages

    async def opening(self, request: Request) -> Response:
        """Return the empty page that a browser goes to; it says nothing of any file."""
        return HTMLResponse(pages.opening())

    async def start(self, request: Request) -> Response:
        """Show the first page."""
        return HTMLResponse(pages.start(self.files))

    async def look(self, request: Request) -> Response:
        """Show the page about a file."""
        try:
            address = await self.address(request)
            # this may read the file, and is done beside the server
            page = await run_in_threadpool(
                pages.look_page, address, request.query_params
            )
            return HTMLResponse(page)
        except InputError as err:
            return HTMLResponse(pages.start(self.files, page_text(err)), 404)
        except Exception as err:  # whatever a file holds, the server goes on
            sentence = describe_failure(err)
            return HTMLResponse(pages.start(self.files, sentence), 500)

    async def static(self, request: Request) -> Response:
        """Return a style or a script."""
        name = request.path_params["name"]
        if name not in pages.STATIC_FILES:
            raise HTTPException(404)
        return Response(pages.static(name), media_type=pages.STATIC_FILES[name])

    async def upload(self, request: Request) -> Response:
        """Take a file that was dropped or chosen."""
        size = request.headers.get("content-length", "")
        if size.isdigit() and int(size) > self.files.limit:
            return _problem_response(too_large(self.files.limit), 413)

        name = request.query_params.get("name", "")

        try:
            file = await self.files.receive(name, request.stream())
        except ClientDisconnect:
            return Response(status_code=400)
        except InputError as err:
            code = 413 if isinstance(err, TooLargeError) else 400
            return _problem_response(page_text(err), code)
        except OSError as err:
            return _problem_response(
                f"The file could not be kept: {err.strerror}.", 507
            )

        return JSONResponse({"address": f"/look?file={file.word}"})

    # answers

    async def count(self, request: Request) -> Response:
        """Count, and say how far that is, or at which field something is wrong."""
        address = await self.address(request)
        if address.chosen_columns is None:
            return JSONResponse({"problems": address.problems})

        job = self._find_or_begin_job(request, address, "count", topic="count")
        if not await self._wait_until_over(job, ANSWER_WITHIN_S):
            return JSONResponse(job.progress(), 202)
        if job.state != "done" or job.result:
            self.jobs.drop(_job_key(address, "count"))
        if job.state == "done":
            return JSONResponse({"problems": job.result})
        return JSONResponse({"problems": {}, "problem": _why_no_result(job)})

    async def section(self, request: Request) -> Response:
        """Return a section, or how far it is."""
        address = await self.answerable(request)
        key = request.path_params["key"]
        if key not in pages.TITLES:
            raise HTTPException(404)

        quick = "quick" in request.query_params
        job = self._find_or_begin_job(request, address, key, quick, topic=(key, quick))
        if not await self._wait_until_over(job, ANSWER_WITHIN_S):
            return JSONResponse(job.progress(), 202)
        if job.state == "done":
            return HTMLResponse(job.result.html)
        return HTMLResponse(
            pages.problem(_why_no_result(job), again=job.state == "stopped")
        )

    def _find_or_begin_job(
        self,
        request: Request,
        address: Address,
        key: str,
        quick: bool = False,
        topic: Hashable = None,
    ) -> Job:
        """Return the job of an answer, and begin it where there is none.

        Short jobs have a lane of their own, and do not wait for long ones.
        """
        tab = request.query_params.get("tab", "")
        job_key = _job_key(address, key, quick)

        if "again" in request.query_params:
            self.jobs.drop(job_key)

        work = partial(self._work_out, address, key, quick)
        lane = 0 if quick or key == "count" else 1
        return self.jobs.find_or_begin(
            job_key, work, tab, lane, topic if tab else None, address.file
        )

    async def _wait_until_over(self, job: Job, seconds: float | None = None) -> bool:
        """Wait until a job is over, for a while; other requests go on meanwhile."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not job.is_over and not self.is_stopping:
                    await asyncio.sleep(0.01)
        return job.is_over

    def _work_out(self, address: Address, key: str, quick: bool) -> Any:
        """Make what a job is for: problems by field, a file, or a section."""
        try:
            counts = self.counts_of(address)
        except InputError as err:
            if key != "count":
                raise
            return {marked_field(err, KINDS[address.kind].option): page_text(err)}

        if key == "count":
            return {}
        if key in answers.FILES:
            return answers.file_contents(counts, address, key)
        return _section(counts, address, key, quick)

    async def stop(self, request: Request) -> Response:
        """Stop what a section, or something to take away, is waiting for."""
        address = await self.answerable(request)
        for quick in (False, True):
            self.jobs.stop(_job_key(address, request.path_params["key"], quick))
        return JSONResponse({})

    async def at(self, request: Request) -> Response:
        """Look up every number at one step of the slider, and say how long it took."""
        started = time.perf_counter()
        address = await self.answerable(request)
        counts = await run_in_threadpool(self.counts_of, address)
        numbers = answers.look_up(
            counts,
            address,
            model_index=_whole_number(request, "model"),
            step_index=_whole_number(request, "at"),
        )

        line = pages.flagged_line(address, numbers["values"]["threshold"])
        answer = JSONResponse(numbers | {"flagged": line})

        milliseconds = 1000 * (time.perf_counter() - started)
        answer.headers["server-timing"] = f"look;dur={milliseconds:.2f}"
        return answer

    async def check(self, request: Request) -> Response:
        """Say what is wrong with what was typed, and the lines that give the same."""
        address = await self.address(request)
        unmet: dict[str, str] = {}
        is_clear = address.chosen_columns is not None and not address.problems
        if address.kind == "scores" and is_clear and "unmet" in request.query_params:
            counts = await run_in_threadpool(self.counts_of, address)
            unmet = await run_in_threadpool(answers.unmet_constraint, counts, address)

        return JSONResponse(
            {
                "problems": address.problems,
                "unmet": unmet,
                "taken": pages.lines_of(address),
                "asks": [
                    key
                    for key in pages.FIELDS_OF_WAITING_SECTIONS
                    if pages.is_asked(address, key)
                ],
            }
        )

    # to take away

    async def take(self, request: Request) -> Response:
        """Return a file to download, or how far it is, which ``ready`` asks for."""
        address = await self.answerable(request)
        name = request.path_params["name"]
        if name in ("flagged.csv", "flagged.parquet"):
            return await self._flagged(request, address, name)

        figure_match = FIGURE_NAME.fullmatch(name)
        key = figure_match[1] if figure_match else name
        if key not in (pages.TITLES if figure_match else _files_of(address)):
            raise HTTPException(404)

        only_asks_whether_ready = "ready" in request.query_params
        job = self._find_or_begin_job(request, address, key)
        if not await self._wait_until_over(
            job, ANSWER_WITHIN_S if only_asks_whether_ready else None
        ):
            return JSONResponse(job.progress(), 202)

        if job.state != "done":
            return _problem_response(_why_no_result(job), 409)
        if only_asks_whether_ready:
            return JSONResponse({"ready": True})

        contents = job.result
        if figure_match:
            contents = await run_in_threadpool(
                _figure_contents, job.result, int(figure_match[2]), figure_match[3]
            )

        return Response(
            contents,
            media_type=MEDIA_TYPES[Path(name).suffix],
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    async def _flagged(self, request: Request, address: Address, name: str) -> Response:
        """Return the rows whose score reaches the threshold of the slider."""
        try:
            cut = float(request.query_params.get("cut", ""))
        except ValueError:
            return _problem_response("The address names no threshold.", 400)
        if address.kind != "scores":
            raise HTTPException(404)
        target = self.files.folder / f"{uuid.uuid4().hex}{Path(name).suffix}"

        def write() -> None:
            counts = self.counts_of(address)
            with address.file.locked():
                answers.flagged_rows(counts, address.score, cut, target)

        await run_in_threadpool(write)
        delete = BackgroundTask(target.unlink, missing_ok=True)
        return FileResponse(target, filename=name, background=delete)

    @property
    def routes(self) -> list[Route]:
        """List all addresses."""
        return [
            # what a browser goes to starts no work
            Route("/", self.opening),
            Route("/look", self.opening),
            Route("/static/{name}", self.static),
            # what a page of this session asks for
            Route("/", self.start, methods=["POST"]),
            Route("/look", self.look, methods=["POST"]),
            Route("/upload", self.upload, methods=["POST"]),
            Route("/count", self.count, methods=["POST"]),
            Route("/section/{key}", self.section, methods=["POST"]),
            Route("/stop/{key}", self.stop, methods=["POST"]),
            Route("/at", self.at, methods=["POST"]),
            Route("/check", self.check, methods=["POST"]),
            Route("/take/{name}", self.take, methods=["POST"]),
        ]


def _files_of(address: Address) -> list[str]:
    """Return the files that can be downloaded of such data."""
    if address.kind in pages.KINDS_WITHOUT_REPORT:
        return []

    files = list(answers.FILES)

    if not can_combine(address):
        files.remove(COMBINER)
    if address.kind == "systems":
        files.remove("report.json")

    return files


def _figure_contents(section: PageSection, index: int, kind: str) -> bytes:
    """Write one figure of a section as a file of its own."""
    finding = section.finding
    if finding is None or index >= len(finding.figures):
        raise HTTPException(404)
    return pages.figure_file(finding.figures[index], section.names, kind)


def _whole_number(request: Request, name: str) -> int:
    """Read a whole number of an address; 0 where there is none."""
    text = request.query_params.get(name, "0")
    return int(text) if re.fullmatch(r"\d{1,12}", text) else 0


def _why_no_result(job: Job) -> str:
    """Say why a job that is over has no result."""
    if job.state == "stopped":
        return STOPPED
    is_our_error = isinstance(job.result, (InputError, NotEnoughCases))
    return page_text(job.result) if is_our_error else str(job.result)


@final
@dataclass(frozen=True)
class PageSection:
    """A section of the page, what it was made of, and whom its figures name."""

    html: str
    finding: Finding | None
    names: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class JobKey:
    """What an answer depends on."""

    key: str
    quick: bool
    data: DataChoice
    section: SectionKey


def _job_key(address: Address, key: str, quick: bool = False) -> JobKey:
    """Return all that an answer depends on."""
    return JobKey(key, quick, address.data, answers.section_key(address, key))


def _section(
    counts: FileCounts, address: Address, key: str, quick: bool
) -> PageSection:
    """Return a section as HTML, with its finding, whose figures can be downloaded."""
    if key == "leaves":
        leaves = answers.trusted_leaves(counts, address)
        return PageSection(pages.section(leaves, key, address), leaves)

    if key == "threshold":
        operating, slider = answers.operating(counts, address, quick)
        names = tuple(model["name"] for model in slider["models"])
        return PageSection(pages.operating(operating, slider), operating, names)

    if key not in ("summary", "verified", "alone", "systems", "judges", "nogold"):
        finding = answers.section(counts, address, key)
        html = pages.section(
            finding,
            key,
            address,
            width=answers.subject_of_page(counts, address).request.half_width,
            prevalence=float(counts.cases.prevalence),
        )

        return PageSection(html, finding)

    return _section_of_whole_page(counts, address, key, quick)


def _has_labels(counts: Panel | Tally) -> bool:
    """Return whether any case has a label."""
    return bool(counts.n_pos + counts.n_neg)


def _section_of_whole_page(
    counts: FileCounts, address: Address, key: str, quick: bool
) -> PageSection:
    """Return the head of a report, or the whole answer about cases without labels."""
    if key == "summary" and _has_labels(counts.cases):
        page = answers.summary(counts, address, quick)
    else:
        page = answers.whole_page(counts, address)

    finding = None
    if page.findings:
        figures = tuple(
            figure for section in page.findings for figure in section.figures
        )
        finding = replace(page.findings[0], figures=figures)
    if key == "systems":
        page = replace(page, answers=())  # they are said below

    return PageSection(pages.head(page, counts.cleaning_remarks), finding)


def _problem_response(sentence: str, code: int) -> Response:
    """Return a sentence that the page shows, with the status of HTTP."""
    return JSONResponse({"problem": sentence}, code)


async def _error_response(request: Request, err: Exception) -> Response:
    """Answer whatever went wrong: the server goes on."""
    if isinstance(err, HTTPException):
        return _problem_response("There is nothing at this address.", err.status_code)

    if isinstance(err, InputError):
        sentence = page_text(err)
    else:
        sentence = describe_failure(err)

    if request.url.path.startswith("/section/"):
        return HTMLResponse(pages.problem(sentence))
    return _problem_response(f"This could not be answered: {sentence}", 400)


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    """Set up threads and errors of the loop before the first request."""
    current_default_thread_limiter().total_tokens = READER_THREADS
    asyncio.get_running_loop().set_exception_handler(_ignore_lack_of_handles)
    yield


def _ignore_lack_of_handles(
    loop: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    """Say nothing where no connection can be accepted now: asyncio tries again."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return
    loop.default_exception_handler(context)


@final
class Server(uvicorn.Server):
    """A server whose requests that wait end when it is asked to end."""

    def __init__(self, config: uvicorn.Config, workbench: Workbench) -> None:
        super().__init__(config)
        self._workbench = workbench

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End waiting requests at Ctrl-C or SIGTERM."""
        self._workbench.begin_to_stop()
        super().handle_exit(sig, frame)


@contextmanager
def prepare_server(
    start_file: str | None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    limit: int = MAX_UPLOAD_MB,
) -> Iterator[tuple[str, uvicorn.Server, Callable[[], None]]]:
    """Prepare a server; yield its first address, the server, and what runs it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only where the protocol is named: without it
    # every look-up waits 40 ms for an acknowledgement that the other side delays
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        workbench = Workbench(start_file, limit * 2**20)
        error_handlers = dict.fromkeys(
            (InputError, HTTPException, Exception), _error_response
        )
        app = Starlette(
            routes=workbench.routes,
            lifespan=_lifespan,
            exception_handlers=error_handlers,
        )
        guard = Guard(app, listener.getsockname()[1], _host_names(host))
        config = uvicorn.Config(
            guard,
            log_level="error",
            access_log=False,
            server_header=False,
            http=ImpatientProtocol,
            backlog=BACKLOG,
            ws="none",
            timeout_graceful_shutdown=2,
        )
        server = Server(config, workbench)
        name = (
            socket.gethostname() if host in ALL_INTERFACES else _host_in_address(host)
        )
        own = [file.word for file in workbench.files.own]
        # a file is shown at once; of several tables one is chosen on the first page
        page = f"look?file={GIVEN}" if own == [GIVEN] else ""
        address = f"http://{name}:{guard.port}/{page}#token={guard.token}"

        try:
            yield address, server, lambda: server.run(sockets=[listener])
        finally:
            workbench.close()


def serve(
    file: str | None,
    *,
    host: str,
    port: int,
    limit: int,
    when_ready: Callable[[str], None],
) -> None:
    """Serve until the end; ``when_ready`` is called with the address."""
    with prepare_server(file, host=host, port=port, limit=limit) as (address, _, run):
        when_ready(address)
        run()


def _host_in_address(host: str) -> str:
    """Return a host as an address has it: IPv6 stands in brackets."""
    return f"[{host}]" if ":" in host else host


def _host_names(host: str) -> tuple[str, ...]:
    """Return the names that this server answers to.

    They are those of this machine for itself, or all of its names where the host lets
    other machines ask.
    """
    shown_host = _host_in_address(host)
    if shown_host in LOCAL_HOSTS:
        return LOCAL_HOSTS

    names = [shown_host, socket.gethostname(), socket.getfqdn()]
    with suppress(OSError):
        names += socket.gethostbyname_ex(socket.gethostname())[2]

    return tuple(dict.fromkeys((*LOCAL_HOSTS, *names)))
