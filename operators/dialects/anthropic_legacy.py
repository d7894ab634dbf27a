"""Claude 2 and 3 without native calls: names and parameters in attributes, or in elements, as it was first."""

from ..dialect import Alt, Back, Call, Dialect, Many, Maybe, Text
from .parts import invoke

_ELEMENTS = (
    *("<invoke>", "<tool_name>", Text("name", r"\w.-"), "</tool_name>", "<parameters>"),
    Many("<", Text("key", r"\w.-"), ">", Text("value", trim="newline", typing="schema"), Back()),
    *("</parameters>", "</invoke>"),
)

ANTHROPIC_LEGACY = Dialect(
    "anthropic_legacy",
    ("<function_calls>", Many(Alt(Call(*invoke()), Call(*_ELEMENTS))), Maybe("</function_calls>")),
    layout="\n",
)
