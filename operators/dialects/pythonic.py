"""Calls as Python writes them, in a list or one per line: Llama 3.2, ToolACE, LFM2, OLMo 3."""

from __future__ import annotations

from typing import Final

from ..grammar.dialect import Alt, Call, CallArgs, KnownDialect, Many, Maybe, Text
from .parts import BARE_CODE, CALL, CODE, CODE_FENCES, THINK

_ARGUMENTS = CallArgs(unmarked=True)
_BARE_CALL = Call(Text("name", r"\w."), _ARGUMENTS)
_MARKED_CALL = Call(Text("name", r"\w.-"), _ARGUMENTS)  # without a marker, `x[n-f(a=1)]` is code
CALL_LIST: Final = ("[", _MARKED_CALL, Many(",", _MARKED_CALL), "]")
"""A list of calls behind a marker."""

PYTHONIC = KnownDialect(
    "pythonic",
    about="Llama 3.2 and 4, ToolACE: a list of calls as Python writes them.",
    grammar=(
        Alt(
            ("<|python_start|>", *CALL_LIST),
            ("[", _BARE_CALL, Many(",", _BARE_CALL), "]"),
        ),
        Maybe("<|python_end|>"),
    ),
    models=("llama-3.2", "toolace*", "toolace*llama*", "watt-tool"),
    proven_by=("SGLang", "smg", "vLLM"),
    fence_languages=CODE_FENCES,
    not_in_auto=BARE_CODE,
)


_LFM2_CALL = Alt(Call(*CODE), Call(CALL))

LFM2 = KnownDialect(
    "lfm2",
    about="LFM2 and LFM2.5: calls as code or as JSON, one or a list.",
    grammar=(
        "<|tool_call_start|>",
        Alt(("[", _LFM2_CALL, Many(",", _LFM2_CALL), "]"), _LFM2_CALL),
        Maybe("<|tool_call_end|>"),
    ),
    reasoning=THINK,
    unmarked=("pythonic",),  # LFM2.5 writes a list of calls without the markers, too
    models=("lfm2", "lfm2.*", "openpangu*v2"),
    proven_by=("ik_llama.cpp", "llama.cpp", "mlx-lm", "Ollama", "SGLang", "vLLM"),
)


OLMO3_PYTHONIC = KnownDialect(
    "olmo3_pythonic",
    about="OLMo 3: calls as code, one per line.",
    grammar=("<function_calls>", Call(*CODE), Many(Call(*CODE)), "</function_calls>"),
    reasoning=THINK,
    layout="\n",
    models=("olmo-3", "olmo-3.*"),
    thinking=("olmo-3*think", "olmo-3.*think"),
    parsers=("olmo3",),
    proven_by=("Ollama", "vLLM"),
)
