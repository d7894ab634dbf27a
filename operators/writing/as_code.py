"""`as_code`: format a text as Markdown code."""

from __future__ import annotations

import re


def as_code(text: str) -> str:
    r"""Return a text as Markdown code, with any backticks; line ends are shown as `\n` and `\r`.

    >>> print(as_code("<tool_call>"), as_code("```json\n"))
    `<tool_call>` ```` ```json\n ````
    """
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("\r", r"\r").replace("\n", r"\n")
