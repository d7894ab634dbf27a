"""Aider's edit blocks: the lines to search for, and the lines that replace them.

The path of the file is text, before the fence. A line that ends in seven `=` ends the lines to search for. Unified
diffs and whole files in fences stay text, because they cannot be told from other code.
"""

from ..grammar.dialect import Call, KnownDialect, Text

AIDER = KnownDialect(
    "aider",
    (
        Call(
            *("<" * 7, "SEARCH\n", Text("value", key="search")),
            *("=======\n", Text("value", key="replace"), ">" * 7 + " REPLACE"),
            name="search_replace",
        ),
    ),
    aliases=(("SEARCH\r\n", "SEARCH\n"), ("=======\r\n", "=======\n")),
    layout=" ",
    written_from="“Edit formats” in Aider's documentation",
    fence_languages=("*",),
    not_in_auto="blocks of this kind are shown as text, too",
)
