"""MiniMax-M3: a token comes before each tag, and keys are tags."""

from ..grammar.dialect import NAME, Back, Call, KnownDialect, Many, Maybe, Text

_TAG = "]<]minimax[>[<"

MINIMAX_M3 = KnownDialect(
    "minimax_m3",
    (
        f"{_TAG}tool_call>",
        Many(
            Call(
                *(f'{_TAG}invoke name="', NAME, '">'),
                Many(
                    _TAG,
                    Text("key", r"\w.:$@ -", trim="blanks"),
                    ">",
                    Text("value", typing="marked_xml"),
                    Back(f"{_TAG}/"),
                ),
                f"{_TAG}/invoke>",
            ),
        ),
        Maybe(f"{_TAG}/tool_call>"),
    ),
    reasoning=(("<mm:think>", "</mm:think>"),),
    calls_in_reasoning=True,
    thinking_if_asked=("minimax-m3",),
    switches=("thinking_mode",),
    reasoning_from="vLLM's and SGLang's parsers, by the template's `thinking_mode`; llama.cpp ends it at a call",
    parsers=("minimax-m3",),
    proven_by=("llama.cpp", "vLLM"),
)
