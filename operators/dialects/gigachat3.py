"""GigaChat 3 and 3.1: one call, up to the end."""

from ..dialect import Alt, Dialect, Maybe
from .parts import CALL

GIGACHAT3 = Dialect(
    "gigachat3",
    (
        Alt(("<|message_sep|>", "function call", "<|role_sep|>"), "<|function_call|>"),
        *(CALL, Maybe("</s>")),
    ),
)
