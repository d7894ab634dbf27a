"""Formats as single peers read them: grammars that are a little wider or narrower than the dialect's own."""

from __future__ import annotations

from typing import Final

from dialect_cases import varied
from msgspec.structs import replace

from penstock.operators.catalogue import DIALECTS
from penstock.operators.grammar.dialect import NAME, Alt, CallArgs, Dialect, Item, Many, Maybe, Text

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


GEMMA4_ANY_NAME: Final = _with(
    "gemma4",
    *("<|tool_call>", Alt("call:", ":"), Text("name", r"\w.:/ -")),
    *(Maybe(CallArgs("{", "}", ":", ('<|"|>', '"'))), Maybe("<tool_call|>")),
)
"""Names have blanks, and arguments may be missing."""

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
