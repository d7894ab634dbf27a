"""Solar's: a call with an id and JSON, and since 2 a tag for each argument."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS, NAME_AT_ONCE

_ID = Text("id", r"\w-")
_OPEN_CALL = Call(
    *("<|tool_call:begin|>", _ID, "<|tool_call:name|>", NAME, "<|tool_call:args|>", ARGUMENTS, "<|tool_call:end|>"),
)

SOLAR_OPEN = KnownDialect(
    "solar_open",
    about="Solar Open: each message says what it is; a call has an id, a name and JSON.",
    grammar=(
        Maybe("<|begin|>assistant"),
        Alt(
            ("<|think|>", Text("reasoning"), Maybe("<|end|>")),
            ("<|content|>", Text("content"), Maybe("<|end|>")),
            ("<|tool_calls|>", Many(_OPEN_CALL), Maybe("<|calls|>")),
        ),
    ),
    models=("solar-open",),
    written_from="the chat template of upstage/Solar-Open-100B",
    answer=(
        "<|tool_calls|><|tool_call:begin|>k7Pqz-1<|tool_call:name|>weather<|tool_call:args|>"
        '{"city": "Oslo", "days": 2}<|tool_call:end|><|calls|>'
    ),
)


SOLAR_OPEN2 = KnownDialect(
    "solar_open2",
    about="Solar Open 2: a tag for the name, and one for each argument.",
    grammar=(
        *("<|tool_call:start|>", NAME_AT_ONCE),
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
