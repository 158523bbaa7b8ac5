"""What takes long, how far is it, and how is it stopped?

A job waits in one of two lanes, for what a person waits for and for what may come
later, and then has a thread of its own. Who waits asks again and again; a job that
nobody waits for any more (the tab asks something else in its place, or was closed) is
stopped: its thread gets an exception at the next step of Python, again and again until
it ends, since a callback of a library may swallow one; and its engine is interrupted.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, final

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.progress import heard_by

KEPT = 96  # answers that are remembered
ENDING = 2.0  # seconds that a thread may take to end
AGAIN = 0.05  # seconds after which a thread that goes on is told again to stop
# seconds without being asked for, after which a job is stopped: browsers let a page
# that nobody looks at ask once a minute only
PATIENCE = 90.0


class Stopped(SystemExit):
    """The job was stopped; not an error, so that nobody catches it on the way.

    A thread that ends by a ``SystemExit`` ends in silence.
    """


class Engine(Protocol):
    """What counts rows for a thread: it says how far it is, and can be interrupted."""

    def share(self) -> float | None:
        """Say how far it is."""

    def interrupt(self, thread: int) -> None:
        """End what it does for this thread."""


@final
@dataclass(eq=False)
class Job:
    """Something that is worked out: asked for by tabs, done or not."""

    make: Callable[[], Any]
    lane: int
    topic: Any = None
    engine: Engine | None = None
    state: str = "waiting"  # then "running", at last "done", "failed" or "stopped"
    result: Any = None
    words: str = ""
    done: float = 0.0
    total: float | None = None
    tabs: dict[str, float] = field(default_factory=dict)
    thread: threading.Thread | None = None
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
        share: float | None = None
        if self.total:
            share = min(self.done / self.total, 1.0)
        elif self.state == "running" and self.engine is not None:
            share = self.engine.share()
        words = self.words or ("Waiting" if self.state == "waiting" else "Working")
        return {"words": words, "share": share}

    def end(self) -> None:
        """Raise ``Stopped`` in its thread, and interrupt the engine that it waits for.

        To be said again until it has ended.
        """
        if self.thread is None or self.thread.ident is None:
            return
        if self.engine is not None:
            self.engine.interrupt(self.thread.ident)
        if self.thread.is_alive():  # else the number may be another thread's by now
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self.thread.ident), ctypes.py_object(Stopped)
            )

    def run(self) -> None:
        """Work it out; a stop ends this thread, whatever it does."""
        state, result = "failed", None
        try:
            with heard_by(self):
                result = self.make()
            state = "done"
        except (InputError, NotEnoughCases) as err:
            result = str(err)
        except MemoryError:
            result = "There is not enough memory for this."
        except Exception as err:
            result = f"This could not be worked out: {type(err).__name__}: {err}"
        except Stopped:
            state = "stopped"
        if self.state == "running":
            self.state, self.result = state, result


@final
class Jobs:
    """The jobs of a server, by what they depend on."""

    def __init__(self, lanes: int = 2) -> None:
        self._jobs: OrderedDict[Any, Job] = OrderedDict()
        self._lock = threading.Condition()
        self._closing = threading.Event()
        work = [threading.Thread(target=self._work, args=(k,)) for k in range(lanes)]
        self._threads = [*work, threading.Thread(target=self._watch)]
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def ask(
        self,
        what: Any,
        make: Callable[[], Any],
        tab: str,
        lane: int,
        topic: Any = None,
        engine: Engine | None = None,
    ) -> Job:
        """Find a job, or begin it; a tab that asks is a tab that waits.

        Of one topic a tab waits for one job only: what it asked before is given up.
        """
        with self._lock:
            job = self._jobs.get(what)
            if job is None:
                job = self._jobs[what] = Job(make, lane, topic, engine)
                self._give_up(tab, topic, job)
                self._lock.notify_all()
            self._jobs.move_to_end(what)
            job.tabs[tab] = time.monotonic()
            self._forget()
            return job

    def stop(self, what: Any) -> None:
        """Stop a job; it is begun anew when it is asked for anew."""
        with self._lock:
            if what in self._jobs:
                self._stop(self._jobs[what])

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
        if not job.is_over:
            job.state = "stopped"
            job.finished.set()

    def _forget(self) -> None:
        over = [what for what, job in self._jobs.items() if job.is_over]
        for what in over[: max(0, len(self._jobs) - KEPT)]:
            del self._jobs[what]

    def _next(self, lane: int) -> Job | None:
        """Wait for a job of this lane; None at the end."""
        with self._lock:
            while not self._closing.is_set():
                for job in self._jobs.values():
                    if job.state == "waiting" and job.lane == lane:
                        job.state = "running"
                        return job
                self._lock.wait()
        return None

    def _work(self, lane: int) -> None:
        while (job := self._next(lane)) is not None:
            self._see_through(job)

    def _see_through(self, job: Job) -> None:
        """Give a job its thread, and stay until that has ended."""
        job.thread = threading.Thread(target=job.run, daemon=True)
        job.thread.start()
        while job.thread.is_alive():
            job.thread.join(AGAIN)
            if job.state == "stopped":
                job.end()
        if job.state == "running":  # a stop that came when there was nothing to stop
            job.state = "stopped"
        job.finished.set()
        job.make = lambda: None  # what it was made of is let go

    def _watch(self) -> None:
        """Stop what nobody has asked for in a while."""
        while not self._closing.wait(PATIENCE / 4):
            old = time.monotonic() - PATIENCE
            with self._lock:
                for what, job in list(self._jobs.items()):
                    if job.last_asked < old:
                        self._stop(job)
                        if job.state == "stopped":
                            del self._jobs[what]
