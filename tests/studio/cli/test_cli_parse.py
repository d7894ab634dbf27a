"""`penstock parse` as its user meets it."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_command import ENVIRONMENT, Penstock, command, penstock, started

from penstock.events import AnswerEnd, SegmentContent, SegmentEvent, ToolInvocation, from_json
from penstock.events.errors import UsageError
from penstock.studio.cli.text_reading import strategy_of

__all__ = ["penstock"]  # the fixture

TEXT = 'Grüße <tool_call>{"name": "write_file", "arguments": {"path": "a.py", "content": "x\\ny"}}</tool_call> bye'
SHOWN = "Grüße \nwrite_file a.py\n    x\n    y\n→ write_file(path='a.py', content='x\\ny')\n bye\n"
QWEN = "<function=add>\n<parameter=a>\n1\n</parameter>\n</function>"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
EMITS = {
    "fragments": {"TOOL_CALL_ARGUMENT_PROGRESS"},
    "segments": {"SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"},
    "updates": {"assistant_streaming_tool_call"},
    "invocations": {"TOOL_INVOCATION"},
}


@pytest.fixture
def answer(tmp_path: Path) -> str:
    file = tmp_path / "answer.txt"
    file.write_text(TEXT, encoding="utf-8")
    return str(file)


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"):
        monkeypatch.delenv(name, raising=False)


def type_in(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))


def lines(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def test_it_shows_the_answer_from_the_input_and_from_a_file(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    assert penstock("parse", answer) == penstock("parse", "--dialect", "hermes", answer) == (0, SHOWN, "")
    type_in(monkeypatch, TEXT.encode())
    assert penstock("parse", "--dialect", " Hermes ") == (0, SHOWN, "")


@pytest.mark.parametrize("emit", EMITS)
def test_one_kind_of_event_alone_is_given_as_lines(penstock: Penstock, answer: str, emit: str) -> None:
    code, out, err = penstock("parse", "--emit", emit, "--json", answer)
    assert (code, err) == (0, "")
    assert {line["type"] for line in lines(out)} == EMITS[emit]
    code, short, err = penstock("parse", "--emit", emit, answer)
    assert (code, err) == (0, "")
    assert len(short.splitlines()) == len(out.splitlines())
    assert "write_file" in short


def test_updates_are_the_text_of_the_arguments_without_the_markup(penstock: Penstock, answer: str) -> None:
    told = lines(penstock("parse", "--emit", "updates", "--json", answer)[1])
    assert "".join(str(each["arguments"]) for each in told) == '{"path": "a.py", "content": "x\\ny"}'


def test_json_alone_gives_everything_and_every_line_is_an_event_in_ascii(penstock: Penstock, answer: str) -> None:
    code, out, err = penstock("parse", "--json", answer)
    assert (code, err, out.isascii()) == (0, "", True)
    events = [from_json(line) for line in out.splitlines()]
    assert isinstance(events[0], SegmentEvent)
    (call,) = (event for event in events if isinstance(event, ToolInvocation))
    assert call.arguments == {"path": "a.py", "content": "x\ny"}


def test_several_dialects_are_read_as_one(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    for names, found in ((["hermes"], 1), (["qwen3_coder"], 1), (["hermes", "qwen3_coder"], 2), ([], 2)):
        type_in(monkeypatch, (TEXT + QWEN).encode())
        options = [word for name in names for word in ("--dialect", name)]
        assert len(penstock("parse", "--emit", "invocations", *options)[1].splitlines()) == found


def test_the_environments_strategy_is_the_one_if_it_reads_text(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, found in (("qwen3_coder", 1), ("api_tool_call", 2)):
        monkeypatch.setenv("PENSTOCK_STREAM_PARSER", name)
        type_in(monkeypatch, (TEXT + QWEN).encode())
        assert len(penstock("parse", "--emit", "invocations")[1].splitlines()) == found


def test_a_typo_in_the_environment_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PENSTOCK_STREAM_PARSER", "hermess")
    with pytest.raises(UsageError, match="did you mean 'hermes'"):
        strategy_of([])


@pytest.mark.parametrize(
    "definitions",
    [
        {"type": "function", "function": {"name": "add", "parameters": SCHEMA}},
        [{"name": "add", "input_schema": SCHEMA}],
        [{"name": "add", "inputSchema": SCHEMA}],
        [{"function_declarations": [{"name": "add", "parameters_json_schema": SCHEMA}]}],
        {"model": "m", "tools": [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}]},
    ],
    ids=["openai", "anthropic", "mcp", "gemini", "request"],
)
def test_tools_say_the_types_of_raw_values(penstock: Penstock, tmp_path: Path, definitions: object) -> None:
    text, tools = tmp_path / "answer.txt", tmp_path / "tools.json"
    text.write_text(QWEN)
    tools.write_text(json.dumps(definitions))
    asked = ("parse", "--dialect", "qwen3_coder", "--emit", "invocations", str(text))
    assert penstock(*asked) == (0, "→ add(a='1')\n", "")
    assert penstock(*asked, "--tools", str(tools)) == (0, "→ add(a=1)\n", "")
    text.write_text(QWEN.replace("add", "sub"))
    assert "sub is not run: unknown_tool" in penstock(*asked, "--tools", str(tools))[1]


def test_who_asks_for_calls_alone_is_told_that_there_is_none(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, b"Hello.")
    none = "penstock: no call was found; --compare shows what each dialect finds in the text\n"
    assert penstock("parse", "--dialect", "hermes", "--emit", "invocations") == (0, "", none)
    type_in(monkeypatch, QWEN.encode())
    code, out, told = penstock("parse", "--dialect", "hermes", "--emit", "invocations")
    assert (code, out, told.count("\n")) == (0, "", 1)
    assert "'qwen3_coder'" in told


def test_a_tool_may_be_a_function(penstock: Penstock, tmp_path: Path) -> None:
    text, module = tmp_path / "answer.txt", tmp_path / "shop_of_parse.py"
    text.write_text(QWEN)
    module.write_text("def add(a: int) -> int:\n    return a\n")
    asked = ("parse", "--dialect", "qwen3_coder", "--emit", "invocations", "--tools", f"{module}:add", str(text))
    assert penstock(*asked) == (0, "→ add(a=1)\n", "")


def test_reasoning_that_the_prompt_opened(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, b"Why?</think>So.")
    out = penstock("parse", "--starts-in-reasoning", "--emit", "segments", "--json")[1]
    kinds = [line["segment_type"] for line in lines(out) if line["type"] == "SEGMENT_START"]
    assert kinds == ["reasoning", "text"]


def test_nothing_is_an_empty_answer(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ([], ["--emit", "segments"]):
        type_in(monkeypatch, b"")
        assert penstock("parse", *options) == (0, "", "")
    type_in(monkeypatch, b"")
    code, out, err = penstock("parse", "--json")
    assert (code, err) == (0, "")
    (end,) = lines(out)
    assert (end["type"], end["status"]) == ("ANSWER_END", "complete")


def test_a_call_that_breaks_off_is_shown_with_its_reason(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, TEXT.encode()[:-30])
    code, out, err = penstock("parse")
    assert (code, err) == (0, "")
    assert "write_file is not run: truncated" in out


def test_what_is_no_utf8_is_replaced(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, b"a\xffb\xe2\x82")
    *events, end = map(from_json, penstock("parse", "--json")[1].splitlines())
    assert "".join(event.delta for event in events if isinstance(event, SegmentContent)) == "a\ufffdb\ufffd"
    assert isinstance(end, AnswerEnd)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dialect", "hermess"], ["unknown dialect 'hermess'; did you mean 'hermes'?"]),
        (["--dialect", "qwen3coder"], ["'qwen3coder'; did you mean 'qwen3_coder'?"]),
        (["--dialect", "zzz"], ["'zzz'", "'auto'", "penstock strategies"]),
        (["--dialect", "api_tool_call"], ["'api_tool_call'"]),
        (["--tools", "nowhere.json"], ["--tools nowhere.json", "No such file"]),
        (["--emit", "all"], ["'all'", "'segments'"]),
        (["--dialect", "no.such.module:MINE"], ["--dialect no.such.module:MINE: cannot be imported"]),
        (["--dialect", "json:dumps"], ["--dialect json:dumps: must be a Dialect, got <function dumps"]),
        (["--model", "qwen3", "--dialect", "hermes"], ["--model chooses the dialect; leave out --dialect"]),
        (["--model", ""], ["a model's name must be a str"]),
        (["--compare", "--model", "qwen3"], ["--compare goes with --dialect and --tools only"]),
        (["--compare", "--emit", "segments"], ["--compare goes with --dialect and --tools only"]),
        (["--compare", "nowhere.txt"], ["nowhere.txt cannot be read: No such file"]),
        (["nowhere.txt"], ["nowhere.txt cannot be read: No such file"]),
        ([str(Path(__file__).parents[2])], ["cannot be read: Is a directory"]),
    ],
)
def test_what_the_user_can_mend_is_said_in_one_line(penstock: Penstock, arguments: list[str], words: list[str]) -> None:
    code, out, err = penstock("parse", *arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert [word for word in words if word not in line] == []


def test_a_model_chooses_the_dialect_and_its_options(penstock: Penstock, monkeypatch: pytest.MonkeyPatch, answer: str):
    assert penstock("parse", "--model", "Qwen/Qwen3-8B", answer) == (0, SHOWN, "")
    type_in(monkeypatch, f"hm</think>{TEXT}".encode())
    code, out, err = penstock("parse", "--model", "qwq:32b", "--emit", "segments")
    assert (code, err) == (0, "")
    assert out.startswith("START reasoning")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("qwen", "'qwen' is a family, of which some models write other dialects; read with hermes"),
        ("qwen33", "'qwen33' is no known model; read with auto; did you mean 'qwen3'"),
        ("acme/plumber-7b", "'acme/plumber-7b' is no known model; read with auto"),
    ],
)
def test_what_is_not_certain_of_a_model_is_said(penstock: Penstock, answer: str, model: str, words: str) -> None:
    code, out, err = penstock("parse", "--model", model, answer)
    assert (code, out) == (0, SHOWN)
    (line,) = err.splitlines()
    assert words in line


def test_a_dialect_of_your_own_is_named_by_its_module(penstock: Penstock, tmp_path: Path, answer: str) -> None:
    file = tmp_path / "my_dialects.py"
    file.write_text("from penstock.operators.dialects.hermes import HERMES as MINE\n", encoding="utf-8")
    assert penstock("parse", "--dialect", f"{file}:MINE", answer) == (0, SHOWN, "")
    assert penstock("parse", "--dialect", f"{file}:MINE", "--dialect", "qwen3_coder", answer) == (0, SHOWN, "")


def test_dialects_are_compared_by_what_they_find(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    chosen = ("--dialect", "hermes", "--dialect", "xml")
    code, out, err = penstock("parse", "--compare", "--json", *chosen, answer)
    assert (code, err) == (0, "")
    hermes, xml = lines(out)
    call = "→ write_file(path='a.py', content='x\\ny')"
    assert hermes == {"dialect": "hermes", "calls": [call], "text": "Grüße  bye", "reasoning": ""}
    assert xml == {"dialect": "xml", "calls": [], "text": TEXT, "reasoning": ""}
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = penstock("parse", "--compare", answer)
    assert (code, err) == (0, "")
    *_, first, second, third, others, _ = out.splitlines()
    assert [word for word in ("hermes", call, "Grüße  bye") if word not in first] == []
    assert "json_bare" in second
    assert [word for word in (" json ", call, "Grüße <tool_call> bye") if word not in third] == []
    assert "others" in others


def test_compared_texts_are_escaped(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, b"<think>a\x1b[2J</think>b\x1b[2J")
    code, out, _ = penstock("parse", "--compare", "--dialect", "hermes")
    assert (code, "\x1b" in out, "a\\x1b[2J" in out) == (0, False, True)


# As it comes


@contextmanager
def running(*options: str) -> Generator[subprocess.Popen[bytes], None, None]:
    with started(
        "parse",
        *options,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        bufsize=0,
        start_new_session=True,
    ) as process:
        yield process


def read_until(process: subprocess.Popen[bytes], wanted: bytes) -> bytes:
    assert process.stdout is not None
    read = b""
    while wanted not in read:
        piece = process.stdout.read(1)
        assert piece, read
        read += piece
    return read


def write(process: subprocess.Popen[bytes], piece: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(piece)


def test_each_piece_is_given_before_the_next_is_written_also_where_a_character_is_cut() -> None:
    with running("--dialect", "hermes", "--emit", "segments") as process:
        write(process, b"Gr\xc3")
        read_until(process, b"'Gr'\n")
        write(process, b'\xbc\xc3\x9fe <tool_call>{"name": "write_file", "arguments": {"path": "a.py", "content": "on')
        assert "'üße '\n".encode() in read_until(process, b"'on'\n")
        write(process, b'e"}}</tool_call>')
        read_until(process, b"END write_file")
        out, err = process.communicate(b" bye")
    assert (process.returncode, b"' bye'\n" in out, err) == (0, True, b"")


def test_lines_are_shown_as_soon_as_they_are_whole() -> None:
    with running("--dialect", "hermes") as process:
        write(process, b'Hi <tool_call>{"name": "write_file", "arguments": {"path": "a.py", "content": "one\\ntw')
        assert read_until(process, b"one\n") == b"Hi \nwrite_file a.py\n    one\n"
        write(process, b'o"}}')
        out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out.decode() == "    two\n→ write_file(path='a.py', content='one\\ntwo')\n"


def test_ctrl_c_while_it_waits_ends_what_is_open_as_interrupted() -> None:
    with running("--json") as process:
        write(process, b"Hi")
        read_until(process, b'"Hi"')
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stderr is not None
        rest, err = process.stdout.read(), process.stderr.read()
        assert (process.wait(30), err) == (130, b"")
    last, answer = map(json.loads, rest.splitlines()[-2:])
    assert (last["type"], last["payload"]) == ("SEGMENT_END", {"status": "interrupted", "reason": "Ctrl-C"})
    assert (answer["type"], answer["status"]) == ("ANSWER_END", "interrupted")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    with running("--json") as process:
        write(process, b"Hi")
        assert process.stdout is not None
        assert process.stderr is not None
        read_until(process, b"{")
        process.stdout.close()
        try:
            while process.poll() is None:
                write(process, b"more")
        except BrokenPipeError:
            pass
        assert process.stderr.read() == b""
        assert process.wait(30) == 1


def test_on_a_terminal_it_says_how_to_end() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command("parse", "--emit", "segments"),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as process:
        assert process.stderr is not None
        assert b"Ctrl-D ends it" in process.stderr.readline()
        os.write(ours, b"Hi\n\x04")
        out, _ = process.communicate(timeout=30)
    os.close(theirs)
    os.close(ours)
    said = b"".join(re.findall(rb"CONTENT .*? '(.*)'", out))
    assert (process.returncode, said) == (0, rb"Hi\n")
