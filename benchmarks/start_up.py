"""What a start costs: imports and first answers in processes of their own; pipelines and tools, in plain calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import thread_time
from typing import Any

from penstock.operators.machines.json_machine import IS_NATIVE
from penstock.pipeline import Pipeline, tool

TESTS = Path(__file__).parents[1] / "tests"
PROCESSES = 7
CALLS = 20_000
MADE = 200
# The checkout is found without the tests' own imports, which would have loaded half of it.
BEGIN = "import sys; sys.path.insert(0, sys.argv[1])\n"
NATIVE = "from penstock.operators import drive, stream_fields, to_invocations, to_segments"
BASE = "import reactivex, msgspec, pydantic"
PURE = {"PENSTOCK_PURE": "1"}
ARGUMENTS = {"path": "src/app.py", "content": "print('hello')"}
BODY = [
    {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **each}]}, "finish_reason": None}],
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
    }
    for each in (
        {"id": "call_1", "type": "function", "function": {"name": "save", "arguments": ""}},
        {"function": {"arguments": json.dumps(ARGUMENTS)}},
    )
]
"""A whole answer of OpenAI's chat: one call."""
SERVED = f"""
import httpx2, json
body = "".join(f"data: {{json.dumps(each)}}\\n\\n" for each in {BODY!r}) + "data: [DONE]\\n\\n"
answer = lambda request: httpx2.Response(200, headers={{"content-type": "text/event-stream"}}, text=body)
http = httpx2.Client(transport=httpx2.MockTransport(answer))
"""
FIRST_ANSWERS: dict[str, tuple[str, str]] = {
    "Penstock: Pipeline": (
        "penstock",
        f"""
from penstock import Pipeline
calls = [event.arguments for event in Pipeline().stream({BODY!r}) if type(event).__name__ == "ToolInvocation"]
assert calls == [{ARGUMENTS!r}]
""",
    ),
    "Penstock: operators": (
        "penstock",
        f"""
from penstock.events import ChunkResponse, ToolCallDelta
{NATIVE}
call = ToolCallDelta(0, "call_1", "save", {json.dumps(ARGUMENTS)!r})
chunks = [ChunkResponse(tool_calls=(call,), finish_reason="tool_calls", is_complete=True)]
events = [*drive(chunks, to_segments(), stream_fields(), to_invocations())]
assert any(getattr(event, "arguments", None) == {ARGUMENTS!r} for event in events)
""",
    ),
    "openai: chat, create": (
        "openai",
        f"""{SERVED}
from openai import OpenAI
client = OpenAI(api_key="-", base_url="http://here", http_client=http)
stream = client.chat.completions.create(model="m", messages=[], stream=True)
assert [chunk.choices[0].delta.tool_calls[0].function.arguments for chunk in stream][1] == {json.dumps(ARGUMENTS)!r}
""",
    ),
    "openai: chat.stream()": (
        "openai",
        f"""{SERVED}
from openai import OpenAI
client = OpenAI(api_key="-", base_url="http://here", http_client=http)
with client.chat.completions.stream(model="m", messages=[]) as stream:
    [*stream]
    call = stream.current_completion_snapshot.choices[0].message.tool_calls[0]
assert call.function.arguments == {json.dumps(ARGUMENTS)!r}
""",
    ),
    "pydantic-ai: its TestModel": (
        "pydantic_ai",
        """
import asyncio
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
async def main():
    async with Agent(TestModel()).run_stream("-") as answer:
        assert [text async for text in answer.stream_text(delta=True)]
asyncio.run(main())
""",
    ),
}
"""What is installed for it, and a program from its imports to the end of its first answer."""


def _seconds(code: str, **environment: str) -> float:
    """Return the CPU seconds of a fresh process that runs some code."""
    before = getrusage(RUSAGE_CHILDREN)
    command = [sys.executable, "-c", BEGIN + code, str(TESTS.parent)]
    subprocess.run(command, check=True, env={**os.environ, **environment})
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_seconds(*codes: str) -> list[float]:
    """Return the CPU seconds of each code beyond those of an empty process: the best of several, which take turns."""
    rounds = [[_seconds(code) for code in ("", *codes)] for _ in range(PROCESSES)]
    empty, *best = map(min, zip(*rounds, strict=True))
    return [each - empty for each in best]


def first_answers() -> dict[str, float]:
    """Return the CPU milliseconds of each program beyond those of an empty process: the best of several, in turns."""
    runs: dict[str, tuple[str, dict[str, str]]] = {"": ("", {})}
    for name, (package, code) in FIRST_ANSWERS.items():
        if find_spec(package) is not None:
            runs[name] = code, {}
            if package == "penstock" and IS_NATIVE:
                runs[f"{name}, in Python"] = code, PURE
    rounds = [[_seconds(code, **environment) for code, environment in runs.values()] for _ in range(PROCESSES)]
    empty, *best = map(min, zip(*rounds, strict=True))
    return {name: 1000 * (took - empty) for name, took in zip([*runs][1:], best, strict=True)}


def _sample(path: str, content: str = "", *, lines: list[int] | None = None) -> str:
    """Write a file.

    Args:
        path: where
        content: what
    """
    return f"{path} {content} {lines}"


def _nothing(_: Any) -> None:
    """Stand for one plain Python call."""


def _in_calls(make: Callable[[], object]) -> float:
    """Return what making something costs at best, in plain calls; the two take turns."""
    costs: list[float] = []
    floors: list[float] = []
    for number in range(MADE):
        begin = thread_time()
        make()
        costs.append(thread_time() - begin)
        if number % 10 == 0:
            begin = thread_time()
            for each in range(CALLS):
                _nothing(each)
            floors.append((thread_time() - begin) / CALLS)
    return min(costs) / min(floors)


def start_rows() -> list[tuple[str, float, float]]:
    """Return a row for each: its name, what it costs, and the bound.

    A plain call takes 25 to 40 ns: 0.3 ms are 9,000 calls, and 1 ms is 30,000.
    """
    reactivex, package, native, base, pipeline = import_seconds(
        "import reactivex",
        "import penstock.operators",
        NATIVE,
        BASE,
        f"{BASE}\nfrom penstock.pipeline import Pipeline",
    )
    return [
        ("import penstock.operators, in imports of reactivex", package / reactivex, 3),
        ("import of the operators of native calls, in imports of reactivex", native / reactivex, 3.5),
        (f"from penstock.pipeline import Pipeline, s over {BASE[7:]}", pipeline - base, 0.35),
        ("Pipeline(), in plain calls", _in_calls(Pipeline), 9_000),
        ("a function's tool with its schema, in plain calls", _in_calls(lambda: tool(_sample)), 30_000),
    ]
