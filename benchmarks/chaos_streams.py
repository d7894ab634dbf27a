"""Kill buffers, gateways, readers and the log server, again and again, under live streams; nothing may be lost or doubled.

    python benchmarks/chaos_streams.py --log redis --streams 2000 --seconds 500 --kills 100

    upstream -> 2 buffers -> 4 gateways -> readers, each of many streams
                    \\____ log ____/

All processes are on this machine. A reader keeps what it got in a file and goes on behind it, as the program of a client
does; one that is killed starts again. Afterwards each stream's events are read: their numbers, their text, their end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests/support"))
PIECES, PAUSE = 20, float(os.environ.get("PAUSE", "5"))
"""The pieces of a stream, and the seconds between two of them."""
GATEWAYS, BUFFERS, READERS = 4, 2, 4
LEASE = 3.0
_ON = re.compile(r"http://127\.0\.0\.1:(\d+)")


def words(stream: int) -> list[str]:
    return [f"{stream}.{number} " for number in range(PIECES)]


# The server of the model


def upstream(port: int) -> None:
    """Answer each request with the words of its stream, whenever it is asked."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, StreamingResponse
    from starlette.routing import Route

    async def models(_: Request) -> JSONResponse:
        return JSONResponse({"object": "list", "data": [{"id": "m", "owned_by": "someone"}]})

    async def answer(request: Request) -> StreamingResponse:
        stream = int((await request.json())["messages"][-1]["content"])

        async def pieces() -> Any:
            for word in words(stream):
                yield event({"content": word})
                await asyncio.sleep(PAUSE * random.uniform(0.8, 1.2))
            yield event({}, "stop") + b"data: [DONE]\n\n"

        def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {
                "id": f"c{stream}",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "m",
                "choices": [choice],
            }
            return b"data: %b\n\n" % json.dumps(chunk).encode()

        return StreamingResponse(pieces(), media_type="text/event-stream")

    routes = [Route("/v1/models", models), Route("/v1/chat/completions", answer, methods=["POST"])]
    uvicorn.run(Starlette(routes=routes), port=port, log_level="error")


# The readers


class Journal:
    """What a reader has of a stream, in a file that outlives it."""

    def __init__(self, path: Path) -> None:
        kept = path.read_bytes() if path.exists() else b""
        whole = kept[: kept.rfind(b"\n") + 1]
        self.lines = [json.loads(line) for line in whole.splitlines()]
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.truncate(self._file, len(whole))
        os.lseek(self._file, 0, os.SEEK_END)

    @property
    def last(self) -> int:
        return max((line["id"] for line in self.lines if "id" in line), default=0)

    @property
    def is_over(self) -> bool:
        return bool(self.lines) and "end" in self.lines[-1]

    def add(self, **line: Any) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")
        self.lines.append(line)

    def close(self) -> None:
        os.close(self._file)


def readers(which: int, ports: list[int], streams: int, until: float, folder: Path) -> None:
    """Keep so many streams alive until a time, and read each to its end."""
    import httpx2

    async def main() -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx2.AsyncClient(timeout=httpx2.Timeout(60.0, connect=5.0), limits=limits) as client:
            await asyncio.gather(*(lane(client, each) for each in range(which, streams, READERS)))

    async def lane(client: httpx2.AsyncClient, first: int) -> None:
        await asyncio.sleep(max(0.0, started + first / streams * PIECES * PAUSE - time.time()))
        stream = first
        while time.time() < until or (folder / f"{stream}.jsonl").exists():
            journal = Journal(folder / f"{stream}.jsonl")
            while not journal.is_over:
                await read(client, stream, journal)
            journal.close()
            stream += streams

    async def read(client: httpx2.AsyncClient, stream: int, journal: Journal) -> None:
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": str(stream)}]}
        headers = {"x-penstock-stream": f"stream-{stream}"}
        if journal.last:
            headers["last-event-id"] = str(journal.last)
        url = f"http://127.0.0.1:{random.choice(ports)}/v1/chat/completions"
        try:
            async with client.stream("POST", url, json=body, headers=headers) as response:
                if response.status_code != 200:
                    await response.aread()
                    await asyncio.sleep(random.uniform(0.3, 1.0))
                    return
                number = 0
                async for line in response.aiter_lines():
                    if line.startswith("id: "):
                        number = int(line[4:])
                    elif line == "data: [DONE]":
                        journal.add(end="done")
                    elif line.startswith("data: "):
                        said = json.loads(line[6:])
                        if "error" in said:
                            journal.add(id=number, end="error", detail=said["error"]["message"])
                        else:
                            choices = said["choices"]
                            text = "".join(each["delta"].get("content") or "" for each in choices)
                            finish = next((each["finish_reason"] for each in choices if each["finish_reason"]), None)
                            journal.add(id=number, text=text, finish=finish)
                        if journal.is_over:
                            return
        except httpx2.RequestError:
            pass
        await asyncio.sleep(random.uniform(0.1, 0.5))

    started = until - float(os.environ["SECONDS"])
    asyncio.run(main())


# What became of the streams


def verdict(folder: Path) -> Counter[str]:
    """Count the streams by how they ended, and what is wrong with them."""
    counts: Counter[str] = Counter()
    for path in folder.glob("*.jsonl"):
        journal = Journal(path)
        journal.close()
        stream = int(path.stem)
        numbers = [line["id"] for line in journal.lines if "id" in line]
        said = "".join(line.get("text") or "" for line in journal.lines).split()
        expected = [word.strip() for word in words(stream)]
        end = journal.lines[-1] if journal.lines else {}
        counts["streams"] += 1
        counts["events"] += len(numbers)
        counts["doubled"] += len(numbers) - len({*numbers}) + len(said) - len({*said})
        counts["lost"] += sum(later - sooner - 1 for sooner, later in pairwise([0, *numbers]) if later > sooner)
        if said != expected[: len(said)]:
            counts["wrong text"] += 1
        if (
            end.get("end") == "done"
            and said == expected
            and any(line.get("finish") == "stop" for line in journal.lines)
        ):
            counts["whole"] += 1
        elif end.get("end") == "error":
            counts["interrupted, told"] += 1
            counts[f"  {end['detail'][:100]}"] += 1
        else:
            counts["without an end"] += 1
    return counts


# The whole


def free_ports(number: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Part:
    """A process that is killed and starts again."""

    def __init__(self, name: str, command: list[str], **environment: str) -> None:
        self.name = name
        self._command = [sys.executable, *command]
        self._environment = {**os.environ, **environment}
        self.start()

    def start(self) -> None:
        with open(os.devnull if "VERBOSE" not in os.environ else "/dev/stderr", "wb") as log:  # noqa: PTH123
            self.process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.start()

    def freeze(self, seconds: float) -> None:
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def log_server(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the address of a log, and what kills its server and starts it again."""
    if kind == "sqlite":
        yield f"sqlite:{folder / 'streams.sqlite'}", lambda: None
        return
    if kind == "redis":
        from valkey_server import ValkeyServer

        server: Any = ValkeyServer(folder)
    else:
        from nats_server import NatsServer

        server = NatsServer(folder)
    server.start()

    def restart() -> None:
        server.kill()
        server.start()

    try:
        yield server.url, restart
    finally:
        server.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", choices=("sqlite", "redis", "jetstream"), default="redis")
    parser.add_argument("--streams", type=int, default=2000, help="how many are alive at the same time")
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random.seed(given.seed)
    with TemporaryDirectory() as folder, log_server(given.log, Path(folder)) as (log, restart_log):
        (journals := Path(folder) / "journals").mkdir()
        return run(given, log, restart_log, journals)


def run(given: argparse.Namespace, log: str, restart_log: Callable[[], None], journals: Path) -> int:
    model, *ports = free_ports(1 + BUFFERS + GATEWAYS)
    at_buffers, at_gateways = ports[:BUFFERS], ports[BUFFERS:]
    penstock = ["-m", "penstock"]
    parts = [Part("upstream", [__file__, "upstream", str(model)])]
    buffers = [
        Part(
            "buffer",
            [
                *penstock,
                "buffer",
                "--upstream",
                f"http://127.0.0.1:{model}",
                "--log",
                log,
                "--port",
                str(port),
                "--lease",
                str(LEASE),
            ],
        )
        for port in at_buffers
    ]
    gateways = [
        Part(
            "gateway",
            [*penstock, "gateway", "--log", log, "--port", str(port), "--server", "openai", "--most-at-once", "100000"]
            + [
                each
                for at in (0, 1)
                for each in ("--upstream", f"http://127.0.0.1:{at_buffers[(number + at) % BUFFERS]}")
            ],
        )
        for number, port in enumerate(at_gateways)
    ]
    until = time.time() + given.seconds
    read_by = [
        Part(
            "reader",
            [
                __file__,
                "readers",
                str(which),
                ",".join(map(str, at_gateways)),
                str(given.streams),
                str(until),
                str(journals),
            ],
            SECONDS=str(given.seconds),
        )
        for which in range(READERS)
    ]
    parts += [*buffers, *gateways, *read_by]
    kills: Counter[str] = Counter()
    try:
        warm = PIECES * PAUSE
        time.sleep(min(warm / 2, given.seconds / 4))
        every = (given.seconds - warm) / max(given.kills, 1)
        log_at = {given.kills // 3, 2 * given.kills // 3}
        for number in range(given.kills):
            begun = time.time()
            kind = buffers if number % 25 == 12 else gateways if number % 2 else read_by
            victim = random.choice(kind)
            if number % 25 == 20:
                kills[f"{gateways[0].name} stopped for {2 * LEASE} s"] += 1
                gateways[number % GATEWAYS].freeze(2 * LEASE)
            victim.kill()
            kills[victim.name] += 1
            if number in log_at:
                restart_log()
                kills["log server"] += 1
            print(f"{number + 1} of {given.kills}: {victim.name}", file=sys.stderr)
            time.sleep(max(0.0, begun + every - time.time()))
        for each in read_by:
            each.process.wait(timeout=given.seconds + 300)
    finally:
        for each in parts:
            each.process.kill()
            each.process.wait()
    counts = verdict(journals)
    print(f"{given.log}: {given.streams} live streams for {given.seconds:g} s")
    print("killed:", ", ".join(f"{name} {number}" for name, number in kills.items()))
    for name, number in counts.items():
        print(f"{name}: {number}")
    is_well = not (counts["doubled"] or counts["lost"] or counts["wrong text"] or counts["without an end"])
    print("PASS" if is_well else "FAIL")
    return 0 if is_well else 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["upstream", port]:
            upstream(int(port))
        case ["readers", which, ports, streams, until, folder]:
            readers(int(which), [int(port) for port in ports.split(",")], int(streams), float(until), Path(folder))
        case _:
            sys.exit(main())
