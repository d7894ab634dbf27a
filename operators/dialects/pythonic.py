"""Llama 3.2 and 4, ToolACE: a list of calls as Python writes them."""

from typing import Final

from ..grammar.dialect import Alt, Call, CallArgs, KnownDialect, Many, Maybe, Text
from .parts import BARE_CODE, CODE_FENCES

_ARGUMENTS = CallArgs(unmarked=True)
_CALL = Call(Text("name", r"\w."), _ARGUMENTS)
_MARKED = Call(Text("name", r"\w.-"), _ARGUMENTS)  # without a marker, `x[n-f(a=1)]` is code
CALL_LIST: Final = ("[", _MARKED, Many(",", _MARKED), "]")
"""A list of calls behind a marker."""

PYTHONIC = KnownDialect(
    "pythonic",
    (
        Alt(
            ("<|python_start|>", *CALL_LIST),
            ("[", _CALL, Many(",", _CALL), "]"),
        ),
        Maybe("<|python_end|>"),
    ),
    models=("llama-3.2", "toolace*", "toolace*llama*", "watt-tool"),
    proven_by=("SGLang", "smg", "vLLM"),
    fence_languages=CODE_FENCES,
    not_in_auto=BARE_CODE,
)
