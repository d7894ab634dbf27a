"""Hermes: Nous Hermes, Qwen 2.5 and 3, QwQ, and what was trained on their chats."""

from ..dialect import Dialect, Json, Maybe
from .parts import THINK

HERMES = Dialect(
    "hermes",
    ("<tool_call>", Json(), Maybe("</tool_call>")),
    reasoning=THINK,
    layout="\n",
)
