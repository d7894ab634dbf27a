"""`upstream_body`: what a server of a local model is asked, whatever its template and its parser do not take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from ..events.errors import UsageError
from .chat_request import write_chat
from .neutral import AnswerSchema, Call, Image, Message, NeutralRequest, Part, Reasoning, Result, Role, Text, ToolSpec
from .openai_tools import NO_PARAMETERS
from .typed_body import Body, arguments_of, json_of, texts_of

Lane: TypeAlias = Literal["raw", "parsed"]
"""Whether the model's calls come as it writes them, to be parsed here, or as the server has parsed them."""


class Server(NamedTuple):
    """What a server takes."""

    raw: Mapping[str, Any] = {}
    """What leaves the model's text as it is."""
    raw_choice: str | None = None
    """The tool choice with which the model sees the tools and the server does not parse; None for the client's own."""
    takes_system: bool = True
    """Whether the system may speak; else the user says it first."""
    takes_choice: bool = True
    takes_names: bool = True
    """Whether a choice may be the name of a tool."""
    takes_parallel: bool = True
    takes_any_effort: bool = False
    """Whether it takes an effort for models that do not reason; Claude Code sends one for each."""
    takes_schema: bool = True
    forces_schema: bool = True
    """Whether a schema of the answer forbids calls."""
    reasoning: str = "reasoning_content"
    """The key of a message for what the model thought."""


SERVERS: Mapping[str, Server] = {
    "llamacpp": Server({"reasoning_format": "none"}, "none", takes_names=False, takes_any_effort=True),
    "vllm": Server({"skip_special_tokens": False}, "none", takes_any_effort=True),
    "sglang": Server({"separate_reasoning": False, "skip_special_tokens": False}, "auto", takes_any_effort=True),
    "ollama": Server(takes_choice=False, takes_names=False, takes_parallel=False, reasoning="reasoning"),
    "lmstudio": Server(takes_names=False, takes_parallel=False),
    "openai": Server(forces_schema=False, reasoning=""),
}
"""The servers that are known; `openai` is any other one with OpenAI's chat."""
_EFFORTS = {"minimal": "low", "xhigh": "high", "max": "high"}
"""Efforts that not all servers know, and the nearest that they do."""
_ORDER: Mapping[type[Part], int] = {Reasoning: 0, Call: 2}
"""Of what an assistant says in one message of chat; text is between them."""
_HERE = "[an image: it is in the next message of the user]"
_UNSEEN = "[an image, which you cannot see]"


def upstream_body(
    request: NeutralRequest,
    *,
    lane: Lane,
    server: str | Server,
    model: str,
    images: bool = True,
    most_tokens: int | None = None,
    dropped: list[str] | None = None,
) -> dict[str, Any]:
    """Return the body of `/chat/completions` with which a server is asked for the answer, as a stream.

    >>> from penstock.gateway.read_request import read_request
    >>> said = [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be kind."}]
    >>> asked = read_request("openai-chat", {"model": "m", "messages": said, "max_tokens": 99})
    >>> body = upstream_body(asked, lane="raw", server="llamacpp", model="qwen")
    >>> body["messages"]
    [{'role': 'system', 'content': 'Be kind.'}, {'role': 'user', 'content': 'Hi'}]
    >>> body["model"], body["max_tokens"], body["reasoning_format"]
    ('qwen', 99, 'none')

    - `lane`: "raw" for a model whose calls are parsed here, "parsed" where the server does it.
    - `server`: a name of `SERVERS`, `UsageError` for another one; or what the server takes.
    - `images`: whether the model sees images; else words stand for them.
    - `most_tokens`: the most that a client may ask for.
    - `dropped`: gets a word for what the server is not asked.

    Templates refuse system messages that are not the first, and two messages of one role in a row. So what the system
    says before the first answer is one message, at the front; what it says later stands where it was, in a message of
    the user, as all that went before is in the server's cache. Images of results follow in a message of the user. A
    call whose arguments are not a JSON object has them in one, as servers read them again. What the client wants and
    the server does not take as a field is said in the system's message.
    """
    row = server if isinstance(server, Server) else SERVERS.get(server)
    if row is None:
        message = f"unknown server {server!r}; known are {', '.join(SERVERS)}"
        raise UsageError(message)
    lost: list[str] = [] if dropped is None else dropped
    is_unparsed = lane == "raw" and row.raw_choice is not None
    tools = [*_tools(request, row, is_unparsed=is_unparsed)]
    choice, sentences = _choice(request, row, is_unparsed=is_unparsed)
    is_alone = request.parallel_calls is False and bool(tools)
    takes_parallel = row.takes_parallel and bool(tools) and not is_unparsed
    says_schema = request.schema is not None and (not row.takes_schema or (row.forces_schema and bool(tools)))
    said = [
        *(sentences if tools else ()),
        *(["Call at most one tool in an answer."] if is_alone and not takes_parallel else ()),
        *([_in_words(request.schema)] if request.schema is not None and says_schema else ()),
    ]
    body = write_chat(
        replace(
            request,
            model=model,
            system=(),
            messages=tuple(_messages(request, row, said, lost, images=images)),
            tools=tuple(tools),
            parallel_calls=request.parallel_calls if takes_parallel else None,
            max_tokens=min((each for each in (request.max_tokens, most_tokens) if each is not None), default=None),
            schema=None if says_schema else request.schema,
            effort=_effort(request, row, lost),
            stream=True,
            include_usage=True,
        ),
        row.reasoning,
    )
    body |= {"tool_choice": choice if tools else None}
    if request.effort == "none" and row.takes_any_effort:
        body["chat_template_kwargs"] = {"enable_thinking": False, **body.get("chat_template_kwargs", {})}
    if lane == "raw":
        body |= row.raw
    return {key: value for key, value in body.items() if value is not None}


def _tools(request: NeutralRequest, row: Server, *, is_unparsed: bool) -> Iterator[ToolSpec]:
    """Yield the tools that the model is to know, all as functions.

    Where no field forbids calls, the model does not know the tools; where none names a tool, it knows that one alone.
    """
    takes_choice = row.takes_choice and not is_unparsed
    if request.tool_choice == "none" and not takes_choice:
        return
    for tool in request.tools:
        if request.named_tool in (None, tool.name) or (takes_choice and row.takes_names):
            parameters = {key: value for key, value in tool.parameters.items() if key != "$schema"}
            yield replace(tool, parameters=parameters or dict(NO_PARAMETERS), is_free_form=False)


def _choice(request: NeutralRequest, row: Server, *, is_unparsed: bool) -> tuple[str | Body | None, list[str]]:
    """Return the field for the choice of a tool, and what is said instead of it."""
    said: list[str] = []
    if request.named_tool is not None:
        said = [f"Answer with a call of the tool {request.named_tool}."]
    elif request.tool_choice == "required":
        said = ["Answer with a call of a tool."]
    if is_unparsed:
        return row.raw_choice, said
    if not row.takes_choice:
        return None, said
    if request.named_tool is not None and row.takes_names:
        return {"type": "function", "function": {"name": request.named_tool}}, []
    return request.tool_choice, []


def _in_words(schema: AnswerSchema) -> str:
    if schema.schema is None:
        return "Give the final answer as a JSON object, and nothing else."
    return f"Give the final answer as JSON of this schema, and nothing else:\n{json_of(schema.schema)}"


def _effort(request: NeutralRequest, row: Server, lost: list[str]) -> str | None:
    effort = request.effort
    if effort is None or (effort == "none" and row.takes_any_effort):
        return None
    if not row.takes_any_effort and request.api == "anthropic-messages":
        lost.append(f"effort {effort}")
        return None
    return effort if row is SERVERS["openai"] else _EFFORTS.get(effort, effort)


def _messages(
    request: NeutralRequest, row: Server, said: Sequence[str], lost: list[str], *, images: bool
) -> Iterator[Message]:
    """Yield the conversation: the system's message, then turns, no two of one role in a row."""
    front = [each.text for each in request.system]
    turns: list[tuple[Role, list[Part]]] = []
    waiting: list[Part] = []  # for the user's next message: nothing may stand between calls and their results

    def add(role: Role, parts: Iterable[Part]) -> None:
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(parts)

    has_answer = False
    for message in request.messages:
        if message.role == "system":
            if has_answer:
                waiting += [Text(f"<system-reminder>\n{texts_of(message.parts)}\n</system-reminder>")]
            else:
                front.append(texts_of(message.parts))
            continue
        if message.role == "tool":
            add("tool", _results(message.parts, waiting, images=images))
            continue
        if message.role == "assistant" and not message.parts:
            continue
        if waiting:
            add("user", waiting)
            waiting = []
        has_answer = has_answer or message.role == "assistant"
        add(message.role, message.parts)
    if waiting:
        add("user", waiting)
    text = "\n\n".join(each for each in (*front, *said) if each)
    if not turns:  # templates want a question
        yield Message("user", (Text(text),))
    elif text and row.takes_system:
        yield Message("system", (Text(text),))
    elif text:
        if turns[0][0] != "user":
            turns.insert(0, ("user", []))
        turns[0][1].insert(0, Text(text))
    for role, parts in turns:
        if role == "assistant":
            parts.sort(key=lambda part: _ORDER.get(type(part), 1))
        yield Message(role, tuple(_joined(parts, lost, images=images)))


def _results(results: Iterable[Part], behind: list[Part], *, images: bool) -> Iterator[Part]:
    """Yield results whose content is text; `behind` gets their images, which results cannot have."""
    for result in results:
        if isinstance(result, Result):
            shown = [each for each in result.parts if isinstance(each, Image)]
            parts: list[Text | Image] = [*result.parts]
            if shown and images:
                parts = [Text(_HERE) if isinstance(each, Image) else each for each in parts]
                behind += [Text(f"What the call {result.call_id} returned as an image:"), *shown]
            yield replace(result, parts=tuple(parts))


def _joined(parts: Iterable[Part], lost: list[str], *, images: bool) -> Iterator[Part]:
    """Yield the parts of a message: texts that follow each other as one, and what can be sent of the others."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, Image) and not images:
            lost += [] if "images" in lost else ["images"]
            texts.append(_UNSEEN)
        elif isinstance(part, Text):
            texts.append(part.text)
        else:
            if texts:
                yield Text("\n\n".join(texts))
                texts = []
            yield _sendable(part, lost, images=images)
    if texts:
        yield Text("\n\n".join(texts))


def _sendable(part: Part, lost: list[str], *, images: bool) -> Part:
    match part:
        case Call(arguments=arguments):
            own = arguments_of(arguments)
            return part if arguments.strip() and "INVALID_JSON" not in own else replace(part, arguments=json_of(own))
        case Result(parts=parts, is_error=is_error):
            text = texts_of(_joined(parts, lost, images=images))
            return replace(part, parts=(Text(f"Error: {text}" if is_error else text),))
        case _:
            return part
