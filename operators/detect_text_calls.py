"""`detect_text_calls`: a warning where a model wrote its tool call as text and made no native one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..events.segment_event import SegmentEvent
from ..events.tool_invocation import Notice
from .calls.segment_end import OpenSegments
from .engine.public_operator import public_operator
from .engine.stage import How, Operator, lift
from .engine.state import Stateful

_BLANKS = r"\s{0,16}"
_NAME = r"[^\W\d][\w.:/-]{0,63}"
_FENCE = r"```\w{0,16}\s{1,16}"
_IDS = rf'(?:"(?:id|type|tool_call_id)"{_BLANKS}:{_BLANKS}"[\w-]{{1,48}}"{_BLANKS},{_BLANKS}){{0,2}}'
_NAME_KEY = rf'"(?:name|tool_name|function)"{_BLANKS}:{_BLANKS}"{_NAME}"{_BLANKS},{_BLANKS}'
_ARGUMENTS_KEY = rf'"(?:arguments|parameters|args)"{_BLANKS}:{_BLANKS}[{{"]'
_BODY = rf"{_BLANKS}(?:[\[{{<]|{_NAME}\()"
_NAMED_OBJECT = rf"(?:\[{_BLANKS})?\{{{_BLANKS}{_IDS}{_NAME_KEY}{_ARGUMENTS_KEY}"

ANYWHERE: tuple[str, ...] = (
    rf"\[TOOL_CALLS?\]{_BLANKS}(?:{_NAME}{_BLANKS})?[\[{{]",
    rf"<(?:\w{{1,16}}[:|])?(?:\w{{1,16}}_)?tool_calls?>{_BLANKS}(?:[\[{{<]|{_NAME}{_BLANKS}[<\n(])",
    rf"<(?:\w{{1,16}}_)?function_calls?>{_BODY}",
    rf"<TOOLCALL>{_BLANKS}[\[{{]",
    rf"<function(?: name)?=[\"']?{_NAME}[\"']?>",
    rf"<(?:\w{{1,16}}:)?(?:invoke|tool) name=[\"']?{_NAME}[\"']?/?>",
    r"<[|｜](?:\w{1,16}[|｜])?(?:tool|function)[_▁]?calls?",
    rf"<[|｜](?:tools_prefix|action_start|START_ACTION|python_(?:tag|start))[|｜]>{_BODY}",
    rf"<[|｜](?:DSML[|｜]invoke|open[|｜]>call tool|content_invoke_tool|role_sep[|｜]>{_BLANKS}\{{{_BLANKS}\"name\")",
    rf"<start_function_call>{_BLANKS}call:{_NAME}",
    rf"functools\[{_BLANKS}\{{",
    rf"functions\.{_NAME}:\d{{1,4}}{_BLANKS}(?:\{{|<[|])",
    rf"to=functions\.{_NAME}{_BLANKS}<[|]",
    rf"```tool_(?:call|code|use)s?{_BLANKS}[^\s`]",
    rf"{_FENCE}{_NAMED_OBJECT}",
)
"""How calls in text begin, as expressions that match fewer than `REACH` characters."""

AT_THE_BEGIN: tuple[str, ...] = (
    _NAMED_OBJECT,
    rf"(?:\[{_BLANKS})?\{{{_BLANKS}{_ARGUMENTS_KEY}",
    rf'\{{{_BLANKS}"(?:tool|tool_calls|function)"{_BLANKS}:{_BLANKS}(?:\[{_BLANKS})?\{{',
    rf"\[{_BLANKS}{_NAME}\((?:\w{{1,64}}=|\))",
)
"""How they begin where the text, in a fence or not, begins with one: elsewhere the same is an example or data."""

REACH = 640
SNIPPET = 240

_BLOCK = 4096
_SOURCE = 4 * SNIPPET
"""As much text is kept for a snippet, whose blanks collapse."""

_ANYWHERE = re.compile("|".join(ANYWHERE))
_AT_THE_BEGIN = re.compile(rf"\s{{0,64}}(?:{_FENCE})?(?:{'|'.join(AT_THE_BEGIN)})")

_DETAIL = (
    "this text looks like a tool call, but the model made no native call, so no tool was executed. "
    "If the model writes its calls as text, choose a strategy that reads them there, or let the server parse them "
    "(of vLLM, SGLang and others an option that names the model's tool call parser). The text: {}"
)


# Any, and not what flows here: it may stand between any two operators, invocations among the events or not.
@public_operator
def detect_text_calls() -> Operator[Any, Any]:
    """Warn of tool calls that a model wrote as text where native calls were expected; every event passes unchanged.

        segments            --S text--C [TOOL_CALL] run_bash {"com--C mand": "ls"}--E--|
        detect_text_calls   --S text--C [TOOL_CALL] run_bash {"com--C mand": "ls"}--E--Notice|

    >>> from penstock.events import ChunkResponse
    >>> from penstock.operators import drive, to_segments
    >>> chunks = [ChunkResponse(content='[TOOL_CALL] run_bash {"com'), ChunkResponse(content='mand": "ls"}')]
    >>> notice = list(drive(chunks, to_segments(), detect_text_calls()))[-1]
    >>> notice.code, notice.detail.partition("The text: ")[2]
    ('text_call', '[TOOL_CALL] run_bash {"command": "ls"}')

    One `Notice` at most per `text` segment, at the end of the stream: only then is it certain that no native call came
    in its turn, which is what the warning says. A call that the provider ran itself is none. The detail ends with the
    beginning of the call, at most 240 characters with blanks collapsed. What is looked for is a table in this file, the
    beginnings of some forty formats; prose that only names a marker is not meant.
    """
    return lift(_DetectTextCalls)


class _Text(Stateful):
    """The text of one segment, as far as it is not decided, or the beginning of the call in it.

    Text is searched in blocks: a place is decided when `REACH` characters from it on are there, so that where a text is
    cut makes no difference. A character is searched once, `REACH` of a block twice.
    """

    STATE = ("_at_begin", "_length", "_wanted", "snippet")
    PIECES = ("_pieces",)
    __slots__ = (*STATE, *PIECES)

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._wanted = _BLOCK + REACH
        """So long must the text be for the next look at it; 0 when nothing more is."""
        self._at_begin = True
        self.snippet = ""

    def feed(self, delta: str) -> None:
        if self._wanted:
            self._pieces.append(delta)
            self._length += len(delta)
            if self._length >= self._wanted:
                self._look(ended=False)

    def close(self) -> None:
        if self._wanted:
            self._look(ended=True)
            self._keep("", 0)

    def _look(self, *, ended: bool) -> None:
        text = "".join(self._pieces)
        if self._wanted != _SOURCE:
            decided = len(text) + 1 if ended else len(text) - REACH
            found = (_AT_THE_BEGIN.match(text) if self._at_begin else None) or _ANYWHERE.search(text)
            self._at_begin = False
            if found is None or found.start() >= decided:
                self._keep(text[decided:], _BLOCK + REACH)
                return
            text = text[found.start() :]
            self._keep(text, _SOURCE)
        if ended or len(text) >= _SOURCE:
            self.snippet = " ".join(text[:_SOURCE].split())[:SNIPPET]
            self._keep("", 0)

    def _keep(self, text: str, wanted: int) -> None:
        self._pieces = [text] if text else []
        self._length = len(text)
        self._wanted = wanted


class _DetectTextCalls(Stateful):
    STATE = ("_called", "_open", "_texts")

    def __init__(self) -> None:
        self._texts: dict[tuple[str | None, str], _Text] = {}
        self._called: set[str | None] = set()
        """The turns in which a native call came."""
        self._open = OpenSegments()

    def feed(self, event: Any) -> Iterable[Any]:
        if type(event) is SegmentEvent:
            if event.type == "SEGMENT_CONTENT":
                text = self._texts.get((event.turn_id, event.segment_id))
                if text is not None:
                    text.feed(event.payload["delta"])
            else:
                self._open.note(event)
                if event.type == "SEGMENT_START":
                    self._start(event)
                else:
                    self._end(event)
        return (event,)

    def close(self, how: How) -> Iterable[Any]:
        for text in self._texts.values():
            text.close()
        snippets = [text.snippet for text in self._texts.values() if text.snippet]
        self._texts.clear()
        return [*self._open.ends(how), *(Notice("text_call", _DETAIL.format(snippet)) for snippet in snippets)]

    def _start(self, event: SegmentEvent) -> None:
        turn = event.turn_id
        if turn in self._called:
            return
        if event.segment_type == "text":
            self._texts[turn, event.segment_id] = _Text()
        elif _is_native_call(event):
            self._called.add(turn)
            self._texts = {identity: text for identity, text in self._texts.items() if identity[0] != turn}

    def _end(self, event: SegmentEvent) -> None:
        identity = (event.turn_id, event.segment_id)
        text = self._texts.get(identity)
        if text is not None:
            text.close()
            if not text.snippet:
                del self._texts[identity]

    def new_part(self, _name: str, _state: Any, /) -> _Text:
        return _Text()


def _is_native_call(start: SegmentEvent) -> bool:
    metadata = start.payload.get("metadata", {})
    is_call = start.segment_type == "tool_call" or "tool_name" in metadata
    return is_call and metadata.get("executed_by") != "provider"
