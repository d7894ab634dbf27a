"""One run of a batch: the folder that it writes, what that was begun with, and the parts that are still to be read."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ...events.errors import UsageError
from ...pipeline.pipeline import Pipeline
from ...sources.streams.bounded_read import reason_of
from .batch_engines import Done, Engine, Numbered, Progress, Work, in_processes, in_ray, ray_module, ray_running
from .batch_tables import SCHEMAS, Counts, part_counts
from .input_parts import Columns, Input, Part, dataset_parts, input_of, part_size, parts_of
from .record_reader import RecordReader

MANIFEST: Final = "manifest.json"
_OF_A_DATASET: Final = "a ray.data.Dataset"


class Manifest(msgspec.Struct, kw_only=True):
    """What a folder was begun with; once it is finished, what is in it."""

    penstock_batch: int = 1
    options: dict[str, str | None]
    is_finished: bool = False
    counts: Counts = Counts()


class BatchArguments(NamedTuple):
    """How records are read; who reads them makes no difference to what is written."""

    pipeline: Pipeline
    api: str | None
    columns: Columns

    def options(self, given: Input | None) -> dict[str, str | None]:
        """Return what decides what is written, as texts that can be compared."""
        tools = self.pipeline.tools
        said = None if tools is None else ", ".join(f"{each.name} ({_digest(each.parameters)})" for each in tools)
        return {
            "version": _version(),
            "strategy": repr(self.pipeline),
            "tools": said,
            "api": self.api,
            **self.columns._asdict(),
            "parts": part_size(),
            "input": _OF_A_DATASET
            if given is None
            else _digest([(os.fsencode(name), *of) for name, *of in given.files]),
        }


def run_batch(
    source: Any, out: Path, arguments: BatchArguments, *, workers: int | None, engine: Engine, progress: Progress | None
) -> Counts:
    """Read what is not yet read, and return what is in the folder now; the arguments are those of `read_dataset`."""
    is_dataset = _is_dataset(source)
    if engine not in ("processes", "ray"):
        message = f"engine= must be 'processes' or 'ray', got {engine!r}"
        raise UsageError(message)
    workers = _cores() if workers is None else workers
    if workers < 1:
        message = f"workers= must be at least 1, got {workers}"
        raise UsageError(message)
    if is_dataset or engine == "ray":
        ray_module()
    # Workers may run in another folder.
    work = Work(RecordReader(arguments.pipeline, arguments.api), Path(), arguments.columns, out.absolute())
    given = None if is_dataset else input_of(source, without=out)
    manifest = _found(out, arguments.options(given))
    if manifest.is_finished:
        return manifest.counts
    if workers > 1 or engine == "ray" or is_dataset:
        _check_pickles(work)
    if given is None:
        with ray_running(workers) as ray:
            run = _Run(out, manifest, dataset_parts(source, arguments.columns), None, progress)
            return run.finished(in_ray(ray, work, run.left(), workers))
    work = work._replace(folder=given.folder.absolute())
    run = _Run(out, manifest, parts_of(given, arguments.columns), sum(each.size for each in given.files), progress)
    if engine == "ray":
        with ray_running(workers) as ray:
            return run.finished(in_ray(ray, work, run.left(), workers))
    return run.finished(in_processes(work, run.left(), workers))


class _Run:
    """The parts of one run: which are left, and what is in those that are done. `size`: that of all, if it is known."""

    def __init__(
        self, out: Path, manifest: Manifest, parts: Iterable[Part], size: int | None, progress: Progress | None
    ) -> None:
        self._out = out
        self._manifest = manifest
        self._parts = parts
        self._size = size
        self._progress = progress
        self._counts = Counts()
        self._done = 0

    def left(self) -> Iterator[Numbered]:
        """Yield the parts that were not yet read; the folder is made once there is a first one, not an error."""
        number = -1
        for number, part in enumerate(self._parts):
            if number == 0:
                _begin(self._out, self._manifest)
            found = part_counts(self._out, number)
            if found is None:
                yield Numbered(number, part)
            else:
                self._note(Done(part.size, found))
        if number < 0:  # a part without rows, so that a reader finds the columns
            _begin(self._out, self._manifest)
            yield Numbered(0, Part((), 0))

    def finished(self, done: Iterable[Done]) -> Counts:
        """Read what is left, and return what is in all parts."""
        for each in done:
            self._note(each)
        self._manifest.is_finished, self._manifest.counts = True, self._counts
        _write_manifest(self._out, self._manifest)
        return self._counts

    def _note(self, done: Done) -> None:
        self._counts += done.counts
        self._done += done.size
        if self._progress is not None:
            self._progress(self._done, self._done if self._size is None else self._size)


def _is_dataset(source: object) -> bool:
    if isinstance(source, str | os.PathLike):
        return False
    if type(source).__module__.partition(".")[0] == "ray" and hasattr(source, "iter_batches"):
        return True
    message = f"read_dataset(...) takes a path or a ray.data.Dataset, got {type(source).__name__}"
    raise UsageError(message)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_pickles(work: Work) -> None:
    try:
        pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        message = (
            f"the strategy or a tool cannot be sent to another process ({error}); define it at the top of a module, or "
            "pass workers=1, without Ray"
        )
        raise UsageError(message) from error


def _begin(out: Path, manifest: Manifest) -> None:
    """Make the folders that are not there, and remove what a worker that was killed has left."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        _write_manifest(out, manifest)
        for name in SCHEMAS:
            (out / name).mkdir(exist_ok=True)
        for left in out.glob("*/.part-*"):
            left.unlink(missing_ok=True)
    except OSError as error:
        message = f"{out} cannot be written: {reason_of(error)}"
        raise UsageError(message) from error


def _found(out: Path, options: dict[str, str | None]) -> Manifest:
    """Return the manifest of a folder, a new one if there is none; `UsageError` for a folder that does not fit."""
    path = out / MANIFEST
    try:
        if out.exists() and not path.exists() and not (out.is_dir() and _is_empty(out)):
            message = f"{out} has other files in it; name a folder that is new or empty"
            raise UsageError(message)
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest) if path.exists() else None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL, and what is not this JSON
        message = f"{out} is not a folder that read_dataset(...) has written: {reason_of(error)}; name another one"
        raise UsageError(message) from error
    if manifest is None:
        return Manifest(options=options)
    _check_same(out, manifest.options, options)
    return manifest


def _is_empty(folder: Path) -> bool:
    """Return whether nothing but a manifest that was not written to its end is in a folder."""
    return all(each.name == f".{MANIFEST}" for each in folder.iterdir())


def _check_same(out: Path, before: dict[str, str | None], now: dict[str, str | None]) -> None:
    if now["input"] == _OF_A_DATASET:
        message = f"{out} was written before, and a run over a Dataset does not go on; name another folder"
        raise UsageError(message)
    for name, value in now.items():
        was = before.get(name)
        if was == value:
            continue
        if name == "input":
            how = "from other files, or they have changed since"
        else:
            how = f"with other {name}: {was}, and now {value}"
        message = f"{out} was begun {how}; name another folder"
        raise UsageError(message)


def _write_manifest(out: Path, manifest: Manifest) -> None:
    made = out / f".{MANIFEST}"
    made.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    made.replace(out / MANIFEST)


def _version() -> str:
    try:
        return version("penstock")
    except PackageNotFoundError:
        return "of a checkout"


def _digest(value: Any) -> str:
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]
