"""GLM-4.7 and 5: the format of GLM-4.5, but blanks are part of the values."""

from ..grammar.dialect import NAME, Alt, KnownDialect
from .parts import CALL, THINK, pairs

GLM47 = KnownDialect(
    "glm47",
    ("<tool_call>", Alt((NAME, pairs()), CALL), "</tool_call>"),
    reasoning=THINK,
    thinking=("glm-4.7", "glm-5"),
    proven_by=("llama.cpp", "mlx-lm", "SGLang", "smg", "vLLM"),
)
