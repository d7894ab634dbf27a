"""GLM-4.5 and 4.6: pairs of a key and a value, one per line."""

from ..grammar.dialect import NAME, KnownDialect
from .parts import THINK, pairs

GLM45 = KnownDialect(
    "glm45",
    ("<tool_call>", NAME, pairs(trim="blanks"), "</tool_call>"),
    reasoning=THINK,
    layout="\n",
    models=("glm-4.5", "glm-4.6"),
    parsers=("glm",),
    proven_by=("Ollama", "SGLang", "smg"),
)
