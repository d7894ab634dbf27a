"""Aider's edit blocks: lines to search, and lines to put there. The path of the file is text, before the fence.

A line that ends in seven `=` ends what is searched. Unified diffs and whole files in fences stay text: nothing tells
them from other code.
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
    not_in_auto="blocks of this kind are shown as text, too",
)
