"""In how many files the way of an answer lies: counted by a profiler, warm."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import FrameType
from typing import Any

from checkout import ROOT

from penstock import ROOMS, Pipeline, write_files
from penstock.operators.engine.stage import Completed
from penstock.operators.parse_text import parse_text
from penstock.sinks import to_sse

RUNS = 3
"""The last one is counted: what is made once, as an automaton of markers, is no part of the way."""

HERMES = '<tool_call>{"name": "run", "arguments": {"command": "ls", "cwd": "src"}}</tool_call>'
QWEN3_CODER = (
    "<tool_call>\n<function=run>\n<parameter=command>\nls src/ lib\n</parameter>\n"
    "<parameter=cwd>\nsrc\n</parameter>\n</function>\n</tool_call>"
)[:120]
TOOL = {"name": "run", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}


def files_on_the_way(run: Callable[[], object]) -> list[str]:
    """Return the library's files of which a function is called, in the order of the first calls."""
    files: dict[str, None] = {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            files[frame.f_code.co_filename] = None

    for _ in range(RUNS - 1):
        run()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    below = [Path(file).relative_to(ROOT) for file in files if Path(file).is_relative_to(ROOT)]
    return [path.as_posix() for path in below if path.parts[0] in ROOMS]


def chat(*deltas: dict[str, Any], finish_reason: str) -> list[dict[str, Any]]:
    """Return chunks of OpenAI's chat, as dicts."""
    own = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5"}
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    return [
        *({**own, "choices": [choice]} for choice in choices),
        {**own, "choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]},
    ]


def called(**function: str) -> dict[str, Any]:
    first = {"id": "call_1", "type": "function"} if "name" in function else {}
    return {"tool_calls": [{"index": 0, **first, "function": function}]}


ANSWER = chat(
    {"role": "assistant", "content": ""},
    {"content": "I write "},
    {"content": "the file."},
    called(name="write_file", arguments=""),
    *(
        called(arguments=part)
        for part in ('{"path": "a.py", "con', 'tent": "import os\\n', "print(os.name)", '\\n"', "}")
    ),
    finish_reason="tool_calls",
)


def served(pipeline: Pipeline) -> None:
    async def source() -> AsyncIterator[dict[str, Any]]:
        for chunk in ANSWER:
            yield chunk

    async def serve() -> None:
        frames = [frame async for frame in to_sse(pipeline.astream(source()))]
        assert "import os" in "".join(map(str, frames))

    asyncio.run(serve())


def parsed(dialect: str, text: str) -> None:
    reader = parse_text(dialect, tools=[TOOL], turn_id="t").factories[0]()
    reader.feed(text)
    reader.close(Completed())


def test_a_chat_answer_becomes_frames_of_server_sent_events():
    assert len(ANSWER) == 10
    files = files_on_the_way(lambda: served(Pipeline()))
    assert len(files) <= 57, files  # the aim is 40


def test_a_chat_answer_becomes_frames_and_a_file(tmp_path: Path):
    files = files_on_the_way(lambda: served(Pipeline(steps=[write_files(tmp_path)])))
    assert (tmp_path / "a.py").read_text() == "import os\nprint(os.name)\n"
    assert len(files) <= 65, files  # the aim is 55


def test_a_call_of_hermes_is_read():
    assert len(HERMES) == 84
    files = files_on_the_way(lambda: parsed("hermes", HERMES))
    assert len(files) <= 25, files  # the aim is 14


def test_a_call_of_qwen3_coder_is_read():
    assert len(QWEN3_CODER) == 120
    files = files_on_the_way(lambda: parsed("qwen3_coder", QWEN3_CODER))
    assert len(files) <= 27, files  # the aim is 16
