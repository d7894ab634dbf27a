"""JSON without markers in the shapes that prompts ask for: OpenAI's, Gemini's, a `tool` with a `function`, bare."""

from ..grammar.dialect import Json, KnownDialect
from .parts import BARE_JSON, JSON_FENCES

JSON = KnownDialect(
    "json",
    (
        Json(
            name=("name", "function.name", "function", "tool"),
            args=("arguments", "parameters", "args", "function.arguments", "function.parameters", "tool_input"),
            calls=("tool_calls", "tools", "tool", "tool_call", "function_call", "functionCall"),
        ),
    ),
    proven_by=("AutoByteus",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)
