"""MiMo: the format of Qwen3-Coder."""

from ..grammar.dialect import KnownDialect
from .qwen3_coder import QWEN3_CODER

MIMO = KnownDialect(
    "mimo",
    QWEN3_CODER.grammar,
    reasoning=QWEN3_CODER.reasoning,
    layout="\n",
    models=("mimo", "mimo-v2", "mimo-v2.*"),
    written_from="the card and chat template of XiaomiMiMo/MiMo-V2.5",
    not_in_auto="qwen3_coder",
)
