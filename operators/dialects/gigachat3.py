"""GigaChat 3 and 3.1: a call, up to the end, which may be written as the beginning of another message."""

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Maybe
from .parts import CALL

_SEPARATOR = "<|message_sep|>"
_CALL = (
    Alt((_SEPARATOR, "function call", "<|role_sep|>"), "<|function_call|>"),
    *(Call(CALL), Maybe("</s>")),
)

GIGACHAT3 = KnownDialect(
    "gigachat3",
    (*_CALL, Many(*_CALL), Many(_SEPARATOR)),
    models=("gigachat3", "gigachat3.*"),
    proven_by=("llama.cpp", "SGLang", "vLLM"),
)
