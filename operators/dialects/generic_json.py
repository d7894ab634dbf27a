"""Models without a format of their own: an object that holds the call, the calls or the answer."""

from ..dialect import Alt, Dialect, Json

_KEYS = ("tool_calls", "tool_call")

GENERIC_JSON = Dialect(
    "generic_json",
    (
        Alt(
            Json(calls=_KEYS, root="object", under="array"),
            Json(calls=_KEYS, root="object", content=("response",)),
        ),
    ),
)
