"""Models without markers: a JSON object that has a name and arguments."""

from ..grammar.dialect import Json, KnownDialect
from .parts import BARE_JSON, JSON_FENCES

JSON_BARE = KnownDialect(
    "json_bare",
    (Json(args=("arguments", "parameters", "args"), calls=("tool_calls",), root="object"),),
    proven_by=("Ollama", "smg"),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)
