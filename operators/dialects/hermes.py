"""Hermes: Nous Hermes, Qwen 2.5 and 3, QwQ, and what was trained on their chats."""

from ..grammar.dialect import Alt, Call, Dialect, Json, Many, Maybe
from .parts import THINK

_ARGS = ("arguments", "parameters", "args")
_CALL = Json(args=_ARGS)
_NEXT = Json(args=_ARGS, whole=True)

HERMES = Dialect(
    "hermes",
    (
        Alt(
            Call("<tool_call>", _CALL, "</tool_call>"),
            (Call("<tool_call>", _CALL), Many(Maybe(","), Call(_NEXT)), Maybe("</tool_call>")),
        ),
        Many("</tool_call>"),
    ),
    reasoning=THINK,
    layout="\n",
)
