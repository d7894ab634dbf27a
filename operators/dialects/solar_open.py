"""Solar Open: each message says what it is; a call has an id, a name and JSON."""

from ..grammar.dialect import NAME, Alt, Call, KnownDialect, Many, Maybe, Text
from .parts import ARGUMENTS

_ID = Text("id", r"\w-")
_CALL = Call(
    *("<|tool_call:begin|>", _ID, "<|tool_call:name|>", NAME, "<|tool_call:args|>", ARGUMENTS, "<|tool_call:end|>"),
)

SOLAR_OPEN = KnownDialect(
    "solar_open",
    (
        Maybe("<|begin|>assistant"),
        Alt(
            ("<|think|>", Text("reasoning"), Maybe("<|end|>")),
            ("<|content|>", Text("content"), Maybe("<|end|>")),
            ("<|tool_calls|>", Many(_CALL), Maybe("<|calls|>")),
        ),
    ),
    models=("solar-open",),
    written_from="the chat template of upstage/Solar-Open-100B",
    answer=(
        "<|tool_calls|><|tool_call:begin|>k7Pqz-1<|tool_call:name|>weather<|tool_call:args|>"
        '{"city": "Oslo", "days": 2}<|tool_call:end|><|calls|>'
    ),
)
