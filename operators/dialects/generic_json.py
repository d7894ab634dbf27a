"""Models without a format of their own: an object that holds the call, the calls or the answer."""

from ..grammar.dialect import Json, KnownDialect
from .parts import BARE_JSON, JSON_FENCES

GENERIC_JSON = KnownDialect(
    "generic_json",
    (Json(calls=("tool_calls", "tool_call"), root="object", under="array"),),
    proven_by=("llama.cpp",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)
