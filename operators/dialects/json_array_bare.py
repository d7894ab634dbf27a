"""Models without markers: a list of calls."""

from ..grammar.dialect import KnownDialect
from .parts import BARE_JSON, CALLS, JSON_FENCES

JSON_ARRAY_BARE = KnownDialect(
    "json_array_bare", (CALLS,), proven_by=("Ollama",), fence_languages=JSON_FENCES, not_in_auto=BARE_JSON
)
