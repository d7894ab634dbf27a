"""MiMo: the format of Qwen3-Coder."""

from ..grammar.dialect import KnownDialect
from .qwen3_coder import QWEN3_CODER

MIMO = KnownDialect(
    "mimo",
    QWEN3_CODER.grammar,
    reasoning=QWEN3_CODER.reasoning,
    calls_in_reasoning=True,
    layout="\n",
    models=("mimo", "mimo-v2", "mimo-v2.*"),
    reasoning_from="vLLM's and SGLang's parsers, which end it at `<tool_call>`",
    written_from="the card and chat template of XiaomiMiMo/MiMo-V2.5",
    not_in_auto="qwen3_coder",
)
