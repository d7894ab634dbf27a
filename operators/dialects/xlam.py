"""xLAM: a list of calls, bare, in a fence or after a marker; the first models have it in an object."""

from ..dialect import Alt, Dialect, Json, Maybe
from .parts import CALLS, THINK

_CALLS = Alt(CALLS, Json(calls=("tool_calls",), root="object", under="array", whole=True))

XLAM = Dialect(
    "xlam",
    (
        Alt(
            _CALLS,
            ("```json", _CALLS, "```"),
            ("[TOOL_CALLS]", CALLS),
            ("<tool_call>", CALLS, Maybe("</tool_call>")),
        ),
    ),
    reasoning=THINK,
)
