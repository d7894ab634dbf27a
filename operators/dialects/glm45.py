"""GLM-4.5 and 4.6: pairs of a key and a value, one per line."""

from ..grammar.dialect import KnownDialect, Text
from .parts import THINK, pairs

_NAME = Text("name", r"\w.:/-", at_once=True)

GLM45 = KnownDialect(
    "glm45",
    ("<tool_call>", _NAME, pairs(), "</tool_call>"),
    reasoning=THINK,
    calls_in_reasoning=True,
    # A line break between tags, written as an escape.
    aliases=tuple((rf"\n{tag}", tag) for tag in ("<arg_key>", "<arg_value>", "</tool_call>")),
    layout="\n",
    models=("glm-4.5", "glm-4.6"),
    reasoning_from="vLLM's and SGLang's parsers, which end it at `<tool_call>`",
    parsers=("glm",),
    proven_by=("Ollama", "SGLang", "smg"),
)
