"""`AppSources`: what the page may ask, what the app can play, and whom it can ask."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct

from ...events.errors import UsageError
from ...pipeline.pipeline import Pipeline
from ...pipeline.run import Run
from ...sinks.running.queues import async_queue
from ...sources.base.request import Request
from ...sources.recognition.apis import PROVIDERS, provider_of
from ..explorer.explored_runs import ExploredStreams
from ..explorer.explored_stream import stream_of_body
from ..replay.replay_pieces import Pace, split_events
from ..replay.replay_recordings import Recording, Recordings
from ..replay.replay_server import ReplayServer
from ..run_provider import (
    SDKS,
    connected,
    is_sdk_installed,
    key_from_environment,
    loopback,
    url_from_environment,
    with_tools,
)

Open: TypeAlias = Callable[[], AbstractContextManager[Run]]


class ThreadedAnswer:
    """The events of one run for one async loop; nothing is asked before the loop begins.

    - `open_run`: called in the thread; the block that it opens has the run, and closes the connection at its end.

    `cancel` closes the provider's connection, also while the thread waits for it. The thread has ended when the loop
    has, or was left.
    """

    def __init__(self, open_run: Open) -> None:
        self._open = open_run
        self._queue = async_queue()
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._reason: str | None = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._read()

    def cancel(self, reason: str = "cancelled") -> None:
        """End the answer in order: open segments end as `interrupted` with this reason."""
        with self._lock:
            self._reason = self._reason or reason
            run = self._run
        if run is not None:
            run.cancel(reason)

    async def _read(self) -> AsyncGenerator[Any, None]:
        events = aiter(self._queue)
        thread = threading.Thread(target=self._write, name="penstock-app-answer", daemon=True)
        thread.start()
        try:
            async for event in events:
                yield event
        finally:
            self.cancel("the reader has left")
            self._queue.close()
            await asyncio.shield(asyncio.to_thread(thread.join))

    def _write(self) -> None:
        with suppress(Exception):  # the queue raises it in the loop
            self._queue(self._events())

    def _events(self) -> Generator[Any, None, None]:
        with self._open() as run:
            with self._lock:
                self._run, reason = run, self._reason
            if reason is not None:
                run.cancel(reason)
            yield from run


PlayPace: TypeAlias = Literal["recorded", "calm", "quick", "instant"]
RunId: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=300)]


class Play(Struct, frozen=True, tag="play", tag_field="kind", forbid_unknown_fields=True):
    """Play a recording, named as the app lists it."""

    id: RunId
    recording: Name
    pace: PlayPace = "calm"


class Ask(Struct, frozen=True, tag="ask", tag_field="kind", forbid_unknown_fields=True):
    """Send a prompt to a provider."""

    id: RunId
    prompt: Annotated[str, Meta(min_length=1, max_length=500_000)]
    provider: Name
    model: Name
    system: Annotated[str, Meta(max_length=100_000)] = ""


class Decision(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to the question whether a call may run; `sha256` is of the call that was shown."""

    call_id: str
    sha256: str
    approve: bool
    reason: Annotated[str, Meta(max_length=2000)] = ""


def asked(request: Any) -> Play | Ask:
    """Return what a request's JSON asks for; `UsageError` if it is neither `Play` nor `Ask`."""
    try:
        return msgspec.convert(request, Play | Ask)
    except msgspec.ValidationError as error:
        message = f"the app does not understand this request: {error}"
        raise UsageError(message) from error


_SECONDS = {"calm": 18.0, "quick": 6.0}
"""How long a recording takes at each pace, if its events are not too far apart."""
_LONGEST_WAIT = 0.25


class Playable(NamedTuple):
    """A recording with its title in the page, and what it says below."""

    title: str
    recording: Recording
    about: str = ""


class AppSources:
    """The recordings, and the providers for which the environment has a key.

    - `pipeline`: makes the pipeline of one run; it describes the tools to models, too.
    """

    def __init__(self, playable: Sequence[Playable], pipeline: Callable[[], Pipeline]) -> None:
        self._playable = {each.recording.name: each for each in playable}
        self._pipeline = pipeline

    def listed(self) -> dict[str, Any]:
        """Return what the page offers, as plain JSON."""
        return {"recordings": [*map(_listed, self._playable.values())], "providers": [*_providers()]}

    def explored(self) -> ExploredStreams:
        """Return the recordings as streams to explore."""
        return ExploredStreams(
            {
                name: stream_of_body(recording.body, title, recording.api, recording.timing)
                for name, (title, recording, _) in self._playable.items()
            }
        )

    def title(self, request: Play | Ask) -> str:
        return self._found(request.recording).title if isinstance(request, Play) else request.prompt

    def source(self, request: Play | Ask) -> str:
        if isinstance(request, Ask):
            return f"{request.provider} {request.model}"
        return self._found(request.recording).about or request.recording

    def opened(self, request: Play | Ask) -> Open:
        """Return a callable that opens the run; `UsageError` for an unknown name, or a key that is missing."""
        if isinstance(request, Play):
            found = self._found(request.recording).recording
            return lambda: self._played(found, _pace(request, found))
        name = provider_of(request.provider).name
        url = url_from_environment(name)
        key = key_from_environment(name, url)
        asking = Request(model=request.model, prompt=request.prompt, system=request.system or None, base_url=url)
        return lambda: self._asked(name, asking, key)

    def _found(self, name: str) -> Playable:
        if name not in self._playable:
            message = f"unknown recording {name!r:.200}; choose one that the page offers"
            raise UsageError(message)
        return self._playable[name]

    @contextmanager
    def _played(self, recording: Recording, pace: Pace) -> Generator[Run, None, None]:
        """Play a recording through the real SDK of its API, from a server on this machine."""
        recordings = Recordings({recording.name: recording.body}, recording.api)
        recordings.all = [recording]  # with its timing
        with (
            ReplayServer(recordings, pace=pace) as server,
            loopback(recording.api, server.url) as start,
            self._pipeline().stream(start) as run,
        ):
            yield run

    @contextmanager
    def _asked(self, name: str, request: Request, key: str) -> Generator[Run, None, None]:
        pipeline = self._pipeline()
        with connected(name, with_tools(request, pipeline), key) as start, pipeline.stream(start) as run:
            yield run


def playable_in(folder: str) -> list[Playable]:
    """Return the recordings of a folder that an SDK can play; `UsageError` for one without recordings."""
    return [Playable(each.name, each) for each in Recordings(folder).all if each.api in SDKS]


def _pace(request: Play, recording: Recording) -> Pace:
    if request.pace == "instant":
        return "instant"
    if request.pace == "recorded" and recording.timing is not None and recording.timing.times is not None:
        return "original"
    seconds = _SECONDS.get(request.pace, _SECONDS["calm"])
    return min(_LONGEST_WAIT, seconds / max(1, len(split_events(recording.body))))


def _listed(playable: Playable) -> dict[str, Any]:
    recording = playable.recording
    timing = recording.timing
    return {
        "name": recording.name,
        "title": playable.title,
        "about": playable.about or recording.api,
        "api": recording.api,
        "bytes": len(recording.body),
        "is_timed": timing is not None and timing.times is not None,
    }


def _providers() -> Iterable[dict[str, Any]]:
    for name, provider in PROVIDERS.items():
        missing = ""
        if not is_sdk_installed(name):
            missing = f"needs its SDK; {provider.install}"
        else:
            try:
                key_from_environment(name, url_from_environment(name))
            except UsageError as error:
                missing = str(error).partition(", or name another")[0]
        yield {"name": name, "missing": missing, "needs_key": bool(provider.keys)}
