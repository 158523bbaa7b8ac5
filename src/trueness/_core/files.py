"""Files that are written whole or not at all, by one process at a time.

A temporary file beside it is written and then moved into place: a reader never sees
half a file, and a failed write leaves what was there.
"""

from __future__ import annotations

import atexit
import csv
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import shown

_TEMPORARY = ".trueness"
_FOLDER = "trueness-"
_LOCK = "lock"
# what parsers and constructors raise at content that is not what they expect
_ERRORS_OF_CONTENT = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    csv.Error,
)


@contextmanager
def as_written(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Say in a sentence that a file does not hold what it should.

    A forged or damaged file can be wrong in more ways than anybody lists; what the
    checks inside do not name themselves is named here.
    """
    try:
        yield
    except (InputError, NotEnoughCases):
        raise
    except _ERRORS_OF_CONTENT as err:
        raise InputError(
            f"{os.fsdecode(path)} does not hold {what}, or it is damaged: "
            f"{shown(err, 120)}. Restore it from a copy, or write it again."
        ) from None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a temporary path whose file takes the place of ``path`` at the end.

    An error inside removes the temporary file and leaves ``path`` as it was. A link
    stays a link, to the new file; a device such as /dev/stdout gets the bytes.
    """
    check_folder(path)
    if is_device(path):
        with _passed_on(Path(os.fsdecode(path))) as temporary:
            yield temporary
        return

    target = Path(os.path.realpath(os.fsdecode(path)))
    remove_leftovers(target.parent)
    handle, name = _temporary_beside(target)
    locked(handle)  # shows that its writer lives
    try:
        yield Path(name)
        _sync(name)
        _grant_usual_permissions(name)
        os.replace(name, target)
        _sync(target.parent)
    except OSError as err:
        # PyArrow writes a paragraph where the system has three words
        reason = os.strerror(err.errno) if err.errno else str(err)
        sentence = (
            f"{os.fspath(path)} cannot be written: {reason}. Nothing was changed. Free "
            "some space, or choose another folder."
        )
        raise OSError(err.errno, sentence) from err
    finally:
        Path(name).unlink(missing_ok=True)
        os.close(handle)


def _temporary_beside(target: Path) -> tuple[int, str]:
    """Open a temporary file in the folder of the target; return its handle and name."""
    try:
        return tempfile.mkstemp(
            suffix=_TEMPORARY, prefix=f".{target.name[:100]}.", dir=target.parent
        )
    except OSError as err:
        sentence = f"{target} cannot be written: {err.strerror or err}"
        raise OSError(err.errno, sentence) from err


def _grant_usual_permissions(name: str) -> None:
    """Let others read a temporary file as far as this process lets them."""
    mask = os.umask(0)  # it can be read only by setting it
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files that a killed process left behind.

    Whoever writes one holds a lock on it, which ends with the process, however it ends.
    """
    for leftover in folder.glob(f".*{_TEMPORARY}"):
        _if_unlocked(leftover, lambda path: path.unlink(missing_ok=True))


def temporary_folder() -> Path:
    """Make a folder for what is needed for a while; it goes when Python ends."""
    return Path(tempfile.mkdtemp(dir=process_folder()))


@cache
def process_folder() -> Path:
    """Return the folder for the temporary files of this process, which is made once.

    A lock in it is held as long as the process lives. A killed process cannot remove
    its folder, so the next process that needs one does.
    """
    for leftover in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*/{_LOCK}"):
        _if_unlocked(
            leftover, lambda lock: shutil.rmtree(lock.parent, ignore_errors=True)
        )

    folder = Path(tempfile.mkdtemp(prefix=_FOLDER))
    # a lock that is not held yet would look like one of a killed process, so the file
    # gets the name of a lock afterwards
    handle = os.open(folder / "new", os.O_RDWR | os.O_CREAT, 0o600)
    locked(handle)
    os.rename(folder / "new", folder / _LOCK)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _if_unlocked(path: Path, remove: Callable[[Path], None]) -> None:
    """Remove what no living process holds a lock on."""
    with suppress(OSError):  # gone already, or not ours
        handle = os.open(path, os.O_RDWR)
        try:
            if locked(handle, wait=False):
                remove(path)
        finally:
            os.close(handle)


def locked(handle: int, wait: bool = True) -> bool:
    """Lock an open file for this process alone; False if another one has it."""
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows: one writer at a time is up to the user
        return wait

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False

    return True


@contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let one process at a time change a file; leave no lock file behind."""
    check_folder(path)
    target = Path(os.fsdecode(path))
    lock = target.with_name(f".{target.name}.lock")
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        locked(handle)
        with suppress(FileNotFoundError):  # whoever had it before has removed it
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                break
        os.close(handle)

    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Stop when there is no folder for a file that is to be written."""
    target = _options.file_path(path, "Writing")
    if target.is_dir():
        raise InputError(
            f"{target} cannot be written: it is a folder. Name a file in it."
        )
    if not target.parent.is_dir():
        raise InputError(
            f"{target} cannot be written: there is no folder {target.parent}. "
            f"Make the folder first."
        )


def is_device(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a pipe or a terminal, which is never replaced."""
    target = Path(os.fsdecode(path))
    if target.is_relative_to("/dev"):  # /dev/stdout may lead to a plain file
        return target.exists()
    return target.exists() and not (target.is_file() or target.is_dir())


@contextmanager
def _passed_on(device: Path) -> Iterator[Path]:
    """Provide a temporary path whose bytes go to a device in the end."""
    temporary = temporary_folder() / "output"
    try:
        yield temporary
        with temporary.open("rb") as source, device.open("wb") as sink:
            shutil.copyfileobj(source, sink)
    finally:
        shutil.rmtree(temporary.parent, ignore_errors=True)


def _sync(path: str | Path) -> None:
    """Write what the system still holds in memory to the disk."""
    # without this a power cut can leave an empty file under the final name
    if os.path.isdir(path) and os.name == "nt":  # folders cannot be opened there
        return

    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
