"""MiMo: as Qwen3-Coder."""

from ..grammar.dialect import Dialect
from .qwen3_coder import QWEN3_CODER

MIMO = Dialect("mimo", QWEN3_CODER.grammar, reasoning=QWEN3_CODER.reasoning, layout="\n")
