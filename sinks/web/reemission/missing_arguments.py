"""`missing_arguments`: the arguments of a call without any."""

from __future__ import annotations

from ...parts.answer_parts import CallEnd


def missing_arguments(end: CallEnd) -> str:
    """Return the text that makes the arguments of a call JSON if no character of them came; empty for any other call.

    Some providers send nothing where a call has no arguments; readers of other APIs parse what they receive. A call
    that must not be run gets nothing: it may have been cut before its first character.
    """
    has_none = end.arguments is not None and end.call.form == "json" and not end.text.strip()
    return "{}" if has_none else ""
