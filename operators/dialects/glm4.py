"""GLM-4-0414: the tool's name on a line, then the arguments; its marker is in the prompt, so give `tools`."""

from ..grammar.dialect import NAME, Call, KnownDialect
from .parts import ARGUMENTS, THINK

GLM4 = KnownDialect(
    "glm4",
    ("<|assistant|>", Call(NAME, ARGUMENTS)),
    behind_name="\n",
    reasoning=THINK,
    layout="\n",
    models=("glm-4",),
    thinking=("glm-z1",),
    written_from="the answers of GLM-4-9B-0414 in ml-explore/mlx-swift-lm#491, and its card's code that reads them",
    not_in_auto="a line with a tool's name before JSON would be a call",
)
