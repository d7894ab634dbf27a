"""`thread_queue`: the events of a stream for another thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .running.channel import Channel
from .running.event_queue import EventQueue


class ThreadQueue(EventQueue):
    """The result of `thread_queue`: a sink for the writer and an iterable for the reader."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return _events(self._reader())


def thread_queue(maxsize: int = 64) -> ThreadQueue:
    """Make a bounded queue that holds the events of one stream for another thread.

        queue = thread_queue()
        pipeline = Pipeline(sinks=[queue])         one thread:      for event in pipeline.stream(...): ...
                                                   another thread:  for event in queue: ...

    The reader's loop blocks its thread while nothing comes, ends with the stream, and raises what the stream raised; a
    Ctrl-C or a cancellation comes as `StreamCutError`. When `maxsize` events wait, the stream waits for the reader: a
    plain one blocks its own thread, an async one waits without blocking its loop. When the reader leaves its loop or
    calls `close()`, the stream no longer waits for it.

    One stream and one reader: a second one of either is a `UsageError`. Without a Pipeline: `queue(events)`, or
    `await queue(events)`, which ends with the stream or, then closing it, when the reader has left.
    """
    return ThreadQueue(maxsize)


def _events(channel: Channel) -> Iterator[Any]:
    yield from channel  # closing this generator, as leaving a loop does, closes the channel
