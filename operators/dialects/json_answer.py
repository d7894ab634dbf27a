"""The whole answer as one JSON object, with a text and perhaps a call."""

from ..grammar.dialect import Dialect, Json

JSON_ANSWER = Dialect(
    "json_answer",
    (Json(args=("args", "arguments"), calls=("toolCall",), content=("content",), root="object", under="object"),),
)
