"""MiniCPM's: code in a fence, and since 5 tags."""

from __future__ import annotations

from ..grammar.dialect import NAME, Alt, Attrs, Call, KnownDialect, Many, Maybe, Text
from .parts import CODE, THINK, XML_FENCES, XML_TAGS

MINICPM4 = KnownDialect(
    "minicpm4",
    about="MiniCPM3 and MiniCPM4: calls as code, one per line, in a fence between markers.",
    grammar=("<|tool_call_start|>", "```python", Call(*CODE), Many(Call(*CODE)), "```", Maybe("<|tool_call_end|>")),
    reasoning=(("<|thought_start|>", "<|thought_end|>"), *THINK),
    layout="\n",
    models=("minicpm3", "minicpm4"),
    written_from="OpenBMB's code that renders and reads the calls of MiniCPM3 and MiniCPM4",
)


# The model adds arguments that the tool does not have: vLLM drops them, SGLang refuses the call.
_MINICPM5_VALUE = Text("value", typing="literal", only_declared=True)

MINICPM5_XML = KnownDialect(
    "minicpm5_xml",
    about=(
        "MiniCPM5: where special tokens were stripped, the blank in a tag is gone, or is the letter that its "
        "tokenizer has."
    ),
    grammar=(
        Alt(("<function", Attrs((("name", "name"),)), ">"), (Alt('<functionname="', '<functionĠname="'), NAME, '">')),
        Many(
            Alt(("<param", Attrs((("name", "key"),)), ">"), ('<paramname="', Text("key", r"\w.-"), '">')),
            *(Alt(("<![CDATA[", _MINICPM5_VALUE, "]]>"), _MINICPM5_VALUE), "</param>"),
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
