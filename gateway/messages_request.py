"""A request of Anthropic's Messages API as a neutral one, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from ..sources.base.request import without_none
from .neutral import Call, Choice, Image, Message, NeutralRequest, Part, Reasoning, Result, Text, ToolSpec
from .openai_tools import NO_PARAMETERS, Format, answer_schema, checked_name
from .typed_body import Body, Content, ToolNames, add, arguments_of, json_of, known, sampling, set_fields, typed


class _Text(Struct):
    text: str


class _Source(Struct):
    type: str = ""
    media_type: str = ""
    data: str = ""
    url: str = ""
    content: Content = None


class _Image(Struct):
    source: _Source


class _Document(Struct):
    source: _Source
    title: str | None = None


class _SearchResult(Struct):
    source: str = ""
    title: str = ""
    content: list[Body] = []


class _Thinking(Struct):
    thinking: str
    signature: str = ""


class _ToolUse(Struct):
    id: str
    name: str
    input: Any = {}


class _ToolResult(Struct):
    tool_use_id: str
    content: Content = None
    is_error: bool | None = None


class _ToolReference(Struct):
    tool_name: str


class _Message(Struct):
    role: Literal["user", "assistant", "system"]
    content: str | list[Body]


class _Tool(Struct):
    name: str
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None


class _ToolChoice(Struct):
    type: Literal["auto", "any", "none", "tool"]
    name: str = ""
    disable_parallel_tool_use: bool | None = None


class _Thought(Struct):
    type: str = ""


class _OutputConfig(Struct):
    effort: str | None = None
    format: Format | None = None


class _Body(Struct):
    messages: list[_Message]
    model: str = ""
    system: Content = None
    tools: list[Body] | None = None
    tool_choice: _ToolChoice | None = None
    max_tokens: int | None = None
    stop_sequences: list[str] | None = None
    thinking: _Thought | None = None
    output_config: _OutputConfig | None = None
    output_format: Format | None = None
    stream: bool | None = None


_BLOCKS: dict[str, type[Struct]] = {
    "text": _Text,
    "image": _Image,
    "document": _Document,
    "search_result": _SearchResult,
    "thinking": _Thinking,
    "tool_use": _ToolUse,
    "tool_result": _ToolResult,
    "tool_reference": _ToolReference,
}
_TOOLS: Mapping[str, type[_Tool]] = {"custom": _Tool}
_NOT_DONE = ("container", "mcp_servers")
_BILLING = "x-anthropic-billing-header:"
_CHOICES: Mapping[str, Choice] = {"auto": "auto", "any": "required", "none": "none", "tool": "required"}
_OWN_CHOICES: Mapping[Choice, str] = {"auto": "auto", "required": "any", "none": "none"}


def read_messages(body: Any) -> NeutralRequest:
    """Return the neutral request of a body of `/v1/messages`."""
    asked = typed(_Body, body)
    names, dropped = ToolNames(), set_fields(body, _NOT_DONE)
    known_tools = [
        (each, names.flat(each.name)) for each in known(_TOOLS, asked.tools or [], "tools", dropped, "custom")
    ]
    found: set[str] = set()
    messages: list[Message] = []
    for place, message in enumerate(asked.messages):
        blocks = [*_read_blocks(message.content, f"messages[{place}].content", names, dropped, found)]
        results = [each for each in blocks if isinstance(each, Result)]
        said = [each for each in blocks if not isinstance(each, Result)]
        if results:  # they follow their calls at once, whatever the user says besides
            add(messages, "tool", results)
        if said or not results:
            add(messages, message.role, said)
    system = [each for each in _read_blocks(asked.system, "system", names, dropped, found) if isinstance(each, Text)]
    # A tool whose loading is deferred is shown once it was found; where the server would find it, at once.
    shows_all = any(each.startswith("tool_search_tool") for each in dropped)
    tools = [
        ToolSpec(flat, each.description or "", each.input_schema or dict(NO_PARAMETERS), each.strict)
        for each, flat in known_tools
        if shows_all or not each.defer_loading or each.name in found
    ]
    choice = asked.tool_choice
    is_named = choice is not None and choice.type == "tool"
    parallel = choice and choice.disable_parallel_tool_use
    output = asked.output_config or _OutputConfig()
    schema = output.format or asked.output_format
    return NeutralRequest(
        api="anthropic-messages",
        model=asked.model,
        messages=tuple(messages),
        system=tuple(Text(text) for each in system if (text := _without_billing(each.text))),
        tools=tuple(tools),
        tool_choice=_CHOICES[choice.type] if choice else "auto",
        named_tool=checked_name(names.flat(choice.name), tools) if choice and is_named else None,
        parallel_calls=None if parallel is None else not parallel,
        max_tokens=asked.max_tokens,
        stop=tuple(asked.stop_sequences or ()),
        schema=answer_schema(schema, "output_config.format"),
        effort="none" if asked.thinking and asked.thinking.type == "disabled" else output.effort,
        stream=bool(asked.stream),
        names=names.changed,
        extra=sampling(body),
        dropped=tuple(dict.fromkeys(dropped)),
    )


def _without_billing(text: str) -> str:
    """Return text without the line that changes with each version of a client, so that no cached prefix would fit."""
    return text.partition("\n")[2] if text.startswith(_BILLING) else text


def _read_blocks(content: Content, where: str, names: ToolNames, dropped: list[str], found: set[str]) -> Iterator[Part]:
    """Yield the parts of content; `found` gets the names of the tools to which it refers."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    for block in known(_BLOCKS, content or [], where, dropped):
        match block:
            case _Text(text=text):
                if text:
                    yield Text(text)
            case _Image(source=_Source(type="base64", media_type=kind, data=data)):
                yield Image(f"data:{kind};base64,{data}")
            case _Image(source=_Source(type="url", url=url)):
                yield Image(url)
            case _Document(source=_Source(type="text", data=text)):
                yield Text(text)
            case _Document(source=_Source(content=inner)) | _SearchResult(content=inner) if inner:
                yield from _read_blocks(inner, f"{where}.content", names, dropped, found)
            case _Thinking(thinking=text, signature=proof):
                yield Reasoning(text, proof)
            case _ToolUse(id=key, name=name, input=value):
                yield Call(key, names.flat(name), json_of(value))
            case _ToolResult(tool_use_id=key, content=inner, is_error=is_error):
                parts = _read_blocks(inner, f"{where}.content", names, dropped, found)
                yield Result(key, tuple(each for each in parts if isinstance(each, Text | Image)), bool(is_error))
            case _ToolReference(tool_name=name):
                found.add(name)
                yield Text(f"The tool {name} is now available.")
            case _:
                dropped.append(f"{type(block).__name__.strip('_').lower()} that is not in the request")


def write_messages(request: NeutralRequest) -> Body:
    """Return a neutral request as the body of `/v1/messages`, with the upstream's names of tools."""
    effort = request.effort
    output = without_none(
        effort=None if effort == "none" else effort,
        format={"type": "json_schema", "schema": request.schema.schema or {"type": "object"}}
        if request.schema
        else None,
    )
    return {
        "model": request.model,
        "messages": [_message(each) for each in request.messages],
        **without_none(
            system=[*_blocks(request.system)] or None,
            tools=[_tool(each) for each in request.tools] or None,
            tool_choice=_choice(request),
            max_tokens=request.max_tokens,
            stop_sequences=list(request.stop) or None,
            thinking={"type": "disabled"} if effort == "none" else None,
            output_config=output or None,
        ),
        "stream": request.stream,
        **request.extra,
    }


def _message(message: Message) -> Body:
    role = "user" if message.role == "tool" else message.role
    return {"role": role, "content": [*_blocks(message.parts)]}


def _blocks(parts: Iterable[Part]) -> Iterator[Body]:
    for part in parts:
        match part:
            case Text(text=text):
                yield {"type": "text", "text": text}
            case Image(url=url):
                yield {"type": "image", "source": _source(url)}
            case Reasoning(text=text, proof=proof):
                yield {"type": "thinking", "thinking": text, "signature": proof}
            case Call(id=key, name=name, arguments=arguments):
                yield {"type": "tool_use", "id": key, "name": name, "input": arguments_of(arguments)}
            case Result(call_id=key, parts=shown, is_error=is_error):
                block = {"type": "tool_result", "tool_use_id": key, "content": [*_blocks(shown)]}
                yield {**block, "is_error": True} if is_error else block


def _source(url: str) -> Body:
    kind, mark, data = url.removeprefix("data:").partition(";base64,")
    if url.startswith("data:") and mark:
        return {"type": "base64", "media_type": kind, "data": data}
    return {"type": "url", "url": url}


def _tool(tool: ToolSpec) -> Body:
    said = {"name": tool.name, **({"description": tool.description} if tool.description else {})}
    return {**said, "input_schema": tool.parameters, **without_none(strict=tool.strict)}


def _choice(request: NeutralRequest) -> Body | None:
    parallel = request.parallel_calls
    if request.named_tool is not None:
        said = {"type": "tool", "name": request.named_tool}
    elif request.tools or request.tool_choice != "auto":
        said = {"type": _OWN_CHOICES[request.tool_choice]}
    else:
        return None
    return {**said, **without_none(disable_parallel_tool_use=None if parallel is None else not parallel)}
