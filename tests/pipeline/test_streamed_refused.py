"""Paths of streamed arguments that are no text."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import tool
from penstock.events import UsageError


def save(body: str) -> None:
    """Save a text."""


@pytest.mark.parametrize(("streamed", "shown"), [(5, "5"), (["body", None], "None")])
def test_a_path_that_is_no_text_is_refused(streamed: Any, shown: str):
    with pytest.raises(UsageError, match=f"of tool 'save' must be paths, such as 'content'; got {shown}"):
        tool(save, streamed=streamed)
