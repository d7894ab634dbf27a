"""The account of a stream: each value on the wire is found in the chunks that were made of it, or is left out by the list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import translate
from functools import cache
from typing import Any, NamedTuple

from penstock.events import ChunkResponse, to_dict
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed
from penstock.sources.base.response import LOGPROBS, REPEATED, LeftOut
from penstock.sources.recognition.apis import APIS, Api, api_of

TYPED = ("anthropic-messages", "openai-responses")
"""The APIs whose events have types."""
_TYPE_KEYS = dict.fromkeys((*TYPED, "cohere"), "type") | {
    "gemini-interactions": "event_type",
    "openai-assistants": "event",
}
"""The key of the type, by API."""
_HALF = re.compile("[\ud800-\udfff]+")
_TEXTS = ("content", "reasoning", "refusal")
_SHORTEST = 3
"""The least length of a text that may be found inside another one that is not the answer's."""


def _left_out_of(api: Api) -> tuple[LeftOut, ...]:
    machine: Any = api.new_machine(choices=0, turn_id="t", limits=DEFAULT_LIMITS)
    return machine.KEYS.rows


LEFT_OUT = tuple(row for api in APIS for row in _left_out_of(api))
"""What the sources do not pass on, with the reason; all else of the wire reaches the chunks."""


class FedEvent(NamedTuple):
    """One event of the wire, and the chunks that the machine made of it."""

    event: Any
    chunks: list[ChunkResponse]


def steps_of(api: str, body: bytes, *, logprobs: bool = False) -> list[FedEvent]:
    """Return the decoded events of a body with their chunks; the last step has what the end made, and no event."""
    known = api_of(api)
    decoder = known.new_decoder()
    choices: Any = "all" if api in ("openai-chat", "gemini") else 0
    machine = known.new_machine(choices=choices, turn_id="t", limits=DEFAULT_LIMITS, logprobs=logprobs)
    steps: list[FedEvent] = []
    for _, data in [*decoder.feed(body), *decoder.close()]:
        if data.strip() and not data.startswith("[DONE]") and not machine.stopped:
            event = json.loads(data)
            steps.append(FedEvent(event, machine.feed(event)))
    return [*steps, FedEvent(None, machine.close(Completed()))]


def unaccounted(api: str, steps: list[FedEvent], *, logprobs: bool = False) -> list[str]:
    """Return the values of the wire that are neither in the chunks nor on the list, with their paths."""
    evidence = _Evidence([chunk for step in steps for chunk in step.chunks])
    return [
        f"{path} = {value!r}"[:200]
        for step in steps
        for path, value in _paths(api, step.event)
        if not (is_left_out(api, path, logprobs=logprobs) or evidence.has(path, value))
    ]


def _paths(api: str, event: Any) -> Iterator[tuple[str, Any]]:
    events = event if isinstance(event, list) else [event]
    for each in events:
        kind = f"{each.get(_TYPE_KEYS[api])}: " if api in _TYPE_KEYS and isinstance(each, dict) else ""
        for keys, value in leaves(each):
            yield kind + ".".join(keys), value


def leaves(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield what plain JSON says, with its path of keys; nulls and empty texts, lists and objects say nothing."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*keys, key))
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, keys)
    elif value is not None and value != "":
        yield keys, value


def is_left_out(api: str, path: str, *, logprobs: bool = False) -> bool:
    """Return whether a path is on the list, by itself or below an entry."""
    return _left_out(api, logprobs=logprobs)(path) is not None


@cache
def _left_out(api: str, *, logprobs: bool) -> Any:
    whys = {REPEATED, LOGPROBS} if logprobs else {REPEATED}
    rows = [row.where for row in LEFT_OUT if row.api == api and row.why not in whys]
    whole = [where + below for where in rows for below in ("", ".*", *(() if ":" in where else (": *",)))]
    return re.compile("|".join(map(translate, whole))).match


def _base64(text: str) -> str:
    """Return base64 text in the standard alphabet, padded."""
    bare = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    return bare + "=" * (-len(bare) % 4)


class _Evidence:
    """All that the chunks say."""

    def __init__(self, chunks: list[ChunkResponse]) -> None:
        texts: dict[tuple[Any, ...], str] = {}
        self._words: set[str] = set()
        self._pairs: set[tuple[str, Any]] = set()
        self._counts: set[int] = {0}
        self._errors: set[Any] = set()
        for chunk in chunks:
            for name in _TEXTS:
                texts[name, chunk.choice] = texts.get((name, chunk.choice), "") + getattr(chunk, name)
            for delta in chunk.tool_calls:
                place = (chunk.choice, delta.index)
                texts[place] = texts.get(place, "") + delta.arguments_delta
            self._errors |= set((chunk.error or {}).values())
            plain = to_dict(chunk)
            for name in (*_TEXTS, "usage", "choice"):
                plain.pop(name, None)
            for delta in plain.get("tool_calls", ()):
                delta.pop("arguments_delta", None)
            self._add(plain)
            if chunk.usage is not None:
                usage = chunk.usage
                self._counts |= {getattr(usage, name) for name in usage.__struct_fields__}
                self._counts |= {usage.completion - usage.reasoning, usage.total - usage.reasoning}
        self._texts = list(texts.values())
        self._arguments = "\n".join(text for (first, _), text in texts.items() if isinstance(first, int))
        for text in self._arguments.split("\n"):
            try:
                self._add(json.loads(text))
            except ValueError:
                continue
        self._long = "\n".join(word for word in self._words if len(word) >= _SHORTEST)

    def has(self, path: str, value: Any) -> bool:
        if isinstance(value, str):
            return self._has_text(value) or _base64(value) in self._words
        key = re.split(r"[.: ]+", path)[-1]
        if (key, value) in self._pairs or str(value) in self._words:
            return True
        if "error" in path:
            return value in self._errors
        if "usage" in path.lower() or "count" in path.lower():
            return value in self._counts
        return "args" in path.lower() and json.dumps(value) in self._arguments

    def _has_text(self, text: str) -> bool:
        return all(self._has_piece(piece) for piece in _HALF.split(text) if piece)

    def _has_piece(self, text: str) -> bool:
        if text in self._words or any(text in whole for whole in self._texts):
            return True
        if len(text) >= _SHORTEST and text in self._long:
            return True
        return json.dumps(text, ensure_ascii=False)[1:-1] in self._arguments

    def _add(self, plain: Any) -> None:
        for keys, value in leaves(plain):
            if isinstance(value, str):
                self._words.add(value)
            else:
                self._pairs.add((keys[-1] if keys else "", value))
