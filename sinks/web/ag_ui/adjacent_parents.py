"""`AdjacentParents`: calls attached as clients need it that look for the parent in the last message only."""

from __future__ import annotations

from collections.abc import Callable

from .ag_ui_values import Frame


class AdjacentParents:
    """Gives a call a parent of its own if another message came since its parent.

    Clients up to 0.0.35 would make a second message with the parent's id.

    - `new_parent`: makes the id of a message.
    """

    def __init__(self, new_parent: Callable[[], str]) -> None:
        self._new_parent = new_parent
        self._messages: set[str] = set()
        self._last: str | None = None
        self._instead: dict[str, str] = {}

    def attached(self, frame: Frame) -> Frame:
        """Return a frame with the parent that its call may have, in the order of sending."""
        if frame["type"] == "TOOL_CALL_START":
            named: str = frame["parentMessageId"]
            parent = self._instead.get(named, named)
            if parent != self._last and parent in self._messages:
                parent = self._instead[named] = self._new_parent()
            self._note(parent)
            return {**frame, "parentMessageId": parent}
        if frame["type"] in ("TEXT_MESSAGE_START", "TOOL_CALL_RESULT"):
            self._note(frame["messageId"])
        return frame

    def _note(self, message_id: str) -> None:
        self._messages.add(message_id)
        self._last = message_id
