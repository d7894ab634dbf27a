"""MiniMax's: JSON, then tags as Claude 3 wrote them, then tags with a token before each."""

from __future__ import annotations

from ..grammar.dialect import NAME, Back, Call, KnownDialect, Many, Maybe, Text
from .parts import CALL, THINK, invoke

MINIMAX_M1 = KnownDialect(
    "minimax_m1",
    about="MiniMax-M1: JSON, one call per line.",
    grammar=("<tool_calls>", Many(Call(CALL)), Maybe("</tool_calls>")),
    reasoning=THINK,
    layout="\n",
    models=("minimax-m1",),
    parsers=("minimax",),
    written_from="the function call guide of MiniMaxAI/MiniMax-M1-80k",
)


MINIMAX_M2 = KnownDialect(
    "minimax_m2",
    about="MiniMax-M2 and M2.5: calls as Claude 3 wrote them, in a tag of their own.",
    grammar=("<minimax:tool_call>", Many(Call(*invoke())), Maybe("</minimax:tool_call>")),
    reasoning=THINK,
    calls_in_reasoning=True,
    layout="\n",
    thinking_always=("minimax-m2", "minimax-m2.*"),
    reasoning_from="vLLM's and SGLang's parsers, which begin inside it; vLLM's ends it at `<minimax:tool_call>`",
    parsers=("minimax-m2",),
    proven_by=("llama.cpp", "mlx-lm", "smg", "vLLM"),
)


_M3_TAG = "]<]minimax[>[<"

MINIMAX_M3 = KnownDialect(
    "minimax_m3",
    about="MiniMax-M3: a token comes before each tag, and keys are tags.",
    grammar=(
        f"{_M3_TAG}tool_call>",
        Many(
            Call(
                *(f'{_M3_TAG}invoke name="', NAME, '">'),
                Many(
                    _M3_TAG,
                    Text("key", r"\w.:$@ -", trim="blanks"),
                    ">",
                    Text("value", typing="marked_xml"),
                    Back(f"{_M3_TAG}/"),
                ),
                f"{_M3_TAG}/invoke>",
            ),
        ),
        Maybe(f"{_M3_TAG}/tool_call>"),
    ),
    reasoning=(("<mm:think>", "</mm:think>"),),
    calls_in_reasoning=True,
    thinking_if_asked=("minimax-m3",),
    switches=("thinking_mode",),
    reasoning_from="vLLM's and SGLang's parsers, by the template's `thinking_mode`; llama.cpp ends it at a call",
    parsers=("minimax-m3",),
    proven_by=("llama.cpp", "vLLM"),
)
