"""Whole answers of a model, as the ChunkResponses that a source gives, and the same answer cut elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace
from strategies.cuts import cut_at

from penstock.events import ProviderEvent
from penstock.events.chunk_response import (
    ArgumentsKind,
    CallStatus,
    ChunkResponse,
    FinishReason,
    TokenUsage,
    ToolCallDelta,
)

# What an answer is made of: a move is a chunk that says one thing. A chunk says reasoning first, calls last.
RANKS = (
    *("native", "reasoning", "content", "refusal", "image_urls", "tool_calls"),
    *("provider_events", "raw", "end"),
)

CUTS: tuple[tuple[FinishReason, str, bool], ...] = (
    ("pause", "steered", True),
    ("tool_calls", "message_stop", True),
    ("other", "cancelled", False),
)
"""Finishes by other words than the reason has: the reason, the words, whether the model was cut."""

FINISHES: tuple[FinishReason | None, ...] = (
    *("stop", "tool_calls", "tool_calls", "stop", None),
    *("length", "content_filter", "refusal", "pause", "error", "other"),
)

BESIDE = (
    ChunkResponse(provider_events=(ProviderEvent("citation", {"url": "u"}, "openai-responses"),)),
    ChunkResponse(provider_events=(ProviderEvent("tool_result", {"n": [1]}, segment_id="call_0"),)),
    ChunkResponse(raw=({"type": "unknown"},), api="gemini"),
)
"""What only a provider has, and what nobody mapped."""

LAST = (
    ChunkResponse(error={"detail": "moderated", "code": 1}),
    ChunkResponse(model="n", response_id="s"),
    ChunkResponse(message={"role": "assistant"}, api="openai-chat"),
)
"""What may come last, about an answer or all of them."""

SAMPLE_TEXTS = (
    'a "quoted" \\ line\n\tnext',
    "é ü 漢字",
    "🔧🔨 \U0010ffff",
    "{'content': 1}",
    "<a>&amp;</a>\r\n",
    "null",
    "/",
)
LONE_HALVES = ("\\ud83d", "\\uDE00", "\\ud83d\\u0041", "\\udc00\\ud800", "\\ud83d\\n")

TOOLS: dict[str, tuple[str, str]] = {
    "write_file": ("content", "path"),
    "edit_file": ("patch", "path"),
    "patch_file": ("patch", "path"),
    "run_bash": ("command", "cwd"),
}
"""Of each tool with a streamed field: that field, and an argument shown beside it."""


def escaped(text: str, ways: Sequence[int]) -> str:
    r"""Return a text as the inside of a JSON string; its characters are written in the `ways`, which are repeated.

    Way 0 escapes a character only if JSON requires it, 1 always, as `\uXXXX`, and 2 also if it is not ASCII or a `/`.
    """
    pieces: list[str] = []
    for place, char in enumerate(text):
        way = ways[place % len(ways)] if ways else 0
        if way == 0:
            pieces.append(json.dumps(char, ensure_ascii=False)[1:-1])
        elif way == 1:
            halves = char.encode("utf-16-be")
            units = (halves[at : at + 2].hex() for at in range(0, len(halves), 2))
            pieces.append("".join(rf"\u{unit}" for unit in units))
        else:
            pieces.append("\\/" if char == "/" else json.dumps(char)[1:-1])
    return "".join(pieces)


@st.composite
def string_bodies(draw: st.DrawFn) -> str:
    """Draw the inside of a JSON string: raw, escaped in any form, astral, halves of surrogate pairs."""
    letters = st.characters(exclude_categories=["Cs"])
    text = draw(st.one_of(st.sampled_from(SAMPLE_TEXTS), st.text(letters, max_size=8), st.text('ab\n"\\', max_size=8)))
    body = escaped(text, draw(st.lists(st.integers(0, 2), max_size=4)))
    lone = draw(st.sampled_from(("", "", "", *LONE_HALVES)))
    return lone + body if draw(st.booleans()) else body + lone


VALUES = (
    *("0", "-0", "12", "-1.5", "1e3", "2E-2", "1e999", "true", "false", "null", "{}", "[]", '""'),
    *(
        '{"content": "x"}',
        '[1, [{"path": [null, "a"]}], "\\n"]',
        '{"a": {"patch": {"command": "\\ud83d\\ude00"}}}',
        "[ [ ] , { } ]",
    ),
)
"""JSON texts, with keys inside that look like streamed ones."""


def json_values() -> st.SearchStrategy[str]:
    """Draw the text of a JSON value."""
    return st.one_of(st.sampled_from(VALUES), string_bodies().map('"{}"'.format))


def _randoms() -> st.SearchStrategy[Random]:
    """Draw where to cut and what to put together: by one seed, for a draw at each place costs a hundred times as much."""
    return st.integers(0, 2**16).map(Random)


def cut_by(random: Random, text: str) -> list[str]:
    """Cut whole, character by character, in equal pieces or at a few places; no piece is empty."""
    match random.randrange(4):
        case 0:
            pieces = [text]
        case 1 if len(text) < 400:
            pieces = list(text)
        case 2:
            size = random.choice((2, 3, 7))
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
        case _:
            pieces = cut_at(text, [random.randint(0, len(text)) for _ in range(random.randrange(9))])
    return [piece for piece in pieces if piece]


def _object(entries: Sequence[tuple[str, str]], blank: str) -> str:
    inner = f"{blank},{blank}".join(f'"{key}"{blank}:{blank}{value}' for key, value in entries)
    return f"{{{blank}{inner}{blank}}}"


@st.composite
def argument_objects(draw: st.DrawFn, tool: str) -> str:
    """Draw a valid argument object for a tool, its keys in any order, others among them, at times one twice."""
    entries: list[tuple[str, str]] = []
    if tool in TOOLS:
        field, beside = TOOLS[tool]
        if draw(st.integers(0, 9)):
            entries.append((field, draw(string_bodies().map('"{}"'.format))))
        if draw(st.integers(0, 9)):
            entries.append((beside, draw(st.sampled_from(('"a.py"', '"src/\\u00e9.py"', '""', "7")))))
        if not draw(st.integers(0, 9)):
            entries.append((draw(st.sampled_from((field, beside))), draw(json_values())))
    others = st.tuples(st.sampled_from(("a", "b", "k\\u0065y", "")), json_values())
    entries += draw(st.lists(others, max_size=2))
    if entries and not draw(st.integers(0, 9)):
        place = draw(st.integers(0, len(entries) - 1))
        key, value = entries[place]
        entries[place] = (f"{escaped(key[:1], [1])}{key[1:]}" if key and key[0] != "\\" else key, value)
    return _object(draw(st.permutations(entries)), draw(st.sampled_from(("", "", " ", "\n  "))))


@st.composite
def argument_texts(draw: st.DrawFn, tool: str) -> str:
    """Draw what a model writes as arguments: mostly right, at times cut, damaged, absent or no object."""
    text = draw(argument_objects(tool))
    match draw(st.sampled_from(("right", "right", "right", "right", "cut", "cut", "damaged", "extra", "other"))):
        case "cut":
            return text[: draw(st.integers(0, len(text)))]
        case "damaged":
            place = draw(st.integers(0, len(text) - 1))
            return text[:place] + draw(st.sampled_from(("", "}", "]", '"', ",", "\n", "x", "\\"))) + text[place + 1 :]
        case "extra":
            return text + draw(st.sampled_from((" ", "\n\n", "}", " x", "{}", ",")))
        case "other":
            return draw(
                st.sampled_from(("", " ", "null", "null ", "[]", '["content"]', '"text"', "12", "12 ", "nul", "NaN"))
            )
    return text


@st.composite
def _calls(
    draw: st.DrawFn, random: Random, index: int, call_id: str | None, *, named_first: bool
) -> list[ToolCallDelta]:
    tool = draw(st.sampled_from(("write_file", "write_file", "edit_file", "patch_file", "run_bash", "add", "look_up")))
    free_form = tool == "add" and not draw(st.integers(0, 2))
    kind: ArgumentsKind = "text" if free_form else "json" if draw(st.integers(0, 9)) else "object"
    text = draw(st.text('ab\n"{', max_size=9)) if free_form else draw(argument_texts(tool))
    pieces = cut_by(random, text)
    before = 0 if named_first or draw(st.integers(0, 5)) else random.randint(0, len(pieces))
    header = ToolCallDelta(
        index,
        call_id,
        tool,
        pieces[before] if before < len(pieces) and random.randrange(2) else "",
        kind=kind,
        executed_by="client" if draw(st.integers(0, 9)) else "provider",
        native=None if draw(st.integers(0, 9)) else {"signature": "s"},
    )
    rest = pieces[before + bool(header.arguments_delta) :]
    common: dict[str, Any] = {"kind": header.kind, "executed_by": header.executed_by}
    moves = [ToolCallDelta(index, arguments_delta=piece) for piece in pieces[:before]]
    moves.append(header)
    moves += [ToolCallDelta(index, arguments_delta=piece, **common) for piece in rest]
    statuses: tuple[CallStatus | None, ...] = (None, None, None, "completed", "incomplete")
    status = draw(st.sampled_from(statuses))
    match draw(st.sampled_from(("not", "not", "last", "after"))):
        case "last":
            moves[-1] = replace(moves[-1], done=True, status=status)
        case "after":
            moves.append(ToolCallDelta(index, done=True, status=status, **common))
    return moves


@st.composite
def _lanes(draw: st.DrawFn, random: Random, choice: int) -> list[list[ChunkResponse]]:
    """Draw what one choice says, in lanes: within a lane the order is fixed."""
    lanes: list[list[ChunkResponse]] = []
    texts = st.one_of(st.just(""), st.text("ab <🔧\n", max_size=12))
    lanes.append([ChunkResponse(reasoning=piece) for piece in cut_by(random, draw(texts))])
    lanes.append([ChunkResponse(content=piece) for piece in cut_by(random, draw(texts))])
    if not draw(st.integers(0, 7)):
        other = ChunkResponse(native={"signature": "r"})
        lanes.append([draw(st.sampled_from((other, ChunkResponse(refusal="no"), ChunkResponse(image_urls=("u",)))))])
    if not draw(st.integers(0, 3)):
        lanes.append(draw(st.lists(st.sampled_from(BESIDE), min_size=1, max_size=3)))
    for index in range(draw(st.sampled_from((0, 1, 1, 2, 2, 3, 5)))):
        call_id = draw(st.sampled_from((f"call_{index}", f"call_{index}", f"call_{index}", "run_bash:0", "", None)))
        deltas = draw(_calls(random, index, call_id, named_first=False))
        if not draw(st.integers(0, 7)):
            deltas += draw(_calls(random, index, f"again_{index}", named_first=True))
        lanes.append([ChunkResponse(tool_calls=(delta,)) for delta in deltas])
    return [[replace(move, choice=choice) for move in lane] for lane in lanes if lane]


@st.composite
def answers(draw: st.DrawFn, *, choices: int | None = None) -> list[ChunkResponse]:
    """Draw a whole answer: text, reasoning, up to five calls side by side or one after the other, and its end."""
    number = choices or draw(st.sampled_from((1, 1, 1, 2)))
    random = draw(_randoms())
    lanes = [lane for choice in range(number) for lane in draw(_lanes(random, choice))]
    moves: list[ChunkResponse] = []
    one_by_one = draw(st.booleans())
    random.shuffle(lanes)
    while lanes:
        lane = lanes[0] if one_by_one else random.choice(lanes)
        moves.append(lane.pop(0))
        lanes = [each for each in lanes if each]
    for choice in range(number):
        reason = draw(st.sampled_from(FINISHES))
        said = draw(st.booleans())
        if not draw(st.integers(0, 9)):
            cut, words, is_cut = draw(st.sampled_from(CUTS))
            moves.append(ChunkResponse(choice=choice, finish_reason=cut, finish_reason_raw=words, is_cut=is_cut))
        elif reason is not None or said:
            moves.append(ChunkResponse(choice=choice, finish_reason=reason, is_complete=said))
    if draw(st.booleans()):
        moves.insert(0, ChunkResponse(model="m", response_id="r", usage=TokenUsage(1, 0, 1)))
    if draw(st.booleans()):
        moves.append(ChunkResponse(usage=TokenUsage(1, 2, 3)))
    if not draw(st.integers(0, 3)):
        moves.append(draw(st.sampled_from(LAST)))
    return packed(moves, [random.randrange(3) == 0 for _ in moves])


def _rank(move: ChunkResponse) -> int:
    return next((rank for rank, kind in enumerate(RANKS[:-1]) if getattr(move, kind)), len(RANKS) - 1)


def packed(moves: Sequence[ChunkResponse], together: Sequence[bool]) -> list[ChunkResponse]:
    """Put moves into chunks: one into the chunk before it where `together` says so and the order of a chunk allows."""
    chunks: list[ChunkResponse] = []
    last = 0
    for move, joins in zip(moves, together, strict=True):
        rank = _rank(move)
        kind = RANKS[rank]
        fits = (
            bool(chunks)
            and chunks[-1].choice == move.choice
            and (last < rank or (last == rank and kind == "tool_calls"))
        )
        # A signature ends the reasoning before it: in one chunk it stands for its own reasoning only.
        if joins and fits and kind != "end" and "native" not in (kind, RANKS[last]) and RANKS[last] != "end":
            former = chunks[-1]
            together_with = {kind: getattr(former, kind) + getattr(move, kind), "api": move.api or former.api}
            chunks[-1] = replace(former, **together_with)
        else:
            chunks.append(move)
        last = rank
    return chunks


def moves_of(answer: Sequence[ChunkResponse]) -> list[ChunkResponse]:
    """Take chunks apart into moves, in their order."""
    moves: list[ChunkResponse] = []
    for chunk in answer:
        if chunk.native:
            moves.append(ChunkResponse(choice=chunk.choice, native=chunk.native, reasoning=chunk.reasoning))
        kinds = [kind for kind in ("content", "refusal", "image_urls") if getattr(chunk, kind)]
        beside = [kind for kind in ("provider_events", "raw") if getattr(chunk, kind)]
        if chunk.reasoning and not chunk.native:
            kinds.insert(0, "reasoning")
        moves += [ChunkResponse(choice=chunk.choice, **{kind: getattr(chunk, kind)}) for kind in kinds]
        moves += [ChunkResponse(choice=chunk.choice, tool_calls=(delta,)) for delta in chunk.tool_calls]
        rest = replace(
            chunk,
            native=None,
            reasoning="",
            content="",
            refusal="",
            image_urls=(),
            tool_calls=(),
            audio_urls=(),
            video_urls=(),
            provider_events=(),
            raw=(),
            api=None if beside else chunk.api,
        )
        for kind in ("audio_urls", "video_urls"):
            if getattr(chunk, kind):
                moves.append(ChunkResponse(choice=chunk.choice, **{kind: getattr(chunk, kind)}))
        moves += [ChunkResponse(choice=chunk.choice, api=chunk.api, **{kind: getattr(chunk, kind)}) for kind in beside]
        if rest != ChunkResponse(choice=chunk.choice):
            moves.append(rest)
    return moves


def _joined(moves: Sequence[ChunkResponse]) -> list[ChunkResponse]:
    """Join the texts of neighbours that go on with the same text."""
    joined: list[ChunkResponse] = []
    for move in moves:
        former = joined[-1] if joined else None
        if former is not None and former.choice == move.choice:
            kind = RANKS[_rank(move)]
            if kind == RANKS[_rank(former)] and kind in ("reasoning", "content", "refusal") and not former.native:
                joined[-1] = replace(former, **{kind: getattr(former, kind) + getattr(move, kind)})
                continue
            if kind == "tool_calls" and (one := _one_delta(former, move)) is not None:
                joined[-1] = replace(former, tool_calls=(one,))
                continue
        joined.append(move)
    return joined


def _one_delta(former: ChunkResponse, move: ChunkResponse) -> ToolCallDelta | None:
    if not former.tool_calls:
        return None
    first, second = former.tool_calls[0], move.tool_calls[0]
    if first.index != second.index or first.done or second.call_id or second.name or second.native:
        return None
    text = first.arguments_delta + second.arguments_delta
    return replace(first, arguments_delta=text, done=second.done, status=second.status)


def recut(answer: Sequence[ChunkResponse]) -> st.SearchStrategy[list[ChunkResponse]]:
    """Draw the same answer cut elsewhere: see `recut_by`."""
    return _randoms().map(lambda random: recut_by(random, answer))


def recut_by(random: Random, answer: Sequence[ChunkResponse]) -> list[ChunkResponse]:
    """Cut an answer elsewhere: the same characters in the same order, in other pieces and other chunks."""
    moves: list[ChunkResponse] = []
    for move in _joined(moves_of(answer)):
        kind = RANKS[_rank(move)]
        if kind in ("reasoning", "content", "refusal") and not move.native:
            moves += [replace(move, **{kind: piece}) for piece in cut_by(random, getattr(move, kind))]
        elif kind == "tool_calls":
            moves += [replace(move, tool_calls=(delta,)) for delta in _cut_delta(random, move.tool_calls[0])]
        else:
            moves.append(move)
    share = random.choice((0.0, 0.5, 1.0))
    return packed(moves, [random.random() < share for _ in moves])


def _cut_delta(random: Random, delta: ToolCallDelta) -> list[ToolCallDelta]:
    """Cut one delta: identity goes with its first piece, or before it; `done` with its last, or after it."""
    pieces = cut_by(random, delta.arguments_delta)
    if not pieces or (delta.name and random.randrange(2)):
        pieces.insert(0, "")
    if delta.done and random.randrange(2):
        pieces.append("")
    last = len(pieces) - 1
    same = ToolCallDelta(delta.index, kind=delta.kind, executed_by=delta.executed_by)
    return [
        replace(
            delta if place == 0 else same,
            arguments_delta=piece,
            done=delta.done and place == last,
            status=delta.status if place == last else None,
        )
        for place, piece in enumerate(pieces)
    ]
