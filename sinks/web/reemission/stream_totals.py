"""`StreamTotals`: the model and the tokens of a stream that may have several turns."""

from __future__ import annotations

from ....events.answer_end import AnswerEnd
from ....events.chunk_response import TokenUsage


class StreamTotals:
    """What the ends of all answers say of the stream as a whole.

    - `model`: the model to be shown: the one given, else the last one known; empty until then.
    """

    def __init__(self, model: str | None) -> None:
        self.model = model or ""
        self._is_given = model is not None
        self._usages: dict[str | None, TokenUsage] = {}
        """The tokens of each turn; all answers of a turn have the same."""

    def note(self, end: AnswerEnd) -> None:
        if end.usage is not None:
            self._usages[end.turn_id] = end.usage
        if end.model and not self._is_given:
            self.model = end.model

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of all turns together; None if no answer says any."""
        if not self._usages:
            return None
        usages = self._usages.values()
        return TokenUsage(*(sum(getattr(each, name) for each in usages) for name in TokenUsage.__struct_fields__))
