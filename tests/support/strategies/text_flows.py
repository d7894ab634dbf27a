"""What `parse_text` may be fed with: text in chunks with native parts between them, any options, any end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple, TypeAlias

from penstock.events.chunk_response import ChunkResponse, FinishReason, ToolCallDelta
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted

Part: TypeAlias = str | ChunkResponse
"""A text, which may be cut anywhere, or something that no text is in."""

OPTIONS: dict[str, tuple[Any, ...]] = {
    "blanks": ("keep", "lone", "drop"),
    "unknown_tool": ("pass", "text", "fail"),
    "fences": ("language", "calls", "text"),
    "between": ("text", "drop"),
    "opener_in_reasoning": ("text", "ends"),
    "repeated_opener": ("drop", "text"),
    "starts_in_reasoning": (False, True),
    "calls": (True, True, True, False),
    "limits": (
        *(Limits(deferred_length=40), Limits(arguments_length=30), Limits(depth=2), Limits(key_length=3)),
        Limits(deferred_length=8, number_length=3),
    ),
}
NATIVE: tuple[Callable[[int], ChunkResponse], ...] = (
    lambda _: ChunkResponse(reasoning="hm "),
    lambda _: ChunkResponse(reasoning="hm", native={"signature": "s"}),
    lambda _: ChunkResponse(native={"signature": "s"}),
    lambda _: ChunkResponse(refusal="no "),
    lambda _: ChunkResponse(image_urls=("u",)),
    lambda index: ChunkResponse(tool_calls=(ToolCallDelta(index, f"n{index}", "nat", '{"a": 1}', done=True),)),
    lambda index: ChunkResponse(tool_calls=(ToolCallDelta(index, f"n{index}", "nat", '{"a": '),)),
)
"""Parts that a provider's own API says; of calls the index is asked for."""
FINISHES: tuple[FinishReason | None, ...] = ("stop", "stop", "tool_calls", "length", "content_filter", "error", None)
HOWS: tuple[How, ...] = (Completed(), Completed(), Failed(RuntimeError("lost")), Interrupted("Ctrl-C"))


class Flow(NamedTuple):
    """What is fed, and how it ends; plain text is fed as `str` where there is nothing else."""

    parts: tuple[Part, ...]
    how: How
    is_text: bool

    @property
    def text(self) -> str:
        return "".join(part for part in self.parts if isinstance(part, str))

    def items(self, cut: Callable[[str], Sequence[str]]) -> list[Any]:
        """Return what to feed, with the texts cut."""
        out: list[Any] = []
        for part in self.parts:
            if isinstance(part, str):
                out += [piece if self.is_text else ChunkResponse(content=piece) for piece in cut(part) or [part]]
            else:
                out.append(part)
        return out


def options_by(random: Random, tools: dict[str, Any]) -> dict[str, Any]:
    """Draw options of `parse_text`, most of them left as they are."""
    options = {name: random.choice(values) for name, values in OPTIONS.items() if random.random() < 0.25}
    way = random.randrange(10)
    if way < 7:
        options["tools"] = tools if way < 5 else {"f": None}
    return options


def flow_by(random: Random, text: str) -> Flow:
    """Draw how a text comes and how it ends."""
    how = random.choice(HOWS)
    if random.random() < 0.5:
        return Flow((text,), how, is_text=True)
    parts: list[Part] = []
    calls = 0
    for piece in cut_by(random, text):
        parts.append(piece)
        if random.random() < 0.3:
            native = random.choice(NATIVE)(calls)
            calls += bool(native.tool_calls)
            parts.append(native)
    finish = random.choice(FINISHES)
    if finish is not None:
        parts.append(ChunkResponse(finish_reason=finish, is_complete=True))
    return Flow(tuple(parts), how, is_text=False)


def cut_by(random: Random, text: str) -> list[str]:
    """Cut whole, in equal pieces or at a few places."""
    way = random.randrange(3)
    if way == 0:
        return [text]
    if way == 1:
        size = random.choice((2, 3, 4, 7))
        return [text[at : at + size] for at in range(0, len(text), size)]
    edges = sorted({0, len(text), *(random.randint(0, len(text)) for _ in range(random.randrange(8)))})
    return [text[begin:end] for begin, end in pairwise(edges)] or [text]
