"""An ASGI application under a real uvicorn, on a port of this machine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import uvicorn

from penstock.sources.base.request import listen


class _Server(uvicorn.Server):
    """Says when it is up, and waits to be stopped rather than looking ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up: Future[None] = Future()

    async def main_loop(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self.up.set_result(None)
        await self._stopped.wait()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)


@contextmanager
def serving(app: Any, port: int = 0) -> Iterator[str]:
    """Yield the address, as 127.0.0.1:PORT, of an application that serves until the end of the block.

    `port`: that of one before, to which a page goes back; by default a free one.
    """
    before = set(threading.enumerate())
    with listen("127.0.0.1", port) as listening:
        config = uvicorn.Config(app, loop="asyncio", ws="websockets-sansio", log_config=None)
        server = _Server(config)

        def run() -> None:
            try:
                asyncio.run(server.serve(sockets=[listening]))
                if not server.up.done():
                    server.up.set_exception(RuntimeError("the application did not start"))
            except BaseException as error:
                if server.up.done():
                    raise
                server.up.set_exception(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        server.up.result(timeout=20)
        try:
            host, port = listening.getsockname()
            yield f"{host}:{port}"
        finally:
            server.stop()
            thread.join(timeout=20)
            assert not thread.is_alive(), "the application did not stop: something in it still runs"
            # A loop that ends tells the threads that read its files to stop, and does not wait until they have.
            for worker in set(threading.enumerate()) - before:
                if worker.name.startswith("AnyIO worker"):
                    worker.join(timeout=20)
