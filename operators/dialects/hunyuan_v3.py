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
    calls_in_reasoning=True,
    layout="\n",
    thinking=("hunyuan-v4", "hy4"),
    thinking_if_asked=("hunyuan-v3", "hy-v3", "hy3"),
    switches=("reasoning_effort",),
    reasoning_from=(
        "vLLM's parsers, by `reasoning_effort`, which is `no_think` for V3 and `high` for V4 unless the request says "
        "it; SGLang's ends it at `<tool_calls>`"
    ),
    parsers=("hy_v3",),
    proven_by=("vLLM",),
)
