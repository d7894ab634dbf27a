"""DeepSeek V3 and R1: the arguments are in a fence; the distilled models get some of the markers wrong."""

from ..grammar.dialect import NAME, Call, KnownDialect, Many, Maybe
from .parts import ARGUMENTS, THINK

_BEGIN = "<｜tool▁calls▁begin｜>"

DEEPSEEK_V3_R1 = KnownDialect(
    "deepseek_v3_r1",
    (
        _BEGIN,
        Many(
            Call(
                *(Maybe("<｜tool▁call▁begin｜>"), "function<｜tool▁sep｜>", NAME),
                *("```json", ARGUMENTS, "```", Maybe("<｜tool▁call▁end｜>")),
            ),
        ),
        Maybe("<｜tool▁calls▁end｜>"),
    ),
    reasoning=THINK,
    aliases=tuple(
        (written, _BEGIN)
        for written in (
            *("<｜tool▁calls｜>", "<｜tool_calls_begin｜>", "<｜tool calls begin｜>"),
            "<｜tool\\_calls\\_begin｜>",
        )
    ),
    models=("deepseek-r1*0528", "deepseek-v3", "deepseek-chat-v3"),
    thinking_always=("deepseek-r1",),
    reasoning_from="the chat template of DeepSeek R1, and SGLang's parser, which begins inside it",
    parsers=("deepseek_v3", "deepseekv3"),
    proven_by=("llama.cpp", "SGLang", "smg", "vLLM"),
)
