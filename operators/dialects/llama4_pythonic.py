"""Llama 4: the format of Llama 3.2, with markers at one end, at both or at none."""

from ..grammar.dialect import KnownDialect
from .parts import BARE_CODE, CODE_FENCES
from .pythonic import PYTHONIC

LLAMA4_PYTHONIC = KnownDialect(
    "llama4_pythonic",
    PYTHONIC.grammar,
    models=("llama-4",),
    proven_by=("vLLM",),
    fence_languages=CODE_FENCES,
    not_in_auto=BARE_CODE,
)
