"""Tokens with which models end their answer, and which some servers leave in the text."""

from __future__ import annotations

import re
from typing import Final

END_TOKENS: Final = (
    *("</s>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>"),
    *("<end_of_turn>", "<｜end▁of▁sentence｜>"),
)
"""They are no text at the very end of an answer, and text everywhere else."""

OPENED_BY: Final = {"</s>": "<s>"}
"""A token that is also a closer, and its opener: where that came before, the token is text at the end too."""

LONGEST_END: Final = 256
"""The most characters of such tokens, with the blanks between, that are held while they may be the end."""

_ALL: Final = "|".join(map(re.escape, END_TOKENS))
_RUN: Final = re.compile(rf"(?:(?:{_ALL})[ \t\r\n]*+)++")


def may_be_end(text: str, position: int, *, final: bool) -> bool:
    """Return whether nothing but end tokens comes from a position on; the last one may be cut unless it is `final`."""
    run = _RUN.match(text, position)
    if run is None or len(text) - position > LONGEST_END:
        return False
    rest = text[run.end() :]
    return not rest or (not final and any(each.startswith(rest) for each in END_TOKENS))
