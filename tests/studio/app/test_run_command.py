"""A command always comes back in its time, and leaves nothing that runs."""

from __future__ import annotations

import asyncio
import os
import select
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from penstock.events import UsageError
from penstock.studio.app.app_steps import LONGEST_OUTPUT, MARK, Commands


def running_in(folder: Path) -> list[str]:
    """Return the processes that work in a folder and have not ended."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and process.cwd() == str(folder):
                found.append(process.name())
    return found


def test_a_command_that_is_cancelled_is_killed_with_what_it_started(tmp_path: Path):
    async def main() -> int:
        os.mkfifo(tmp_path / "begun")
        running = asyncio.create_task(Commands(tmp_path).run("(echo $BASHPID > begun; sleep 1000) & wait"))
        child = os.pidfd_open(int(await asyncio.to_thread((tmp_path / "begun").read_text)))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return child

    child = asyncio.run(main())
    ended, _, _ = select.select([child], [], [], 20)  # readable once the process has ended
    os.close(child)
    assert ended == [child]


@pytest.mark.parametrize("turns", range(1, 8))
def test_a_command_that_is_cancelled_while_it_starts_leaves_nothing(tmp_path: Path, turns: int):
    async def main() -> None:
        running = asyncio.create_task(Commands(tmp_path).run("(sleep 1000) & wait"))
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is not ours
            if (process / "cwd").readlink() == tmp_path:
                child = os.pidfd_open(int(process.name))
                ended, _, _ = select.select([child], [], [], 20)
                os.close(child)
                assert ended, f"still running: {(process / 'cmdline').read_text()}"


def test_a_command_too_long_or_elsewhere_is_an_error(tmp_path: Path):
    with pytest.raises(UsageError, match="longer than 1 seconds"):
        asyncio.run(Commands(tmp_path).run("sleep 100", timeout_seconds=1))
    with pytest.raises(UsageError, match="below the app's folder"):
        asyncio.run(Commands(tmp_path).run("pwd", cwd=".."))


@pytest.mark.parametrize(
    "command",
    [
        "yes",
        "yes & wait",
        "setsid sleep 1000",
        "setsid sleep 1000 & echo shown",
        "env -i $(command -v setsid) sleep 1000 & echo shown",
        "trap '' TERM HUP INT; sleep 1000",
        "setsid bash -c 'while :; do setsid sleep 1000; done'",
    ],
)
def test_a_command_comes_back_after_its_time_whoever_holds_its_output(tmp_path: Path, command: str):
    with pytest.raises(UsageError, match=r"^the command ran longer than 1 seconds: (?!.*could not be ended)"):
        asyncio.run(asyncio.wait_for(Commands(tmp_path).run(command, timeout_seconds=1), 60))
    assert running_in(tmp_path) == []


@pytest.mark.parametrize(
    "command", ["(setsid sleep 1000 >/dev/null 2>&1 &); echo shown", "sleep 1000 >/dev/null 2>&1 & echo shown"]
)
def test_what_a_command_left_running_is_ended_with_it(tmp_path: Path, command: str):
    assert asyncio.run(Commands(tmp_path).run(command)) == {"code": 0, "output": "shown\n"}
    assert running_in(tmp_path) == []


def test_what_cannot_be_ended_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # A process of another user's cannot be ended; here the system refuses each.
    def refuse(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    with monkeypatch.context() as patch:
        patch.setattr(psutil.Process, "kill", refuse)
        # It has left the group before the command ends, with which the group is killed.
        away = "setsid bash -c 'echo > left; exec sleep 1000' >/dev/null 2>&1 &"
        done = asyncio.run(Commands(tmp_path).run(f"mkfifo left; ({away}); read < left; echo shown"))
        assert [each.partition(" ")[0] for each in done["still_running"]] == ["sleep"]
        with pytest.raises(UsageError, match=r"longer than 1 seconds; could not be ended: sleep \(\d+\): shown"):
            asyncio.run(Commands(tmp_path).run("setsid sleep 1000 & echo shown", timeout_seconds=1))
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) and process.cwd() == str(tmp_path):
                process.kill()


def test_an_output_longer_than_is_kept_is_cut_and_says_so(tmp_path: Path):
    done = asyncio.run(Commands(tmp_path).run("head -c 1000000 /dev/zero | tr '\\0' x; exit 4"))
    assert done == {"code": 4, "output": "x" * LONGEST_OUTPUT + "\n… the output was longer than is kept"}


def test_a_command_sees_only_the_variables_that_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    secrets = (
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DATABASE_URL",
        "OPENAI_API_KEY",
        "PGPASSWORD",
        "MY_PATH",
        "PIP_INDEX_URL",
    )
    for name in (*secrets, "HOME", "LC_ALL"):
        monkeypatch.setenv(name, "C" if name == "LC_ALL" else "set")
    seen = asyncio.run(Commands(tmp_path).run("env"))["output"]
    names = {line.partition("=")[0] for line in seen.splitlines()}
    assert not names & set(secrets)
    assert names >= {"HOME", "LC_ALL", "PATH", MARK}
