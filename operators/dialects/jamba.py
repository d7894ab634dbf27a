"""AI21 Jamba."""

from ..dialect import Dialect, Json

JAMBA = Dialect(
    "jamba",
    ("<tool_calls>", Json(root="array"), "</tool_calls>"),
)
