"""The whole answer as one JSON object, with a text and perhaps a call."""

from ..grammar.dialect import Json, KnownDialect
from .parts import BARE_JSON, JSON_FENCES

JSON_ANSWER = KnownDialect(
    "json_answer",
    (Json(args=("args", "arguments"), calls=("toolCall",), content=("content",), root="object", under="object"),),
    proven_by=("Tarko",),
    fence_languages=JSON_FENCES,
    not_in_auto=BARE_JSON,
)
