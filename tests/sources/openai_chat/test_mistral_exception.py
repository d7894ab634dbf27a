from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from chat_client import sync_client

from penstock.sources.openai_chat.mistral import mistral_exception


@pytest.fixture
def errors() -> Any:
    return pytest.importorskip("mistralai.client.errors", reason="needs mistralai")


def answered(status: int, body: Any) -> httpx2.Response:
    text = body if isinstance(body, str) else json.dumps(body)
    return httpx2.Response(status, text=text, headers={"content-type": "application/json"})


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"object": "error", "message": "no", "type": "kind", "code": "word"}, ("no", "kind", "word", 401)),
        ({"message": "Unauthorized", "request_id": "r"}, ("Unauthorized", None, None, 401)),
        ({"detail": "no key"}, ("no key", None, None, 401)),
        ("plain words", ("plain words", None, None, 401)),
        ("", ('API error occurred: Status 401. Body: ""', None, None, 401)),
    ],
)
def test_a_refusal_says_what_its_body_says(errors: Any, body: Any, wanted: tuple[Any, ...]):
    ours = mistral_exception(errors.SDKError("API error occurred", answered(401, body)))
    assert ours is not None
    assert (ours.detail, ours.type, ours.code, ours.status) == wanted


@pytest.mark.parametrize(
    "event",
    [
        {"data": {"error": {"message": "busy", "type": "kind", "code": "word"}}},
        {"data": {"object": "error", "message": "busy", "type": "kind", "code": "word"}},
        {"error": {"message": "busy", "type": "kind", "code": "word"}},
    ],
)
def test_an_error_that_failed_the_sdks_validation_is_read_out_of_it(errors: Any, event: dict[str, Any]):
    cause = ValueError("3 validation errors")
    failed = errors.ResponseValidationError("Response validation failed", answered(200, ""), cause, json.dumps(event))
    ours = mistral_exception(failed)
    assert ours is not None
    assert (ours.detail, ours.type, ours.code, ours.status) == ("busy", "kind", "word", None)


def test_what_only_failed_the_validation_is_an_invalid_response(errors: Any):
    cause = ValueError("choices: field required")
    failed = errors.ResponseValidationError(
        "Response validation failed", answered(200, ""), cause, '{"data": {"id": "r"}}'
    )
    ours = mistral_exception(failed)
    assert ours is not None
    assert (ours.type, ours.status) == ("invalid_response", None)
    assert "choices: field required" in ours.detail


def test_other_exceptions_are_not_mistrals():
    assert mistral_exception(ValueError("x")) is None
    with sync_client("http://127.0.0.1:9") as client, pytest.raises(Exception, match="Connection error") as told:
        client.models.list()
    assert mistral_exception(told.value) is None
