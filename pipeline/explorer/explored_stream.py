"""`ExploredStream`: the items of a stream, to be run through a chain again, and to be cut otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...events.chunk_response import ChunkResponse
from ...events.errors import PenstockError, UsageError
from ...operators.engine.stage import Completed, How, Operator
from ...operators.tracing.trace import Trace, trace
from ...sources.decode_sdk import decode_sdk
from ...sources.decode_wire import decode_wire
from ...sources.recognition.recognised_api import recognised_api
from ..chain import operator_of
from ..pipeline import Pipeline
from ..settings import DEFAULT_IN_TEXT

Form: TypeAlias = Literal["wire", "items", "texts", "chunks"]
"""What the items are: bytes of a response, objects of an SDK or of the wire's JSON, texts, or ChunkResponses."""


class ExploredStream(Struct, frozen=True):
    """A stream whose items are all there.

    - `times`: when each came, in nanoseconds; None if that is not known.
    - `end`: how it ended.
    """

    title: str
    form: Form
    items: Sequence[Any]
    times: Sequence[int] | None = None
    api: str | None = None
    end: How = Completed()

    @property
    def can_be_cut(self) -> bool:
        return self.form in ("wire", "texts")

    def cut(self, size: int) -> ExploredStream:
        """Return the stream in chunks of so many bytes or characters; they have no times."""
        if not self.can_be_cut:
            message = f"a chunk size cuts bytes and text, and this stream has {self.form}; leave it out"
            raise UsageError(message)
        whole: Any = (b"" if self.form == "wire" else "").join(self.items)
        chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
        return replace(self, items=chunks, times=None)

    def traced(self, pipeline: Pipeline | None = None) -> Trace:
        """Run all items through the provider's machine and a pipeline's chain.

        An exception of a stage ends the trace, as one of the stream does.
        """
        traced = trace(*self._source(), *self._chain(pipeline))
        try:
            for number, item in enumerate(self.items):
                traced.feed(item, t_ns=None if self.times is None else self.times[number])
            traced.close(self.end)
        except PenstockError:
            if traced.ended is None:
                raise
        return traced

    def _source(self) -> list[Operator[Any, Any]]:
        match self.form:
            case "wire":
                return [decode_wire(self.api or recognised_api(b"".join(self.items)))]
            case "chunks":
                return []
            case "items" | "texts":
                return [decode_sdk(self.api)]

    def _chain(self, pipeline: Pipeline | None) -> list[Operator[Any, Any]]:
        if pipeline is None:
            pipeline = Pipeline(DEFAULT_IN_TEXT) if self.form == "texts" else Pipeline()
        return [operator_of((each,), "explore(...)") for each in pipeline.chain]


def stream_of(traced: Trace, title: str) -> ExploredStream | None:
    """Return the stream that a trace ran; None if strategies cannot run it, or not all of it was kept."""
    kept = [each for each in traced.items if each.item is not None]
    form = _form_of([each.item for each in kept], has_machine=any(each.raw is not None for each in kept))
    if form is None or traced.dropped:
        return None
    times = [each.t_ns for each in kept]
    known = [time for time in times if time is not None]
    return ExploredStream(
        title,
        form,
        [each.item for each in kept],
        known if len(known) == len(times) else None,
        end=traced.ended or Completed(),
    )


_FORMS: tuple[tuple[type, Form], ...] = ((bytes, "wire"), (str, "texts"), (ChunkResponse, "chunks"))


def _form_of(items: Sequence[Any], *, has_machine: bool) -> Form | None:
    for kind, form in _FORMS:
        if items and all(isinstance(item, kind) for item in items):
            return form
    return "items" if has_machine and items else None
