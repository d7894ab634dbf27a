"""`detect_text_calls`: warn if a model wrote its tool call as text instead of calling natively."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..events.answer_end import AnswerEnd
from ..events.segment_event import SegmentContent, SegmentEnd, SegmentStart
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
"""Beginnings of calls in text, as regular expressions that match fewer than `REACH` characters."""

AT_THE_BEGIN: tuple[str, ...] = (
    _NAMED_OBJECT,
    rf"(?:\[{_BLANKS})?\{{{_BLANKS}{_ARGUMENTS_KEY}",
    rf'\{{{_BLANKS}"(?:tool|tool_calls|function)"{_BLANKS}:{_BLANKS}(?:\[{_BLANKS})?\{{',
    rf"\[{_BLANKS}{_NAME}\((?:\w{{1,64}}=|\))",
)
"""Beginnings that count only at the begin of the text, in a fence or not; elsewhere they are examples or data."""

REACH = 640
SNIPPET = 240

_BLOCK = 4096
_SOURCE = 4 * SNIPPET
"""Characters that are kept to make a snippet; more than `SNIPPET`, because runs of blanks are collapsed."""

_ANYWHERE = re.compile("|".join(ANYWHERE))
_AT_THE_BEGIN = re.compile(rf"\s{{0,64}}(?:{_FENCE})?(?:{'|'.join(AT_THE_BEGIN)})")

_DETAIL = (
    "this text looks like a tool call, but the model made no native call, so no tool was executed. "
    "If the model writes its calls as text, choose a strategy that reads them there, or let the server parse them "
    "(of vLLM, SGLang and others an option that names the model's tool call parser). The text: {}"
)


# Any event: it may be placed between any two operators, with or without invocations among the events.
@public_operator
def detect_text_calls() -> Operator[Any, Any]:
    """Warn of tool calls that a model wrote as text where native calls were expected; every event passes unchanged.

        segments            --S text--C [TOOL_CALL] run_bash {"com--C mand": "ls"}--E---------AnswerEnd|
        detect_text_calls   --S text--C [TOOL_CALL] run_bash {"com--C mand": "ls"}--E--Notice--AnswerEnd|

    >>> from penstock.events import ChunkResponse
    >>> from penstock.operators import drive, to_segments
    >>> chunks = [ChunkResponse(content='[TOOL_CALL] run_bash {"com'), ChunkResponse(content='mand": "ls"}')]
    >>> notice = list(drive(chunks, to_segments(), detect_text_calls()))[-2]
    >>> notice.code, notice.detail.partition("The text: ")[2]
    ('text_call', '[TOOL_CALL] run_bash {"command": "ls"}')

    One `Notice` at most per `text` segment, at the end of its answer: only then is it certain that no native call came
    in its turn, which is what the warning says. A call that the provider ran itself does not count. The detail ends
    with the beginning of the call, at most 240 characters with blanks collapsed. The beginnings of some forty formats
    are searched for, from a table in this file; prose that only mentions a marker does not match.
    """
    return lift(_DetectTextCalls)


class _Text(Stateful):
    """Searches the text of one segment for the beginning of a call.

    Text is searched in blocks. A position is decided once `REACH` characters from it on have arrived, so the cutting
    makes no difference. Each character is searched once, `REACH` characters per block twice.
    """

    STATE = ("_at_begin", "_length", "_wanted", "choice", "snippet")
    PIECES = ("_pieces",)
    __slots__ = (*STATE, *PIECES)

    def __init__(self, choice: int = 0) -> None:
        self.choice = choice
        """The answer that the text belongs to."""
        self._pieces: list[str] = []
        self._length = 0
        self._wanted = _BLOCK + REACH
        """The length at which the text is searched next; 0 once the search is over."""
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
        """The ids of the turns that had a native call."""
        self._open = OpenSegments()

    def feed(self, event: Any) -> Iterable[Any]:
        if isinstance(event, SegmentContent):
            text = self._texts.get((event.turn_id, event.segment_id))
            if text is not None:
                text.feed(event.delta)
        elif isinstance(event, SegmentStart):
            self._open.note(event)
            self._start(event)
        elif isinstance(event, SegmentEnd):
            self._open.note(event)
            self._end(event)
        elif isinstance(event, AnswerEnd):
            return (*self._notices(event.turn_id, event.choice), event)
        return (event,)

    def close(self, how: How) -> Iterable[Any]:
        answers = dict.fromkeys((turn, text.choice) for (turn, _), text in self._texts.items())
        return [*self._open.ends(how), *(notice for answer in answers for notice in self._notices(*answer))]

    def _notices(self, turn: str | None, choice: int) -> list[Notice]:
        """Return the warnings about the texts of an answer that is over, and forget them."""
        over = {key: text for key, text in self._texts.items() if key[0] == turn and text.choice == choice}
        self._texts = {key: text for key, text in self._texts.items() if key not in over}
        for text in over.values():
            text.close()
        return [Notice("text_call", _DETAIL.format(text.snippet)) for text in over.values() if text.snippet]

    def _start(self, event: SegmentStart) -> None:
        turn = event.turn_id
        if turn in self._called:
            return
        if event.segment_type == "text":
            self._texts[turn, event.segment_id] = _Text(event.metadata.get("choice", 0))
        elif _is_native_call(event):
            self._called.add(turn)
            self._texts = {identity: text for identity, text in self._texts.items() if identity[0] != turn}

    def _end(self, event: SegmentEnd) -> None:
        identity = (event.turn_id, event.segment_id)
        text = self._texts.get(identity)
        if text is not None:
            text.close()
            if not text.snippet:
                del self._texts[identity]

    def new_part(self, _name: str, _state: Any, /) -> _Text:
        return _Text()


def _is_native_call(start: SegmentStart) -> bool:
    metadata = start.metadata
    is_call = start.segment_type == "tool_call" or "tool_name" in metadata
    return is_call and metadata.get("executed_by") != "provider"
