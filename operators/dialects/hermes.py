"""Hermes: Nous Hermes, Qwen 2.5 and 3, QwQ, and what was trained on their chats."""

from ..dialect import Dialect, Json, Maybe

HERMES = Dialect(
    "hermes",
    ("<tool_call>", Json(), Maybe("</tool_call>")),
    reasoning=(("<think>", "</think>"),),
    layout="\n",
)
