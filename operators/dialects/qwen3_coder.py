"""Qwen3-Coder, Qwen 3.5 to 3.8, Nemotron 3, and others with its template."""

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Maybe
from .parts import FUNCTION, THINK

QWEN3_CODER = KnownDialect(
    "qwen3_coder",
    (
        Maybe("<tool_call>"),
        Call(*FUNCTION, Alt(("</function>", Maybe("</tool_call>")), "</tool_call>")),
        Many("</tool_call>"),
    ),
    reasoning=THINK,
    calls_in_reasoning=True,
    layout="\n",
    models=("qwen3-coder", "iquest-coder-v1"),
    thinking=(
        *("qwen3.*", "granite-4.2", "intellect-3", "nemotron-3", "nemotron-nano-3", "nemotron-super-3"),
        *("nemotron-ultra-3", "kolibri-1", "berrylm"),
    ),
    thinking_if_asked=("qwen3.5-0.8b", "qwen3.5-2b"),
    switches=("enable_thinking",),
    reasoning_from=(
        "the chat templates of Qwen 3.5 to 3.8, Nemotron 3 and Granite 4.2; vLLM's and SGLang's parsers end it at "
        "`<tool_call>`"
    ),
    parsers=("qwen3_xml",),
    proven_by=("ik_llama.cpp", "llama.cpp", "mlx-lm", "Ollama", "SGLang", "smg", "vLLM"),
)
