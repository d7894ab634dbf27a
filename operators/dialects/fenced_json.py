"""JSON in a fence, as small models and many prompts have it."""

from ..grammar.dialect import Alt, Call, Dialect, Json, Many

_CALL = Json(whole=True)

FENCED_JSON = Dialect(
    "fenced_json",
    (Alt(Call("```json", _CALL, "```"), (Call("```json", _CALL), Many(Call(_CALL)), "```")),),
    layout="\n",
)
