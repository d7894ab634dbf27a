"""DeepSeek's, from V3 to V4.1, and Cogito's, which is that of V3."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Call, Item, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS, THINK, invoke

_V3_BEGIN = "<｜tool▁calls▁begin｜>"

DEEPSEEK_V3_R1 = KnownDialect(
    "deepseek_v3_r1",
    about="DeepSeek V3 and R1: the arguments are in a fence; the distilled models get some of the markers wrong.",
    grammar=(
        _V3_BEGIN,
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
        (written, _V3_BEGIN)
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


DEEPSEEK_V3_COGITO = KnownDialect(
    "deepseek_v3_cogito",
    about="Cogito v2: the format of DeepSeek V3, whose markers some models write in ASCII.",
    grammar=(
        Alt(
            (*DEEPSEEK_V3_R1.grammar, Maybe("<｜end▁of▁sentence｜>")),
            # The outputs of tools that the model makes up are nobody's text.
            (
                "<｜tool▁outputs▁begin｜>",
                Many("<｜tool▁output▁begin｜>", Text("skip"), "<｜tool▁output▁end｜>"),
                "<｜tool▁outputs▁end｜>",
            ),
        ),
    ),
    aliases=tuple(
        (f"{before}<|{words}|>", f"{before}<｜{words}｜>")
        for before, words in (
            ("", "tool▁calls▁begin"),
            ("", "tool▁call▁begin"),
            ("function", "tool▁sep"),
            ("", "tool▁call▁end"),
            ("", "tool▁calls▁end"),
            ("", "end▁of▁sentence"),
        )
    ),
    reasoning=DEEPSEEK_V3_R1.reasoning,
    models=("cogito*671b",),
    proven_by=("Ollama",),
)


DEEPSEEK_V31 = KnownDialect(
    "deepseek_v31",
    about="DeepSeek V3.1: the name, a separator, then JSON.",
    grammar=(
        Alt(
            (
                "<｜tool▁calls▁begin｜>",
                Many(Call("<｜tool▁call▁begin｜>", NAME, "<｜tool▁sep｜>", ARGUMENTS, "<｜tool▁call▁end｜>")),
                Maybe("<｜tool▁calls▁end｜>"),
            ),
            # The output of a tool that the model makes up is text of its answer.
            ("<｜tool▁output▁begin｜>", Text("content"), "<｜tool▁output▁end｜>"),
        ),
    ),
    reasoning=THINK,
    thinking_if_asked=("deepseek-v3.1", "deepseek-chat-v3.1", "deepseek-v3.2-exp"),
    parsers=("deepseekv31",),
    proven_by=("llama.cpp", "Ollama", "vLLM"),
)


_V32_CALL = Call(*invoke("｜DSML｜", flagged=True))

DEEPSEEK_V32_DSML = KnownDialect(
    "deepseek_v32_dsml",
    about="DeepSeek V3.2: a markup of its own, whose outer tags may be missing; a parameter says whether it is text.",
    grammar=(
        Maybe(Alt("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>")),
        *(_V32_CALL, Many(_V32_CALL)),
        Maybe(Alt("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>")),
    ),
    reasoning=THINK,
    aliases=tuple((f"\n\n{tag}", tag) for tag in ("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>")),
    layout="\n",
    thinking_if_asked=("deepseek-v3.2",),
    parsers=("deepseek_v32", "deepseekv32"),
    proven_by=("llama.cpp", "smg", "vLLM"),
)


_V4_TAGS = ("tool_calls", "calls", "function_calls", "toolcalls")


def _v4_calls(prefix: str) -> tuple[Item, ...]:
    call = Call(*invoke(prefix, flagged=True))
    opener, closer = (Maybe(Alt(*(f"{begin}{prefix}{name}>" for name in _V4_TAGS))) for begin in ("<", "</"))
    return opener, call, Many(call), closer


DEEPSEEK_V4_DSML = KnownDialect(
    "deepseek_v4_dsml",
    about="DeepSeek V4: the format of V3.2 in another tag, which may be missing; V4.1 has a blank before a tag's name.",
    grammar=(Alt(*map(_v4_calls, ("｜DSML｜", "｜DSML｜ ", "｜｜DSML｜｜", "｜｜DSML｜｜ "))),),
    reasoning=THINK,
    calls_in_reasoning=True,
    aliases=(("\n\n<｜DSML｜tool_calls>", "<｜DSML｜tool_calls>"), ("\n\n<｜DSML｜ calls>", "<｜DSML｜ calls>")),
    layout="\n",
    thinking=("deepseek-v4", "deepseek-v4.1"),
    reasoning_from=(
        "vLLM's encoders of the prompt, which think unless `thinking` or `enable_thinking` is off or the effort is "
        "`none`, as DeepSeek's API does; its parsers end it at the section of calls"
    ),
    parsers=("deepseek_v4", "deepseekv4"),
    proven_by=("llama.cpp", "vLLM"),
)
