"""The pages for those who come from another package: both programs of a page run, and its table says what they did."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import openai
import pytest
from chat_chunks import call, closing, event
from npm_clients import FOLDER, client_answers, installed

from penstock.studio.testing import ReplayServer

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|js)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CONTENT = "".join(f"Bed {number}: tomatoes\n" for number in range(1, 7))
WIDTH = 6


def pieces(index: int, path: str) -> list[bytes]:
    text = json.dumps({"path": path, "content": CONTENT})
    begin = call(index, "", f"call_{index}", "write_file")
    return [begin, *(call(index, text[at : at + WIDTH]) for at in range(0, len(text), WIDTH))]


ONE, OTHER = pieces(0, "a.txt"), pieces(1, "b.txt")
ANSWERS = {
    "what is shown": b"".join([*ONE, *closing()]),
    "a call that the token limit cuts": b"".join([*ONE[:-6], *closing("length")]),
    "a stream that ends within a call": b"".join(ONE[:-6]),
    "two calls whose pieces alternate": b"".join([*chain(*zip(ONE, OTHER, strict=True)), *closing()]),
}
"""What is asked of each program, in the words of the pages' tables, and what the model answers."""
LAST = b"".join([event({"content": "Done."}), *closing("stop")])
"""What it answers if it is asked again."""


class Outcome(NamedTuple):
    shown: list[str]
    error: str
    files: dict[str, str]
    requests: int

    def __str__(self) -> str:
        """Say it in the words of the pages' tables."""
        whole = [content == CONTENT for content in self.files.values()]
        said = [
            ("no file", "the file", "both files")[len(whole)] if all(whole) else "part of the file, as if it were whole"
        ]
        if self.error:
            said.append(f"raises `{self.error}`")
        elif any("not run" in piece for piece in self.shown):
            said.append("says that the call was not run")
        elif not whole:
            said.append("says nothing")
        if not whole:
            said += ["asks the model again"] * (self.requests > 1)
        return ", ".join(said)

    def of_one_file(self) -> str:
        """Say what was shown of a file that was written."""
        assert (self.error, self.files) == ("", {"a.txt": CONTENT})
        text = "".join(self.shown)
        if text != CONTENT:
            assert json.loads(text) == {"path": "a.txt", "content": CONTENT}
            return f"JSON, in {len(self.shown)} pieces"
        return "the text, in one piece at its end" if len(self.shown) == 1 else f"the text, in {len(self.shown)} pieces"


Asking = Callable[[str, Path, Callable[[str], object]], Any]
"""Runs a program with an address, a folder and what shows a piece; may be async."""


@contextmanager
def answered(body: bytes) -> Iterator[tuple[str, Path, ReplayServer]]:
    with ReplayServer({"1.sse": body, "2.sse": LAST}) as server, TemporaryDirectory() as folder:
        yield f"{server.url}/v1", Path(folder), server


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def outcome_in_python(code: str, client: Callable[[str], Any], body: bytes) -> Outcome:
    names: dict[str, Any] = {}
    exec(compile(code, "page", "exec", dont_inherit=True), names)
    shown: list[str] = []
    error = ""
    with answered(body) as (url, folder, server):
        try:
            with client(url) as made:
                if inspect.iscoroutinefunction(names["ask"]):
                    asyncio.run(_closing(made, names["ask"](made, "Write a report.", folder, shown.append)))
                else:
                    names["ask"](made, "Write a report.", folder, shown.append)
        except Exception as raised:  # noqa: BLE001 - what a program raises is what is compared
            error = type(raised).__name__
        return Outcome(shown, error, written(folder), len(server.log))


async def _closing(client: openai.AsyncOpenAI, program: Any) -> None:
    async with client:
        await program


def outcome_in_node(code: str, _: Any, body: bytes) -> Outcome:
    installed("node")
    (FOLDER / "page.mjs").write_text(code, encoding="utf-8")
    with answered(body) as (url, folder, server):
        asked = {"module": "./page.mjs", "url": url, "folder": str(folder)}
        [said] = client_answers("page_program.mjs", [asked], alone=True)
        return Outcome(said["shown"], said["error"], written(folder), len(server.log))


@contextmanager
def sync_client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        yield client


@contextmanager
def async_client(url: str) -> Iterator[openai.AsyncOpenAI]:
    yield openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)


@contextmanager
def langchain_model(url: str) -> Iterator[Any]:
    langchain: Any = pytest.importorskip("langchain_openai", reason="needs langchain-openai")
    yield langchain.ChatOpenAI(model="gpt-5", base_url=url, api_key="none", max_retries=0)


PAGES = {
    "coming-from-openai.md": sync_client,
    "coming-from-pydantic-ai.md": async_client,
    "coming-from-langchain.md": langchain_model,
    "coming-from-vercel-ai.md": async_client,
}


def programs(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((DOCS / page).read_text("utf-8"))


def table(page: str) -> dict[str, list[str]]:
    """Return what a page's first table says, by row."""
    lines = (DOCS / page).read_text("utf-8").partition("they install:\n\n")[2].partition("\n\n")[0].splitlines()
    return {cells[0]: cells[1:] for cells in ([each.strip() for each in line.split("|")[1:-1]] for line in lines[2:])}


def test_there_is_a_page_for_each_and_none_is_long():
    assert {page.name for page in DOCS.glob("coming-from-*.md")} == set(PAGES)
    for page in PAGES:
        assert len((DOCS / page).read_text("utf-8").splitlines()) <= 85
        theirs, ours = programs(page)
        assert "penstock" not in theirs[1]
        assert ours[0] == "python"
        assert "from penstock import" in ours[1]
        assert list(table(page)) == list(ANSWERS)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["theirs", "ours"])
@pytest.mark.parametrize("page", PAGES)
def test_the_table_of_a_page_says_what_its_programs_did(page: str, place: int):
    language, code = programs(page)[place]
    run = outcome_in_node if language == "js" else outcome_in_python
    did: dict[str, str] = {}
    for asked, body in ANSWERS.items():
        outcome = run(code, PAGES[page], body)
        did[asked] = outcome.of_one_file() if asked == "what is shown" else str(outcome)
    assert did == {asked: cells[place] for asked, cells in table(page).items()}


@pytest.mark.parametrize("page", PAGES)
def test_penstock_shows_the_text_and_runs_no_call_that_was_cut(page: str):
    shown, limit, end, both = (cells[1] for cells in table(page).values())
    assert re.fullmatch(r"the text, in \d\d pieces", shown)
    for cut in (limit, end):
        assert cut.startswith("no file, says that the call was not run")
    assert both == "both files"
