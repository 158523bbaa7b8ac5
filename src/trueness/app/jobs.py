"""What takes long, how far is it, and how is it stopped?

A job waits in one of two lanes: one for what a person waits for, one for what may come
later. It then has a thread of its own. Tabs ask for it again and again. A job that no
tab waits for any more (the tab asks something else in its place, or was closed) is
asked to stop: its next step, and the next block of a long loop, ends the work, and its
engine is interrupted.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, final

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.progress import Stopped, heard_by, stopped_by
from trueness.app.files import DataFile

MAX_CACHED_JOBS = 96
JOIN_TIMEOUT_S = 5.0  # how long the end of the server waits for each lane
POLL_INTERVAL_S = 0.05  # how often a lane looks after the job that it runs
# seconds without being asked for, after which a job is stopped: browsers let a page
# that nobody looks at ask once a minute only
ABANDONED_AFTER_S = 90.0


@final
@dataclass(eq=False)
class Job:
    """Something that is worked out: asked for by tabs, done or not."""

    compute: Callable[[], Any]
    topic: Hashable = None
    engine: DataFile | None = None
    state: str = "waiting"  # then "running", at last "done", "failed" or "stopped"
    result: Any = None
    description: str = ""
    done: float = 0.0
    total: float | None = None
    tabs: set[str] = field(default_factory=set)  # which tabs wait for it
    last_asked: float = 0.0  # when a tab asked for it last
    thread: threading.Thread | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    stop_request: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Return whether there is nothing to wait for."""
        return self.finished.is_set()

    # what a display of progress has

    def add_task(
        self, description: str, total: float | None = None, unit: str = ""
    ) -> int:
        """Note that a pass begins, as a progress bar does."""
        self.description = description
        self.done = 0.0
        self.total = total
        return 0

    def advance(self, _: int, by: float = 1) -> None:
        """Note how far a pass is."""
        self.done += by

    def refresh(self) -> None:
        """Draw nothing: the page asks."""

    def remove_task(self, _: int) -> None:
        """Note that a pass is over."""
        self.done = 0.0
        self.total = None

    def progress(self) -> dict[str, Any]:
        """Say in words, and as a fraction where that is known, how far it is."""
        fraction: float | None = None
        if self.total:
            fraction = min(self.done / self.total, 1.0)
        elif self.state == "running" and self.engine is not None:
            fraction = self.engine.fraction_read()

        sentence = self.description
        if not sentence:
            sentence = "Waiting" if self.state == "waiting" else "Working"

        return {"words": sentence, "fraction": fraction}

    # its course

    def stop(self) -> None:
        """Wait for it no longer; its thread ends at its next step."""
        if not self.is_over:
            self.state = "stopped"
            self.stop_request.set()
            self.finished.set()

    def run_to_end(self) -> None:
        """Give it a thread, and stay until that has ended."""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

        while self.thread.is_alive():
            self.thread.join(POLL_INTERVAL_S)
            if time.monotonic() - self.last_asked > ABANDONED_AFTER_S:
                self.tabs.clear()
                self.stop()
            if self.state == "stopped":
                self._interrupt_engine(self.thread)

        self.finished.set()
        self.compute = lambda: None  # frees the data that it was made of

    def _interrupt_engine(self, thread: threading.Thread) -> None:
        """End the query that runs for this job; a query begun later ends as well."""
        if self.engine is not None and thread.ident is not None:
            self.engine.interrupt(thread.ident)

    def _run(self) -> None:
        """Work it out, or note why there is no result."""
        state = "failed"
        result = None

        try:
            with heard_by(self), stopped_by(self.stop_request):
                result = self.compute()
            state = "done"
        except (InputError, NotEnoughCases) as error:
            result = error.with_traceback(None)  # whose frames hold all of the data
        except MemoryError:
            result = "There is not enough memory for this."
        except Exception as error:
            result = describe_failure(error)
        except Stopped:
            state = "stopped"

        if self.state == "running":
            self.state = state
            self.result = result


def describe_failure(error: BaseException) -> str:
    """Say that something went wrong which is no fault of the data.

    The error's own words may hold paths of this machine, so its kind must do.
    """
    return (
        f"An error in Trueness stopped this analysis ({type(error).__name__}). Please "
        "report it, with the file and your choices."
    )


@final
class Jobs:
    """The jobs of a server, by what they depend on."""

    def __init__(self, lanes: int = 2) -> None:
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()
        self._lock = threading.Lock()

        self._lanes: list[SimpleQueue[Job | None]] = []
        self._threads: list[threading.Thread] = []

        for _ in range(lanes):
            lane: SimpleQueue[Job | None] = SimpleQueue()
            thread = threading.Thread(
                target=self._run_jobs_of, args=(lane,), daemon=True
            )
            self._lanes.append(lane)
            self._threads.append(thread)
            thread.start()

    def find_or_begin(
        self,
        key: Hashable,
        compute: Callable[[], Any],
        tab: str,
        lane: int,
        topic: Hashable = None,
        engine: DataFile | None = None,
    ) -> Job:
        """Return the job of a key, and begin it where there is none.

        A tab waits only for its last job of a topic.
        """
        with self._lock:
            job = self._jobs.get(key)
            was_abandoned = job is not None and not job.tabs
            if job is None or was_abandoned:
                job = Job(compute, topic, engine)
                self._abandon_earlier_jobs(tab, topic)
                self._jobs[key] = job
                self._lanes[lane].put(job)

            self._jobs.move_to_end(key)
            job.tabs.add(tab)
            job.last_asked = time.monotonic()
            self._forget_oldest()

            return job

    def stop(self, key: Hashable) -> None:
        """Stop a job; it is begun anew when it is asked for anew."""
        with self._lock:
            if key in self._jobs:
                self._jobs[key].stop()

    def drop(self, key: Hashable) -> None:
        """Forget how a job ended."""
        with self._lock:
            if key in self._jobs and self._jobs[key].is_over:
                del self._jobs[key]

    def close(self) -> None:
        """Stop everything, for good."""
        with self._lock:
            for job in self._jobs.values():
                job.stop()

        for lane in self._lanes:
            lane.put(None)

        for thread in self._threads:
            thread.join(JOIN_TIMEOUT_S)

        self._jobs.clear()  # results that hold rows of an engine go before the engine

    def _forget_oldest(self) -> None:
        """Keep the answers that were asked for last, and all jobs that go on."""
        surplus = max(0, len(self._jobs) - MAX_CACHED_JOBS)
        finished = [key for key, job in self._jobs.items() if job.is_over]
        for key in finished[:surplus]:
            del self._jobs[key]

    def _abandon_earlier_jobs(self, tab: str, topic: Hashable) -> None:
        """Let a tab no longer wait for its earlier jobs of a topic."""
        if topic is None:
            return

        for job in self._jobs.values():
            waits = tab in job.tabs and not job.is_over
            if waits and job.topic == topic:
                job.tabs.remove(tab)
                if not job.tabs:
                    job.stop()

    def _run_jobs_of(self, lane: SimpleQueue[Job | None]) -> None:
        """Run one job after the other; None is the end."""
        while (job := lane.get()) is not None:
            with self._lock:
                if job.is_over:
                    continue
                job.state = "running"
            job.run_to_end()
