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
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, final

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.progress import heard_by
from trueness.app.files import DataFile

KEPT = 96  # answers that are remembered
ENDING = 2.0  # seconds that a thread may take to end
AGAIN = 0.05  # seconds after which a thread that goes on is told again to stop
# seconds without being asked for, after which a job is stopped: browsers let a page
# that nobody looks at ask once a minute only
PATIENCE = 90.0


class Stopped(SystemExit):
    """The job was stopped. Nobody catches it on the way, and its thread is silent."""


@final
@dataclass(eq=False)
class Job:
    """Something that is worked out: asked for by tabs, done or not."""

    make: Callable[[], Any]
    topic: Hashable = None
    engine: DataFile | None = None
    state: str = "waiting"  # then "running", at last "done", "failed" or "stopped"
    result: Any = None
    words: str = ""
    done: float = 0.0
    total: float | None = None
    tabs: set[str] = field(default_factory=set)  # who waits for it
    asked: float = 0.0  # when a tab asked for it last
    thread: threading.Thread | None = None
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Is there nothing to wait for?"""
        return self.finished.is_set()

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

    def stop(self) -> None:
        """Wait for it no longer; its thread ends as soon as it can."""
        if not self.is_over:
            self.state = "stopped"
            self.finished.set()

    def see_through(self) -> None:
        """Give it a thread, and stay until that has ended."""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        while self.thread.is_alive():
            self.thread.join(AGAIN)
            if time.monotonic() - self.asked > PATIENCE:
                self.tabs.clear()
                self.stop()
            if self.state == "stopped":
                self._end(self.thread)
        if self.state == "running":  # a stop that came when there was nothing to stop
            self.state = "stopped"
        self.finished.set()
        self.make = lambda: None  # what it was made of is let go

    def _end(self, thread: threading.Thread) -> None:
        """Raise ``Stopped`` in its thread and interrupt its engine; to be repeated."""
        if self.engine is not None and thread.ident is not None:
            self.engine.interrupt(thread.ident)
        if thread.is_alive():  # else the number may be another thread's by now
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Stopped)
            )

    def _run(self) -> None:
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
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._lanes: list[SimpleQueue[Job | None]]
        self._lanes = [SimpleQueue() for _ in range(lanes)]
        self._threads = [
            threading.Thread(target=self._work, args=(lane,), daemon=True)
            for lane in self._lanes
        ]
        for thread in self._threads:
            thread.start()

    def ask(
        self,
        what: Hashable,
        make: Callable[[], Any],
        tab: str,
        lane: int,
        topic: Hashable = None,
        engine: DataFile | None = None,
    ) -> Job:
        """Find a job, or begin it; of one topic a tab waits for its last one only."""
        with self._lock:
            job = self._jobs.get(what)
            if job is None or not job.tabs:  # new, or given up before it was done
                job = Job(make, topic, engine)
                self._give_up(tab, topic)
                self._jobs[what] = job
                self._lanes[lane].put(job)
            self._jobs.move_to_end(what)
            job.tabs.add(tab)
            job.asked = time.monotonic()
            over = [what for what, job in self._jobs.items() if job.is_over]
            for old in over[: max(0, len(self._jobs) - KEPT)]:
                del self._jobs[old]
            return job

    def stop(self, what: Hashable) -> None:
        """Stop a job; it is begun anew when it is asked for anew."""
        with self._lock:
            if what in self._jobs:
                self._jobs[what].stop()

    def drop(self, what: Hashable) -> None:
        """Forget how a job ended."""
        with self._lock:
            if what in self._jobs and self._jobs[what].is_over:
                del self._jobs[what]

    def close(self) -> None:
        """Stop everything, for good."""
        with self._lock:
            for job in self._jobs.values():
                job.stop()
        for lane in self._lanes:
            lane.put(None)
        for thread in self._threads:
            thread.join(ENDING)
        self._jobs.clear()  # what an engine has lent is given back before it ends

    def _give_up(self, tab: str, topic: Hashable) -> None:
        for job in self._jobs.values():
            waits = not job.is_over and tab in job.tabs
            if topic is not None and waits and job.topic == topic:
                job.tabs.remove(tab)
                if not job.tabs:
                    job.stop()

    def _work(self, lane: SimpleQueue[Job | None]) -> None:
        """See through one job after the other; None is the end."""
        while (job := lane.get()) is not None:
            with self._lock:
                if job.is_over:
                    continue
                job.state = "running"
            job.see_through()
