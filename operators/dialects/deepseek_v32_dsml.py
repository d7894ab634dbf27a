"""DeepSeek V3.2: a markup of its own, whose outer tags may be missing; a parameter says whether it is text."""

from ..grammar.dialect import Alt, Call, KnownDialect, Many, Maybe
from .parts import THINK, invoke

_CALL = Call(*invoke("｜DSML｜", flagged=True))

DEEPSEEK_V32_DSML = KnownDialect(
    "deepseek_v32_dsml",
    (
        Maybe(Alt("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>")),
        *(_CALL, Many(_CALL)),
        Maybe(Alt("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>")),
    ),
    reasoning=THINK,
    aliases=tuple((f"\n\n{tag}", tag) for tag in ("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>")),
    layout="\n",
    thinking_if_asked=("deepseek-v3.2",),
    parsers=("deepseek_v32", "deepseekv32"),
    proven_by=("llama.cpp", "smg", "vLLM"),
)
