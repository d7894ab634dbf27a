"""Llama 3.1 to 4: JSON, with or without a marker, several in a row or as a list."""

from ..grammar.dialect import Alt, Call, Dialect, Json, Many, Maybe
from .parts import CALL

_CALL = Call(CALL)
_IN_LIST = Call(Json(root="object", whole=True))

LLAMA3_JSON = Dialect(
    "llama3_json",
    (
        Maybe(Alt("<|python_tag|>", "<|python_start|>")),
        Alt(
            (_CALL, Many(Alt(";", "<|python_tag|>", (";", "<|python_tag|>")), _CALL)),
            ("[", _IN_LIST, Many(",", _IN_LIST), "]"),
        ),
        Many("<|python_end|>"),
    ),
)
