"""Texts and the bytes that they are on the disk: UTF-8, with line breaks as they are."""

from __future__ import annotations

from ...events.json_form import whole_characters
from .edits.refused import RefusedError


def encoded(text: str) -> bytes:
    r"""Return a text as UTF-8. Halves of a surrogate pair are joined; one that is alone becomes U+FFFD.

    >>> encoded("é"), encoded("\ud83d\ude00") == "😀".encode(), encoded("\ud83d") == "\ufffd".encode()
    (b'\xc3\xa9', True, True)
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return whole_characters(text).encode()


def decoded(path: str, content: bytes) -> str:
    """Return the text of a file; raises `RefusedError` if its bytes are not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = f"{path!r} is not UTF-8 text (byte {error.start}); it cannot be edited, only written anew"
        raise RefusedError(message) from error
