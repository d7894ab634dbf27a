"""MiniCPM5."""

from ..dialect import Alt, Attrs, Dialect, Many, Text
from .parts import THINK

_VALUE = Text("value", typing="schema")

MINICPM5_XML = Dialect(
    "minicpm5_xml",
    (
        *("<function", Attrs((("name", "name"),)), ">"),
        Many("<param", Attrs((("name", "key"),)), ">", Alt(("<![CDATA[", _VALUE, "]]>"), _VALUE), "</param>"),
        "</function>",
    ),
    reasoning=THINK,
)
