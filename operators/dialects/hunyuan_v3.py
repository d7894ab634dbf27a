"""Hunyuan V3 (Hy-V3): pairs as in GLM-4.5, behind a separator."""

from ..dialect import NAME, Call, Dialect, Many, Maybe
from .parts import THINK, pairs

HUNYUAN_V3 = Dialect(
    "hunyuan_v3",
    (
        "<tool_calls>",
        Many(Call("<tool_call>", NAME, "<tool_sep>", pairs(), "</tool_call>")),
        Maybe("</tool_calls>"),
    ),
    reasoning=THINK,
    layout="\n",
)
