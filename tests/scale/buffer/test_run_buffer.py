"""`penstock buffer` as its user meets it: what it says, how it stops, and what is left when it is killed."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from away_log import Away
from buffers import KEY, NAME, Answer, ask, client, fake, in_loop, until, where
from cli_command import ENVIRONMENT, Penstock, command, penstock
from valkey_server import ValkeyServer

from penstock import AnswerEnd, Pipeline
from penstock.scale import LogState, SqliteLog, from_log, stream_name
from penstock.sinks.log.patience import check_log

__all__ = ["penstock"]  # the fixture

PIECES = [b'data: {"choices":[{"index":0,"delta":{"content":"%d "}}]}\n\n' % number for number in range(4)]
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
no_sigterm = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process could handle")


class Silent(Away):
    """A log that does not answer while `is_away`."""

    async def state(self, stream: str) -> LogState | None:
        if self.is_away:
            await asyncio.Event().wait()
        return await super().state(stream)


@asynccontextmanager
async def running(
    upstream: str, log: Path, *arguments: str, port: str = "0"
) -> AsyncGenerator[tuple[asyncio.subprocess.Process, str], None]:
    """Run the command; yield the process and its address."""
    process = await asyncio.create_subprocess_exec(
        *command("buffer", "--upstream", upstream, "--log", f"sqlite:{log}", "--port", port, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        said = (await process.stdout.readline()).decode()
        found = re.match(r"on (http://\S+) until Ctrl-C, in front of \S+, as \S+\n", said)
        assert found, (said, process.stderr and await process.stderr.read())
        yield process, found[1]
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def written(http: httpx2.AsyncClient, body: bytes) -> None:
    """Wait until so much of the answer is in the log."""

    async def is_written() -> bool:
        return (await where(http)).get("bytes") == len(body)

    await until(is_written)


async def text_in(log: Path) -> tuple[str, list[str]]:
    """Return the text of the answer, and how it ended, as another process reads it."""
    opened = SqliteLog(log)
    try:
        run = Pipeline().astream(from_log(opened, NAME))
        events = [event async for event in run]
    finally:
        await opened.aclose()
    text = "".join(event.delta for event in events if hasattr(event, "delta"))
    return text, [event.status for event in events if isinstance(event, AnswerEnd)]


@in_loop
async def test_killed_in_mid_answer_it_loses_nothing_that_was_written_and_its_next_process_ends_the_stream(
    tmp_path: Path,
):
    log, never = tmp_path / "streams.sqlite", asyncio.Event()
    async with fake(Answer((PIECES[0], PIECES[1], never)), Answer((PIECES[2], END))) as (url, provider):
        async with running(url, log, "--name", "b1") as (process, address), client(address) as http:
            asked = asyncio.create_task(ask(http))
            await written(http, PIECES[0] + PIECES[1])
            process.kill()
            assert await asked == (200, PIECES[0] + PIECES[1], False)
            await process.wait()
        async with running(url, log, "--name", "b2") as (_, other), client(other) as http:
            assert (await where(http))["state"] == "open"
            following = asyncio.create_task(ask(http))
            async with running(url, log, "--name", "b1") as (_, address), client(address) as at_next:
                assert await following == (200, PIECES[0] + PIECES[1], False)
                said = await where(at_next)
                assert (said["state"], said["reason"], said["owner"]) == ("interrupted", "owner_lost", "b1")
                assert await text_in(log) == ("0 1 ", ["interrupted"])
                assert await ask(at_next, stream_name("again")) == (200, PIECES[2] + END, True)
        assert len(provider.got) == 2
    assert KEY.encode() not in log.read_bytes()


@no_sigterm
@pytest.mark.parametrize("is_in_time", [True, False])
@in_loop
async def test_sigterm_leaves_answers_the_grace_and_refuses_what_is_new(tmp_path: Path, is_in_time: bool):
    log, go = tmp_path / "streams.sqlite", asyncio.Event()
    grace = "60" if is_in_time else "0.3"
    async with (
        fake(Answer((PIECES[0], go, END))) as (url, _),
        running(url, log, "--grace", grace) as (process, address),
        client(address) as http,
    ):
        asked = asyncio.create_task(ask(http))
        await written(http, PIECES[0])
        process.send_signal(signal.SIGTERM)
        if is_in_time:

            async def drains() -> bool:
                return (await http.get("/penstock/health")).json()["status"] == "draining"

            await until(drains)
            assert (await ask(http, stream_name(2)))[0] == 503
            go.set()
            assert await asked == (200, PIECES[0] + END, True)
        else:
            assert await asked == (200, PIECES[0], False)
        assert await process.wait() == -signal.SIGTERM
        assert await text_in(log) == ("0 ", ["complete" if is_in_time else "interrupted"])
        assert process.stderr is not None
        lines = (await process.stderr.read()).decode().splitlines()
        end = "complete -" if is_in_time else "interrupted stopped"
        assert f"stream {NAME} {end} bytes={len(PIECES[0] + END) if is_in_time else len(PIECES[0])}" in lines
        assert [line for line in lines if not re.match(r"(GET|POST|stream) ", line)] == []
        assert KEY not in "".join(lines)


@no_sigterm
@in_loop
async def test_ctrl_c_ends_all_at_once_in_order(tmp_path: Path):
    log, never = tmp_path / "streams.sqlite", asyncio.Event()
    async with (
        fake(Answer((PIECES[0], never))) as (url, provider),
        running(url, log) as (process, address),
        client(address) as http,
    ):
        asked = asyncio.create_task(ask(http))
        await written(http, PIECES[0])
        process.send_signal(signal.SIGINT)
        assert (await asked)[2] is False
        await provider.left.wait()
        assert await process.wait() == 130
        assert await text_in(log) == ("0 ", ["interrupted"])
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(address)


def test_a_log_that_refuses_the_user_is_told_at_the_start(tmp_path: Path, penstock: Penstock):
    server = ValkeyServer(tmp_path, "--requirepass", "right-secret")
    server.start(password="right-secret")
    try:
        for command_name in ("buffer", "gateway"):
            log = f"redis://:wrong-secret@127.0.0.1:{server.port}"
            code, out, err = penstock(command_name, "--upstream", "http://127.0.0.1:1", "--port", "0", "--log", log)
            assert code == 2
            assert "look at the user and the password of the URL" in err
            assert "wrong-secret" not in out + err
    finally:
        server.stop()


@in_loop
async def test_a_log_that_is_away_is_told_at_the_start():
    for log, why in ((Away(), "has gone"), (Silent(), "no answer in 2 seconds")):
        said: list[str] = []
        log.is_away = True
        await check_log(log, said.append)
        assert said == [f"the log is away, and what has to be kept is refused until it answers: {why}"]
        log.is_away = False
        await check_log(log, said.append)
        assert len(said) == 1


def test_what_it_cannot_do_is_told_in_one_line(penstock: Penstock):
    ok = ("--upstream", "http://127.0.0.1:1", "--port", "0")
    for arguments, words in (
        ((*ok, "--log", "nonsense"), "a log is one of "),
        ((*ok, "--log", "memory:", "--host", "0.0.0.0"), "other machines can reach 0.0.0.0; pass --key too"),
        ((*ok, "--log", "memory:", "--key", " "), "the key is empty"),
        ((*ok, "--log", "memory:", "--grace", "inf"), "the grace must be a number of seconds"),
        (("--upstream", "nonsense", "--log", "memory:", "--port", "0"), "an upstream must be an address"),
    ):
        code, _, said = penstock("buffer", *arguments)
        assert (code, words in said) == (2, True), said
