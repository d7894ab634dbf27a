"""Solar Open 2: a tag for the name, and one for each argument."""

from ..grammar.dialect import KnownDialect, Many, Text

SOLAR_OPEN2 = KnownDialect(
    "solar_open2",
    (
        *("<|tool_call:start|>", Text("name", r"\w.:/-", at_once=True)),
        Many(
            *("<|tool_arg:start|>", Text("key", trim="blanks"), "<|tool_arg:value|>"),
            *(Text("value", typing="schema"), "<|tool_arg:end|>"),
        ),
        "<|tool_call:end|>",
    ),
    reasoning=(("<|think:start|>", "<|think:end|>"),),
    calls_in_reasoning=True,
    layout="\n",
    thinking=("solar-open-2",),
    switches=("reasoning_effort",),
    low_efforts=("low", "minimal"),
    reasoning_from="vLLM's parser, which tells the efforts that open it, and ends it at `<|tool_call:start|>`",
    written_from="the chat template of Solar Open 2",
    answer=(
        "<|tool_call:start|>weather\n<|tool_arg:start|>city<|tool_arg:value|>Oslo<|tool_arg:end|>\n"
        "<|tool_arg:start|>days<|tool_arg:value|>2<|tool_arg:end|>\n<|tool_call:end|>"
    ),
)
