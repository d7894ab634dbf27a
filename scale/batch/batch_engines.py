"""Who reads the parts of a batch: this process, a pool of processes, or Ray; all with the same function."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from itertools import chain, islice
from multiprocessing import get_all_start_methods, get_context, parent_process
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from ...events.errors import UsageError, how_to_install
from .batch_tables import Counts, tables_of, write_part
from .input_parts import Columns, Part, records_of
from .record_reader import RecordReader

Engine: TypeAlias = Literal["processes", "ray"]
Progress: TypeAlias = Callable[[int, int], object]


class Work(NamedTuple):
    """What is done with a part: `folder` is where its files are, `out` where its tables are written."""

    reader: RecordReader
    folder: Path
    columns: Columns
    out: Path


class Numbered(NamedTuple):
    """A part, and its number in the input from 0."""

    number: int
    part: Part


class Done(NamedTuple):
    """A part that was read: its size, and what was in it."""

    size: int
    counts: Counts


def read_part(work: Work, given: Numbered) -> Done:
    """Read a part, and write its tables."""
    number, part = given
    readings = map(work.reader.read, records_of(part, work.folder, work.columns))
    return Done(part.size, write_part(work.out, number, tables_of(readings)))


def in_processes(work: Work, parts: Iterable[Numbered], workers: int) -> Iterator[Done]:
    """Read parts in so many processes; in this one, if one is enough."""
    parts = iter(parts)
    first = [*islice(parts, 2)]
    if workers == 1 or len(first) < 2:
        for each in chain(first, parts):
            yield read_part(work, each)
        return
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    context: Any = get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload([__name__])  # imported once, for all workers
    pool = ProcessPoolExecutor(workers, context, _begin, (work,))
    try:
        futures = ahead((pool.submit(_read, each) for each in chain(first, parts)), 2 * workers)
        for future in futures:
            yield future.result()
    except BrokenProcessPool as error:
        message = (
            "a worker process ended: the system stopped it, for memory perhaps, and then a smaller workers= helps; or "
            'the program calls read_dataset(...) without if __name__ == "__main__": above it; what was read is kept, '
            "and the same call goes on behind it"
        )
        raise UsageError(message) from error
    finally:
        pool.shutdown(cancel_futures=True)


_T = TypeVar("_T")


def ahead(items: Iterator[_T], most: int) -> Iterator[_T]:
    """Yield items of which each is made while so many before it are not yet taken."""
    waiting = deque(islice(items, most))
    while waiting:
        yield waiting.popleft()
        waiting.extend(islice(items, 1))


_work: list[Work] = []
"""What this worker process was started with."""


def _begin(work: Work) -> None:
    _work.append(work)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; a part that was begun is finished
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its parent was killed: it would wait for ever for the next part."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _read(each: Numbered) -> Done:
    return read_part(_work[0], each)


_LOOPBACK: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""The variable that binds a Ray to this machine alone, if it is "0" when Ray is imported; on Linux it is not."""


def ray_module() -> Any:
    """Return Ray, which may not be running; `UsageError` if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if "ray" not in sys.modules:
        os.environ.setdefault(_LOOPBACK, "0")
    try:
        import_module("ray.data")
        return import_module("ray")
    except ImportError as error:
        message = f"read_dataset(...) needs Ray for this; {how_to_install('ray')}"
        raise UsageError(message) from error


@contextmanager
def ray_running(workers: int) -> Generator[Any, None, None]:
    """Yield Ray: the one that the program has started, or one on this machine, which ends behind the block.

    `UsageError` where the one of this machine could be reached from others.
    """
    ray = ray_module()
    if ray.is_initialized():
        yield ray
        return
    if sys.platform == "linux" and os.environ.get(_LOOPBACK) != "0":
        message = (
            "read_dataset(...) would start a Ray that listens on all addresses of this machine, for it was imported "
            f"before; start it with ray.init(...), or set {_LOOPBACK}=0 in the environment"
        )
        raise UsageError(message)
    try:
        ray.init(
            address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
        )
        yield ray
    finally:
        ray.shutdown()


def in_ray(ray: Any, work: Work, parts: Iterable[Numbered], workers: int) -> Iterator[Done]:
    """Read parts in tasks of Ray."""
    task = ray.remote(read_part)
    shared = ray.put(work)
    for reference in ahead((task.remote(shared, each) for each in parts), 2 * workers):
        yield ray.get(reference)
