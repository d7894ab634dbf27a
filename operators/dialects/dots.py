"""dots.llm: calls as Claude 3 wrote them, in a tag of their own."""

from ..grammar.dialect import Call, KnownDialect, Many
from .parts import THINK, invoke

DOTS = KnownDialect(
    "dots",
    ("<dots_function_call>", Many(Call(*invoke())), "</dots_function_call>"),
    reasoning=THINK,
    models=("dots.llm",),
    proven_by=("vLLM",),
)
