"""GLM-4.5 and 4.6: pairs of a key and a value, one a line."""

from ..dialect import NAME, Dialect, Many, Maybe, Text
from .parts import THINK

GLM45 = Dialect(
    "glm45",
    (
        *("<tool_call>", NAME),
        Many(
            *("<arg_key>", Text("key", trim="blanks"), "</arg_key>"),
            *(Maybe("<arg_value>"), Text("value", trim="blanks", typing="schema"), "</arg_value>"),
        ),
        "</tool_call>",
    ),
    reasoning=THINK,
    layout="\n",
)
