"""Models without markers: a JSON object that has a name and arguments."""

from ..grammar.dialect import Dialect, Json

JSON_BARE = Dialect(
    "json_bare",
    (Json(args=("arguments", "parameters", "args"), calls=("tool_calls",), root="object"),),
)
