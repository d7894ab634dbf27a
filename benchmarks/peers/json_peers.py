"""Readers of a call's arguments as JSON text, one parser for each call, and the floors under them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from importlib import import_module
from typing import Any

from .contest import Case, Peer, Read, Show

Deltas = list[tuple[int, str]]


def seen(shown: tuple[int, Any]) -> tuple[int, str]:
    """Return the long string of a value so far."""
    number, value = shown
    text = value.get("content", "") if isinstance(value, dict) else ""
    return number, text if isinstance(text, str) else ""


def calls_of(case: Case) -> range:
    return range(len(case.values))


def joined(deltas: Deltas, _: Case) -> Read:
    def read(show: Show) -> None:
        for_call: dict[int, list[str]] = {}
        for number, delta in deltas:
            for_call.setdefault(number, []).append(delta)
        for parts in for_call.values():
            show("".join(parts))

    return read


def called(deltas: Deltas, _: Case) -> Read:
    def read(show: Show) -> None:
        for delta in deltas:
            show(delta)

    return read


def loaded_once(deltas: Deltas, case: Case) -> Read:
    def read(_: Show) -> list[Any]:
        parts: list[list[str]] = [[] for _ in calls_of(case)]
        for number, delta in deltas:
            parts[number].append(delta)
        return [json.loads("".join(each)) for each in parts]

    return read


def parsed_each_time(load: Callable[[bytes], Any]) -> Callable[[Deltas, Case], Read]:
    """Return a reader that parses all bytes so far with each delta."""

    def prepare(deltas: Deltas, case: Case) -> Read:
        def read(show: Show) -> list[Any]:
            texts = [b"" for _ in calls_of(case)]
            values: list[Any] = [None for _ in texts]
            for number, delta in deltas:
                texts[number] += delta.encode()
                values[number] = load(texts[number])
                show((number, values[number]))
            return values

        return read

    return prepare


def jiter_each_time() -> Callable[[Deltas, Case], Read]:
    from_json = import_module("jiter").from_json
    return parsed_each_time(lambda text: from_json(text, partial_mode="trailing-strings"))


def pydantic_each_time() -> Callable[[Deltas, Case], Read]:
    from_json = import_module("pydantic_core").from_json
    return parsed_each_time(lambda text: from_json(text, allow_partial="trailing-strings"))


def rust_parser() -> Callable[[Deltas, Case], Read]:
    import_module("streaming_json_parser_native")  # without it a slower parser in Python would run
    new = import_module("streaming_json_parser").StreamingJsonParser

    def prepare(deltas: Deltas, case: Case) -> Read:
        def read(show: Show) -> list[Any]:
            feeds = [new().feed for _ in calls_of(case)]
            values: list[Any] = [None for _ in feeds]
            for number, delta in deltas:
                values[number] = feeds[number](delta.encode()).value
                show((number, values[number]))
            return values

        return read

    return prepare


def jsonriver() -> Callable[[Deltas, Case], Read]:
    parse = import_module("jsonriver").parse

    async def one(deltas: list[str], number: int, show: Show) -> Any:
        async def source() -> AsyncIterator[str]:
            for delta in deltas:
                yield delta

        value = None
        async for value in parse(source()):
            show((number, value))
        return value

    def prepare(deltas: Deltas, case: Case) -> Read:
        parts: list[list[str]] = [[] for _ in calls_of(case)]
        for number, delta in deltas:
            parts[number].append(delta)
        return lambda show: [finished(one(part, number, show)) for number, part in enumerate(parts)]

    return prepare


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits, without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    message = "the coroutine waits for something"
    raise RuntimeError(message)


def ijson(backend: str) -> Callable[[Deltas, Case], Read]:
    package = import_module("ijson")
    module = package.get_backend(backend)

    def prepare(deltas: Deltas, case: Case) -> Read:
        def read(show: Show) -> list[Any]:
            found = [package.sendable_list() for _ in calls_of(case)]
            parsers = [module.items_coro(each, "", use_float=True) for each in found]
            for number, delta in deltas:
                parsers[number].send(delta.encode())
            for number, parser in enumerate(parsers):
                parser.close()
                show((number, found[number][0]))
            return [each[0] for each in found]

        return read

    return prepare


FLOORS = (
    Peer("join the deltas", "calls", joined, has_values=False, is_floor=True, note="a floor: no parsing"),
    Peer("one plain call per delta", "calls", called, has_values=False, is_floor=True, note="a floor: no parsing"),
    Peer("json.loads once, at the end", "calls", loaded_once, is_floor=True, note="a floor: nothing on the way"),
)
JSON_PEERS: tuple[tuple[str, str, str, Callable[[], Callable[[Deltas, Case], Read]], Any], ...] = (
    ("jiter, all again per delta", "jiter", "calls", jiter_each_time, seen),
    ("pydantic_core, all again per delta", "pydantic_core", "calls", pydantic_each_time, seen),
    ("streaming-json-parser (Rust)", "streaming-json-parser-native", "calls", rust_parser, seen),
    ("jsonriver", "jsonriver", "calls", jsonriver, seen),
    ("ijson (C)", "ijson", "calls", lambda: ijson("yajl2_c"), seen),
    ("ijson (Python)", "ijson", "calls", lambda: ijson("python"), seen),
)
