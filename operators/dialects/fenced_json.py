"""JSON in a fence, as small models and many prompts write it."""

from ..grammar.dialect import Alt, Call, Json, KnownDialect, Many

_CALL = Json(whole=True)

FENCED_JSON = KnownDialect(
    "fenced_json",
    (Alt(Call("```json", _CALL, "```"), (Call("```json", _CALL), Many(Call(_CALL)), "```")),),
    layout="\n",
    models=("qwen2.5-coder", "gemma", "gemma-1.1", "gemma-2", "gemma-3"),
    written_from="prompts that ask for JSON in a fence",
    not_in_auto="a JSON example in a fence would be a call",
)
