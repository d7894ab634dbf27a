"""GLM-4.7 and 5: as GLM-4.5, whose blanks are part of the values."""

from ..dialect import NAME, Alt, Dialect, Json
from .parts import THINK, pairs

GLM47 = Dialect(
    "glm47",
    ("<tool_call>", Alt((NAME, pairs()), Json(root="object")), "</tool_call>"),
    reasoning=THINK,
)
