"""Hunyuan V3 (Hy-V3) and V4: pairs as in GLM-4.5; V3 has a separator before them, and often a suffix in each tag."""

from ..grammar.dialect import NAME, Call, KnownDialect, Many, Maybe
from .parts import THINK, pairs

HUNYUAN_V3 = KnownDialect(
    "hunyuan_v3",
    (
        "<tool_calls>",
        Many(Call("<tool_call>", NAME, Maybe("<tool_sep>"), pairs(), "</tool_call>")),
        Maybe("</tool_calls>"),
    ),
    reasoning=THINK,
    has_suffix=True,
    layout="\n",
    models=("hunyuan-v3", "hunyuan-v4", "hy-v3", "hy3", "hy4"),
    parsers=("hy_v3",),
    proven_by=("vLLM",),
)
