"""What a provider is asked: a request, and the messages of the next turn in its form."""

from __future__ import annotations

import ipaddress
import json
import re
import socket
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit

from msgspec import Struct

from ...events.errors import UsageError
from ...events.tool_invocation import InvocationFailed, Notice, ToolResult
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json
from ...operators.schemas.json_schema import Schema
from ...operators.schemas.strict_schema import StrictMode


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


class Request(Struct, frozen=True, kw_only=True):
    """The content of a request; `tools`, as the function `tool` takes them, are described to the model, not run."""

    model: str
    prompt: str
    system: str | None = None
    tools: tuple[Any, ...] = ()
    max_tokens: int | None = None
    base_url: str | None = None


Client: TypeAlias = AbstractContextManager[Any]
Said: TypeAlias = dict[str, Any]
ToolForm: TypeAlias = Callable[[Said, Schema, Said], Said]
"""Makes a provider's form of a tool from its name and description, its parameters, and what else
the provider takes, such as the flag for strict mode."""
OutputForm: TypeAlias = Callable[[str, Schema, bool], dict[str, Any]]
"""Makes a provider's form of an output from its name, its schema, and whether the schema is in strict form."""


def function_form(said: Said, parameters: Schema, more: Said) -> Said:
    return {"type": "function", "function": {**said, "parameters": parameters, **more}}


def function_choice(name: str) -> Said:
    return {"type": "function", "function": {"name": name}}


def chat_output(name: str, schema: Schema, strict: bool) -> dict[str, Any]:  # noqa: FBT001 - of the signature of a row
    said = {"name": name, "schema": schema, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": said}}


def as_they_are(definitions: list[Said]) -> list[Said]:
    return definitions


NAMES_OF_64 = re.compile(r"[a-zA-Z0-9_-]{1,64}"), "letters, digits, _ and -, 1 to 64"
"""The names of tools that several providers accept, and the rule in words."""


class Provider(NamedTuple):
    """How to send a request to a provider: its key, its SDK, the calls of its SDK, the form of its tools."""

    name: str
    aliases: tuple[str, ...]
    """Other names of the provider, including those of its API in the sources, so that either name works."""
    api: str
    """The API whose recordings are played through this provider's SDK; empty if another SDK is used for them."""
    keys: tuple[str, ...]
    """The environment variables for the key, the first one set counts; empty if no key is needed."""
    module: str
    install: str
    """How to install the SDK, in the words of a message."""
    url: str
    """The base URL, unless the environment variable `url_from` is set."""
    url_from: str
    client: Callable[[Any, str, str | None], Client]
    """Makes the SDK's client from its module, a key, and a base URL or None; closes it when the block ends."""
    ask: Callable[[Any, Request, Any], Any]
    """Starts the streamed answer from the client, the request, and the tools in the provider's form."""
    form: ToolForm = function_form
    listed: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = as_they_are
    """Makes the `tools` of a request from the forms of the single tools."""
    own_keys: tuple[str, ...] = ()
    """The keys of a tool that this provider takes and others refuse."""
    names: tuple[re.Pattern[str], str] | None = None
    """The tool names that the provider accepts, and the rule in words; it refuses requests with any other name."""
    strict: StrictMode | None = None
    not_strict: str = "this provider has no strict mode; leave strict= out"
    words: Mapping[str, Any] = MappingProxyType({"auto": None})
    """The words that `tool_choice` accepts, each with its value in the request."""
    choice: Callable[[str], Any] | None = None
    """Makes the value for a tool that must be called, from its name; None if the provider cannot do that."""
    instead: Mapping[str, str] = MappingProxyType({})
    """Advice for words of `tool_choice` that the provider does not support."""
    output: OutputForm = chat_output
    """Makes the request's keyword arguments for a structured answer."""
    output_is_object: bool = False
    """Whether the value of a structured answer must be an object."""
    messages: MessageForm | None = None
    """The messages of the next turn; None if they are not made here."""
    parallel: str | Callable[[Any, bool], Any] = "has no option for parallel calls"
    """Adds to a choice whether parallel calls are allowed; or a `str`, the reason why the provider cannot do that."""


def check_name(name: str, provider: Provider) -> None:
    """Raise `UsageError` for a tool's name that a provider does not accept."""
    if provider.names is not None and not provider.names[0].fullmatch(name):
        rule = provider.names[1]
        message = f"{provider.name} does not accept the tool name {name!r}: {rule}; rename it with tool(..., name=...)"
        raise UsageError(message)


def messages_of(request: Request) -> list[dict[str, str]]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": request.prompt}]


def without_none(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def is_this_machine(host: str) -> bool:
    """Return whether only this machine can reach a server that listens there.

    >>> is_this_machine("localhost"), is_this_machine("127.0.0.1"), is_this_machine("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, and sends at once whatever is written to its connections.

    `UsageError` if it cannot. asyncio sees to that for sockets of its own making only: on others a small frame waits
    until the client has acknowledged the one before it, which takes 40 ms.
    """
    try:
        made = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        message = f"cannot listen on {host}, port {port}: {error}"
        raise UsageError(message) from error
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def is_local(base_url: str | None) -> bool:
    """Return whether a base URL points to this machine."""
    return base_url is not None and is_this_machine(urlsplit(base_url).hostname or "")


_SCHEMES = ("http://", "https://", "all://")


def transport(base_url: str | None) -> dict[str, Any]:
    """Return options of the HTTP client that bypass the environment's proxies for this machine."""
    # The mounts are for Anthropic's client, which looks at the environment by itself.
    return {"trust_env": False, "mounts": dict.fromkeys(_SCHEMES)} if is_local(base_url) else {}


@contextmanager
def stainless_client(module: Any, client: str, key: str, base_url: str | None) -> Generator[Any, None, None]:
    """Yield a client of OpenAI or Anthropic; both are made alike."""
    with (
        module.DefaultHttpxClient(**transport(base_url)) as http_client,
        getattr(module, client)(base_url=base_url, api_key=key, max_retries=0, http_client=http_client) as opened,
    ):
        yield opened
