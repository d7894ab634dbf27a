"""OLMo 3: calls as code, one a line."""

from ..grammar.dialect import Call, Dialect, Many
from .parts import CODE, THINK

OLMO3_PYTHONIC = Dialect(
    "olmo3_pythonic",
    ("<function_calls>", Call(*CODE), Many(Call(*CODE)), "</function_calls>"),
    reasoning=THINK,
    layout="\n",
)
