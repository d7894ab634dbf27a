"""Cline and Roo: the tools and their parameters are tags; give `tools`, or each tag is one."""

from ..dialect import Back, Dialect, Many, Text

_CONTENT = ("write_to_file.content", Text("value", trim="newline", until="last"))
"""A file may have tags of any name in it."""

CLINE = Dialect(
    "cline",
    (
        *("<", Text("name", r"\w"), ">"),
        Many("<", Text("key", r"\w"), ">", Text("value", trim="newline", typing="schema", instead=(_CONTENT,)), Back()),
        Back(role="name"),
    ),
    reasoning=(("<thinking>", "</thinking>"),),
    layout="\n",
)
