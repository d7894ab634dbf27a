"""Responses with several answers: which of them is read, and the common base of their machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct, structs

from ...events.chunk_response import ChunkResponse, ProviderEvent, ProviderEventKind, TokenUsage, ToolCallDelta
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.state import EMPTY, Stateful
from .call_tracker import CallTracker
from .endings import Finish
from .response import Response
from .sdk_fields import Fields, HeldSurrogates, fields_of, plain_json, rest_of_text, says_something, whole_text

Choices: TypeAlias = int | Literal["all"]
Found: TypeAlias = list[tuple[int, Fields]]
"""Choices that are read, with the numbers of their answers."""
MOST = 128
"""The most answers that a request can ask for, by OpenAI's reference of `n`; a larger index counts something else."""
_SILENT = frozenset({"index", "role"})
_ENDS = _SILENT | {"finish_reason"}


def wanted_choice(wanted: Choices, index: object, position: int = 0) -> int | None:
    """Return the number of an answer: its index, or its position if it has none; None if it is not wanted.

    Of all answers only those are wanted that a request can ask for.

    >>> wanted_choice("all", 1), wanted_choice("all", None, 2), wanted_choice(0, 1), wanted_choice("all", 2_000_000)
    (1, 2, None, None)
    """
    number = _number(index, position)
    return number if wanted == number or (wanted == "all" and number < MOST) else None


class ChoiceReader(Stateful, Struct, gc=False, eq=False):
    """Finds the wanted answer in the choices of chunks, also where a server counts other things by the index.

        wanted 0   197 "Hel"   198 "lo"              0 "Hel"   0 "lo"             the only choice of each chunk
        wanted 0   0 "Hel"     1 "lo"     2 stop     0 "Hel"   -      0 "lo" stop  at the end: it counted tokens
        wanted 0   0 "Hel"     1 "Hi"     0 "lo"     0 "Hel"   -      0 "lo"      there are two answers

    This is so only where the first answer is wanted and a chunk has one choice. An index that comes before the first
    answer does, or that no request can ask for, means nothing: this choice is the answer. Another index waits until one
    comes again, which shows that there are several answers, or until the end.

    - `begun`, `finished`: whether the first answer has, as far as it was read here; the caller may know more.
    - `waiting`: the choices that wait. `unread`: the answers that came and were not wanted.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_is_only", "_last", "_several", "unread", "waiting")

    _wanted: Choices
    _is_only: bool = False
    """Whether the index means nothing."""
    _several: bool = False
    """Whether the index tells answers apart."""
    _last: int = 0
    begun: bool = False
    finished: bool = False
    waiting: list[Fields] = EMPTY
    unread: list[int] = EMPTY

    def __post_init__(self) -> None:
        self._several = self._wanted != 0

    def number(self, index: object, position: int = 0) -> int | None:
        """Return the number of an answer; None if it is not wanted, or if `read` has to decide."""
        return 0 if self._is_only else wanted_choice(self._wanted, index, position)

    def read(self, choices: list[Fields], plain: Callable[[int], Fields]) -> Found:
        """Return what is read of the choices of a chunk; `plain`: returns the one at a position as plain JSON."""
        if not choices:
            return []
        index = _number(choices[0].get("index"), 0)
        if len(choices) == 1 and not self._several and (self._is_only or index):
            return self._other(choices[0], index, plain)
        if len(choices) > 1 or self.waiting:
            self._tell_apart()
        return self._wanted_of(choices)

    def rest(self) -> Found:
        """Return at the end what waited, if it is the answer's."""
        waiting, self.waiting = self.waiting, EMPTY
        if not self.finished:
            return [(0, each) for each in waiting]
        for each in waiting:
            self._note(_number(each.get("index"), 0))
        return []

    def _other(self, choice: Fields, index: int, plain: Callable[[int], Fields]) -> Found:
        """Read the only choice of a chunk, which has another index than 0."""
        if self._is_only:
            return [(0, choice)]
        if index >= MOST or not self.begun:
            if not _says(choice, _SILENT):
                return []
            self._is_only, waiting, self.waiting = True, self.waiting, EMPTY
            return [(0, each) for each in (*waiting, choice)]
        if self.finished or index < self._last or (index == self._last and _says(choice, _ENDS)):
            self._tell_apart()
            return self._wanted_of([choice])
        self._last = index
        if not self.waiting:
            self.waiting = []
        self.waiting.append(plain(0))
        return []

    def _tell_apart(self) -> None:
        """Leave what waits, because there are several answers."""
        self._several, waiting, self.waiting = True, self.waiting, EMPTY
        for each in waiting:
            self._note(_number(each.get("index"), 0))

    def _wanted_of(self, choices: list[Fields]) -> Found:
        found: Found = []
        for position, choice in enumerate(choices):
            number = wanted_choice(self._wanted, choice.get("index"), position)
            if number is None:
                self._note(_number(choice.get("index"), position))
                continue
            if number == 0:
                self.begun, self.finished = True, self.finished or bool(choice.get("finish_reason"))
            found.append((number, choice))
        return found

    def _note(self, number: int) -> None:
        if number not in self.unread and len(self.unread) < MOST:
            self.unread = [*self.unread, number]


class MessageChoices(ChoiceReader, gc=False, eq=False):
    """The reader of what keeps messages, for which nobody else knows how far the first answer is."""

    STATE = (*ChoiceReader.STATE, "begun", "finished")


def _number(index: object, position: int) -> int:
    return int(index) if isinstance(index, int) and index >= 0 else position


def _says(choice: Fields, silent: frozenset[str]) -> bool:
    """Return whether a choice says anything but some keys, of its own or of its delta."""
    return any(
        says_something(plain_json({key: each for key, each in _fields(value).items() if key not in silent}))
        for name, value in choice.items()
        if name not in silent
    )


def _fields(value: Any) -> Fields:
    fields = fields_of(value)
    return {"": value} if fields is None else fields


_TEXTS = ("reasoning", "content", "refusal")
_CALLS_RANK = 4
_RANKS = {
    "reasoning": 0,
    "native": 0,
    "content": 1,
    "refusal": 2,
    "image_urls": 3,
    "audio_urls": 3,
    "video_urls": 3,
} | {
    "provider_events": 5,
    "raw": 5,
}


class Choice(Stateful):
    """One of n answers, and the chunks that the current item adds to it.

        add(content="Hi"); add(reasoning="so")    two chunks: one chunk means reasoning first

    Added fields go into one chunk as long as they arrive in the order of a chunk's parts; else a new chunk begins.
    """

    STATE: ClassVar[tuple[str, ...]] = ("calls", "finished", "held", "number", "spoke")

    def __init__(self, number: int, calls: CallTracker) -> None:
        self.number = number
        self.calls = calls
        self.finished = False
        self.spoke = False
        """Whether the answer has had a chunk."""
        self.said: dict[str, Any] = {}
        self._rank = 0
        self._before: list[dict[str, Any]] = EMPTY
        self.held: HeldSurrogates = {}

    def add(self, **said: Any) -> None:
        """Add texts, as whole characters, and other fields; first flush surrogates held for texts that end here."""
        if not said:
            return
        if self.held:
            self.leave(*said)
        for stream in _TEXTS:
            if stream in said:
                said[stream] = whole_text(self.held, stream, said[stream])
        self.emit(**{name: value for name, value in said.items() if value})

    def emit(self, **said: Any) -> None:
        """Add fields unchanged; a field that belongs before one already in the chunk begins the next chunk."""
        if not said:
            return
        ranks = [_RANKS.get(name, _CALLS_RANK) for name in said]
        if min(ranks) < self._rank or ("native" in said and "native" in self.said):
            self._flush()
        self._rank = max(ranks)
        for name, value in said.items():
            self.said[name] = self.said[name] + value if name in self.said else value

    def raw(self, *entries: dict[str, Any]) -> None:
        if entries:
            self.emit(raw=entries)

    def event(self, kind: ProviderEventKind, data: dict[str, Any], segment_id: str | None = None) -> None:
        """Add what only the provider has."""
        self.emit(provider_events=(ProviderEvent(kind, data, segment_id=segment_id),))

    def leave(self, *but: str) -> None:
        """Add U+FFFD for each surrogate held for a text that ends here."""
        for stream in _TEXTS:
            if stream not in but and (rest := rest_of_text(self.held, stream)):
                self.emit(**{stream: rest})

    def call(self, *deltas: ToolCallDelta | None) -> None:
        if found := tuple(each for each in deltas if each is not None):
            self.emit(tool_calls=found)

    def whole_call(self, delta: ToolCallDelta | None, done: ToolCallDelta | None) -> None:
        """Add a call's delta and its end, as one delta if the end has no argument text."""
        if delta and done and not done.arguments_delta:
            self.call(structs.replace(delta, done=True))
        else:
            self.call(delta, done)

    def finish(self, finish: Finish, words: str, *, has_calls: bool = False) -> None:
        """Add the first finish, after all held text; of a later finish add only what it settles about calls.

        With `has_calls`, for calls that the client has to run, a finish reason of `stop` becomes `tool_calls`.
        """
        if self.finished:
            self.call(*self.calls.concluded(is_regular=finish.is_regular))
            return
        self.finished = True
        self.rest()
        self.said |= finish.finish_fields(words, "tool_calls" if has_calls and finish.reason == "stop" else None)

    def rest(self) -> None:
        """Add everything that is held, because nothing further can arrive for it."""
        self.leave()
        self.call(*self.calls.rest(is_cut=not self.finished))

    def taken(self) -> list[dict[str, Any]]:
        """Return the fields of each chunk that the current item made, and start over."""
        self._flush()
        taken, self._before = self._before, EMPTY
        return taken

    def _flush(self) -> None:
        if self.said:
            self.spoke = True
            self._before = [*self._before, self.said]
        self.said, self._rank = {}, 0


C = TypeVar("C", bound=Choice)


class MultiChoiceMachine(Response, Generic[C]):
    """A machine without `feed`; only choices that are wanted are read; the end tells which were not."""

    CHOICE: type[C]
    """The state of a choice."""
    NAMES_IN_PIECES: ClassVar[bool] = False
    """Whether the names of calls may come in pieces."""
    STATE = (*Response.STATE, "_choices", "_reader")

    def __init__(
        self,
        *,
        choices: Choices = 0,
        turn_id: str | None = None,
        limits: Limits = DEFAULT_LIMITS,
        logprobs: bool = False,
    ) -> None:
        super().__init__(turn_id, choice=0 if choices == "all" else choices, logprobs=logprobs)
        self._wanted: Choices = choices
        self._limits = limits
        self._reader = ChoiceReader(choices)
        self._choices: dict[int, C] = {}

    def rest(self) -> list[ChunkResponse]:
        chunks = self._read_all(self._tell_reader().rest())
        for choice in self._choices.values():
            choice.rest()
            chunks += self._chunks(choice)
        unread = self._reader.unread
        if unread and (self._wanted in (0, "all") or not self._choices):  # else they were left out on purpose
            told = ProviderEvent("other", {"unread_choices": sorted(unread)})
            chunks.append(self.chunk(provider_events=[told]))
        return chunks

    def new_part(self, _name: str, state: Any, /) -> C:
        """Return a fresh choice, into which its state will be loaded."""
        return self._new_choice(state["number"])

    def _choice(self, index: object, position: int = 0) -> C | None:
        """Return the choice of an index, or of the position if the index is not a number.

        None if it is not wanted, or if that is not known yet.
        """
        number = self._reader.number(index, position)
        return None if number is None else self._numbered(number)

    def _numbered(self, number: int) -> C:
        if number not in self._choices:
            self._choices[number] = self._new_choice(number)
        return self._choices[number]

    def _read_choices(self, choices: list[Fields], plain: Callable[[int], Fields]) -> list[ChunkResponse]:
        """Return the chunks of the choices of a chunk; `plain`: returns the one at a position as plain JSON."""
        return self._read_all(self._tell_reader().read(choices, plain))

    def _read_all(self, found: Found) -> list[ChunkResponse]:
        chunks: list[ChunkResponse] = []
        for number, fields in found:
            choice = self._numbered(number)
            self._read(choice, fields)
            chunks += self._chunks(choice)
        return chunks

    def _read(self, choice: C, fields: Fields) -> None:
        """Add what one choice of a chunk says."""
        raise NotImplementedError(choice, fields)

    def _tell_reader(self) -> ChoiceReader:
        """Tell the reader how far the first answer is, which may have come another way."""
        first, reader = self._choices.get(0), self._reader
        reader.begun, reader.finished = first is not None, first is not None and first.finished
        return reader

    def _new_choice(self, number: int) -> C:
        calls = CallTracker(self.turn_id_maker(), number, self._limits, names_in_pieces=self.NAMES_IN_PIECES)
        return self.CHOICE(number, calls)

    def _chunks(self, choice: C) -> list[ChunkResponse]:
        """Return the chunks that were added to a choice."""
        return [self.chunk(choice=choice.number, **said) for said in choice.taken()]

    def _add(self, chunks: list[ChunkResponse], **said: Any) -> None:
        """Add fields of the response to the last chunk, or as a chunk of their own if there is no other."""
        if chunks:
            chunks[-1] = structs.replace(chunks[-1], **said)
        else:
            chunks.append(self.chunk(**said))

    def _add_usage(self, chunks: list[ChunkResponse], usage: TokenUsage | None) -> None:
        if (new := self.new_usage(usage)) is not None:
            self._add(chunks, usage=new)
