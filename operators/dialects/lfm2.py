"""LFM2 and LFM2.5: calls as code or as JSON, one or a list."""

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Maybe
from .parts import CALL, CODE, THINK

_CALL = Alt(Call(*CODE), Call(CALL))

LFM2 = KnownDialect(
    "lfm2",
    ("<|tool_call_start|>", Alt(("[", _CALL, Many(",", _CALL), "]"), _CALL), Maybe("<|tool_call_end|>")),
    reasoning=THINK,
    unmarked=("pythonic",),  # LFM2.5 writes a list of calls without the markers, too
    models=("lfm2", "lfm2.*", "openpangu*v2"),
    proven_by=("ik_llama.cpp", "llama.cpp", "mlx-lm", "Ollama", "SGLang", "vLLM"),
)
