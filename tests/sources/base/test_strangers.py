"""Unknown keys of known events reach the chunks: a new key in every object of every stream of our own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from every_sdk import STREAMS
from further_sdks import FURTHER
from lanes import APIS, read_in_lane
from lanes import machine as lane_machine
from looped import looped
from wire_account import _TYPE_KEYS, LEFT_OUT

from penstock import Pipeline, ProviderError
from penstock.events import to_dict
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed
from penstock.sources.openai_responses.wire import KEYS
from penstock.sources.recognition.apis import api_of

FOLDERS = {folder: api for api, folder in {**APIS, "ollama": "ollama"}.items()} | FURTHER
OWN = [
    pytest.param(api, path, id=f"{folder}-{path.stem}")
    for folder, api in FOLDERS.items()
    for path in sorted((STREAMS / folder).iterdir())
    if path.suffix != ".json" and path.stem != "error_that_is_no_json"
]
_MODELS = re.compile(r".*\b(arguments|input|args)\.new_\d+")
"""Places in what the model wrote, which is read as it is."""
_ERRORS = re.compile(r"error: .*|(.*\.)?(error|last_error)\.new_\d+")
"""Places in an error, of which a `ProviderError` says what it can."""


@cache
def left_out(api: str) -> Any:
    rows = [row.where for row in LEFT_OUT if row.api == api]
    whole = [where + below for where in rows for below in ("", ".*", *(() if ":" in where else (": *",)))]
    return re.compile("|".join(map(translate, whole))).match


def with_new_keys(value: Any, place: str, new: dict[str, str], keys: tuple[str, ...] = ()) -> Any:
    """Return plain JSON with a new key in each object; `new`: where each one is, by its value."""
    if isinstance(value, list):
        return [with_new_keys(each, place, new, keys) for each in value]
    if not isinstance(value, dict):
        return value
    inner = {key: with_new_keys(each, place, new, (*keys, key)) for key, each in value.items()}
    name = f"new_{len(new)}"
    new[f"the value of {name}."] = place + ".".join((*keys, name))
    return {**inner, name: f"the value of {name}."}


def events_of(api: str, path: Path, new: dict[str, str]) -> Iterator[Any]:
    decoder = api_of(api).new_decoder()
    for _, data in [*decoder.feed(path.read_bytes()), *decoder.close()]:
        if data.strip() and not data.startswith("[DONE]"):
            event = json.loads(data)
            is_error = isinstance(event, dict) and any(key == "error" or key.endswith("Exception") for key in event)
            kind = event.get(_TYPE_KEYS[api]) if api in _TYPE_KEYS and isinstance(event, dict) else None
            place = f"{kind}: " if kind else ""
            yield event if is_error else with_new_keys(event, place, new)


@looped("api, path", OWN)
def test_a_new_key_of_a_known_event_reaches_the_chunks(api: str, path: Path) -> None:
    choices: Any = "all" if api in ("openai-chat", "gemini") else 0
    machine = api_of(api).new_machine(choices=choices, turn_id="t", limits=DEFAULT_LIMITS)
    new: dict[str, str] = {}
    chunks: list[Any] = []
    for event in events_of(api, path, new):
        chunks += machine.feed(event)
        if machine.stopped:
            break
    chunks += machine.close(Completed())
    said = json.dumps([to_dict(chunk) for chunk in chunks])
    said += "".join(delta.arguments_delta for chunk in chunks for delta in chunk.tool_calls)
    lost = [
        place
        for value, place in new.items()
        if value not in said and not (left_out(api)(place) or _MODELS.match(place) or _ERRORS.match(place))
    ]
    assert lost == []
    raw = json.dumps([chunk.raw for chunk in chunks])
    assert all(raw.count(value) < 3 for value in new), "by itself, and in what is passed on whole"


@pytest.mark.parametrize("api", APIS)
def test_new_keys_are_read_alike_both_ways(api: str) -> None:
    for path in sorted((STREAMS / APIS[api]).glob("*.sse")):
        for bare in events_of(api, path, {}):
            fast, general = lane_machine(api), lane_machine(api)
            outcome, _ = read_in_lane(fast, json.dumps(bare))
            assert outcome[1] == general.feed(bare)


def test_null_and_empty_values_and_what_is_left_out_are_no_strangers() -> None:
    event: dict[str, Any] = {
        "type": "response.output_text.delta",
        "delta": "Hi",
        "new": None,
        "other": [{}],
        "sequence_number": 3,
    }
    assert KEYS.strangers("response.output_text.delta", event) == {}
    assert KEYS.strangers("response.brand_new", {"new": 1}) == {}


def test_a_text_beside_a_new_key_is_read() -> None:
    machine = api_of("gemini").new_machine(choices=0, turn_id="t", limits=DEFAULT_LIMITS)
    (chunk,) = machine.feed({"candidates": [{"content": {"parts": [{"text": "Hi", "brandNew": 1}]}}]})
    assert (chunk.content, chunk.raw) == ("Hi", ({"brandNew": 1},))


def with_halves(value: Any) -> Any:
    """Return plain JSON with a key in each object that has half of a surrogate pair, as has all below it."""
    if isinstance(value, list):
        return [with_halves(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: with_halves(each) for key, each in value.items()} | {"new\ud800": {"a\udfff": ["b\ud83d"]}}


@looped("api, path", OWN)
def test_no_key_brings_half_of_a_surrogate_pair_into_an_event(api: str, path: Path) -> None:
    events = [with_halves(event) for event in events_of(api, path, {})]
    run = Pipeline(api=api, turn_id="t").stream(events)
    with suppress(ProviderError):
        for event in cast("Any", run):
            msgspec.json.encode(to_dict(event))  # it refuses halves, which `to_json` would mend
    msgspec.json.encode(run.answer.end.message)
