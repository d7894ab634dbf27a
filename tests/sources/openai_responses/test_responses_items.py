"""The tables of items, against the request types of OpenAI's SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

import pytest
from openai.types import responses
from openai.types.responses import response_function_web_search_param as web_search
from openai.types.responses import response_output_text_param as output_text
from openai.types.responses import response_reasoning_item_param as reasoning

from penstock.sources.openai_responses.request import ACTION_KEYS, ANNOTATION_KEYS, BOOKKEEPING, ITEM_KEYS, PART_KEYS

OF_THE_CLIENT = frozenset(
    ("additional_tools", "compaction_trigger", "configuration_update", "item_reference", "mcp_approval_response")
) | {f"{kind}_output" for kind in ("computer_call", "custom_tool_call", "function_call", "local_shell_call")}
"""Items that a client writes and no answer has."""


def keys_by_type(*kinds: Any) -> dict[str, frozenset[str]]:
    """Return the keys of each typed dict of a union, by its `type`; of one with several dicts, those of all."""
    keys: dict[str, frozenset[str]] = {}
    for kind in kinds:
        hints = get_type_hints(kind)
        for name in _literals(hints["type"]):
            keys[name] = keys.get(name, frozenset()) | hints.keys()
    return keys


def _literals(hint: Any) -> list[str]:
    values = get_args(hint)
    return [value for value in values if isinstance(value, str)] or [
        name for each in values for name in _literals(each)
    ]


def test_the_items_are_those_of_the_request_that_an_answer_can_have():
    known = keys_by_type(*get_args(responses.ResponseInputItemParam))
    assert ITEM_KEYS.keys() == known.keys() - OF_THE_CLIENT
    assert {kind: keys for kind, keys in ITEM_KEYS.items() if keys != known[kind]} == {}


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        (
            PART_KEYS,
            (
                output_text.ResponseOutputTextParam,
                responses.ResponseOutputRefusalParam,
                reasoning.Content,
                reasoning.Summary,
            ),
        ),
        (ANNOTATION_KEYS, get_args(output_text.Annotation)),
        (ACTION_KEYS, get_args(web_search.Action)),
    ],
)
def test_the_parts_annotations_and_actions_are_those_of_the_request(
    table: Mapping[str, frozenset[str]], kinds: tuple[Any, ...]
):
    assert dict(table) == keys_by_type(*kinds)


def test_what_no_notice_tells_of_is_not_content():
    assert BOOKKEEPING.isdisjoint(("text", "content", "arguments", "input", "output"))
