"""dots.llm: calls as Claude 3 wrote them, in a tag of their own."""

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Text
from .parts import CALL, THINK, invoke

DOTS = KnownDialect(
    "dots",
    ("<dots_function_call>", Many(Alt(Call(*invoke()), Call(CALL), Text("content"))), "</dots_function_call>"),
    reasoning=THINK,
    only_declared=True,  # both servers of the model leave a block with another tool's name in the text
    models=("dots.llm1",),
    proven_by=("vLLM",),
)
