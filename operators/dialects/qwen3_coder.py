"""Qwen3-Coder, and those like it: a function and its parameters, each in a tag."""

from __future__ import annotations

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Maybe
from .parts import FUNCTION, THINK

QWEN3_CODER = KnownDialect(
    "qwen3_coder",
    about="Qwen3-Coder, Qwen 3.5 to 3.8, Nemotron 3, and others with its template.",
    grammar=(
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


MIMO = KnownDialect(
    "mimo",
    about="MiMo: the format of Qwen3-Coder.",
    grammar=QWEN3_CODER.grammar,
    reasoning=QWEN3_CODER.reasoning,
    calls_in_reasoning=True,
    layout="\n",
    models=("mimo", "mimo-v2", "mimo-v2.*"),
    reasoning_from="vLLM's and SGLang's parsers, which end it at `<tool_call>`",
    written_from="the card and chat template of XiaomiMiMo/MiMo-V2.5",
    not_in_auto="qwen3_coder",
)


SEED_OSS = KnownDialect(
    "seed_oss",
    about="Seed-OSS: the format of Qwen3-Coder, in tags of its own.",
    grammar=("<seed:tool_call>", *FUNCTION, Alt(("</function>", Maybe("</seed:tool_call>")), "</seed:tool_call>")),
    reasoning=(("<seed:think>", "</seed:think>"),),
    calls_in_reasoning=True,
    layout="\n",
    models=("seed-oss",),
    reasoning_from="vLLM's parser, which ends it at `<seed:tool_call>`",
    proven_by=("ik_llama.cpp", "llama.cpp"),
)
