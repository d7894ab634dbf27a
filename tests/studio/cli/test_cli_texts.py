"""A model's text in place of a recording: what `explore`, `inspect`, `diff` and `marbles` make of it."""

from __future__ import annotations

import gzip
import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from cli_command import ENVIRONMENT, Penstock, penstock, started
from cli_recordings import recorded
from looped import looped

from penstock.events import ToolInvocation, from_json
from penstock.studio.app import app_routes
from penstock.studio.explorer.explored_runs import ExploredStreams, RunChoice
from penstock.studio.reading import read_input

__all__ = ["penstock"]  # the fixture

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich", "days": 3}}\n</tool_call>'
TEXT = f"Let me look. {CALL} There."
COMMANDS = {
    "inspect": ["FILE", "--json"],
    "diff": ["FILE", "other.txt"],
    "marbles": ["FILE", "-o", "-"],
    "explore": ["FILE", "--no-browser"],
}


def line_for(name: str, file: str) -> list[str]:
    return [name, *(file if word == "FILE" else word for word in COMMANDS[name])]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"):
        monkeypatch.delenv(name, raising=False)
    for file in ("answer.txt", "answer.md"):
        Path(file).write_text(TEXT, encoding="utf-8")
    Path("other.txt").write_text(TEXT.replace("There", "Here"), encoding="utf-8")
    Path("mine.py").write_text("from penstock.operators.dialects.hermes import HERMES as MINE\n")


@pytest.fixture
def explored(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[dict[str, Any], str]]:
    """Return what `penstock explore` would show of a file, and its complaints."""

    def run(file: str, *options: str) -> tuple[dict[str, Any], str]:
        served: list[ExploredStreams] = []
        monkeypatch.setattr(app_routes, "run_explorer", lambda streams, **_: served.append(ExploredStreams(streams)))
        code, out, err = penstock("explore", file, "--no-browser", *options)
        assert (code, out) == (0, "")
        return json.loads(gzip.decompress(served[0].data(file, RunChoice()))), err

    return run


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def calls_of(out: str) -> list[tuple[str, str | None]]:
    return [(each["name"], each["status"]) for each in json.loads(out)["calls"]]


NAMED = [["--dialect", "Hermes"], ["--dialect", "mine.py:MINE"], ["--model", "Qwen/Qwen3-8B"], ["--dialect", "xml"]]


@looped("options", NAMED, ids=" ".join)
def test_a_dialect_or_a_model_reads_the_text_as_parse_does(
    penstock: Penstock, explored: Callable[..., tuple[dict[str, Any], str]], options: list[str]
) -> None:
    code, out, err = penstock("parse", "--json", *options, "answer.md")
    parsed = [each for line in out.splitlines() if isinstance(each := from_json(line), ToolInvocation)]
    assert (code, err, len(parsed)) == (0, "", int(options[-1] != "xml"))
    code, out, err = penstock("inspect", "--json", *options, "answer.md")
    assert (code, err, calls_of(out)) == (0, "", [(each.name, "complete") for each in parsed])
    assert [json.loads(out)[key] for key in ("api", "error", "seconds")] == ["text", None, None]
    code, out, err = penstock("marbles", "answer.md", "-o", "-", *options)
    assert (code, err, "ToolInvocation(id=" in out) == (0, "", bool(parsed))
    data, err = explored("answer.md", *options)
    assert ("".join(data["raw"]), err) == (TEXT, "")
    called = [json.loads(event) for _, event in data["outputs"][-1] if '"TOOL_INVOCATION"' in event]
    assert [each["arguments"] for each in called] == [each.arguments for each in parsed]


def test_several_dialects_are_read_as_one(penstock: Penstock) -> None:
    Path("two.md").write_text(f"{CALL}<function=add>\n<parameter=a>\n1\n</parameter>\n</function>")
    for names, count in ((["hermes"], 1), (["qwen3_coder"], 1), (["hermes", "qwen3_coder"], 2)):
        options = [word for name in names for word in ("--dialect", name)]
        assert len(calls_of(penstock("inspect", "--json", "two.md", *options)[1])) == count


def test_a_file_called_a_text_is_read_as_parse_reads_it_without_options(
    penstock: Penstock, explored: Callable[..., tuple[dict[str, Any], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert explored("answer.txt")[0]["stages"][1] == 'parse_text("auto", turn_id="turn")'
    for name, finder, count in (("xml", "xml", 0), ("api_tool_call", "auto", 1)):  # that one reads no text
        monkeypatch.setenv("PENSTOCK_STREAM_PARSER", name)
        assert len(calls_of(penstock("inspect", "--json", "answer.txt")[1])) == count
        assert explored("answer.txt")[0]["stages"][1].startswith(f'parse_text("{finder}"')
        assert json.loads(penstock("diff", "--json", "answer.txt", "other.txt")[1])["a"]["strategy"] == finder
    assert calls_of(penstock("inspect", "--json", "--strategy", "hermes", "answer.txt")[1])
    assert not calls_of(penstock("inspect", "--json", "--strategy", "api_tool_call", "answer.txt")[1])


@looped("name", COMMANDS)
def test_without_a_dialect_or_a_model_it_is_said_what_to_add(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    tags, data = Path("tags.md"), Path("json.md")
    tags.write_text(CALL)
    data.write_text('{"name": "get_weather", "arguments": {}}')
    for file in ("answer.md", str(tags), str(data), "-"):
        type_in(monkeypatch, TEXT)
        code, out, err = penstock(*line_for(name, file))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"{file}: " in err
        assert err.endswith("; if it is a model's text, add --dialect or --model\n")


@looped("name", COMMANDS)
def test_a_mistake_is_told_in_one_line(penstock: Penstock, name: str) -> None:
    Path("empty.md").touch()
    Path("blank.txt").write_text(" \n")
    Path("packed.txt").write_bytes(gzip.compress(TEXT.encode()))
    hermes = ["--dialect", "hermes"]
    rows = [
        ("answer.md", ["--dialect", "hermess"], "unknown dialect 'hermess'; did you mean 'hermes'?"),
        ("answer.md", ["--dialect", "no.such:MINE"], "--dialect no.such:MINE: cannot be imported"),
        ("answer.md", ["--dialect", "json:dumps"], "--dialect json:dumps: must be a Dialect"),
        ("answer.md", ["--model", ""], "a model's name must be a str"),
        ("answer.md", [*hermes, "--api", "openai-chat"], "it has no event of openai-chat"),
        ("empty.md", [], "empty.md: it is empty; record"),
        ("empty.md", hermes, "empty.md: it is empty; name the file that has the model's text"),
        ("blank.txt", [], "blank.txt: it is empty; name the file that has the model's text"),
        ("packed.txt", hermes, "packed.txt: it is packed with gzip"),
        ("answer.tx", hermes, "cannot be read: No such file or directory; did you mean 'answer.txt'"),
    ]
    if name != "diff":
        rows.append(("answer.md", [*hermes, "--model", "qwen3"], "--model chooses the dialect; leave out --dialect"))
    if name in ("inspect", "marbles"):
        rows.append(("answer.md", [*hermes, "--strategy", "xml"], "--strategy, --dialect and --model each say"))
    for file, options, words in rows:
        code, out, err = penstock(*line_for(name, file), *options)
        assert (code, out, err.count("\n")) == (2, "", 1), (file, options)
        assert words in err


def test_an_sdk_plays_no_text(penstock: Penstock) -> None:
    code, out, err = penstock("inspect", "--via", "sdk", "answer.txt")
    assert (code, out) == (2, "")
    assert "plain text has no API, so no SDK can play it; use --via wire" in err


def test_a_text_is_as_long_as_that_of_parse_may_be(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    for missing, code in ((0, 0), (1, 2)):
        monkeypatch.setattr(read_input, "LONGEST_TEXT", len(TEXT.encode()) - missing)
        assert [penstock(each, "answer.txt")[0] for each in ("parse", "inspect")] == [code, code]


@looped("name", ["inspect", "diff", "marbles"])
def test_a_model_that_is_a_guess_is_told_once(penstock: Penstock, name: str) -> None:
    _, _, err = penstock(*line_for(name, "answer.md"), "--model", "qwen")
    assert err.splitlines() == [
        "penstock: 'qwen' is a family, of which some models write other dialects; read with hermes"
    ]


def test_the_input_is_read(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, words in (("inspect", '"name": "get_weather"'), ("marbles", "get_weather")):
        type_in(monkeypatch, TEXT)
        code, out, err = penstock(*line_for(name, "-"), "--dialect", "hermes")
        assert (code, err, words in out) == (0, "", True)
    type_in(monkeypatch, TEXT)
    assert penstock("diff", "answer.txt", "-", "--dialect", "hermes") == (0, "", "")


def test_a_call_that_is_cut_is_truncated_as_in_parse(
    penstock: Penstock, explored: Callable[..., tuple[dict[str, Any], str]]
) -> None:
    Path("cut.txt").write_text(TEXT[:-40], encoding="utf-8")
    assert "get_weather is not run: truncated" in penstock("parse", "--dialect", "hermes", "cut.txt")[1]
    assert calls_of(penstock("inspect", "--json", "cut.txt", "--dialect", "hermes")[1]) == [
        ("get_weather", "truncated")
    ]
    outputs = explored("cut.txt", "--dialect", "hermes")[0]["outputs"][-1]
    assert any('"INVOCATION_FAILED"' in event and '"truncated"' in event for _, event in outputs)
    code, out, _ = penstock("diff", "answer.txt", "cut.txt")
    assert (code, out.splitlines()[-1]) == (1, "  B     finish=stop")


def test_what_is_no_utf8_is_replaced(penstock: Penstock) -> None:
    Path("a.txt").write_bytes(b"a\xffb\xe2\x82")
    assert json.loads(penstock("inspect", "--json", "a.txt")[1])["text"] == "a\ufffdb\ufffd"


def test_two_texts_and_two_dialects_are_compared(penstock: Penstock) -> None:
    code, out, err = penstock("diff", "answer.txt", "other.txt")
    assert (code, err) == (1, "")
    assert out.splitlines()[:2] == ["A is answer.txt (auto)", "B is other.txt (auto)"]
    assert out.splitlines()[-2:] == ["  A     content=' There'", "  B     content=' Here'"]
    assert penstock("diff", "answer.txt", "answer.md", "--dialect", "hermes") == (0, "", "")
    assert penstock("diff", "answer.md", "--dialect", "hermes") == (0, "", "")  # A is read by auto
    assert penstock("diff", "answer.md", "--dialect", "mine.py:MINE", "--model", "qwen3") == (0, "", "")
    for a, b in (("--dialect", "--dialect"), ("--strategy", "--dialect")):
        code, out, err = penstock("diff", "answer.md", a, "hermes", b, "xml")
        assert (code, err) == (1, "")
        assert out.splitlines()[:2] == ["A is answer.md (hermes)", "B is answer.md (xml)"]
        assert re.match(r'they differ behind parse_text\("hermes"', out.splitlines()[2])
    many = ["--dialect", "hermes", "--dialect", "xml", "--model", "qwen3"]
    assert "at most two files, two strategies, dialects or models" in penstock("diff", "answer.md", *many)[2]


@looped("size", [1, 7, 1000])
def test_how_a_text_is_cut_makes_no_difference(penstock: Penstock, size: int) -> None:
    assert penstock("diff", "answer.txt", "--chunk-size", str(size)) == (0, "", "")
    code, out, _ = penstock("diff", "--json", "answer.txt", "other.txt", *["--chunk-size", str(size)] * 2)
    found = json.loads(out)
    assert (code, found["a"]["chunk_size"]) == (1, size)
    assert found["a"]["item"] == TEXT.index("There") // size


def test_a_dialect_reads_a_recorded_stream_too(
    penstock: Penstock, explored: Callable[..., tuple[dict[str, Any], str]]
) -> None:
    chunk = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": TEXT}}]}
    recorded(Path("items.jsonl"), [(0, chunk)], 0, "items")
    recorded(Path("texts.jsonl"), [(0, TEXT)], 0, "texts")
    Path("body.txt").write_text(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n")
    for file, api in (("items.jsonl", "openai-chat"), ("body.txt", "openai-chat"), ("texts.jsonl", "text")):
        for options in (["--dialect", "hermes"], ["--model", "Qwen3-8B"]):
            found = penstock("inspect", "--json", file, *options)[1]
            assert (json.loads(found)["api"], calls_of(found)) == (api, [("get_weather", "complete")])
        assert (calls_of(penstock("inspect", "--json", file)[1]) != []) == (api == "text")
        assert penstock("diff", file, "--strategy", "hermes", "--dialect", "hermes") == (0, "", "")
        assert "TOOL_INVOCATION" in str(explored(file, "--dialect", "hermes")[0]["outputs"])


def test_what_a_person_sees_of_a_text(penstock: Penstock) -> None:
    code, out, err = penstock("inspect", "answer.txt")
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        "answer.txt",
        "plain text · text 20 characters · 35 chunks",
        "  Let me look.  There.",
    ]


def test_the_page_shows_the_input_item_by_item() -> None:
    with started(
        "explore",
        "-",
        "--dialect",
        "hermes",
        "--no-browser",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=ENVIRONMENT,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(TEXT)
            process.stdin.close()
            found = next(
                filter(None, (re.search(r"(http://\S+)/explore#token=(\S+)", each) for each in process.stdout))
            )
            head = {"authorization": f"Bearer {found[2]}"}
            with httpx.Client(base_url=found[1], headers=head, trust_env=False) as client:
                assert client.get("/api/explored").json() == {"streams": [{"name": "-", "title": "the input"}]}
                shown = client.get("/api/explored/data", params={"name": "-"}).content
                cut = client.get("/api/explored/data", params={"name": "-", "chunk_size": "1"}).content
            data, letters = (json.loads(gzip.decompress(each)) for each in (shown, cut))
            assert (data["can_cut"], data["raw"][:4]) == ("characters", ["Let", " me", " look", "."])
            assert (letters["divergence"], len(letters["raw"])) == (None, len(TEXT) + 1)
            assert {place for _, place, _ in data["held"]} == {1, 3}  # where the call begins, and until it is sealed
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            assert process.stderr.read() == ""
        finally:
            process.kill()
