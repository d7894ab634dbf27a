from __future__ import annotations

from typing import Any

import pytest
from looped import looped

from penstock.sources.base.endings import error_in_body, reported_error

ERRORS: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "OpenAI's": ({"error": {"message": "m", "type": "t", "code": "c"}}, ("m", "t", "c", None)),
    "Anthropic's": (
        {"type": "error", "error": {"type": "t", "message": "m"}, "request_id": "r"},
        ("m", "t", None, None),
    ),
    "a text": ({"error": "m"}, ("m", None, None, None)),
    "a text with its type, as TGI's": ({"error": "m", "error_type": "t"}, ("m", "t", None, None)),
    "a word beside the message": ({"error": "t", "message": "m"}, ("m", "t", None, None)),
    "a status beside, as Spring's": ({"status": 500, "error": "t", "message": "m"}, ("m", "t", None, 500)),
    "a flag beside the message": ({"error": True, "message": "m", "code": 7}, ("m", None, "7", None)),
    "an object without a message": ({"error": {"code": 7}, "message": "m"}, ("m", None, "7", None)),
    "vLLM's": ({"object": "error", "message": "m", "type": "t", "code": 400}, ("m", "t", "400", 400)),
    "a type alone": ({"type": "error", "message": "m", "code": "c"}, ("m", None, "c", None)),
    "MiniMax's": ({"choices": None, "base_resp": {"status_code": 8, "status_msg": "m"}}, ("m", None, "8", None)),
    "DeepInfra's and Venice's": ({"choices": None, "error_type": "t", "error_message": "m"}, ("m", "t", None, None)),
    "Baidu's": ({"error_code": 336003, "error_msg": "m"}, ("m", None, "336003", None)),
    "Cloudflare's": ({"success": False, "errors": [{"code": 1, "message": "m"}]}, ("m", None, "1", None)),
    "DashScope's": ({"code": "c", "message": "m", "request_id": "r"}, ("m", None, "c", None)),
    "SiliconFlow's": ({"code": 20012, "message": "m", "data": None}, ("m", None, "20012", None)),
    "a code and a msg": ({"code": 1, "msg": "m", "success": False}, ("m", None, "1", None)),
    "Azure's gateway's": ({"statusCode": 429, "message": "m"}, ("m", None, None, 429)),
    "a status in words of digits": ({"status": "503", "message": "m"}, ("m", None, None, 503)),
    "problem details": ({"type": "about:blank", "title": "x", "status": 503, "detail": "m"}, ("m", None, None, 503)),
    "one without its frame": ({"type": "server_error", "message": "m"}, ("m", "server_error", None, None)),
    "FastAPI's": ({"detail": "m"}, ("m", None, None, None)),
    "AWS's gateway's": ({"message": "m"}, ("m", None, None, None)),
    "AWS's with a capital": ({"Message": "m", "requestId": "r"}, ("m", None, None, None)),
}


@looped("name", ERRORS)
def test_an_error_is_read_in_the_form_of(name: str):
    item, (detail, kind, code, status) = ERRORS[name]
    told = reported_error(item)
    assert told is not None
    error = error_in_body(told.body)
    assert (error.detail, error.type, error.code, error.status) == (detail, kind, code, status)


def test_what_was_wrong_with_a_request_is_told_with_its_places():
    told = reported_error({"detail": [{"loc": ["body", "model"], "msg": "field required"}]})
    assert told is not None
    assert "field required" in error_in_body(told.body).detail


@looped(
    "item",
    [
        {},
        {"error": None},
        {"error": {}},
        {"error": ""},
        {"error": False, "message": "m", "status": "queued"},
        {"choices": [], "base_resp": {"status_code": 0, "status_msg": ""}},
        {"code": 0, "message": "Success", "sid": "s"},
        {"code": 200, "message": "m", "data": []},
        {"code": "ok", "message": "m"},
        {"code": 10000, "message": "success"},
        {"status": "queued", "message": "m"},
        {"status": 200, "message": "m"},
        {"type": "info", "message": "m", "code": 5},
        {"message": {"content": "m"}, "done": False},
        {"message": "m", "progress": 5},
        {"choices": [{}], "message": "m", "code": 5},
        {"success": True, "errors": []},
        {"id": "r", "usage": {}},
    ],
)
def test_what_is_no_error_is_none(item: dict[str, Any]):
    assert reported_error(item) is None


@pytest.mark.parametrize("item", [{"code": 5, "message": "m"}, {"detail": "m"}, {"message": "m"}])
def test_beside_an_answer_a_message_is_no_error(item: dict[str, Any]):
    assert reported_error(item) is not None
    assert reported_error(item, is_answer=True) is None


@pytest.mark.parametrize("name", ["OpenAI's", "MiniMax's", "DeepInfra's and Venice's", "vLLM's", "Cloudflare's"])
def test_beside_an_answer_what_can_be_nothing_else_is_an_error(name: str):
    assert reported_error(ERRORS[name][0], is_answer=True) is not None
