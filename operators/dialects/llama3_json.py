"""Llama 3.1 to 4: JSON, with or without a marker, several in a row or as a list."""

from typing import Final

from ..grammar.dialect import Alt, Call, Json, KnownDialect, Many, Maybe
from .parts import BARE_JSON, CALL, JSON_FENCES

_CALL = Call(CALL)
_IN_LIST = Call(Json(root="object", whole=True))

JSON_CALLS: Final = Alt(
    (_CALL, Many(Alt(";", "<|python_tag|>", (";", "<|python_tag|>")), _CALL)),
    ("[", _IN_LIST, Many(",", _IN_LIST), "]"),
)

LLAMA3_JSON = KnownDialect(
    "llama3_json",
    (
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
