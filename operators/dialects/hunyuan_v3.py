"""Hunyuan V3 (Hy-V3) and V4: pairs as in GLM-4.5; V3 has a separator before them, and often a suffix in each tag."""

from ..grammar.dialect import NAME, Call, KnownDialect, Many, Maybe
from .parts import THINK, pairs

_TAGS = (
    *("<tool_calls", "<tool_call", "<tool_sep", "<arg_key", "<arg_value"),
    *("</tool_calls", "</tool_call", "</arg_key", "</arg_value"),
)

_SUFFIXES = ("opensource", "6124c78e")
"""Each checkpoint has its own."""

HUNYUAN_V3 = KnownDialect(
    "hunyuan_v3",
    (
        "<tool_calls>",
        Many(Call("<tool_call>", NAME, Maybe("<tool_sep>"), pairs(), "</tool_call>")),
        Maybe("</tool_calls>"),
    ),
    reasoning=(*THINK, *((f"<think:{each}>", f"</think:{each}>") for each in _SUFFIXES)),
    aliases=tuple((f"{tag}:{each}>", f"{tag}>") for each in _SUFFIXES for tag in _TAGS),
    layout="\n",
    models=("hunyuan-v3", "hunyuan-v4", "hy-v3", "hy3", "hy4"),
    parsers=("hy_v3",),
    proven_by=("vLLM",),
)
