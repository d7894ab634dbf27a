"""A stage that passes every item on, for tests to change in one place."""

from __future__ import annotations

from typing import Any


class PassingStage:
    """A stage without state."""

    def feed(self, item: str) -> list[str]:
        return [item]

    def close(self, how: Any) -> list[str]:
        return []

    def dump(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None: ...
