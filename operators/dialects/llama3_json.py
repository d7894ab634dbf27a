"""Llama 3.1 to 3.3: JSON, with or without a marker, several in a row."""

from ..dialect import Alt, Call, Dialect, Many, Maybe
from .parts import CALL

_CALL = Call(CALL)

LLAMA3_JSON = Dialect(
    "llama3_json",
    (Maybe("<|python_tag|>"), _CALL, Many(Alt(";", "<|python_tag|>", (";", "<|python_tag|>")), _CALL)),
)
