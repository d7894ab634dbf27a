"""What a request to Gemini wants: the client, tools, a structured answer, and the messages of the next turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from ...events.errors import how_to_install
from ...events.tool_invocation import ToolResult, result_data, result_text
from ...operators.schemas.json_schema import Schema, map_subschemas
from ...operators.schemas.schema_references import inline_references
from ..base.request import (
    AnswerPart,
    CallResult,
    Client,
    MessageCall,
    MessageForm,
    Notices,
    Provider,
    Request,
    Said,
    said_parts,
    transport,
    without_none,
)
from ..base.sdk_fields import fields_of


def gemini_client(module: Any, key: str, base_url: str | None) -> Client:
    options = module.types.HttpOptions(base_url=base_url, client_args=transport(base_url))
    client: Client = module.Client(api_key=key, http_options=options)
    return client


def _ask(client: Any, request: Request, tools: Any) -> Any:
    config = without_none(
        tools=tools,
        system_instruction=request.system,
        max_output_tokens=request.max_tokens,
    )
    return client.models.generate_content_stream(model=request.model, contents=request.prompt, config=config or None)


def _form(said: Said, parameters: Schema, more: Said) -> Said:
    # The full JSON Schema, not the OpenAPI subset of `parameters`.
    return {**said, "parameters_json_schema": gemini_schema(parameters), **more}


def gemini_schema(schema: Schema) -> Schema:
    """Return a schema in the keywords that Gemini reads, with the references inlined that can be."""
    return _without_const(inline_references(schema), "")


def _without_const(schema: Schema, path: str) -> Schema:
    """Replace `const` by an enum of one value, because Gemini's schema has no `const`."""
    said = {("enum" if key == "const" else key): [value] if key == "const" else value for key, value in schema.items()}
    return map_subschemas(said, _without_const, path)


def _list(definitions: list[Said]) -> list[Said]:
    return [{"function_declarations": definitions}]


def _choice(name: str) -> Said:
    return _mode("ANY", name)


def _mode(mode: str, *names: str) -> Said:
    return {"function_calling_config": {"mode": mode, **({"allowed_function_names": [*names]} if names else {})}}


def _output(_name: str, schema: Schema, _strict: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"response_mime_type": "application/json", "response_json_schema": gemini_schema(schema)}


_NAME = "gemini"
_NOT_SIGNED = "skip_thought_signature_validator"
"""In place of the signature that Gemini 3 requires of a turn's first call, for a call that Gemini did not make; from
"Thought signatures" in the documentation of the Gemini API."""


def _sendable(message: dict[str, Any], _notices: Notices) -> dict[str, Any]:
    parts = ({key: value for key, value in part.items() if value is not None} for part in message.get("parts") or ())
    return {"role": "model", "parts": [part for part in parts if any(value != "" for value in part.values())]}


def _plain(parts: Sequence[AnswerPart], notices: Notices) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    signature = {"thoughtSignature": _NOT_SIGNED}
    for part in said_parts(parts, notices, _NAME, ("text", "refusal")):
        if part.call is None:
            found.append({"text": part.text})
        else:
            found.append({"functionCall": {"name": part.call.name, "args": part.call.arguments}, **signature})
            signature = {}
    return {"role": "model", "parts": found}


def _calls(message: dict[str, Any]) -> list[MessageCall]:
    calls = (fields_of(part["functionCall"]) or {} for part in message["parts"] if "functionCall" in part)
    return [MessageCall(str(call.get("id") or ""), str(call.get("name") or ""), holder=call) for call in calls]


def _results(results: list[CallResult]) -> list[dict[str, Any]]:
    return [{"role": "user", "parts": [{"functionResponse": _response(*each)} for each in results]}]


def _response(call: MessageCall, result: ToolResult) -> dict[str, Any]:
    call_id = {"id": call.id} if call.id else {}
    return {**call_id, "name": call.name, "response": _object(result)}


def _object(result: ToolResult) -> dict[str, Any]:
    """Return a result as the object that the API wants: under the keys that its reference names."""
    if result.is_error:
        return {"error": result_text(result)}
    value: Any = result_data(result)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"output": value}


def _entries(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message] if message["parts"] else []


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


_MESSAGES = MessageForm(
    _NAME,
    "gemini",
    _sendable,
    _plain,
    _calls,
    _entries,
    _results,
    _user,
)
"""Thought signatures go back in the parts in which they came, empty ones included."""

GEMINI = Provider(
    name="gemini",
    aliases=("google", "gemini-generate"),
    api="gemini",
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    module="google.genai",
    install=how_to_install("gemini"),
    url="https://generativelanguage.googleapis.com",
    url_from="GOOGLE_GEMINI_BASE_URL",
    client=gemini_client,
    ask=_ask,
    form=_form,
    listed=_list,
    names=(
        re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"),
        "a letter or _, then letters, digits, _ - . and :, up to 128",
    ),
    not_strict="Gemini's tools have no strict mode; use tool_choice('gemini', 'validated') in the request",
    words={
        "auto": _mode("AUTO"),
        "none": _mode("NONE"),
        "required": _mode("ANY"),
        "validated": _mode("VALIDATED"),
    },
    choice=_choice,
    output=_output,
    messages=_MESSAGES,
)
