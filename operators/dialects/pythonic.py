"""Llama 3.2 and 4, ToolACE: a list of calls as Python writes them."""

from ..dialect import Call, CallArgs, Dialect, Many, Maybe, Text

_CALL = Call(Text("name", r"\w."), CallArgs(unmarked=True))

PYTHONIC = Dialect(
    "pythonic",
    (
        *(Maybe("<|python_start|>"), "["),
        *(_CALL, Many(",", _CALL)),
        *("]", Maybe("<|python_end|>")),
    ),
)
