"""Odd streams in a real browser: values of any form, no items, keys that come twice, halves of characters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from browser import Tab, browser_tab
from chat_chunks import call, closing, event
from explorer_tab import explorer_page
from looped import looped
from playwright.sync_api import Browser, Page, expect

from penstock.operators import Failed, holdback, lift
from penstock.studio import trace
from penstock.studio.explorer.explored_runs import RunChoice, runs_of_stream, runs_of_trace
from penstock.studio.explorer.explored_stream import ExploredStream
from penstock.studio.tracing.trace import Trace

pytestmark = pytest.mark.slow


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as opened:
        yield opened
        assert opened.complaints == []


def opened(tab: Tab, traced: Trace) -> Page:
    runs = runs_of_trace(traced)
    return explorer_page(tab, {"one": runs.data(RunChoice(), runs.first)})


def opened_answer(tab: Tab, items: Sequence[Any]) -> Page:
    runs = runs_of_stream(ExploredStream("a stream", "wire", items, None, "openai-chat"))
    return explorer_page(tab, {"one": runs.data(RunChoice(), runs.first)})


class Returning:
    """A stage that returns a value for each item."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def feed(self, item: Any) -> list[Any]:
        return [self._value]

    def close(self, how: Any) -> list[Any]:
        return []

    def dump(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None: ...


@looped(
    "value, shown",
    [
        (None, ""),
        (5, "5"),
        ("a text", "a text"),
        ([1, {"type": "SEGMENT_START"}], '[1,{"type":"SEGMENT_START"}]'),
        ({"type": 5}, "5"),
        ({"type": "SEGMENT_CONTENT"}, "CONTENT"),
        ({"type": "SEGMENT_START", "segment_type": 7, "segment_id": {"a": 1}, "payload": None}, '7 {"a":1}'),
        ({"type": "SEGMENT_END", "payload": {"metadata": 3, "status": ["x"], "delta": {"a": 1}}}, '{"a":1}'),
        ({"type": "CHUNK_RESPONSE", "tool_calls": 5}, "CHUNK_RESPONSE"),
        ({"tool_calls": [None, {"name": ["f"]}]}, '["f"]'),
        (json.loads('{"__proto__": {"type": "x"}, "constructor": 1, "toString": 2, "type": "__proto__"}'), "__proto__"),
    ],
)
def test_a_stage_may_return_anything(tab: Tab, value: Any, shown: str):
    page = opened(tab, trace(lift(lambda: Returning(value))).run(["a"]))
    expect(page.locator(".penstock-explorer")).to_have_attribute("data-ready", "true")
    summary = page.locator(".pe-event summary")
    expect(summary).to_contain_text(shown)
    assert "[object" not in summary.inner_text()
    summary.click()
    expect(page.locator(".pe-event pre")).not_to_be_empty()


def test_a_stream_without_items_and_one_that_only_ended_are_told(tab: Tab):
    page = opened(tab, trace(holdback("a")))
    expect(page.get_by_text("No item came yet.")).to_be_visible()
    page.evaluate("stores.one.set('playing', true)")
    page.evaluate("explorers.one.resized(true)")
    page = opened(tab, trace(holdback("a")).run([]))
    expect(page.get_by_role("heading", name="The input ended")).to_be_visible()
    failed = trace(holdback("a"))
    failed.close(Failed(ValueError("<b>\u202e")))
    page = opened(tab, failed)
    expect(page.get_by_role("list", name="Changed by this item")).to_contain_text(
        "the input failed: ValueError: <b>\\u202e"
    )


def test_of_a_key_that_came_twice_each_value_is_shown_and_the_first_is_marked(tab: Tab):
    page = opened_answer(tab, [call(0, '{"a": 1, "b": "x", ', "c", "f"), call(0, '"a": 2, "b": "y"}'), *closing()])
    values = page.get_by_role("list", name="Arguments so far").get_by_role("listitem")
    expect(values).to_have_text(["arguments: { … }", "a: 1", 'b: "x"'])
    page.evaluate("explorers.one.go(1)")
    expect(values).to_have_text(["a replaced below: 1", 'b replaced below: "x"', "a: 2", 'b: "y"'])


def test_of_many_values_the_first_and_the_last_are_shown(tab: Tab):
    page = opened_answer(tab, [call(0, json.dumps({"a": [*range(100)]}), "c", "f"), *closing()])
    values = page.get_by_role("list", name="Arguments so far").get_by_role("listitem")
    expect(values).to_have_count(4 + 1 + 35)
    expect(values.nth(4)).to_have_text("… 62 more values")
    expect(values.nth(3)).to_have_text("2: 2")
    expect(values.last).to_have_text("99: 99")


def test_a_character_of_two_halves_is_never_split_by_what_is_cut(tab: Tab):
    runs = runs_of_stream(ExploredStream("a stream", "texts", ["🌿" * 12_000, "a" + "🌿" * 12_000]))
    page = explorer_page(tab, {"one": runs.data(RunChoice(), runs.first)})
    for item in (0, 1):
        page.evaluate("item => explorers.one.go(item)", item)
        assert "\\ud" not in page.locator(".pe-body").inner_text()
        assert "🌿" in page.locator(".pe-answer").inner_text()


def test_tags_that_no_screen_shows_are_shown_and_joined_emoji_stay(tab: Tab):
    page = opened_answer(tab, [event({"content": "a\U000e0041\ufeffb 👩\u200d🌾 \x00"})])
    expect(page.locator(".pe-answer pre")).to_have_text("a\\U000e0041\\ufeffb 👩\u200d🌾 \\x00")


def test_a_stages_own_exception_is_the_end_of_the_stream(tab: Tab):
    page = opened(tab, trace(lift(Raising)).run(["a", "b"]))
    expect(page.get_by_role("list", name="Changed by this item")).to_contain_text("RuntimeError: boom")


class Raising(Returning):
    def __init__(self) -> None:
        super().__init__(None)

    def feed(self, item: Any) -> list[Any]:
        message = "boom"
        raise RuntimeError(message)
