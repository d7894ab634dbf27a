"""The questions of the doctor, and what is found of an answer: whether it is right, and whose fault it is if not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...events.segment_event import SegmentContent
from ...events.tool_invocation import ToolInvocation
from ...operators.catalogue.dialect_for import IN_ORDER
from ...operators.engine.drive import drive
from ...operators.parse_text import parse_text
from ...operators.to_invocations import to_invocations
from ...sources.base.sdk_fields import entries_of, fields_of
from ..typed_body import Body
from .seen_answer import SeenAnswer, SeenCall

Way: TypeAlias = Literal["whole", "streamed"]
MOST_TOKENS: Final = 1024


class Finding(NamedTuple):
    """What is found of an answer.

    - `by`: "fine"; or "model" where the answer is whole, and the model did not do what it was asked; or "server" where
      it is broken, by the server or, as broken arguments may be, already by the model.
    """

    by: Literal["fine", "server", "model"]
    what: str = "ok"


FINE: Final = Finding("fine")
ERROR: Final = "an error: "
"""The beginning of what is found where the server refuses, or breaks."""


class Question(NamedTuple):
    """One question.

    - `calls`: the names of the tools that are to be called; without any, a text is wanted.
    - `texts`: what must be found in the arguments, letter by letter.
    - `ways`: how it is asked. What a server refuses, it refuses in both.
    - `most_tokens`: the most that the answer may have; by default enough to think first.
    """

    name: str
    messages: tuple[Body, ...]
    calls: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    choice: Body | None = None
    ways: tuple[Way, ...] = ("whole", "streamed")
    has_tools: bool = True
    most_tokens: int = MOST_TOKENS

    def body(self, model: str, way: Way) -> Body:
        """Return the request, as a client sends it."""
        tools = {"tools": [*TOOLS.values()], "tool_choice": self.choice or "auto"} if self.has_tools else {}
        ends = {"stream_options": {"include_usage": True}} if way == "streamed" else {}
        return {
            "model": model,
            "messages": [*self.messages],
            **tools,
            "temperature": 0,
            "max_tokens": self.most_tokens,
            "stream": way == "streamed",
            **ends,
        }


def _tool(name: str, about: str, **properties: Body) -> Body:
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_GUEST: Final = {"type": "object", "properties": {"name": _TEXT, "age": _WHOLE}, "required": ["name", "age"]}
_PLACE: Final = {"type": "object", "properties": {"town": _TEXT, "floor": _WHOLE}, "required": ["town", "floor"]}
TOOLS: Final[Mapping[str, Body]] = {
    each["function"]["name"]: each
    for each in (
        _tool("weather", "Return the weather in a city.", city=_TEXT),
        _tool("book_table", "Book a table for guests.", guests={"type": "array", "items": _GUEST}, place=_PLACE),
        _tool("keep_note", "Keep a note, exactly as it is.", title=_TEXT, text=_TEXT),
        _tool("time_now", "Return what time it is."),
    )
}


def _says(role: str, text: str) -> Body:
    return {"role": role, "content": text}


def _called(arguments: str) -> Body:
    function = {"name": "weather", "arguments": arguments}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


def _user(text: str) -> tuple[Body, ...]:
    return (_says("user", text),)


QUESTIONS: Final = (
    Question("one call", _user("What is the weather in Oslo? Use the tool."), ("weather",)),
    Question(
        "two calls at once",
        _user("What is the weather in Oslo and in Lima? Call the tool for both cities now, in one answer."),
        ("weather", "weather"),
    ),
    Question("no call wanted", _user("What is 2 + 3? Say the number only, and use no tool.")),
    Question(
        "nested arguments",
        _user("Book a table in Lima, on floor 2, for Ann, who is 31, and Bo, who is 44. Use the tool."),
        ("book_table",),
        ("Ann", "Bo", "Lima"),
    ),
    Question(
        "Unicode",
        _user("Keep a note with the title 'Blåbær' and the text: 東京 “quoted” \\n 🫐. Use the tool."),
        ("keep_note",),
        ("Blåbær", "東京", "🫐"),
    ),
    Question("no arguments", _user("What time is it? Use the tool."), ("time_now",)),
    Question(
        "a forced call",
        _user("Tell me something about Lima."),
        ("weather",),
        choice={"type": "function", "function": {"name": "weather"}},
    ),
    Question(
        "after a result",
        (
            *_user("What is the weather in Oslo?"),
            _called('{"city": "Oslo"}'),
            {"role": "tool", "tool_call_id": "call_1", "content": "7 degrees and rain"},
        ),
    ),
    Question(
        "thoughts before a call",
        _user(
            "Think first: which is more, 0.9 or 0.11? Then keep a note with the title 'more' and the number as text."
        ),
        ("keep_note",),
    ),
    Question(
        "a late system message",
        (*_user("Hello."), _says("assistant", "Hello!"), *_user("Are you there?"), _says("system", "Say yes or no.")),
        ways=("streamed",),
    ),
    Question(
        "developer messages, and two of the user",
        (_says("developer", "Be kind."), _says("developer", "Be short."), *_user("Hello."), *_user("Say yes.")),
        ways=("streamed",),
    ),
    Question(
        "an earlier call with broken arguments",
        (
            *_user("What is the weather in Oslo?"),
            _called('{"city": "Os'),
            {"role": "tool", "tool_call_id": "call_1", "content": "the arguments are no JSON"},
            *_user("Never mind. Just say yes."),
        ),
        ways=("streamed",),
    ),
)
"""What is asked. Of each the first answer is judged; nothing is asked twice until it succeeds."""
WITH_TOOLS: Final = Question("with tools", _user("Hello."), ways=("whole",), most_tokens=1)
WITHOUT_TOOLS: Final = WITH_TOOLS._replace(has_tools=False)
"""Of these two the prompts are of one length if the model does not see its tools."""


def finding(question: Question, seen: SeenAnswer) -> Finding:
    """Return what is found of an answer to a question.

    >>> finding(QUESTIONS[0], SeenAnswer("It is sunny.", finish="stop"))
    Finding(by='model', what='called no tool')

    What stands between the model and the client is judged first: whoever loses a call there hides what the model did.
    """
    if seen.refused:
        return Finding("server", f"{ERROR}{seen.refused}")
    broken = [*seen.wrong, *_left(question, seen), *(each for call in seen.calls for each in _of_arguments(call))]
    if broken:
        return Finding("server", "; ".join(dict.fromkeys(broken)))
    if seen.finish == "length":
        return Finding("model", f"was cut at {seen.written or MOST_TOKENS} tokens")
    if not (seen.calls or seen.text.strip() or seen.reasoning) and (seen.written or 0) > _NO_MORE_THAN_AN_END:
        return Finding("server", f"nothing came of {seen.written} tokens")
    return (_called_as_asked if question.calls else _answered)(question, seen)


_NO_MORE_THAN_AN_END: Final = 2
"""Tokens of an answer that has nothing in it."""


def _called_as_asked(question: Question, seen: SeenAnswer) -> Finding:
    names = [call.name for call in seen.calls]
    if not names:
        return Finding("model", "called no tool")
    if unlike := [name for name in names if name not in question.calls]:
        return Finding("model", f"called {unlike[0]}")
    if len(names) < len(question.calls):
        return Finding("model", f"called {len(names)} of {len(question.calls)} tools")
    given = [json.loads(call.arguments) for call in seen.calls]
    for name, arguments in zip(names, given, strict=True):
        if missing := [key for key in TOOLS[name]["function"]["parameters"]["required"] if key not in arguments]:
            return Finding("model", f"left out {missing[0]!r}")
    said = "\n".join(map(_texts_in, given))
    lost = [text for text in question.texts if text not in said]
    return Finding("model", f"wrote other arguments, without {lost[0]!r}") if lost else FINE


def _answered(_: Question, seen: SeenAnswer) -> Finding:
    if seen.calls:
        return Finding("model", f"called {seen.calls[0].name} though no call was wanted")
    return FINE if seen.text.strip() else Finding("model", "said nothing")


_MARKS: Final = re.compile(
    r"<\|[\w▁ ]{2,40}\|?>|<[\w▁]{2,40}\|>|<｜[^｜]{2,40}｜>|\[/?(?:TOOL_CALLS|ARGS|THINK)\]"
    r"|</?(?:think|tool_calls?|function|parameter|arg_key|arg_value|minimax:tool_call|invoke)\b[^>\n]{0,80}>"
)
"""What no answer to these questions has of itself."""


def _left(question: Question, seen: SeenAnswer) -> Iterator[str]:
    """Yield what of the model's format was left where a client shows it."""
    is_wanted = len(seen.calls) < len(question.calls)
    if is_wanted and any(dialects_of(seen.text)):
        yield "the call is left in the text"
    elif is_wanted and any(dialects_of(seen.reasoning)):
        yield "the call is left in the reasoning"
    elif has_thoughts(seen.text):
        yield "the thoughts are left in the text"
    elif (found := _MARKS.search(seen.text)) is not None:
        yield f"{found[0]} is left in the text"


def has_thoughts(text: str) -> bool:
    """Return whether a text has reasoning between the markers of any model."""
    return any(
        isinstance(event, SegmentContent) and event.segment_type == "reasoning"
        for event in drive([text], parse_text("auto", calls=False))
    )


def dialects_of(text: str) -> Iterator[str]:
    """Yield the names of the dialects in which a text has a call of one of the doctor's tools, `auto` first.

    >>> next(dialects_of('[TOOL_CALLS]time_now[ARGS]{}'))
    'auto'
    """
    if any(name in text for name in TOOLS):
        yield from (name for name in ("auto", *(each.name for each in IN_ORDER)) if _has_call(text, name))


def _has_call(text: str, dialect: str) -> bool:
    schemas = {name: tool["function"]["parameters"] for name, tool in TOOLS.items()}
    events = drive([text], parse_text(dialect, tools=schemas), to_invocations())
    return any(isinstance(event, ToolInvocation) and event.name in TOOLS for event in events)


def _of_arguments(call: SeenCall) -> Iterator[str]:
    """Yield what is wrong with the arguments of a call, by the schema of its tool."""
    if call.name not in TOOLS:
        return
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        yield f"arguments are no JSON: {call.arguments[:40]!r}"
        return
    if "\ufffd" in call.arguments:
        yield "letters are broken"
    yield from _unlike(arguments, TOOLS[call.name]["function"]["parameters"], "the arguments")


_TYPES: Final[Mapping[str, tuple[type, str]]] = {
    "object": (dict, "an object"),
    "array": (list, "an array"),
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
}


def _unlike(value: Any, schema: Body, where: str) -> Iterator[str]:
    kind, wanted = _TYPES[schema["type"]]
    if not isinstance(value, kind):
        given = next((name for each, name in _TYPES.values() if isinstance(value, each)), json.dumps(value))
        yield f"{where}: {given} in place of {wanted}"
    elif isinstance(value, dict):
        for key, inner in schema["properties"].items():
            if key in value:
                yield from _unlike(value[key], inner, key)
    elif isinstance(value, list):
        for each in entries_of(value):
            yield from _unlike(each, schema["items"], where)


def _texts_in(value: Any) -> str:
    if (fields := fields_of(value)) is not None:
        value = [*fields.values()]
    return "\n".join(map(_texts_in, entries_of(value))) if isinstance(value, list) else str(value)
