"""JSON without a marker of its own, in the shapes that prompts ask for, bare or in a fence."""

from __future__ import annotations

from ..grammar.dialect import Alt, Call, Json, KnownDialect, Many, Maybe
from .parts import BARE_JSON, CALLS, JSON_FENCES, THINK

JSON_BARE = KnownDialect(
    "json_bare",
    about="Models without markers: a JSON object that has a name and arguments.",
    grammar=(Json(args=("arguments", "parameters", "args"), calls=("tool_calls",), root="object"),),
    proven_by=("Ollama", "smg"),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)


JSON_ARRAY_BARE = KnownDialect(
    "json_array_bare",
    about="Models without markers: a list of calls.",
    grammar=(CALLS,),
    proven_by=("Ollama",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)


GENERIC_JSON = KnownDialect(
    "generic_json",
    about="Models without a format of their own: an object that holds the call, the calls or the answer.",
    grammar=(Json(calls=("tool_calls", "tool_call"), root="object", under="array"),),
    proven_by=("llama.cpp",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)


JSON_ANSWER = KnownDialect(
    "json_answer",
    about="The whole answer as one JSON object, with a text and perhaps a call.",
    grammar=(
        Json(args=("args", "arguments"), calls=("toolCall",), content=("content",), root="object", under="object"),
    ),
    proven_by=("Tarko",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)


_FENCED_CALL = Json(whole=True)

FENCED_JSON = KnownDialect(
    "fenced_json",
    about="JSON in a fence, as small models and many prompts write it.",
    grammar=(
        Alt(Call("```json", _FENCED_CALL, "```"), (Call("```json", _FENCED_CALL), Many(Call(_FENCED_CALL)), "```")),
    ),
    layout="\n",
    models=("qwen2.5-coder", "gemma", "gemma-1.1", "gemma-2", "gemma-3"),
    written_from="prompts that ask for JSON in a fence",
    not_in_auto="a JSON example in a fence would be a call",
)


XLAM = KnownDialect(
    "xlam",
    about="xLAM: a list of calls, bare, in a fence or after a marker.",
    grammar=(
        Alt(
            CALLS,
            ("```json", CALLS, "```"),
            ("[TOOL_CALLS]", CALLS),
            ("<tool_call>", CALLS, Maybe("</tool_call>")),
        ),
    ),
    reasoning=THINK,
    aliases=(("\n```json", "```json"),),
    models=("xlam", "xlam-2"),
    proven_by=("vLLM",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)


JSON = KnownDialect(
    "json",
    about=(
        "JSON without markers in the shapes that prompts ask for: OpenAI's, Gemini's, a `tool` with a `function`, bare."
    ),
    grammar=(
        Json(
            name=("name", "function.name", "function", "tool"),
            args=("arguments", "parameters", "args", "function.arguments", "function.parameters", "tool_input"),
            calls=("tool_calls", "tools", "tool", "tool_call", "function_call", "functionCall"),
        ),
        Many("</tool_call>"),  # of a call whose opener is lost
    ),
    proven_by=("AutoByteus",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)
