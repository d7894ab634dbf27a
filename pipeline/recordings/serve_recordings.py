"""`penstock serve-recordings`: a replay server that prints its address, how to use it, and each request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty

from ...sinks.wording.printable import printable
from ...sources.base.request import is_this_machine
from ...sources.recognition.apis import APIS
from ...sources.replay.replay_log import ReplayEntry
from ...sources.replay.replay_server import ReplayServer

Say = Callable[[str], object]
_TICK = 1.0
"""Seconds between checks for Ctrl-C, for systems on which it does not wake a wait."""


def serve_recordings(  # noqa: PLR0913 - the options of the command
    folder: str,
    *,
    host: str,
    port: int,
    public: bool,
    hosts: list[str],
    pace: str,
    chunk: str | None,
    fault: str | None,
    strict: bool,
    say: Say,
    warn: Say,
) -> None:
    """Serve until Ctrl-C; `say` gets the lines of output, `warn` the warnings."""
    with ReplayServer(
        folder, host=host, port=port, public=public, hosts=hosts, pace=pace, chunk=chunk, fault=fault, strict=strict
    ) as server:
        changes = server.follow()
        if not is_this_machine(host):
            warn(f"warning: anyone who can reach {host} can read these recordings and the log")
        for line in introduction(server, folder):
            say(line)
        while True:
            try:
                entry = changes.get(timeout=_TICK)
            except Empty:
                continue
            say(printable(progress(entry)))


def introduction(server: ReplayServer, folder: str) -> Iterator[str]:
    """Yield the lines about what is served and how to reach it."""
    recordings = server.recordings
    count = len(recordings.all)
    others = len(recordings.left_out)
    left_out = f" (without {others} files that are no recorded stream)" if others else ""
    yield printable(f"{count} recording{'s' if count != 1 else ''} of {folder}{left_out}")
    yield f"on {server.url} until Ctrl-C; the log is {server.url}/penstock/log"
    width = max(len(api.name) for api in APIS)
    for api in APIS:
        if own := len(recordings.of(api.name)):
            yield f"  {api.name:<{width}} {own:>4}  {api.served.client.format(url=server.url)}"


def progress(entry: ReplayEntry) -> str:
    """Return the line about the outcome of a request."""
    begin = f"#{entry.id} {entry.api or 'unknown path'}"
    if entry.outcome == "refused":
        return f"{begin}: HTTP {entry.status}{f', {entry.fault}' if entry.fault else ''}"
    if entry.outcome == "open":
        model = f" {entry.model}" if entry.model else ""
        return f"{begin}{model}: {entry.recording}{f', {entry.fault}' if entry.fault else ''}"
    seconds = (entry.ended_at or entry.began_at) - entry.began_at
    sent = f"{entry.bytes_sent} bytes sent, {entry.bytes_total} recorded, in {seconds:.2f} s"
    return f"{begin}: {entry.outcome.replace('_', ' ')}, {sent}"
