"""What the commands share that serve a page: the message without its packages, and the address."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Generator
from contextlib import contextmanager

import typer

from ...events.errors import UsageError, how_to_install


@contextmanager
def packages_of_a_page(command: str) -> Generator[None, None, None]:
    """Around the import of a page's server: `UsageError` with what to install, if its packages are missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("h11", "starlette", "uvicorn"):
            raise
        message = f"penstock {command} needs starlette and uvicorn; {how_to_install('cli')}"
        raise UsageError(message) from error


def announced(*, in_browser: bool) -> Callable[[str], None]:
    """Return what prints a page's address, and opens it in the browser if asked."""

    def ready(address: str) -> None:
        typer.echo(f"The page is open to this machine until Ctrl-C:\n\n  {address}\n")
        if in_browser:
            webbrowser.open(address)

    return ready
