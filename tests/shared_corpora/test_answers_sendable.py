"""The messages that the providers' own SDKs accumulate from the recordings, as the next request takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from request_types import check_request

from penstock.events import AnswerEnd
from penstock.pipeline import Answer
from penstock.sources.recognition.apis import form_of

FAMILIES = (
    {"chat": "openai-chat", "responses": "openai-responses"}
    | {name: name for name in ("anthropic", "gemini", "ollama", "bedrock")}
    | {"cohere2": "cohere", "interactions": "gemini-interactions"}
)


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((shared / "recordings" / "answers.json").read_text(encoding="utf-8"))
    return [row for row in found if row["family"] in FAMILIES and row["message"] is not None]


def test_every_accumulated_message_can_be_sent(rows: list[dict[str, Any]]):
    for row in rows:
        family = FAMILIES[row["family"]]
        for name in (family, "mistral") if family == "openai-chat" else (family,):
            answer = Answer([AnswerEnd("t", api=form_of(name).api, message=row["message"])])
            entries = answer.to_messages(name)
            check_request(name, entries)
            again = Answer([AnswerEnd("t", api=form_of(name).api, message=answer.message(name))])
            assert again.message(name) == answer.message(name), row["file"]


def test_what_is_sendable_goes_back_unchanged(rows: list[dict[str, Any]]):
    changed = [
        row["file"]
        for row in rows
        if not row["not_sendable"]
        and Answer([AnswerEnd("t", api=form_of(FAMILIES[row["family"]]).api, message=row["message"])]).message(
            FAMILIES[row["family"]]
        )
        != row["message"]
    ]
    # Mistral's own parts of content go to Mistral only; a call without arguments has an empty object.
    assert all(file.startswith("mistral-chat/") for file in changed)
