"""Llama's, from 3.1 to 4: JSON, code, and built-in tools; Llama 3.2 writes `pythonic`."""

from __future__ import annotations

from typing import Final

from ..grammar.dialect import Alt, Call, CallArgs, Json, KnownDialect, Many, Maybe, Text
from .parts import BARE_CODE, BARE_JSON, CALL, CODE_FENCES, JSON_FENCES
from .pythonic import CALL_LIST, PYTHONIC

_CALL = Call(CALL)
_IN_LIST = Call(Json(root="object", whole=True))

JSON_CALLS: Final = Alt(
    (_CALL, Many(Alt(";", "<|python_tag|>", (";", "<|python_tag|>")), _CALL)),
    ("[", _IN_LIST, Many(",", _IN_LIST), "]"),
)

LLAMA3_JSON = KnownDialect(
    "llama3_json",
    about="Llama 3.1 to 4: JSON, with or without a marker, several in a row or as a list.",
    grammar=(
        Maybe(Alt("<|python_tag|>", "<|python_start|>")),
        JSON_CALLS,
        Many("<|python_end|>"),
    ),
    models=("llama-3.1", "llama-3.2", "llama-3.3", "llama-4", "llama*nemotron-70b"),
    parsers=("llama", "llama3", "llama4_json"),
    proven_by=("llama.cpp", "SGLang", "smg", "vLLM"),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)


LLAMA4_PYTHONIC = KnownDialect(
    "llama4_pythonic",
    about="Llama 4: the format of Llama 3.2, with markers at one end, at both or at none.",
    grammar=PYTHONIC.grammar,
    models=("llama-4",),
    proven_by=("vLLM",),
    fence_languages=CODE_FENCES,
    not_in_auto=BARE_CODE,
)


LLAMA_PYTHON_TAG = KnownDialect(
    "llama_python_tag",
    about=(
        "Llama 3.1 to 4: calls behind a marker, as JSON, a list of code, or of a built-in tool: `brave_search.call(…)`."
    ),
    grammar=(
        Alt("<|python_tag|>", "<|python_start|>"),
        Alt(Call(Text("name", r"\w"), ".call", CallArgs()), JSON_CALLS, CALL_LIST),
        Maybe(Alt("<|eom_id|>", "<|python_end|>")),
    ),
    models=("llama-3.1", "llama-3.3", "llama*nemotron-70b"),
    written_from="Meta's pages of the prompt formats of Llama 3.1 and 4",
)
