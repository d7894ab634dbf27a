"""Readers of a call's arguments as JSON text, one parser for each call, and the floors under them.

Those that return the whole value each time are asked what a program asks: the text of `content` that is new.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from importlib import import_module
from typing import Any

from .contest import Case, Peer, Read, Show

Deltas = list[tuple[int, str]]


def pieces(shown: tuple[int, str]) -> Iterator[tuple[int, str]]:
    yield shown


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


def shown_as_it_grows(new_parser: Callable[[], Callable[[bytes], Any]]) -> Callable[[Deltas, Case], Read]:
    """Return a reader with a parser for each call, which returns the value so far of each delta."""

    def prepare(deltas: Deltas, case: Case) -> Read:
        def read(show: Show) -> list[Any]:
            parsers = [new_parser() for _ in calls_of(case)]
            values: list[Any] = [{} for _ in parsers]
            lengths = [0 for _ in parsers]
            for number, delta in deltas:
                values[number] = parsers[number](delta.encode())
                content = values[number].get("content", "")
                if len(content) > lengths[number]:
                    show((number, content[lengths[number] :]))
                    lengths[number] = len(content)
            return values

        return read

    return prepare


def parsed_each_time(load: Callable[[bytes], Any]) -> Callable[[Deltas, Case], Read]:
    """Return a reader that parses all bytes so far with each delta."""

    def new_parser() -> Callable[[bytes], Any]:
        text = b""

        def parse(delta: bytes) -> Any:
            nonlocal text
            text += delta
            return load(text)

        return parse

    return shown_as_it_grows(new_parser)


def jiter_each_time() -> Callable[[Deltas, Case], Read]:
    from_json = import_module("jiter").from_json
    return parsed_each_time(lambda text: from_json(text, partial_mode="trailing-strings"))


def pydantic_each_time() -> Callable[[Deltas, Case], Read]:
    from_json = import_module("pydantic_core").from_json
    return parsed_each_time(lambda text: from_json(text, allow_partial="trailing-strings"))


def rust_parser() -> Callable[[Deltas, Case], Read]:
    import_module("streaming_json_parser_native")  # without it a slower parser in Python would run
    new = import_module("streaming_json_parser").StreamingJsonParser

    def new_parser() -> Callable[[bytes], Any]:
        feed = new().feed
        return lambda delta: feed(delta).value

    return shown_as_it_grows(new_parser)


def jsonriver() -> Callable[[Deltas, Case], Read]:
    parse = import_module("jsonriver").parse

    async def one(deltas: Iterable[str], number: int, show: Show) -> Any:
        async def source() -> AsyncIterator[str]:
            for delta in deltas:
                yield delta

        value: Any = None
        length = 0
        async for value in parse(source()):
            content = value.get("content", "")
            if len(content) > length:
                show((number, content[length:]))
                length = len(content)
        return value

    def prepare(deltas: Deltas, case: Case) -> Read:
        if len(case.values) == 1:
            return lambda show: [finished(one((delta for _, delta in deltas), 0, show))]
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
                show((number, found[number][0].get("content", "")))
            return [each[0] for each in found]

        return read

    return prepare


FLOORS = (
    Peer("join the deltas", "calls", joined, has_values=False, is_floor=True, note="a floor: no parsing"),
    Peer("one plain call per delta", "calls", called, has_values=False, is_floor=True, note="a floor: no parsing"),
    Peer("json.loads once, at the end", "calls", loaded_once, is_floor=True, note="a floor: nothing on the way"),
)
JSON_PEERS: tuple[tuple[str, str, str, Callable[[], Callable[[Deltas, Case], Read]]], ...] = (
    ("jiter, all again per delta", "jiter", "calls", jiter_each_time),
    ("pydantic_core, all again per delta", "pydantic_core", "calls", pydantic_each_time),
    ("streaming-json-parser (Rust)", "streaming-json-parser-native", "calls", rust_parser),
    ("jsonriver", "jsonriver", "calls", jsonriver),
    ("ijson (C)", "ijson", "calls", lambda: ijson("yajl2_c")),
    ("ijson (Python)", "ijson", "calls", lambda: ijson("python")),
)
