"""What `penstock app` does with its options."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ...events.errors import UsageError
from ...sources.replay.replay_recordings import Recording
from ..asking.loopback_sdks import SDKS
from ..explorer.explored_stream import ExploredStream
from ..explorer.explored_streams import ExploredStreams
from .app_server import serve_app
from .app_session import AppSession
from .app_sources import AppSources, Playable, playable_in
from .app_steps import AppSteps


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
