"""The common base of all machines, `Response`, with its token counts; and that for one answer, `SingleMachine`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fnmatch import translate
from functools import cached_property, partial
from os import urandom
from re import Match
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias
from weakref import proxy

from msgspec.structs import replace

from ...events.chunk_response import ChunkResponse, ProviderEvent, ProviderEventKind, TokenUsage, ToolCallDelta
from ...events.errors import ProviderError, error_fields
from ...operators.engine.limits import Limits
from ...operators.engine.stage import Failed, How
from ...operators.engine.state import Stateful
from .call_tracker import CallTracker
from .endings import Finish, error_in_body, reported_error
from .sdk_fields import (
    Fields,
    HeldSurrogates,
    encodable,
    entries_of,
    fields_of,
    plain_json,
    plain_object,
    rest_of_text,
    says_something,
    whole_text,
    without_halves,
)
from .shown_text import ShownText, rest_of

REPEATED = "repeats what the chunks have already"
"""The reason of what is passed on elsewhere: unlike the rest, it has to be found in the chunks."""
FRAME = "says where data belongs, or of which type it is; a field of the chunk or the event stands for that"
STATE = "a state that something else ends"
TIMES = "times and speeds"
ECHO = "repeats the request"
SERVER = "names the server, the tier or the request"
COUNTS = "details of the token counts and prices; `TokenUsage` has the five counts that all providers share"
SUMS = "added up: a count of `TokenUsage` includes it"
PADDING = "random padding, keep-alives and sequence numbers"
TOKENS = "numbers of tokens, of the text that the chunks have"
LOGPROBS = "only with `logprobs=True`"


class LeftOut(NamedTuple):
    """One place on the wire that is left out, with all below it.

    `where`: the path of keys, without list indexes. Where events have a type, the type stands before it:
    `message_start: message.role`; a type alone means the whole event. `*` stands for any characters.
    """

    api: str
    where: str
    why: str


def rows(why: str, *places: str) -> tuple[tuple[str, str], ...]:
    """Return places that are left out for one reason."""
    return tuple((where, why) for where in places)


_OPEN = "*"
_MOST = 256
"""The most keys that are remembered of an object as left out."""
Read = Callable[[Any], Fields | None]


class _Shape:
    """The known keys of an object, and the shapes of the objects below it; `known` is None if all keys are known."""

    def __init__(self, path: str, names: list[str]) -> None:
        self.path = path
        self.below: dict[str, _Shape] = {}
        known: set[str] = set()
        while names and (name := names.pop(0)) != ")":
            known.add(name)
            if names and names[0] == "(":
                del names[0]
                self.below[name] = _Shape(f"{path}{name}.", names)
        self.known = None if _OPEN in known else known


class WireKeys:
    """The keys of one API's wire.

    - `api`: its name. `left_out`: the places that are left out, each with the reason; see `LeftOut`.
    - `shapes`: the keys of known events that are read, or passed on whole, by the kind of the event; the kind is empty
      where events have none. What else an event has is a stranger. An object's keys stand in brackets behind its own;
      `*` means that its machine looks after unknown keys itself. What is left out is not repeated here.
    """

    def __init__(
        self, api: str, left_out: tuple[tuple[str, str], ...] = (), shapes: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.api = api
        self.rows = tuple(LeftOut(api, where, why) for where, why in left_out)
        self._given = shapes
        self._shapes: dict[str, _Shape] = {}

    def left_out(self, place: str = "") -> frozenset[str]:
        """Return the keys that are left out directly below a place, of an API whose events have no types.

        >>> sorted(WireKeys("a", rows(SERVER, "id", "x_groq.id", "x_groq.seed", "x.y.z")).left_out("x_groq"))
        ['id', 'seed']
        """
        before = f"{place}." if place else ""
        below = (row.where.removeprefix(before) for row in self.rows if row.where.startswith(before))
        return frozenset(key for key in below if "." not in key)

    def has_left_out(self, kind: str) -> bool:
        """Return whether all events of a type are left out.

        >>> WireKeys("a", rows(STATE, "*_call.searching")).has_left_out("web_search_call.searching")
        True
        """
        return self._events(kind) is not None

    @cached_property
    def _events(self) -> Callable[[str], Match[str] | None]:
        return re.compile("|".join(translate(row.where) for row in self.rows if ":" not in row.where) or "(?!)").match

    @cached_property
    def _places(self) -> Callable[[str], Match[str] | None]:
        places = (translate(row.where + below) for row in self.rows for below in ("", ".*"))
        return re.compile("|".join(places) or "(?!)").match

    def strangers(self, kind: str, event: Fields, read: Read = fields_of, spelt: Callable[[str], str] = str) -> Fields:
        """Return what an event of a known kind has under unknown keys, at their places; empty for an unknown kind.

        >>> keys = WireKeys("a", shapes={"delta": "type delta(stop)"})
        >>> keys.strangers("delta", {"type": "delta", "delta": {"stop": "end_turn", "new": 1}})
        {'delta': {'new': 1}}

        `read`: returns the fields of an object, under the names of the shapes; `spelt`: returns a name as the wire has
        it.
        """
        try:
            shape = self._shapes[kind]
        except KeyError:
            if kind not in self._given:
                return {}
            names = re.findall(r"[()]|[^\s()]+", self._given[kind])
            shape = self._shapes[kind] = _Shape(f"{kind}: " if kind else "", names)
        return self._strangers(shape, event, read, spelt)

    def _strangers(self, shape: _Shape, fields: Fields, read: Read, spelt: Callable[[str], str]) -> Fields:
        found: Fields = {}
        known = shape.known
        if known is not None and not known.issuperset(fields):
            for name in fields.keys() - known:
                if self._places(shape.path + name):
                    if len(known) < _MOST:
                        known.add(name)
                elif says_something(plain := plain_json(fields[name])):
                    found[spelt(name)] = plain
        for name, below in shape.below.items():
            value = fields.get(name)
            if not value:
                continue
            if isinstance(value, list):
                inner = [self._strangers(below, each, read, spelt) for each in map(read, entries_of(value)) if each]
                if any(inner):
                    found[spelt(name)] = inner
            elif (given := read(value)) and (rest := self._strangers(below, given, read, spelt)):
                found[spelt(name)] = rest
        return found


MOST = 2**53  # as far as JSON's numbers are whole; JSON may say Infinity, too


def token_count(fields: Fields, name: str) -> int:
    """Return a count of a usage object; 0 if it is absent or not a number; `true` is none.

    >>> token_count({"input_tokens": 3}, "input_tokens"), token_count({"input_tokens": None}, "input_tokens")
    (3, 0)
    """
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value < MOST else 0


def added_up(last: TokenUsage, usage: TokenUsage) -> TokenUsage:
    """Return a later usage, with the last one's counts where it has none.

    >>> added_up(TokenUsage(prompt=25, completion=1, total=26), TokenUsage(completion=15, total=15))
    TokenUsage(prompt=25, completion=15, total=40, cached=0, reasoning=0)
    """
    prompt, completion = usage.prompt or last.prompt, usage.completion or last.completion
    total = usage.total
    if not usage.prompt and not usage.completion:
        total = total or last.total
    elif not usage.prompt or not usage.completion:
        total = max(total, prompt + completion)
    cached = usage.cached or min(last.cached, prompt)
    return TokenUsage(prompt, completion, total, cached, usage.reasoning or last.reasoning)


_NOTHING = TokenUsage()
_PLAIN_JSON = frozenset(("audio_urls", "error", "image_urls", "native", "raw", "video_urls"))
"""Fields of a chunk that have what the provider sent, keys and all."""


class Response(Stateful, ABC):
    """A machine without `feed` and `rest`."""

    KEYS: ClassVar[WireKeys]
    """The name of the API, for data in its form, and the keys of its wire."""
    STATE: ClassVar[tuple[str, ...]] = ("_last_usage", "_made_turn_id", "failure", "model", "response_id", "stopped")

    def __init__(self, turn_id: str | None, *, choice: int = 0, logprobs: bool = False) -> None:
        self.stopped = False
        self.failure: ProviderError | None = None
        self.response_id: str | None = None
        self.model: str | None = None
        self.logprobs = logprobs
        self._first_choice = choice
        """The choice of chunks that belong to the whole response."""
        self._given_turn_id = turn_id
        self._made_turn_id: str | None = None
        self._last_usage: TokenUsage | None = None

    def chunk(self, **said: Any) -> ChunkResponse:
        for name in _PLAIN_JSON.intersection(said):
            said[name] = encodable(said[name])
        if "raw" in said:
            said["api"] = self.KEYS.api
        if "provider_events" in said:
            said["provider_events"] = tuple(
                replace(event, api=self.KEYS.api, data=encodable(event.data)) for event in said["provider_events"]
            )
        if self._first_choice:
            said.setdefault("choice", self._first_choice)
        return ChunkResponse(response_id=self.response_id, model=self.model, **said)

    def with_strangers(
        self,
        chunks: list[ChunkResponse],
        kind: str,
        event: Fields,
        read: Read = fields_of,
        spelt: Callable[[str], str] = str,
        key: str = "type",
    ) -> list[ChunkResponse]:
        """Add what an event of a known kind has under unknown keys, as `raw`; `key`: that of its type."""
        if not (found := self.KEYS.strangers(kind, event, read, spelt)):
            return chunks
        raw = self.chunk(raw=({key: plain_json(event.get(key)), **found} if kind else found,))
        return [*chunks[:-1], raw, *chunks[-1:]] if self.stopped else [*chunks, raw]

    def identify(self, response_id: object, model: object) -> None:
        """Take an id and a model from the wire: the first id counts, and the last model."""
        if self.response_id is None and isinstance(response_id, str) and response_id:
            self.response_id = without_halves(response_id)
        if isinstance(model, str) and model and model != self.model:
            self.model = without_halves(model)

    def new_usage(self, usage: TokenUsage | None) -> TokenUsage | None:
        """Return the usage so far if it differs from the last one, else None; a later 0 is no count."""
        last = self._last_usage
        if usage is None or usage in (last, _NOTHING):
            return None
        self._last_usage = usage if last is None else added_up(last, usage)
        return None if self._last_usage == last else self._last_usage

    @abstractmethod
    def rest(self) -> list[ChunkResponse]:
        """Return all held text and deltas at the end."""

    def fail(self, failure: ProviderError) -> list[ChunkResponse]:
        """Stop with an error of the provider."""
        self.stopped = True
        self.failure = failure
        return [*self.rest(), self.chunk(error=error_fields(failure))]

    def close(self, how: How, /) -> list[ChunkResponse]:
        """Return what is still held and, for an error from outside, its chunk; nothing the second time."""
        if self.stopped:
            return []
        self.stopped = True
        chunks = self.rest()
        if isinstance(how, Failed) and isinstance(how.error, ProviderError) and how.error is not self.failure:
            chunks.append(self.chunk(error=error_fields(how.error)))
        return chunks

    def turn_id_maker(self) -> Callable[[], str]:
        """Return what returns the turn's id; it holds this object weakly: no stream leaves a reference cycle."""
        return partial(Response._turn_id, proxy(self))

    def _turn_id(self) -> str:
        if self._made_turn_id is None:
            self._made_turn_id = self._given_turn_id or self.response_id or f"turn_{urandom(16).hex()}"
        return self._made_turn_id


TextStream: TypeAlias = Literal["reasoning", "content", "refusal"]


class SingleMachine(Response):
    """A machine without `feed`: builds the chunks of one answer whose parts are streamed one after another.

        text("content", "Hi")       ChunkResponse(content="Hi")
        call(ToolCallDelta(...))    ChunkResponse(tool_calls=(...,))
        finish(STOP, "end_turn")    ChunkResponse(is_complete=True, ...)

    Each method returns its chunks: none, one, or two if half a surrogate pair was held in a text that ends. The first
    finish counts; a failure stops the stream at once.
    """

    STATE: ClassVar[tuple[str, ...]] = (*Response.STATE, "_held", "calls", "finished")
    NAMES_IN_PIECES: ClassVar[bool] = False
    """Whether the names of calls may come in pieces."""

    def __init__(
        self, turn_id: str | None, limits: Limits, *, compares_arguments: bool = False, logprobs: bool = False
    ) -> None:
        super().__init__(turn_id, logprobs=logprobs)
        self.calls = CallTracker(
            self.turn_id_maker(), limits=limits, compares=compares_arguments, names_in_pieces=self.NAMES_IN_PIECES
        )
        self.finished = False
        self._held: HeldSurrogates = {}

    def text(self, stream: TextStream, text: object) -> list[ChunkResponse]:
        if not isinstance(text, str) or not text:
            return []
        chunks = self.leave(stream) if self._held else []
        if text := whole_text(self._held, stream, text):
            chunks.append(self.chunk(**{stream: text}))
        return chunks

    def unsaid(self, stream: TextStream, shown: ShownText, whole: str) -> list[ChunkResponse]:
        """Return what was not shown of a whole text, if what was shown is its beginning."""
        rest = rest_of([shown], whole)
        if not rest:
            return []
        self._held.pop(stream, None)  # half of a character, which the whole text has
        shown.add(rest)
        return self.text(stream, rest)

    def call(self, *deltas: ToolCallDelta | None) -> list[ChunkResponse]:
        given = tuple(delta for delta in deltas if delta is not None)
        chunks = self.leave() if self._held else []
        if calls := (*self.calls.pending_deltas(), *given):
            chunks.append(self.chunk(tool_calls=calls))
        return chunks

    def followed(self) -> list[ChunkResponse]:
        """Return `done` for the waiting calls, because the model begins another part of the answer."""
        return self.call(*self.calls.ended.followed()) if self.calls.ended.is_waiting else []

    def other(self, **said: Any) -> list[ChunkResponse]:
        """Return a chunk of other fields, after held text."""
        return [*self.leave(), self.chunk(**said)]

    def raw(self, event: Any) -> list[ChunkResponse]:
        """Return an unknown event as `raw`."""
        return self.other(raw=(plain_object(event),))

    def unread(self, item: Any, fields: Fields) -> list[ChunkResponse]:
        """Return an item that is no event of the API: as the error that it is, as `raw`, or nothing if it is empty."""
        told = reported_error(fields)
        if told is None:
            return self.raw(item) if fields else []
        rest = {name: plain_json(value) for name, value in fields.items() if name not in told.keys}
        chunks = self.raw(rest) if says_something(rest) else []
        return chunks + self.fail(error_in_body(plain_json(told.body)))

    def event(self, kind: ProviderEventKind, data: Any, segment_id: object = None) -> list[ChunkResponse]:
        """Return what only the provider has; `segment_id`: the id of the call whose result it is."""
        call_id = without_halves(segment_id) if isinstance(segment_id, str) and segment_id else None
        return self.other(provider_events=(ProviderEvent(kind, plain_object(data), segment_id=call_id),))

    def leave(self, stream: TextStream | None = None) -> list[ChunkResponse]:
        """Return U+FFFD for each surrogate held for a text other than `stream`, which can no longer be completed."""
        left = [name for name in self._held if name != stream]
        return [self.chunk(**{name: rest_of_text(self._held, name)}) for name in left]

    def finish(self, finish: Finish, words: str, *, has_calls: bool = False, **said: Any) -> list[ChunkResponse]:
        """Return the finish after held text; of a second finish only the other fields.

        With `has_calls`, for calls that the client has to run, a finish reason of `stop` becomes `tool_calls`.
        """
        if not self.finished:
            self.finished = True
            said |= finish.finish_fields(words, "tool_calls" if has_calls and finish.reason == "stop" else None)
            chunks = self.rest()
        else:
            chunks = [*self.call(*self.calls.concluded(is_regular=finish.is_regular)), *self.rest()]
        if said:
            chunks.append(self.chunk(**said))
        return chunks

    def rest(self) -> list[ChunkResponse]:
        """Return all held text and deltas at the end."""
        chunks = self.leave()
        if deltas := self.calls.rest(is_cut=not self.finished):
            chunks.append(self.chunk(tool_calls=tuple(deltas)))
        return chunks
