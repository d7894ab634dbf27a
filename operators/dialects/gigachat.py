"""GigaChat's: 3, and 3.5, which took DeepSeek's."""

from __future__ import annotations

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Maybe
from .parts import CALL, THINK, invoke

_SEPARATOR = "<|message_sep|>"
_GIGACHAT3_CALL = (
    Alt((_SEPARATOR, "function call", "<|role_sep|>"), "<|function_call|>"),
    *(Call(CALL), Maybe("</s>")),
)

GIGACHAT3 = KnownDialect(
    "gigachat3",
    about="GigaChat 3 and 3.1: a call, up to the end, which may be written as the beginning of another message.",
    grammar=(*_GIGACHAT3_CALL, Many(*_GIGACHAT3_CALL), Many(_SEPARATOR)),
    models=("gigachat3", "gigachat3.*"),
    proven_by=("llama.cpp", "SGLang", "vLLM"),
)


GIGACHAT35 = KnownDialect(
    "gigachat35",
    about="GigaChat 3.5: the format of DeepSeek V4, with another name in the tags.",
    grammar=(
        "<｜GCML｜tool_calls>",
        Many(Call(*invoke("｜GCML｜", flagged=True))),
        Maybe("</｜GCML｜tool_calls>"),
    ),
    reasoning=THINK,
    layout="\n",
    models=("gigachat3.5",),
    written_from="the chat template of GigaChat 3.5",
)
