"""What `penstock app` and `penstock explore` share: their server is an extra, and its page has an address."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Generator
from contextlib import contextmanager

import typer

from ...events.errors import UsageError, how_to_install

_SERVER = ("h11", "starlette", "uvicorn")


@contextmanager
def server_needed_by(command: str) -> Generator[None, None, None]:
    """Raise a `UsageError` that says what to install if an import in the block lacks the server's packages."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _SERVER:
            raise
        message = f"{command} needs starlette and uvicorn; {how_to_install('cli')}"
        raise UsageError(message) from error


def page_announced(*, is_opened: bool) -> Callable[[str], None]:
    """Return what prints the address of a page, and opens it in the browser if that is wanted."""

    def ready(address: str) -> None:
        typer.echo(f"The page is open to this machine until Ctrl-C:\n\n  {address}\n")
        if is_opened:
            webbrowser.open(address)

    return ready
