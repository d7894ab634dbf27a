"""A request of OpenAI's chat as a neutral one, and a neutral one as such a request, which upstreams get, too."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from ..sources.base.request import without_none
from .neutral import Call, Image, Message, NeutralRequest, Part, Reasoning, RequestError, Result, Text, ToolSpec
from .openai_tools import (
    Definition,
    Format,
    answer_schema,
    choice_body,
    chosen,
    format_body,
    free_forms,
    free_input,
    nested,
    tool_body,
)
from .typed_body import (
    ROLES,
    Arguments,
    Body,
    Content,
    ToolNames,
    add,
    json_of,
    openai_parts,
    sampling,
    set_fields,
    text_of,
    typed,
)


class _Function(Struct):
    name: str
    arguments: Arguments = ""


class _Custom(Struct):
    name: str
    input: str = ""


class _Call(Struct):
    id: str = ""
    function: _Function | None = None
    custom: _Custom | None = None


class _Tool(Struct):
    type: str = "function"
    function: Definition | None = None
    custom: Definition | None = None


class _Message(Struct):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _StreamOptions(Struct):
    include_usage: bool | None = None


class _Body(Struct):
    messages: list[_Message]
    model: str = ""
    tools: list[_Tool] | None = None
    tool_choice: str | Body | None = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stop: str | list[str] | None = None
    response_format: Format | None = None
    reasoning_effort: str | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: int | None = None


_NOT_DONE = ("logprobs", "logit_bias", "audio", "functions", "web_search_options")


def read_chat(body: Any) -> NeutralRequest:
    """Return the neutral request of a body of `/v1/chat/completions`."""
    asked = typed(_Body, body)
    names, dropped = ToolNames(), set_fields(body, _NOT_DONE)
    if asked.n is not None and asked.n > 1:
        dropped.append(f"n={asked.n}")
    tools: list[ToolSpec] = []
    for tool in asked.tools or ():
        if (definition := tool.function or tool.custom) is not None:
            tools.append(definition.spec(names, is_free_form=tool.function is None))
        else:
            dropped.append(f"{tool.type:.40} in tools")
    choice, named, allowed = chosen(asked.tool_choice, tools, names, dropped)
    messages: list[Message] = []
    for place, message in enumerate(asked.messages):
        _read_message(message, f"messages[{place}]", messages, names, dropped)
    return NeutralRequest(
        api="openai-chat",
        model=asked.model,
        messages=tuple(messages),
        tools=allowed,
        tool_choice=choice,
        named_tool=named,
        parallel_calls=asked.parallel_tool_calls,
        max_tokens=asked.max_tokens if asked.max_completion_tokens is None else asked.max_completion_tokens,
        stop=(asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop or ()),
        schema=answer_schema(asked.response_format, "response_format"),
        effort=asked.reasoning_effort,
        stream=bool(asked.stream),
        include_usage=bool(asked.stream_options and asked.stream_options.include_usage),
        names=names.changed,
        extra=sampling(body),
        dropped=tuple(dict.fromkeys(dropped)),
    )


def _read_message(message: _Message, where: str, messages: list[Message], names: ToolNames, dropped: list[str]) -> None:
    said = openai_parts(message.content, f"{where}.content", dropped)
    if message.role == "tool":
        if message.tool_call_id is None:
            detail = "must be the id of the call that this is the result of"
            raise RequestError(detail, field=f"{where}.tool_call_id")
        add(messages, "tool", [Result(message.tool_call_id, said)])
    elif message.role == "assistant":
        thought = message.reasoning_content or message.reasoning
        parts: list[Part] = [*([Reasoning(thought)] if thought else ()), *said]
        for call in message.tool_calls or ():
            if (function := call.function) is not None:
                parts.append(Call(call.id, names.flat(function.name), text_of(function.arguments)))
            elif (custom := call.custom) is not None:
                parts.append(Call(call.id, names.flat(custom.name), json_of({"input": custom.input})))
        add(messages, "assistant", parts)
    else:
        add(messages, ROLES[message.role], said)


def write_chat(request: NeutralRequest, reasoning: str = "reasoning_content") -> Body:
    """Return a neutral request as the body of `/v1/chat/completions`, with the upstream's names of tools.

    `reasoning`: the key of a message for what the model thought; "" leaves it out.
    """
    free_form, choice = free_forms(request), choice_body(request)
    system = [{"role": "system", "content": _content(request.system)}] if request.system else []
    return {
        "model": request.model,
        "messages": [
            *system,
            *(each for message in request.messages for each in _messages(message, free_form, reasoning)),
        ],
        **without_none(
            tools=[nested(tool_body(each)) for each in request.tools] or None,
            tool_choice=nested(choice) if isinstance(choice, dict) else choice,
            parallel_tool_calls=request.parallel_calls,
            max_tokens=request.max_tokens,
            stop=list(request.stop) or None,
            response_format=nested(format_body(request.schema)) if request.schema else None,
            reasoning_effort=request.effort,
            stream_options={"include_usage": True} if request.include_usage else None,
        ),
        "stream": request.stream,
        **request.extra,
    }


def _content(parts: tuple[Part, ...]) -> str | list[Body]:
    shown: list[Body] = []
    for part in parts:
        match part:
            case Text(text=text):
                shown.append({"type": "text", "text": text})
            case Image(url=url):
                shown.append({"type": "image_url", "image_url": {"url": url}})
            case _:
                pass
    return shown[0]["text"] if [each["type"] for each in shown] == ["text"] else shown or ""


def _messages(message: Message, free_form: frozenset[str], reasoning: str) -> list[Body]:
    if message.role == "tool":
        results = [each for each in message.parts if isinstance(each, Result)]
        return [{"role": "tool", "tool_call_id": each.call_id, "content": _content(each.parts)} for each in results]
    said: Body = {"role": message.role, "content": _content(message.parts)}
    if message.role == "assistant":
        if thought := "\n\n".join(each.text for each in message.parts if isinstance(each, Reasoning)):
            said |= {reasoning: thought} if reasoning else {}
        if calls := [_call(each, free_form) for each in message.parts if isinstance(each, Call)]:
            said["tool_calls"] = calls
    return [said]


def _call(call: Call, free_form: frozenset[str]) -> Body:
    if (text := free_input(call.name, call.arguments, free_form)) is not None:
        return {"id": call.id, **nested({"type": "custom", "name": call.name, "input": text})}
    return {"id": call.id, **nested({"type": "function", "name": call.name, "arguments": call.arguments})}
