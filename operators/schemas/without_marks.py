"""Convert elements with a mark before each tag to plain XML."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = r"[^\W\d][\w.:-]*"
_OPENER: Final = re.compile(rf"\s*(\S*?)<(?={_NAME}>)")
_END: Final = re.compile(rf"</{_NAME}>\s*")


def without_marks(text: str) -> str | None:
    """Return elements with a mark before each tag as XML without the marks; None if the text is anything else.

    >>> without_marks("|:<a>1 < 2|:</a>"), without_marks('["<a>"]')
    ('<a>1 &lt; 2</a>', None)

    The text before the first tag is the mark; the text must end with a marked end tag.
    """
    found = _OPENER.match(text)
    if found is None or not found[1]:
        return None
    mark = found[1]
    last = text.rfind(f"{mark}</")
    if last < 0 or not _END.fullmatch(text, last + len(mark)):
        return None
    tags = (part.replace("&", "&amp;").replace("<", "&lt;") for part in text.split(f"{mark}<"))
    return "<".join(tags)
