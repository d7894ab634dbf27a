"""Formats as single peers read them: grammars that are a little wider or narrower than the dialect's own."""

from __future__ import annotations

from typing import Final

from dialect_cases import varied
from msgspec.structs import replace

from penstock.operators.catalogue import DIALECTS
from penstock.operators.dialects.parts import ARGUMENTS, invoke
from penstock.operators.grammar.dialect import NAME, Alt, Attrs, Call, CallArgs, Dialect, Item, Many, Maybe, Text

BLOCKS: Final = Dialect(
    "blocks",
    ("<tool_call>", Text("name"), "</tool_call>"),
    reasoning=(("<think>", "</think>"),),
)
"""What lies between the markers, as it is: the streaming parser of these peers decodes it later."""

FENCED: Final = Dialect("fenced", ("```json", Text("content", trim="newline"), "```"))
"""A fence round all the answer's JSON."""


def _with(name: str, *grammar: Item) -> Dialect:
    return replace(DIALECTS[name], grammar=grammar)


BOLT_WITH_TEXT: Final = _with(
    "bolt_artifact",
    *("<boltArtifact", Attrs((("id", "skip"), ("title", "skip"), ("type", "skip"))), ">"),
    Many(
        Alt(
            Call(
                *("<boltAction", Attrs((("type", "name"),)), ">"),
                *(Text("value", key="content", trim="blanks"), "</boltAction>"),
            ),
            Text("skip"),
        ),
    ),
    "</boltArtifact>",
)
"""What else is in an artifact is nobody's text."""

COGITO_WITH_OUTPUTS: Final = _with(
    "deepseek_v3_cogito",
    Alt(
        DIALECTS["deepseek_v3_cogito"].grammar,
        (
            "<｜tool▁outputs▁begin｜>",
            Many("<｜tool▁output▁begin｜>", Text("skip"), "<｜tool▁output▁end｜>"),
            "<｜tool▁outputs▁end｜>",
        ),
    ),
)
"""A tool's output that the model makes up is nobody's text."""

DEEPSEEK_V31_WITH_OUTPUTS: Final = _with(
    "deepseek_v31",
    Alt(DIALECTS["deepseek_v31"].grammar, ("<｜tool▁output▁begin｜>", Text("content"), "<｜tool▁output▁end｜>")),
)
"""A tool's output that the model makes up is content."""

DOTS_WITH_TEXT: Final = _with(
    "dots", "<dots_function_call>", Many(Alt(Call(*invoke()), Text("content"))), "</dots_function_call>"
)
"""What else is between the markers is content."""

GEMMA4_ANY_NAME: Final = _with(
    "gemma4",
    *("<|tool_call>", Alt("call:", ":"), Text("name", r"\w.:/ -")),
    *(Maybe(CallArgs("{", "}", ":", ('<|"|>', '"'))), Maybe("<tool_call|>")),
)
"""Names have blanks, and arguments may be missing."""

GLM45_ESCAPED: Final = _with(
    "glm45",
    *("<tool_call>", NAME, Maybe(r"\n")),
    Many(
        *("<arg_key>", Text("key", trim="blanks"), "</arg_key>", Maybe(r"\n"), Maybe("<arg_value>")),
        *(Text("value", trim="blanks", typing="schema"), "</arg_value>", Maybe(r"\n")),
    ),
    "</tool_call>",
)
"""A line break between tags may be written as an escape."""

SEED_OSS_ONE_SIDED: Final = _with(
    "seed_oss",
    *("<seed:tool_call>", "<function=", NAME, ">"),
    Many(
        *("<parameter=", Text("key", r"^<>=\n"), Alt(">\n", ">")),
        *(Text("value", typing="schema"), Alt("\n</parameter>", "</parameter>")),
    ),
    *("</function>", Maybe("</seed:tool_call>")),
)
"""A newline at the end of a value is not part of it, even if there is none at its beginning."""

_NUMBERED: Final = Call(
    *("<|tool_call_begin|>", Text("id", r"\w.:/-", named=r"(?:functions\.)?([\w./-]+?):\d+")),
    *("<|tool_call_argument_begin|>", ARGUMENTS, Maybe("<|tool_call_end|>")),
)
KIMI_K2_NUMBERED: Final = _with(
    "kimi_k2",
    *(Maybe("<|tool_calls_section_begin|>"), _NUMBERED, Many(_NUMBERED), Maybe("<|tool_calls_section_end|>")),
)
"""An id without an index is none."""

LFM2_PLAIN: Final = (varied("lfm2", escapes=False), varied("pythonic", escapes=False))
"""No escapes in strings."""

QWEN3_CODER_CLOSED: Final = _with(
    "qwen3_coder",
    *("<tool_call>", "<function=", NAME, ">"),
    Many(
        *("<parameter=", Text("key"), ">"),
        *(Text("value", trim="blanks", typing="schema"), Maybe("</parameter>")),
    ),
    *("</function>", "</tool_call>"),
)
"""No tag round a call may be missing, and no blanks are part of a value."""
