"""MiniCPM5: where special tokens were stripped, the blank in a tag is gone, or is the letter that its tokenizer has."""

from ..grammar.dialect import NAME, Alt, Attrs, Dialect, Many, Text
from .parts import THINK

_VALUE = Text("value", typing="schema")

MINICPM5_XML = Dialect(
    "minicpm5_xml",
    (
        Alt(("<function", Attrs((("name", "name"),)), ">"), (Alt('<functionname="', '<functionĠname="'), NAME, '">')),
        Many(
            Alt(("<param", Attrs((("name", "key"),)), ">"), ('<paramname="', Text("key", r"\w.-"), '">')),
            *(Alt(("<![CDATA[", _VALUE, "]]>"), _VALUE), "</param>"),
        ),
        "</function>",
    ),
    reasoning=THINK,
)
