"""Draw marbles.svg and marbles-long.svg, the pictures of docs/trace.md: a short answer, and one of 5,000 chunks.

python docs/images/make_marbles_pictures.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.operators import stream_fields, to_invocations, to_segments
from penstock.studio import marbles, trace
from penstock.studio.marble_diagrams.marbles import MarblePicture
from penstock.studio.tracing.trace import Trace

PICTURES = Path(__file__).parent
NANOSECONDS = 1_000_000_000


def traced() -> Trace:
    return trace(to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True))


def short_answer() -> list[ChunkResponse]:
    """Return a sentence and a call that writes a file."""
    pieces = '{"path": "a.p', 'y", "con', 'tent": "pri', 'nt(1)"}'
    first, *rest = pieces
    return [
        ChunkResponse(content="Now "),
        ChunkResponse(content="the file."),
        ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", "write_file", first),)),
        *(ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=piece),)) for piece in rest),
        ChunkResponse(finish_reason="tool_calls"),
    ]


def long_answer() -> Iterator[ChunkResponse]:
    """Yield a thought, a text, a long file, sixty commands and a closing text."""
    yield from (ChunkResponse(reasoning="So, ") for _ in range(400))
    yield from (ChunkResponse(content="word ") for _ in range(700))
    yield from call(0, "write_file", {"path": "src/a.py", "content": "x = 1\n" * 2_000}, 6)
    for number in range(1, 61):
        yield from call(number, "run_bash", {"command": f"pytest tests/test_{number}.py"}, 2)
    yield from (ChunkResponse(content="done ") for _ in range(500))
    yield ChunkResponse(finish_reason="stop")


def call(index: int, name: str, arguments: dict[str, str], size: int) -> Iterator[ChunkResponse]:
    text = json.dumps(arguments)
    yield ChunkResponse(tool_calls=(ToolCallDelta(index, f"call_{index}", name),))
    for at in range(0, len(text), size):
        yield ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=text[at : at + size]),))
    yield ChunkResponse(tool_calls=(ToolCallDelta(index, done=True),))


def long_trace() -> Trace:
    """Return the long answer as it came: at a hundred chunks a second, with a pause before each command."""
    seen, random, now = traced(), Random(1), 0.0  # noqa: S311 - always the same picture is wanted
    for chunk in long_answer():
        is_call = any(delta.name == "run_bash" for delta in chunk.tool_calls)
        now += random.expovariate(100) + (random.uniform(0.1, 0.6) if is_call else 0)
        seen.feed(chunk, t_ns=round(now * NANOSECONDS))
    seen.close(t_ns=round(now * NANOSECONDS))
    return seen


def pictures() -> dict[str, MarblePicture]:
    """Return the pictures, with the names of their files."""
    return {
        "marbles.svg": marbles(traced().run(short_answer()), title="A file, from the provider's chunks to the call"),
        "marbles-long.svg": marbles(long_trace(), axis="time", title="An answer of 5,000 chunks, by time"),
    }


if __name__ == "__main__":
    for name, picture in pictures().items():
        picture.save(PICTURES / name)
