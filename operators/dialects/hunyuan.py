"""Hunyuan's: lists of JSON with tags around the answer, and since V3 pairs as in GLM-4.5."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import ANSWER_TAGS, CALLS, THINK, pairs

_A13B_CALLS = Call("<tool_calls>", CALLS, Maybe("</tool_calls>"))
_A13B_ROLE = "助手\N{FULLWIDTH COLON}"
"""The template asks for it before what is no call."""
_A13B_SAID = (_A13B_ROLE, Maybe(Text("content")), Maybe(_A13B_CALLS), Maybe("<|eos|>"))

HUNYUAN_A13B = KnownDialect(
    "hunyuan_a13b",
    about=(
        "Hunyuan-A13B: with tags around its answer, or its role before it; calls are inside of the tags or after them."
    ),
    grammar=(
        Alt(_A13B_CALLS, ("<answer>", Maybe(Text("content")), Maybe(_A13B_CALLS), Maybe("</answer>")), _A13B_SAID),
    ),
    reasoning=THINK,
    leading=(_A13B_ROLE,),
    models=("hunyuan-a13b", "hunyuan-7b", "hunyuan-4b", "hunyuan-1.8b", "hunyuan-0.5b"),
    parsers=("hunyuan",),
    proven_by=("vLLM",),
    not_in_auto=ANSWER_TAGS,
)


HUNYUAN_V3 = KnownDialect(
    "hunyuan_v3",
    about=(
        "Hunyuan V3 (Hy-V3) and V4: pairs as in GLM-4.5; V3 has a separator before them, and often a suffix in "
        "each tag."
    ),
    grammar=(
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
