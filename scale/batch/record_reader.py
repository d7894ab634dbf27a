"""`RecordReader`: one recording, body or text, read whole, as rows of what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from ...events.answer_end import AnswerEnd
from ...events.errors import PenstockError, ProviderError, UsageError, without_credentials
from ...events.json_form import whole_characters
from ...operators.engine.stage import Completed, Failed, Operator, StageChain, stage_of
from ...pipeline.chain import operator_of
from ...pipeline.pipeline import Pipeline
from ...pipeline.run import Flow
from ...sinks.collect import Collected, Collector
from ...sources.base.machine import Machine
from ...sources.from_stream import decoder_factory
from ...sources.recordings.from_recording import items_of, recording_in
from ...sources.recordings.read_recording import TimedItem

_FIRST, _PIECE = 2048, 256 * 1024
"""The bytes that are decoded at once, whose deltas become one event a segment.

The first piece is short: once something was understood, the machine of the API is asked directly.
"""
UNREADABLE = "unreadable"
"""The status of a record that could not be read, beside those of an answer."""


class Record(NamedTuple):
    """What is to be read: the bytes of a recording or a body, the text of a model, or the reason why it is not there.

    - `turn_id`: the turn id of all that is in it, unique in the data set.
    - `source`, `row`: the file; of a table its row or line, too, from 0. `id`: its own, if the table has one.
    """

    turn_id: str
    source: str
    row: int | None
    id: str | None
    content: bytes | str | UsageError


class Reading(NamedTuple):
    """What was read of a record; `error` is the error that the stream ended with, or why it could not be read."""

    record: Record
    collected: Collected[Any]
    api: str | None = None
    error: Exception | None = None

    @property
    def end(self) -> AnswerEnd | None:
        """The end of the first answer."""
        return self.collected.ends[0] if self.collected.ends else None

    @property
    def status(self) -> str:
        if self.end is None or not (self.error is None or isinstance(self.error, ProviderError)):
            return UNREADABLE
        return self.end.status

    @property
    def told(self) -> str | None:
        """The text of the error."""
        return None if self.error is None else whole_characters(without_credentials(str(self.error)))


class RecordReader:
    """Reads records with a pipeline, each as `Pipeline.stream` would; pickled, it is made again elsewhere.

    - `pipeline`: what finds the calls. All of n choices are read.
    - `api`: the API of recordings and bodies, if it cannot be detected.

    `UsageError` for a pipeline that needs an event loop, or has operators of Rx.
    """

    def __init__(self, pipeline: Pipeline, api: str | None = None) -> None:
        self._pipeline = pipeline
        self._api = api
        self._chain("", is_text=False)
        self._chain("", is_text=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordReader, (self._pipeline, self._api)

    def read(self, record: Record) -> Reading:
        """Return what is in a record; whatever is wrong with it is the error of the reading."""
        collector = Collector[Any](keep_events=False)
        api: str | None = None
        error: Exception | None = None
        try:
            content = record.content
            if isinstance(content, UsageError):
                raise content  # noqa: TRY301 - as any other reason
            items, machine, api = self._opened(content, record.turn_id)
            flow = Flow(
                machine,
                self._chain(record.turn_id, is_text=False),
                lambda: self._chain(record.turn_id, is_text=True),
            )
            for event in _events(flow, items):
                collector.feed(event)
            error = flow.error
        except Exception as raised:  # noqa: BLE001 - one record does not stop the others
            error = raised
        return Reading(record, collector.close(), api, error)

    def _opened(self, content: bytes | str, turn_id: str) -> tuple[Iterable[Any], Machine, str | None]:
        if isinstance(content, str):
            return (content,), self._new_text_machine(turn_id=turn_id), None
        try:
            recording, api = recording_in(content, self._api, is_split=False)
        except ValueError as error:  # a wrong line of stored chunks
            raise UsageError(str(error)) from error
        if recording.meta.form == "wire":
            body = b"".join(each.item for each in recording.items)
            recording = recording._replace(items=[TimedItem(0.0, piece) for piece in _pieces(body)])
        recorded = items_of(recording, api, turn_id=turn_id, **self._options)
        return recorded.untimed(), recorded.new_machine(), recorded.api

    def _chain(self, turn_id: str, *, is_text: bool) -> StageChain[Any, Any]:
        """Return a chain for one record; to make its operators anew would take longer than to read a short answer."""
        chain = stage_of(self._operators[is_text], may_ask=False)
        if chain.ids is not None:
            chain.ids.turn_id = turn_id
        return chain

    @cached_property
    def _operators(self) -> tuple[Operator[Any, Any], Operator[Any, Any]]:
        parts = self._pipeline.parts()
        name = "read_dataset(...)"
        native = operator_of(parts.chain, name)
        return native, native if parts.text_chain is None else operator_of(parts.text_chain, name)

    @cached_property
    def _options(self) -> dict[str, Any]:
        of_pipeline = {name: each for name, each in self._pipeline.parts().machine_options.items() if name != "turn_id"}
        return {**of_pipeline, "choices": "all", "merge": True, "keep_message": False}

    @cached_property
    def _new_text_machine(self) -> Any:
        return decoder_factory(None, **self._options)


def _pieces(body: bytes) -> Iterator[bytes]:
    yield body[:_FIRST]
    for start in range(_FIRST, len(body), _PIECE):
        yield body[start : start + _PIECE]


def _events(flow: Flow, items: Iterable[Any]) -> Iterator[Any]:
    try:
        for item in items:
            yield from flow.feed(item)
            if flow.is_over:
                return
    except PenstockError as error:  # the recorded end of the stream
        yield from flow.end(Failed(error))
    else:
        yield from flow.end(Completed())
