"""A request of OpenAI's Responses API as a neutral one, with its namespaces made flat, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct

from ..sources.base.request import without_none
from .neutral import Call, Image, Message, NeutralRequest, Part, Reasoning, RequestError, Result, Role, Text, ToolSpec
from .openai_tools import (
    Definition,
    Format,
    answer_schema,
    choice_body,
    chosen,
    format_body,
    free_forms,
    free_input,
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
    known,
    openai_parts,
    sampling,
    set_fields,
    text_of,
    texts_of,
    typed,
)


class _Said(Struct):
    role: Literal["system", "developer", "user", "assistant"]
    content: Content = None


class _Thought(Struct):
    summary: list[Body] | None = None
    content: list[Body] | None = None
    encrypted_content: str | None = None


class _FunctionCall(Struct):
    call_id: str
    name: str
    arguments: Arguments = ""
    namespace: str | None = None


class _CustomCall(Struct):
    call_id: str
    name: str
    input: str = ""
    namespace: str | None = None


class _Output(Struct):
    call_id: str
    output: Content = None


class _Reference(Struct):
    id: str


class _CustomTool(Definition):
    pass


class _Namespace(Struct):
    name: str
    tools: list[Body] = []


class _TextOptions(Struct):
    format: Format | None = None


class _ReasoningOptions(Struct):
    effort: str | None = None


class _Body(Struct):
    model: str = ""
    input: str | list[Body] | None = None
    instructions: str | None = None
    tools: list[Body] | None = None
    tool_choice: str | Body | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | None = None
    text: _TextOptions | None = None
    reasoning: _ReasoningOptions | None = None
    stream: bool | None = None
    store: bool | None = None
    previous_response_id: str | None = None


_ITEMS: dict[str, type[Struct]] = {
    "message": _Said,
    "reasoning": _Thought,
    "function_call": _FunctionCall,
    "function_call_output": _Output,
    "custom_tool_call": _CustomCall,
    "custom_tool_call_output": _Output,
    "item_reference": _Reference,
}
_TOOLS: dict[str, type[Struct]] = {"function": Definition, "custom": _CustomTool, "namespace": _Namespace}
_NOT_DONE = ("background", "conversation", "prompt", "max_tool_calls", "top_logprobs")


def read_responses(body: Any) -> NeutralRequest:
    """Return the neutral request of a body of `/v1/responses`."""
    asked = typed(_Body, body)
    names, dropped = ToolNames(), set_fields(body, _NOT_DONE)
    tools = [*_read_tools(asked.tools or [], "tools", names, dropped, None)]
    choice, named, allowed = chosen(asked.tool_choice, tools, names, dropped)
    messages: list[Message] = []
    items = [{"role": "user", "content": asked.input}] if isinstance(asked.input, str) else asked.input or []
    for item in known(_ITEMS, items, "input", dropped, "message"):
        role, part = _read_item(item, names, dropped)
        add(messages, role, part)
    return NeutralRequest(
        api="openai-responses",
        model=asked.model,
        messages=tuple(messages),
        system=(Text(asked.instructions),) if asked.instructions else (),
        tools=allowed,
        tool_choice=choice,
        named_tool=named,
        parallel_calls=asked.parallel_tool_calls,
        max_tokens=asked.max_output_tokens,
        schema=answer_schema(asked.text.format if asked.text else None, "text.format"),
        effort=asked.reasoning.effort if asked.reasoning else None,
        stream=bool(asked.stream),
        previous_response_id=asked.previous_response_id,
        names=names.changed,
        extra=sampling(body),
        dropped=tuple(dict.fromkeys(dropped)),
        store=asked.store is not False,
    )


def _read_tools(
    tools: list[Body], where: str, names: ToolNames, dropped: list[str], namespace: str | None
) -> Iterator[ToolSpec]:
    for tool in known(_TOOLS, tools, where, dropped):
        match tool:
            case _Namespace(name=name, tools=held):
                yield from _read_tools(held, "tools.tools", names, dropped, name)
            case Definition() as defined:
                yield defined.spec(names, namespace, is_free_form=isinstance(tool, _CustomTool))
            case _:
                pass


def _read_item(item: Struct, names: ToolNames, dropped: list[str]) -> tuple[Role, tuple[Part, ...]]:
    match item:
        case _Said(role=role, content=content):
            return ROLES[role], openai_parts(content, "input.content", dropped)
        case _Thought(summary=summary, content=content, encrypted_content=proof):
            text = texts_of(openai_parts(content or summary or [], "input.content", dropped))
            return "assistant", (Reasoning(text, proof or ""),)
        case _FunctionCall(call_id=key, name=name, arguments=arguments, namespace=namespace):
            return "assistant", (Call(key, names.flat(name, namespace), text_of(arguments)),)
        case _CustomCall(call_id=key, name=name, input=text, namespace=namespace):
            return "assistant", (Call(key, names.flat(name, namespace), json_of({"input": text})),)
        case _Output(call_id=key, output=output):
            return "tool", (Result(key, openai_parts(output, "input.output", dropped)),)
        case _:
            detail = "refers to an item that is not kept here; send the item itself, with `store` false"
            raise RequestError(detail, field="input")


def write_responses(request: NeutralRequest) -> Body:
    """Return a neutral request as the body of `/v1/responses`, with the namespaces of its tools."""
    free_form, choice = free_forms(request), choice_body(request)
    return {
        "model": request.model,
        "input": [*_items(request, free_form)],
        **without_none(
            instructions=texts_of(request.system) or None,
            tools=[*_tools(request)] or None,
            tool_choice=_own_name(choice, request) if isinstance(choice, dict) else choice,
            parallel_tool_calls=request.parallel_calls,
            max_output_tokens=request.max_tokens,
            text={"format": format_body(request.schema)} if request.schema else None,
            reasoning={"effort": request.effort} if request.effort else None,
            previous_response_id=request.previous_response_id,
        ),
        "store": request.store,
        "stream": request.stream,
        **request.extra,
    }


def _items(request: NeutralRequest, free_form: frozenset[str]) -> Iterator[Body]:
    custom: set[str] = set()
    for message in request.messages:
        if message.role in ("system", "user") or not message.parts:
            yield {"type": "message", "role": message.role, "content": _parts(message.parts, "input_text")}
            continue
        for is_text, group in groupby(message.parts, lambda part: isinstance(part, Text)):
            if is_text:
                yield {"type": "message", "role": "assistant", "content": _parts(group, "output_text")}
                continue
            for part in (each for each in group if isinstance(each, Reasoning | Call | Result)):
                item = _item(part, request, free_form, custom)
                if item["type"] == "custom_tool_call":
                    custom.add(item["call_id"])
                yield item


def _parts(parts: Iterable[Part], kind: str) -> list[Body]:
    shown: list[Body] = []
    for part in parts:
        match part:
            case Text(text=text):
                shown.append({"type": kind, "text": text})
            case Image(url=url):
                shown.append({"type": "input_image", "image_url": url})
            case _:
                pass
    return shown


def _item(
    part: Reasoning | Call | Result, request: NeutralRequest, free_form: frozenset[str], custom: set[str]
) -> Body:
    match part:
        case Reasoning(text=text, proof=proof):
            said: Body = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}
            return {**said, "encrypted_content": proof} if proof else said
        case Call(id=key, name=name, arguments=arguments):
            own = {"call_id": key, **_own_name({"name": name}, request)}
            if (free := free_input(name, arguments, free_form)) is not None:
                return {"type": "custom_tool_call", **own, "input": free}
            return {"type": "function_call", **own, "arguments": arguments}
        case Result(call_id=key, parts=parts):
            kind = "custom_tool_call_output" if key in custom else "function_call_output"
            return {"type": kind, "call_id": key, "output": _parts(parts, "input_text")}


def _own_name(flat: Body, request: NeutralRequest) -> Body:
    """Return what has a tool's flat name under `name` with the client's name, and its namespace."""
    if (known := request.names.get(flat["name"], (None, "")))[0] is None:
        return flat
    return {**flat, "namespace": known[0], "name": known[1]}


def _tools(request: NeutralRequest) -> Iterator[Body]:
    for namespace, tools in groupby(request.tools, lambda tool: request.names.get(tool.name, (None, ""))[0]):
        # Without `strict` the API takes a schema for a strict one.
        written = [
            _own_name(tool_body(each) | ({} if each.is_free_form else {"strict": each.strict}), request)
            for each in tools
        ]
        if namespace is None:
            yield from written
        else:
            held = [{key: value for key, value in each.items() if key != "namespace"} for each in written]
            yield {"type": "namespace", "name": namespace, "description": "", "tools": held}
