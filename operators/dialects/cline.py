"""Cline and Roo: the tools and their parameters are tags; give `tools`, or each tag is one."""

from ..grammar.dialect import Back, KnownDialect, Many, Text
from .parts import THINK, XML_FENCES, XML_TAGS

_VALUE = Text("value", trim="newline", typing="schema")

CLINE = KnownDialect(
    "cline",
    (
        *("<", Text("name", r"\w"), ">"),
        Many("<", Text("key", r"\w"), ">", _VALUE, Back()),
        Back(role="name"),
    ),
    reasoning=(("<thinking>", "</thinking>"), *THINK),
    layout="\n",
    written_from="the system prompts of Cline and Roo Code",
    fence_languages=XML_FENCES,
    not_in_auto=XML_TAGS,
    example=("read_file", {"path": "app.py"}),
)
