"""Tokens with which models end their answer, and which some servers leave in the text."""

from __future__ import annotations

import re
from typing import Final

END_TOKENS: Final = (
    # of Llama, Qwen, Gemma, DeepSeek and many more
    *("</s>", "<eos>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|endoftext|>", "<|end_of_text|>"),
    *("<|end|>", "<end_of_turn>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>"),
    # of one family each: Command, Kimi K3, GLM, Hunyuan, ERNIE, Apertus, HyperCLOVA X, Seed-OSS,
    # MiniMax-M1, Nemotron Nano v2, Reka, LongCat
    *("<|END_OF_TURN_TOKEN|>", "<|end_of_msg|>", "<|user|>", "<|observation|>", "<|eos|>"),
    *("<｜hy_eos｜>", "<｜hy_eos:opensource｜>", "<|end_of_sentence|>", "<|assistant_end|>", "<|endofturn|>"),
    *("<|stop|>", "<seed:eos>", "<end_of_sentence>", "<SPECIAL_12>", "<sep>", "</longcat_s>"),
    "<|python_end|>",  # of Llama 4, behind code that is no call
)
"""They are dropped at the very end of an answer; everywhere else they are text. None of them opens a block."""

OPENED_BY: Final = {"</s>": "<s>"}
"""A token that is also a closer, and its opener: where that came before, the token is text at the end too."""

CODE_TOKENS: Final = ("<|python_tag|>", "<|python_start|>")
"""Tokens of Llama with which code begins. Where they come first, and no call behind them, they are nobody's text."""

LONGEST_END: Final = 48
"""The most characters of such tokens, with the blanks between, that are held while they may be the end."""

_ALL: Final = "|".join(map(re.escape, END_TOKENS))
_ONE: Final = re.compile(rf"(?:{_ALL})[ \t\r\n]*+")
_RUN: Final = re.compile(rf"(?:(?:{_ALL})[ \t\r\n]*+)++")


def end_of_text(text: str, position: int, *, final: bool) -> int:
    """Return where the text ends that has end tokens at a position: at that position if the answer may end with them.

    >>> [end_of_text(text, 2, final=False) for text in ("Hi</s>", "Hi</s></", "Hi</s> you")]
    [2, 2, 7]

    `final`: whether nothing more will arrive, so that a cut token is text.
    """
    run = _RUN.match(text, position)
    if run is None:
        return position
    rest = text[run.end() :]
    if rest and (final or not any(each.startswith(rest) for each in END_TOKENS)):
        return run.end()
    while len(text) - position > LONGEST_END and (token := _ONE.match(text, position)) is not None:
        position = token.end()
    return position
