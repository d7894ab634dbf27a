"""Models without a format of their own: an object that holds the call, the calls or the answer."""

from ..grammar.dialect import Dialect, Json

GENERIC_JSON = Dialect(
    "generic_json",
    (Json(calls=("tool_calls", "tool_call"), root="object", under="array"),),
)
