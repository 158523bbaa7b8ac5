"""Look around in the browser: the workbench, ``trueness app``."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from typing import Annotated

import typer

from trueness._core.checks.errors import InputError
from trueness._core.imports import HigherFunction, required
from trueness.cli import options
from trueness.cli._shell import CommandAnswer, say
from trueness.cli.judge import open_verdicts
from trueness.data.files import tables_of

SERVE: HigherFunction[Callable[..., None]] = HigherFunction("serve")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_PORT = 65_535


def app_command(
    file: Annotated[
        str | None,
        typer.Argument(
            help="CSV, Parquet or JSON lines (also compressed, a folder, or "
            "'many/*.parquet'), a database, the log of an evaluation, or "
            "sample:west_nile. Without one, drop it on the page.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", metavar="NUMBER", help="Port; 0 chooses a free one."),
    ] = 0,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser",
            help="Open the page in a browser; otherwise only print its address.",
        ),
    ] = True,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="MB", help="Largest upload, in megabytes."),
    ] = 512,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; this machine only by default.",
        ),
    ] = "127.0.0.1",
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Allow another --host: others can then reach the page.",
        ),
    ] = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """Explore a file in the browser: choose columns, move the threshold, save a report.

    Example:
    trueness app sample:west_nile
    """
    if host not in LOOPBACK and not allow_remote:
        raise InputError(
            f"The host {host} would let other machines reach the workbench and your "
            "files. Leave it out, or type --allow-remote as well if this is intended.",
            option="host",
        )

    if not 0 <= port <= MAX_PORT or limit < 1:
        raise InputError(
            f"The port must be 0 to {MAX_PORT}, and the upload limit 1 or more; found "
            f"{port} and {limit}.",
            option="limit" if limit < 1 else "port",
        )

    for library in ("uvicorn", "starlette"):
        required(library, "app")

    if file is not None and "::" not in file and not tables_of(file):
        open_verdicts(file)  # a file that cannot be read is told before anything begins

    if host not in LOOPBACK:
        say(
            f"Warning: listening on {host}. Whoever has the address and its token sees "
            "your files, and nothing is encrypted on the way."
        )

    def show_address(address: str) -> None:
        say("The workbench is open at this address; stop it with Ctrl-C:")
        typer.echo(address)
        if browser:
            webbrowser.open(address)

    serve = SERVE.load()
    try:
        serve(file, host=host, port=port, limit=limit, when_ready=show_address)
    except OSError as err:
        sentence = f"port {port} of {host} cannot be used: {err.strerror}"
        raise OSError(err.errno, f"{sentence}. Type --port 0") from err
    except KeyboardInterrupt:
        say("Stopped.")

    return CommandAnswer(result={}, parts=[])
