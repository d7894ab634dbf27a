"""`MessageForm`: how one provider wants the parts of an answer and the results of its calls back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias, cast

from msgspec import Struct

from ...events.tool_invocation import InvocationFailed, Notice, ToolResult
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json


class AnswerCall(Struct, frozen=True):
    """A call of the answer, with what became of it."""

    id: str
    """The call's id, which is also its segment's."""
    name: str
    raw: str
    """The source text of the call: JSON, or what the model wrote in its text."""
    arguments: dict[str, Any]
    """The arguments as plain JSON data; empty if the model wrote no JSON object."""
    is_free_form: bool
    has_arguments: bool
    """Whether `arguments` has what the model wrote."""
    is_whole: bool
    is_providers: bool
    """Whether the provider runs the call itself."""
    duplicate_of: str | None
    """The id of the call that this one repeats."""
    failure: InvocationFailed | None

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON: the model's own text where it is that, as it is not in most dialects of text."""
        own: Any = decode_json(self.raw, DEFAULT_LIMITS)[0]
        is_own = isinstance(own, dict) and plain_arguments(cast("dict[str, Any]", own)) == self.arguments
        return self.raw if is_own else json.dumps(self.arguments, ensure_ascii=False)


class AnswerPart(Struct, frozen=True):
    """A text of the answer, or a call."""

    type: str
    """The segment's type: text, reasoning, refusal, media or that of a call."""
    text: str = ""
    call: AnswerCall | None = None


def plain_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of arguments that JSON can represent: a number that is too large is its name."""
    plain: dict[str, Any] = json.loads(json.dumps(arguments), parse_constant=str)
    return plain


Notices: TypeAlias = list[Notice]


class MessageCall(NamedTuple):
    """A call of the client in a message."""

    id: str
    name: str
    type: str = ""
    """The type of its block or item, where that decides the form of the result."""
    holder: dict[str, Any] | None = None
    """The object of the message that has the id; None where the id is the server's, or there is none."""
    key: str = "id"
    """The key of the id in `holder`."""


class CallResult(NamedTuple):
    """A call of the client in a message, and its result."""

    call: MessageCall
    result: ToolResult


class MessageForm(NamedTuple):
    """The messages of one provider."""

    name: str
    api: str
    """The API in whose form sources keep the message."""
    sendable: Callable[[Any, Notices], Any]
    """Makes the message of a request from the kept one; what the provider refuses is left out, with a Notice."""
    plain: Callable[[Sequence[AnswerPart], Notices], Any]
    """Makes the message of a request from the parts of an answer, which may be another provider's."""
    calls: Callable[[Any], list[MessageCall]]
    """Returns the client's calls of a message in order."""
    entries: Callable[[Any], list[Any]]
    """Returns a message as the request's next entries; none if it says nothing, which providers refuse."""
    results: Callable[[list[CallResult]], list[Any]]
    """Returns the results of a message's calls as the request's next entries."""
    user: Callable[[str], Any]
    """Makes a message of the user, for the results of calls that were written as text."""
    call_id: Callable[[str], str] = str
    """Returns the id that a call has in the message; the same one if the provider takes it."""
    keeps_own_ids: bool = False
    """Whether a kept message has its own ids, as many servers speak the API, and each takes the ids that it gave."""


def said_parts(
    parts: Sequence[AnswerPart], notices: Notices, provider: str, texts: Collection[str]
) -> Iterator[AnswerPart]:
    """Yield the parts that a plain message can have: the client's calls, and texts of some types."""
    for part in parts:
        if part.call is None:
            if part.type in texts:
                yield part
            else:
                left_out(notices, part.type, provider)
        elif part.call.is_providers:
            left_out(notices, "calls that another provider ran itself", provider)
        else:
            if not part.call.has_arguments:
                left_out(notices, "arguments that are not a JSON object", provider)
            yield part


def text_and_calls(parts: Sequence[AnswerPart], notices: Notices, provider: str) -> tuple[str, list[dict[str, Any]]]:
    """Return what a plain message has: its text, and its calls as functions with an id and their arguments as text."""
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in said_parts(parts, notices, provider, ("text", "refusal")):
        if part.call is None:
            texts.append(part.text)
        else:
            function = {"name": part.call.name, "arguments": part.call.arguments_json}
            calls.append({"id": part.call.id, "type": "function", "function": function})
    return "".join(texts), calls


def fitting_id(call_id: str, accepted: re.Pattern[str]) -> str:
    """Return a call's id if a provider accepts it, else one that most do: nine letters and digits.

    >>> fitting_id("call_1", re.compile("[a-z0-9_]+")), fitting_id("functions.now:0", re.compile("[a-z0-9_]+"))
    ('call_1', '46735f356')
    """
    return call_id if accepted.fullmatch(call_id) else sha256(call_id.encode(errors="replace")).hexdigest()[:9]


def with_own_ids(calls: Sequence[MessageCall], call_id: Callable[[str], str]) -> list[MessageCall]:
    """Make the ids of a message's calls such as its provider takes them, each once; return the calls with them.

    >>> message = [{"id": "call_0"}, {"id": "call_0"}]
    >>> [call.id for call in with_own_ids([MessageCall(each["id"], "f", "", each) for each in message], str)], message
    (['call_0', 'call_0_2'], [{'id': 'call_0'}, {'id': 'call_0_2'}])
    """
    taken: set[str] = set()
    own: list[MessageCall] = []
    for call in calls:
        if call.holder is not None and call.id:
            sent, number = call_id(call.id), 1
            while sent in taken:
                number += 1
                sent = call_id(f"{call.id}_{number}")
            taken.add(sent)
            call.holder[call.key] = sent
            own.append(call._replace(id=sent))
        else:
            own.append(call)
    return own


def left_out(notices: Notices, what: str, provider: str) -> None:
    """Add the Notice that something of the answer does not go into the message; once for each kind of thing."""
    notice = Notice("not_sent", f"the message for {provider} goes without {what}")
    if notice not in notices:
        notices.append(notice)


def user_message(text: str) -> dict[str, Any]:
    """Return a message of the user, as most providers take it."""
    return {"role": "user", "content": text}
