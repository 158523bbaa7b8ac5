"""What takes long, how far is it, and how is it stopped?

A job runs in a thread of its own lane: what a person waits for in one, what may come
later in the other. Who waits asks again and again; a job that nobody waits for any more
(the tab asks something else in its place, or was closed) is stopped. Its thread gets an
exception at the next step of Python, and an engine that counts is interrupted.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.progress import heard_by
from trueness.data.engines import CONNECTIONS

KEPT = 96  # answers that are remembered
ENDING = 2.0  # seconds that a thread may take to end
# seconds without being asked for, after which a job is stopped: browsers let a page
# that nobody looks at ask once a minute only
PATIENCE = 90.0


class Stopped(BaseException):
    """The job was stopped; not an error, so that nobody catches it on the way."""


@final
@dataclass(eq=False)
class Job:
    """Something that is worked out: asked for by tabs, done or not."""

    make: Callable[[], Any]
    lane: int
    topic: Any = None
    state: str = "waiting"  # then "running", at last "done", "failed" or "stopped"
    result: Any = None
    words: str = ""
    done: float = 0.0
    total: float | None = None
    tabs: dict[str, float] = field(default_factory=dict)
    thread: int | None = None
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Is there nothing to wait for?"""
        return self.finished.is_set()

    @property
    def last_asked(self) -> float:
        """When did a tab ask for it?"""
        return max(self.tabs.values(), default=0.0)

    def add_task(self, what: str, total: float | None = None, unit: str = "") -> int:
        """Hear that a pass begins, as a progress bar does."""
        self.words, self.done, self.total = what, 0.0, total
        return 0

    def advance(self, _: int, by: float = 1) -> None:
        """Hear how far a pass is."""
        self.done += by

    def refresh(self) -> None:
        """Draw nothing: who waits asks."""

    def remove_task(self, _: int) -> None:
        """Hear that a pass is over."""
        self.done, self.total = 0.0, None

    def progress(self) -> dict[str, Any]:
        """Say how far it is."""
        if self.total:
            share: float | None = min(self.done / self.total, 1.0)
        else:
            share = _engine_share() if self.state == "running" else None
        words = self.words or ("Waiting" if self.state == "waiting" else "Working")
        return {"words": words, "share": share}


def _engine_share() -> float | None:
    """How far is the engine, if one counts now? It says so itself, in percent."""
    shares = []
    for connection in list(CONNECTIONS):
        with suppress(Exception):  # one that is closed counts nothing
            shares.append(connection.query_progress() / 100)
    found = [s for s in shares if 0 < s <= 1]
    return max(found) if found else None


@final
class Jobs:
    """The jobs of a server, by what they depend on."""

    def __init__(self, lanes: int = 2) -> None:
        self._jobs: OrderedDict[Any, Job] = OrderedDict()
        self._lock = threading.Condition()
        self._closing = threading.Event()
        tasks: list[Callable[[], None]] = [
            partial(self._work, lane) for lane in range(lanes)
        ]
        self._threads = [
            threading.Thread(target=task, daemon=True) for task in (*tasks, self._watch)
        ]
        for thread in self._threads:
            thread.start()

    def ask(
        self, what: Any, make: Callable[[], Any], tab: str, lane: int, topic: Any = None
    ) -> Job:
        """Find a job, or begin it; a tab that asks is a tab that waits.

        Of one topic a tab waits for one job only: what it asked before is given up.
        """
        with self._lock:
            job = self._jobs.get(what)
            if job is None:
                job = self._jobs[what] = Job(make, lane, topic)
                self._give_up(tab, topic, job)
                self._lock.notify_all()
            self._jobs.move_to_end(what)
            job.tabs[tab] = time.monotonic()
            self._forget()
            return job

    def stop(self, what: Any) -> None:
        """Stop a job; it is begun anew when it is asked for anew."""
        with self._lock:
            job = self._jobs.get(what)
            if job is not None and not job.is_over:
                self._stop(job)

    def drop(self, what: Any) -> None:
        """Forget how a job ended."""
        with self._lock:
            if what in self._jobs and self._jobs[what].is_over:
                del self._jobs[what]

    def close(self) -> None:
        """Stop everything, for good."""
        with self._lock:
            self._closing.set()
            for job in self._jobs.values():
                if not job.is_over:
                    self._stop(job)
            self._lock.notify_all()
        for thread in self._threads:
            thread.join(ENDING)
        self._jobs.clear()  # what an engine has lent is given back before it ends

    def _give_up(self, tab: str, topic: Any, instead: Job) -> None:
        for job in self._jobs.values():
            waits = not job.is_over and job is not instead and tab in job.tabs
            if topic is not None and waits and job.topic == topic:
                del job.tabs[tab]
                if not job.tabs:
                    self._stop(job)

    def _stop(self, job: Job) -> None:
        if job.thread is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(job.thread), ctypes.py_object(Stopped)
            )
            for connection in list(CONNECTIONS):
                with suppress(Exception):  # one that is closed has nothing to stop
                    connection.interrupt()
        job.state = "stopped"
        job.finished.set()

    def _forget(self) -> None:
        over = [what for what, job in self._jobs.items() if job.is_over]
        for what in over[: max(0, len(self._jobs) - KEPT)]:
            del self._jobs[what]

    def _next(self, lane: int) -> Job | None:
        waiting = (j for j in self._jobs.values() if j.state == "waiting")
        return next((j for j in waiting if j.lane == lane), None)

    def _work(self, lane: int) -> None:
        while True:
            with self._lock:
                while not self._closing.is_set() and self._next(lane) is None:
                    self._lock.wait()
                job = self._next(lane)
                if self._closing.is_set() or job is None:
                    return
                job.state, job.thread = "running", threading.get_ident()
            # an exception that comes late is for a job that is over: taken here
            with suppress(Stopped):
                self._run(job)

    def _run(self, job: Job) -> None:
        state, result = "failed", None
        try:
            with heard_by(job):
                result = job.make()
            state = "done"
        except Stopped:
            state = "stopped"
        except (InputError, NotEnoughCases) as err:
            result = str(err)
        except MemoryError:
            result = "There is not enough memory for this."
        except Exception as err:
            result = f"This could not be worked out: {type(err).__name__}: {err}"
        finally:
            with self._lock:
                job.thread = None
                if not job.is_over:
                    job.state, job.result = state, result
                job.finished.set()

    def _watch(self) -> None:
        """Stop what nobody has asked for in a while."""
        while not self._closing.wait(PATIENCE / 4):
            old = time.monotonic() - PATIENCE
            with self._lock:
                for job in self._jobs.values():
                    if not job.is_over and job.last_asked < old:
                        self._stop(job)
                gone = [
                    what
                    for what, job in self._jobs.items()
                    if job.state == "stopped" and job.last_asked < old
                ]
                for what in gone:
                    del self._jobs[what]
