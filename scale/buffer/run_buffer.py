"""`run_buffer`: a buffer on a port, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn

from ...events.errors import shown_url
from ...gateway.operating.listening import check_serving
from ...sinks.log.patience import check_log
from ...sinks.log.stream_log import StreamLog
from ...sources.base.request import listen
from .buffer_app import Buffer, BufferOptions

_LONGEST_STOP = 10
"""Seconds that connections have to end in order."""


async def run_buffer(
    upstream: str,
    log: StreamLog,
    options: BufferOptions,
    *,
    say: Callable[[str], None],
    host: str = "127.0.0.1",
    port: int = 4142,
    grace: float = 60.0,
) -> None:
    """Answer requests until a signal comes.

    SIGTERM refuses new kept requests, and lets those that are on their way end within `grace` seconds; meanwhile the
    buffer can be reached, and its health says that it is draining. What is then not at its end, and at once what
    SIGINT or a second signal finds, ends as interrupted.

    - `options`: without a name, that of this machine with the port.

    `UsageError` for a host that other machines can reach without a key, for a port that is taken, and for a log that
    refuses this user.
    """
    check_serving(host, options.key, grace)
    with listen(host, port) as listening:
        at = listening.getsockname()[1]
        options = options if options.name else options._replace(name=f"{socket.gethostname()}:{at}")
        buffer = Buffer(upstream, log, options)
        shown = f"[{host}]" if ":" in host else host
        say(f"on http://{shown}:{at} until Ctrl-C, in front of {shown_url(upstream)}, as {options.name}")
        await check_log(log, say)
        config = uvicorn.Config(
            buffer.app(),
            log_config=None,
            timeout_graceful_shutdown=_LONGEST_STOP,
            access_log=False,
            server_header=False,
            date_header=False,
            ws="none",
            lifespan="on",
        )
        logging.basicConfig(format="%(message)s", stream=sys.stderr)
        logging.getLogger("penstock.buffer").setLevel(logging.INFO)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # answers that broke off are no errors of its own
        await _Server(config, buffer, grace).serve(sockets=[listening])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, buffer: Buffer, grace: float) -> None:
        super().__init__(config)
        self._buffer, self._grace = buffer, grace
        self._loop = asyncio.get_running_loop()
        self._draining: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM and not self._buffer.is_draining:
            self._buffer.drain()
            self._loop.call_soon_threadsafe(self._drain, sig)
        else:
            self._loop.call_soon_threadsafe(self._buffer.stop)
            super().handle_exit(sig, frame)

    def _drain(self, sig: int) -> None:
        self._draining = asyncio.create_task(self._drained(sig))

    async def _drained(self, sig: int) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._grace):
                await self._buffer.kept.ended()
        self._buffer.stop()
        super().handle_exit(sig, None)
