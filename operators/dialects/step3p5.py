"""Step 3.5: as Qwen3-Coder."""

from ..grammar.dialect import Dialect
from .qwen3_coder import QWEN3_CODER

STEP3P5 = Dialect("step3p5", QWEN3_CODER.grammar, reasoning=QWEN3_CODER.reasoning, layout="\n")
