"""Tools, their choice, and the form of an answer, as OpenAI's two APIs ask for them, and as they are written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, get_args

from msgspec import Struct

from ..sources.base.request import without_none
from .neutral import AnswerSchema, Choice, NeutralRequest, RequestError, ToolSpec
from .typed_body import Body, ToolNames, arguments_of, typed

NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
FREE_FORM: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
"""The parameters of a function that stands for a tool with free input."""


class Definition(Struct):
    """A function or a tool with free input, as OpenAI's APIs define both."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    format: dict[str, Any] | None = None

    def spec(self, names: ToolNames, namespace: str | None = None, *, is_free_form: bool = False) -> ToolSpec:
        name, description = names.flat(self.name, namespace), self.description or ""
        if not is_free_form:
            return ToolSpec(name, description, self.parameters or dict(NO_PARAMETERS), self.strict)
        parameters = dict(FREE_FORM)
        if (self.format or {}).get("type") == "grammar":
            rule = json.dumps({key: value for key, value in (self.format or {}).items() if key != "type"})
            parameters["properties"] = {"input": {"type": "string", "description": f"Text of this grammar: {rule}"}}
        return ToolSpec(name, description, parameters, is_free_form=True)


class Format(Struct):
    """The form of an answer, as the three APIs ask for it."""

    type: str = "text"
    name: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None
    json_schema: Format | None = None


def answer_schema(asked: Format | None, where: str) -> AnswerSchema | None:
    """Return the form that an answer is to have; `RequestError` for a schema that is missing."""
    if asked is None or asked.type not in ("json_object", "json_schema"):
        return None
    if asked.type == "json_object":
        return AnswerSchema()
    said = asked.json_schema or asked
    if said.schema is None:
        detail = "a format of the type json_schema needs a `schema`"
        raise RequestError(detail, field=where)
    return AnswerSchema(said.schema, said.name or "answer", said.strict)


class _Named(Struct):
    name: str = ""


class _ToolChoice(Struct):
    type: str = ""
    name: str = ""
    namespace: str | None = None
    function: _Named | None = None
    custom: _Named | None = None
    mode: str = "auto"
    tools: list[_ToolChoice] = []
    allowed_tools: _ToolChoice | None = None

    def flat(self, names: ToolNames) -> str:
        named = self.function or self.custom or self
        return names.flat(named.name, self.namespace) if named.name else ""


Chosen: TypeAlias = tuple[Choice, str | None, tuple[ToolSpec, ...]]
"""The word, the tool that is named, and the tools that are left to choose from."""
_WORDS: Mapping[str, Choice] = {**{word: word for word in get_args(Choice)}, "any": "required"}


def chosen(choice: str | Body | None, tools: Iterable[ToolSpec], names: ToolNames, dropped: list[str]) -> Chosen:
    """Return what a tool choice of OpenAI's APIs asks for; `RequestError` for an unknown word or tool."""
    tools = tuple(tools)
    if choice is None or isinstance(choice, str):
        return _word(choice or "auto"), None, tools
    asked = typed(_ToolChoice, choice, "tool_choice")
    if asked.type == "allowed_tools":
        allowed = asked.allowed_tools or asked
        kept = {each.flat(names) for each in allowed.tools}
        return _word(allowed.mode), None, tuple(each for each in tools if each.name in kept)
    if not (name := asked.flat(names)):
        dropped.append(f"tool_choice {asked.type}")
        return "auto", None, tools
    return ("required", checked_name(name, tools), tools)


def _word(word: str) -> Choice:
    if word not in _WORDS:
        detail = f"must be one of auto, none and required, or an object; got {word!r:.40}"
        raise RequestError(detail, field="tool_choice")
    return _WORDS[word]


def checked_name(name: str, tools: Iterable[ToolSpec]) -> str:
    """Return the name of a tool; `RequestError` if the request has none of that name."""
    if all(name != each.name for each in tools):
        detail = f"names the tool {name!r:.80}, which is not in tools"
        raise RequestError(detail, field="tool_choice")
    return name


def free_forms(request: NeutralRequest) -> frozenset[str]:
    """Return the names of the tools with free input."""
    return frozenset(each.name for each in request.tools if each.is_free_form)


def free_input(name: str, arguments: str, free_form: frozenset[str]) -> str | None:
    """Return the input of a call of a tool with free input; None for a call of a function."""
    text = arguments_of(arguments).get("input") if name in free_form else None
    return text if isinstance(text, str) else None


def tool_body(tool: ToolSpec) -> Body:
    """Return a tool in the flat form of Responses."""
    said = {"name": tool.name, **without_none(description=tool.description or None)}
    if tool.is_free_form:
        return {"type": "custom", **said}
    return {"type": "function", **said, "parameters": tool.parameters, **without_none(strict=tool.strict)}


def choice_body(request: NeutralRequest) -> str | Body | None:
    """Return the choice of a tool in the flat form of Responses; None where nothing is to be said."""
    if request.named_tool is not None:
        kind = "custom" if request.named_tool in free_forms(request) else "function"
        return {"type": kind, "name": request.named_tool}
    return request.tool_choice if request.tools or request.tool_choice != "auto" else None


def format_body(schema: AnswerSchema) -> Body:
    """Return the form of an answer in the flat form of Responses."""
    if schema.schema is None:
        return {"type": "json_object"}
    said = {"name": schema.name, "schema": schema.schema, **without_none(strict=schema.strict)}
    return {"type": "json_schema", **said}


def nested(flat: Body) -> Body:
    """Return the form of chat for the flat form of Responses.

    >>> nested({"type": "function", "name": "now"}), nested({"type": "json_object"})
    ({'type': 'function', 'function': {'name': 'now'}}, {'type': 'json_object'})
    """
    if len(flat) == 1:
        return flat
    kind = flat["type"]
    return {"type": kind, kind: {key: value for key, value in flat.items() if key != "type"}}
