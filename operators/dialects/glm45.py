"""GLM-4.5 and 4.6."""

from ..dialect import NAME, Dialect, Many, Maybe, Text

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
    reasoning=(("<think>", "</think>"),),
    layout="\n",
)
