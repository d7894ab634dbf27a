"""What `penstock app` does with its options, and the server of its page until Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory

import uvicorn
from starlette.types import ASGIApp

from ...events.errors import UsageError
from ..explorer.explored_runs import ExploredStreams
from ..explorer.explored_stream import ExploredStream
from ..replay.replay_recordings import Recording
from ..run_provider import SDKS
from .app_routes import app_of
from .app_session import AppSession
from .app_sources import AppSources, Playable, playable_in
from .app_steps import AppSteps


def serve_app(session: AppSession, *, port: int, ready: Callable[[str], object], page: str = "/") -> None:
    """Serve until Ctrl-C; `ready` gets the address of a page, with the token behind `#`, which no server is sent."""
    token = token_urlsafe(32)
    with _listening(port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}{page}#token={token}"
        server = _Server(app_of(session, token), session, lambda: ready(address))
        asyncio.run(server.serve(sockets=[listening]))


class _Server(uvicorn.Server):
    """Closes the runs before it waits for its connections, because their readers would wait for the runs."""

    def __init__(self, app: ASGIApp, session: AppSession, ready: Callable[[], object]) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=3,
        )
        super().__init__(config)
        self._session = session
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._session.aclose()
        await super().shutdown(sockets)


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        message = f"cannot listen on 127.0.0.1, port {port}: {error}"
        raise UsageError(message) from error


def run_app(
    recordings: Iterable[tuple[str, Recording, str]],
    *,
    folder: str | None,
    root: Path | None,
    commands: bool,
    demo: bool,
    port: int,
    ready: Callable[[str], object],
) -> None:
    """Serve until Ctrl-C. `recordings`: titles, recordings and what is said below, before those of the folder."""
    if commands and root is None and not demo:
        message = "--commands run in a folder; name it with --root DIR"
        raise UsageError(message)
    playable = [Playable(*each) for each in recordings]
    if folder is not None:
        playable += playable_in(folder)
    with _root(root, demo=demo) as place:
        serve_app(new_session(playable, place, commands=commands or demo, demo=demo), port=port, ready=ready)


def run_explorer(streams: Mapping[str, ExploredStream], *, port: int, ready: Callable[[str], object]) -> None:
    """Serve the explorer of some streams until Ctrl-C; the app plays those of them that an SDK can play."""
    playable = [
        Playable(name, Recording(name, each.api or "", b"".join(each.items)))
        for name, each in streams.items()
        if each.form == "wire" and each.api in SDKS
    ]
    session = new_session(playable, None, commands=False, explored=ExploredStreams(streams))
    serve_app(session, port=port, ready=ready, page="/explore")


def new_session(
    playable: Sequence[Playable],
    root: Path | None,
    *,
    commands: bool,
    demo: bool = False,
    explored: ExploredStreams | None = None,
) -> AppSession:
    steps = AppSteps(root, commands=commands)
    can = {"root": None if root is None else str(root), "commands": commands, "demo": demo}
    return AppSession(AppSources(playable, steps.pipeline), steps.steps, can, root, explored)


@contextmanager
def _root(root: Path | None, *, demo: bool) -> Generator[Path | None, None, None]:
    if root is None and demo:
        with TemporaryDirectory(prefix="penstock-demo-") as made:
            yield Path(made)
        return
    if root is not None and not root.is_dir():
        message = f"--root must be a folder that exists, got {root}"
        raise UsageError(message)
    yield None if root is None else root.resolve()
