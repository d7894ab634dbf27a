"""What counts as a count of tokens."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.sources.machine.token_count import token_count
from penstock.sources.openai.chat_usage import chat_usage


@pytest.mark.parametrize("value", [True, False, None, "", [], {}, -1, float("nan"), float("inf"), 1e300])
def test_what_is_no_number_of_tokens_is_none(value: Any) -> None:
    assert token_count({"n": value}, "n") == 0
    usage = chat_usage({"prompt_tokens": value, "completion_tokens": 2, "total_tokens": value})
    assert usage is not None
    assert (usage.prompt, usage.completion, usage.total) == (0, 2, 2)
