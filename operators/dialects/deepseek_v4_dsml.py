"""DeepSeek V4: the format of V3.2 in another tag, which may be missing; V4.1 has a blank before a tag's name."""

from ..grammar.dialect import Alt, Call, Item, KnownDialect, Many, Maybe
from .parts import THINK, invoke

_AROUND = ("tool_calls", "calls", "function_calls", "toolcalls")


def _calls(prefix: str) -> tuple[Item, ...]:
    call = Call(*invoke(prefix, flagged=True))
    opener, closer = (Maybe(Alt(*(f"{begin}{prefix}{name}>" for name in _AROUND))) for begin in ("<", "</"))
    return opener, call, Many(call), closer


DEEPSEEK_V4_DSML = KnownDialect(
    "deepseek_v4_dsml",
    (Alt(*map(_calls, ("｜DSML｜", "｜DSML｜ ", "｜｜DSML｜｜", "｜｜DSML｜｜ "))),),
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
