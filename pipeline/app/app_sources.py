"""`AppSources`: what the app can play and whom it can ask."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...events.errors import UsageError
from ...sources.replay.replay_pieces import Pace, split_events
from ...sources.replay.replay_recordings import Recording, Recordings
from ...sources.replay.replay_server import ReplayServer
from ..asking.loopback_sdks import SDKS, loopback
from ..asking.provider_keys import is_sdk_installed, key_from_environment, url_from_environment, with_tools
from ..asking.run_provider import connected
from ..explorer.explored_streams import ExploredStreams
from ..explorer.read_stream import stream_of_body
from ..pipeline import Pipeline
from ..providers.provider_requests import Request
from ..providers.providers import PROVIDERS, provider_of
from ..runs.run import Run
from .app_request import Ask, Play
from .threaded_answer import Open

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
