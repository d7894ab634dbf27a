from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.sources.framing.sse import error_data, page_text, unframed_errors


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("gone", {"error": "gone"}),
        ("", {"error": True}),
        ("null", {"error": True}),
        ("5", {"error": 5}),
        ('{"error": "gone"}', {"error": "gone"}),
        ('{"code": "Throttling", "message": "slow"}', {"code": "Throttling", "message": "slow"}),
        ('{"reason": "gone"}', {"error": {"reason": "gone"}}),
        ("[" * 100_000, {"error": "[" * 100_000}),
    ],
)
def test_the_data_of_an_event_named_error_is_an_error_whatever_it_is(data: str, told: Any):
    assert json.loads(error_data(data)) == told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"error": "a"}', ["a"]),
        ('[{"error": "a"}, {"id": 1}, {"error": "b"}, 5]', ["a", "b"]),
        ('{"id": 1, "choices": []}', []),
        ("[]", []),
        ("{oops", []),
        ('an "error" in words', []),
    ],
)
def test_json_outside_of_any_event_tells_errors_and_nothing_else(text: str, said: list[str]):
    assert [json.loads(each)["error"] for each in unframed_errors(text)] == said


def test_an_error_that_was_cut_is_one_too_and_its_beginning_is_told():
    [told] = unframed_errors('{"error": {"message": "out of mem' + "o" * 1000)
    error = json.loads(told)["error"]
    assert error["type"] == "invalid_json"
    assert 'cut or no JSON: {"error": {"message": "out of mem' in error["message"]
    assert len(error["message"]) < 300


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", "502 Bad Gateway nginx"),
        ("<!DOCTYPE html>\n<h1>\n  Busy &amp; closed\n</h1>", "Busy & closed"),
        ("<script>let a = '<p>'</script><STYLE>p {}</STYLE><!-- no --><p>Yes", "Yes"),
        ("<?xml version='1.0'?><Error><Code>Denied</Code></Error>", "Denied"),
        ("<p>cut <b", "cut"),
        ("<script>cut", ""),
        ("<p>" + "x" * 300, "x" * 200 + "..."),
    ],
)
def test_of_a_page_what_it_shows_is_told(page: str, text: str):
    assert page_text(page) == text
