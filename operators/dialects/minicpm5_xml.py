"""MiniCPM5: where special tokens were stripped, the blank in a tag is gone, or is the letter that its tokenizer has."""

from ..grammar.dialect import NAME, Alt, Attrs, KnownDialect, Many, Text
from .parts import THINK, XML_FENCES, XML_TAGS

# The model adds arguments that the tool does not have: vLLM drops them, SGLang refuses the call.
_VALUE = Text("value", typing="literal", only_declared=True)

MINICPM5_XML = KnownDialect(
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
    models=("minicpm5",),
    parsers=("minicpm5",),
    proven_by=("llama.cpp", "SGLang", "vLLM"),
    fence_languages=XML_FENCES,
    not_in_auto=XML_TAGS,
)
