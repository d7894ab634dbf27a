"""`ReplayServer`: replay recorded answers over HTTP on this machine to any provider's client, with faults on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self, cast

from ...events.errors import UsageError, how_to_install
from ...sources.base.request import is_this_machine, listen
from ...sources.base.served_hosts import ServedHosts
from .replay_log import Outcome, ReplayEntry, ReplayLog
from .replay_pieces import Chunk, Pace, checked_chunk, checked_pace, parse_fault
from .replay_recordings import Recordings, RecordingSource, RequestCheck

if TYPE_CHECKING:
    from .replay_thread import ReplayThread

NEEDED = ("h11", "starlette", "uvicorn")
_FROM_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
NOT_INSTALLED = f"the replay server needs two more packages; {how_to_install('cli')}"


class ReplayServer:
    """Answer the requests of the clients of OpenAI, Anthropic, Google, Ollama, Cohere and Bedrock from recordings.

        with ReplayServer("recordings", fault="cut:500") as server:
            client = OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0)

    - `recordings`: a folder, searched with its subfolders for *.sse, *.ndjson, *.json and *.txt, or a dictionary from
      names to bodies. A request gets the recording named in its header `x-penstock-recording`, else one named like its
      model, else the next one of its API.
    - `pace`: "instant", the seconds before each event, or "original" for the recorded timing, if there is one.
    - `chunk`: the bytes of each write; by default, each write is one event.
    - `fault`: what goes wrong, unless the header `x-penstock-fault` names another fault: `cut:N`, `stall:N`, `reset:N`,
      `status:CODE`, `error:N`, `garbage:N`, `duplicate:K`.
    - `host`: the address to listen on; one that other machines can reach is a `UsageError` without `public=True`.
    - `port`: the port; 0 is any free one.
    - `check`: a function of the API's name and the request's JSON body; what it raises refuses the request with 400, in
      the provider's form, with the exception's text. So a test can look at each request, such as the second of a loop.
    - `strict`: a model that no recording is named like is refused with 404, as providers do, where no header names a
      recording; without it such a request gets the next recording.
    - `hosts`: names that are allowed in the header `Host`, besides localhost, 127.0.0.1, [::1] and `host`; a request
      with another is refused with 403.

    `log` and `wait_for` show what was sent, and when clients left. `UsageError` for a wrong argument, for a port that
    is in use, and if starlette or uvicorn is missing.
    """

    def __init__(  # noqa: PLR0913 - each has a default that serves most
        self,
        recordings: RecordingSource | Recordings,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        public: bool = False,
        hosts: Collection[str] = (),
        pace: Pace | str = "instant",
        chunk: Chunk | str | None = None,
        fault: str | None = None,
        check: RequestCheck | None = None,
        strict: bool = False,
    ) -> None:
        if not (public or is_this_machine(host)):
            message = f"{host} is reachable from other machines; allow that with public=True (--public)"
            raise UsageError(message)
        self.url = ""
        self.recordings = recordings if isinstance(recordings, Recordings) else Recordings(recordings)
        self._address = host, port
        self._hosts = ServedHosts(host, (hosts,) if isinstance(hosts, str) else hosts)
        self._pace: Pace = checked_pace(pace)
        self._chunk: Chunk | None = None if chunk is None else checked_chunk(chunk)
        self._fault = None if fault is None else parse_fault(fault)
        self._check = check
        self._strict = strict
        self._gate: asyncio.Semaphore | None = None
        self._log = ReplayLog()
        self._thread: ReplayThread | None = None

    def __enter__(self) -> Self:
        if self._thread is not None:
            message = "this replay server is already running; make another one"
            raise UsageError(message)
        try:
            from .replay_app import ReplayApp, ReplaySettings  # noqa: PLC0415 - what it imports is an extra
            from .replay_thread import Connections, ReplayThread  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in NEEDED:
                raise
            raise UsageError(NOT_INSTALLED) from error
        connections = Connections()
        settings = ReplaySettings(
            self._pace, self._chunk, self._fault, self._hosts, self._gate, self._check, self._strict
        )
        app = ReplayApp(self.recordings, self._log, connections, settings)
        listening = listen(*self._address)
        host, port = cast("tuple[str, int]", listening.getsockname()[:2])
        thread = ReplayThread(app.asgi, listening, connections)
        thread.start()
        self._thread = thread
        reached = _FROM_HERE.get(host, host)
        self.url = f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        if (thread := self._thread) is not None:
            thread.stop()
            self._thread = None

    def gated(self) -> Self:
        """Return this server, changed to send only as many writes as `allow` permits.

        with ReplayServer("recordings").gated() as server:
            server.allow(3)
        """
        self._gate = asyncio.Semaphore(0)
        return self

    def allow(self, writes: int = 1) -> None:
        """Permit a gated server this many further writes, whichever answers they belong to."""
        if self._thread is None or self._gate is None:
            message = "allow(...) needs a running server that was made with gated()"
            raise UsageError(message)
        for _ in range(writes):
            self._thread.call(self._gate.release)

    @property
    def log(self) -> list[ReplayEntry]:
        """A copy of the log: the requests so far and the state of their answers."""
        return self._log.entries()

    def wait_for(
        self,
        outcome: Outcome | None = None,
        *,
        request: int | None = None,
        bytes_sent: int = 0,
        timeout: float = 20.0,
    ) -> ReplayEntry:
        """Wait until a request has this outcome, number (from 1) and at least these bytes sent; return its entry.

        Raises `UsageError`, with the outcomes so far, after `timeout` seconds.
        """
        return self._log.wait_for(outcome, request=request, bytes_sent=bytes_sent, timeout=timeout)

    def follow(self) -> SimpleQueue[ReplayEntry]:
        """Return a queue that from now on receives each entry twice: when it begins, and when it has ended."""
        return self._log.follow()
