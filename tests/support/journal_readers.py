"""Readers that outlive their process: what each got of its stream is in a file, behind which the next process goes on.

python journal_readers.py '{"ports": [4141, 4142], "first": 0, "step": 4, "streams": 2000, ...}'
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import msgspec


class Plan(msgspec.Struct):
    """Reads every `step`-th of `streams` streams that are alive at the same time, from `first` on, until a time.

    Where one ends, that with the number `streams` higher begins. `words` and `pause` are what the model is asked.
    """

    ports: list[int]
    first: int
    step: int
    streams: int
    since: float
    until: float
    words: int
    pause: float
    folder: str


class Journal:
    """The events of one stream, in lines of JSON."""

    def __init__(self, path: Path) -> None:
        kept = path.read_bytes() if path.exists() else b""
        whole = kept[: kept.rfind(b"\n") + 1]  # the process may have been killed in a line
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines()]
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.truncate(self._file, len(whole))
        os.lseek(self._file, 0, os.SEEK_END)

    @property
    def last(self) -> int:
        """The number of the last event, 0 without any."""
        return max((line["id"] for line in self.lines if "id" in line), default=0)

    @property
    def end(self) -> str | None:
        """How the stream has ended: `done` or `error`."""
        return self.lines[-1].get("end") if self.lines else None

    def add(self, **line: Any) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")
        self.lines.append(line)

    def close(self) -> None:
        os.close(self._file)


class Readers:
    def __init__(self, plan: Plan, client: httpx2.AsyncClient) -> None:
        self._plan, self._client = plan, client

    async def run(self) -> None:
        await asyncio.gather(*map(self._lane, range(self._plan.first, self._plan.streams, self._plan.step)))

    async def _lane(self, stream: int) -> None:
        plan = self._plan
        begin = plan.since + stream / plan.streams * plan.words * plan.pause
        await asyncio.sleep(max(0.0, begin - time.time()))
        while time.time() < plan.until or self._path(stream).exists():
            journal = Journal(self._path(stream))
            while journal.end is None:
                try:
                    await self._read(stream, journal)
                except httpx2.RequestError:
                    await asyncio.sleep(random.uniform(0.1, 0.5))
            journal.close()
            stream += plan.streams

    def _path(self, stream: int) -> Path:
        return Path(self._plan.folder) / f"{stream}.jsonl"

    async def _read(self, stream: int, journal: Journal) -> None:
        asked = {"stream": stream, "words": self._plan.words, "pause": self._plan.pause}
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": json.dumps(asked)}]}
        headers = {"x-penstock-stream": f"stream-{stream}"}
        if journal.last:
            headers["last-event-id"] = str(journal.last)
        url = f"http://127.0.0.1:{random.choice(self._plan.ports)}/v1/chat/completions"
        async with self._client.stream("POST", url, json=body, headers=headers) as response:
            if response.status_code != 200:
                await response.aread()
                await asyncio.sleep(random.uniform(0.3, 1.0))
                return
            number = 0
            async for line in response.aiter_lines():
                if line.startswith("id: "):
                    number = int(line[4:])
                elif line.startswith("data: "):
                    _note(journal, number, line[6:])
                if journal.end is not None:
                    return
        await asyncio.sleep(random.uniform(0.1, 0.5))


def _note(journal: Journal, number: int, data: str) -> None:
    if data == "[DONE]":
        journal.add(end="done")
        return
    said = json.loads(data)
    if "error" in said:
        journal.add(id=number, end="error", detail=said["error"]["message"])
        return
    text = "".join(each["delta"].get("content") or "" for each in said["choices"])
    finish = next((each["finish_reason"] for each in said["choices"] if each["finish_reason"]), None)
    journal.add(id=number, text=text, finish=finish)


async def main(plan: Plan) -> None:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(60.0, connect=5.0), limits=limits) as client:
        await Readers(plan, client).run()


if __name__ == "__main__":
    asyncio.run(main(msgspec.json.decode(sys.argv[1], type=Plan)))
