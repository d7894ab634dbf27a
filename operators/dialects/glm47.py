"""GLM-4.7 and 5: the format of GLM-4.5, but blanks are part of the values."""

from ..grammar.dialect import Alt, KnownDialect, Text
from .parts import ARGUMENTS, CALL, THINK, pairs

_NAME = Text("name", r"\w.:/-", at_once=True)

GLM47 = KnownDialect(
    "glm47",
    ("<tool_call>", Alt((_NAME, pairs()), (_NAME, ">", ARGUMENTS), CALL), "</tool_call>"),
    reasoning=THINK,
    calls_in_reasoning=True,
    models=("spark25", "hyperclovax*think"),
    thinking=("glm-4.7", "glm-5", "glm-5.*"),
    thinking_always=("glm-5.3",),
    switches=("enable_thinking",),
    reasoning_from=(
        "the chat templates of GLM-4.7, 5.2 and 5.3, of which the last has no switch; vLLM's and SGLang's parsers end "
        "it at `<tool_call>`"
    ),
    proven_by=("llama.cpp", "mlx-lm", "SGLang", "smg", "vLLM"),
)
