"""`RepeatedText`: what a model says again of the text that it goes on with."""

from __future__ import annotations

from .shown import Shown

_REPEATS_FROM = 16
"""A shorter text is not known again, because it may come twice by chance."""


class RepeatedText:
    """Drops the shown text from the beginning of the text that goes on with it, if all of that is repeated.

    >>> from penstock.sources.base.request import AnswerPart
    >>> repeated = RepeatedText(Shown([AnswerPart("text", "It is high tide at six")]))
    >>> [repeated.feed(each) for each in ("It is high", " tide at six", ", and", " low at noon")]
    ['', '', ', and', ' low at noon']

    Text is held back only while it may be that. A text that repeats itself, such as a line of dashes, is never dropped,
    because it may go on so. Blanks that a prefill goes without are dropped, too, where they come again.
    """

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._text: str | None = None
        self._blanks = ""
        self._held = ""
        self._is_over = False

    def feed(self, text: str) -> str:
        """Return what is new of the next text."""
        if self._is_over:
            return text
        if self._text is None:
            self._begin()
        said, shown = self._held + text, self._text or ""
        if len(said) < len(shown) and shown.startswith(said):
            self._held = said
            return ""
        self._held = ""
        if shown and said.startswith(shown):
            self._is_over = True
            return said[len(shown) :]
        self._text = ""
        return self._without_blanks(said)

    def rest(self) -> str:
        """Return what was held back, once it is certain that no more of it comes."""
        held, self._held = self._held, ""
        self._is_over = True
        return held

    def _begin(self) -> None:
        shown = self._shown.text
        self._text = shown if len(shown) >= _REPEATS_FROM and not _repeats_itself(shown) else ""
        self._blanks = shown[len(shown.rstrip()) :] if self._shown.is_prefilled else ""

    def _without_blanks(self, said: str) -> str:
        for number, (blank, character) in enumerate(zip(self._blanks, said, strict=False)):
            if blank != character:
                self._is_over = True
                return said[number:]
        common = min(len(self._blanks), len(said))
        self._blanks = self._blanks[common:]
        self._is_over = not self._blanks
        return said[common:]


def _repeats_itself(text: str) -> bool:
    """Return whether a text is made of one piece, repeated at least once.

    >>> _repeats_itself("-" * 20), _repeats_itself("abcabcab"), _repeats_itself("abcab")
    (True, True, False)
    """
    half = len(text) // 2
    period = text.find(text[: len(text) - half], 1)
    while 0 < period <= half:
        if text.startswith(text[period:]):
            return True
        period = text.find(text[: len(text) - half], period + 1)
    return False
