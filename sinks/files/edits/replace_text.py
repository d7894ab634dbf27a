"""`replace_text`: put a text in the place of another, as `Edit` and `str_replace` do."""

from __future__ import annotations

from .lines import split_lines, with_ends_of
from .refused import RefusedError


def replace_text(text: str, old: str, new: str, *, every: bool = False, count: int | None = None) -> str:
    """Return the text with `old` replaced by `new`; it must stand there exactly once.

    >>> replace_text("x = 1", "1", "2")
    'x = 2'

    `every`: replace all of them; `count`: how often it must stand there. In a file whose lines end as those of Windows
    do, both texts may be written without that. Raises `RefusedError` if `old` does not stand there, or too often.
    """
    if not old:
        message = "the text to replace is empty; say which text"
        raise RefusedError(message)
    old, new = map("".join, with_ends_of(text, split_lines(old), split_lines(new)))
    if old == new:
        message = "the new text equals the old one"
        raise RefusedError(message)
    found = text.count(old)
    if not found:
        raise RefusedError(_missing(text, old))
    if count is not None and found != count:
        message = f"the text to replace occurs {found} times, not {count}"
        raise RefusedError(message)
    if not every and ((count is None and found > 1) or _overlaps(text, old)):
        message = f"the text to replace occurs {max(found, 2)} times; add lines around it, so that it is the only one"
        raise RefusedError(message)
    return text.replace(old, new)


def _overlaps(text: str, old: str) -> bool:
    """Whether the old text stands anywhere in such a way that it could be replaced in two ways."""
    at = text.find(old)
    while at >= 0:
        if text.find(old, at + 1, at + 2 * len(old) - 1) >= 0:
            return True
        at = text.find(old, at + len(old))
    return False


def _missing(text: str, old: str) -> str:
    message = "the text to replace does not occur in the file"
    if " ".join(old.split()) in " ".join(text.split()):
        return f"{message} in this form: blanks or line breaks differ"
    return f"{message}; read it again"
