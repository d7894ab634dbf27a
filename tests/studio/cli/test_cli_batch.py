"""`penstock batch` as its user meets it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from batch_records import files_in, tables_in
from cli_command import ONE_CALL, PLAIN, Penstock, penstock, run, started

from penstock.scale.batch import batch_engines, input_parts

__all__ = ["penstock"]  # the fixture
HERMES = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
ADD = {
    "name": "add",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a call, a text, a body that was cut, and one that cannot be read."""
    made = tmp_path / "in"
    made.mkdir()
    body = Path(ONE_CALL).read_bytes()
    (made / "call.sse").write_bytes(body)
    (made / "cut.sse").write_bytes(body[: len(body) // 2])
    (made / "plain.sse").write_bytes(Path(PLAIN).read_bytes())
    (made / "page.sse").write_text("<!doctype html><html></html>")
    return made


def test_it_says_what_it_has_read_and_what_it_could_not_read(penstock: Penstock, folder: Path, tmp_path: Path):
    out = str(tmp_path / "out")
    for _ in range(2):  # the second time nothing is left to do
        code, said, complaints = penstock("batch", str(folder), out, "--workers", "1")
        assert (code, said) == (
            0,
            f"{out}: 4 records (2 complete, 1 truncated, 1 unreadable), 1 invocation, 1 failure, 3 segments\n",
        )
        assert complaints == f"penstock: 1 of 4 could not be read; {out}/records has their errors\n"
    assert [each["name"] for each in tables_in(tmp_path / "out")["invocations"]] == ["get_weather"]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], {"invocations": 2, "failures": 0}),
        (["--dialect", "hermes"], {"invocations": 2, "failures": 0}),
        (["--model", "Qwen/Qwen3-8B"], {"invocations": 2, "failures": 0}),
        (["--dialect", "qwen3_coder"], {"invocations": 0, "failures": 0}),
        (["--dialect", "hermes", "--tools", "tools.json"], {"invocations": 1, "failures": 1}),
    ],
)
def test_calls_are_found_as_the_options_say(
    penstock: Penstock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    found: dict[str, int],
):
    monkeypatch.chdir(tmp_path)
    rows = [{"completion": HERMES, "key": 1}, {"completion": HERMES.replace("add", "sub"), "key": 2}]
    Path("in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("tools.json").write_text(json.dumps([ADD]))
    code, _, complaints = penstock("batch", "in.jsonl", "out", "--text", "completion", "--id", "key", *options)
    assert (code, complaints) == (0, "")
    tables = tables_in(Path("out"))
    assert {name: len(tables[name]) for name in found} == found
    assert [each["id"] for each in tables["records"]] == ["1", "2"]


MISTAKES: list[tuple[list[str], str]] = [
    (["in/cal.sse", "new"], "in/cal.sse cannot be read: No such file or directory; did you mean 'in/call.sse'?"),
    (["inn", "new"], "did you mean 'in'?"),
    (["empty", "new"], "no recording, body or table is in empty: files are read whose names end with .jsonl"),
    (["in", "in"], "in has other files in it; name a folder that is new or empty"),
    (["in", "new", "--dialect", "hermess"], "did you mean 'hermes'?"),
    (["in", "new", "--dialect", "hermes", "--strategy", "hermes"], "leave out all but one"),
    (["in", "new", "--api", "opnai"], "unknown api 'opnai'"),
    (["in", "new", "--workers", "0"], "--workers"),
    (["in", "new", "--text", "a", "--body", "b"], "--text and --body each say what is read; leave one out"),
    (["in", "out", "--dialect", "hermes"], "out was begun with other strategy"),
    (["in", "new", "--tools", "nowhere.json"], "--tools nowhere.json"),
    (["in"], "OUT"),
]


def test_a_mistake_is_one_line_and_writes_nothing(
    penstock: Penstock, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder.parent)
    Path("empty").mkdir()
    assert penstock("batch", "in", "out", "--workers", "1")[0] == 0
    for arguments, words in MISTAKES:
        code, said, complaints = penstock("batch", *arguments)
        assert (code, said) == (2, ""), arguments
        assert complaints.startswith("penstock: "), arguments
        assert complaints.count("\n") == 1, arguments
        assert words in complaints, arguments
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "in", "out"]


def test_where_nothing_can_be_read_the_exit_code_says_so(penstock: Penstock, tmp_path: Path):
    (tmp_path / "page.sse").write_text("<!doctype html><html></html>")
    code, said, complaints = penstock("batch", str(tmp_path / "page.sse"), str(tmp_path / "out"))
    assert (code, "1 record (1 unreadable)" in said, "1 of 1 could not be read" in complaints) == (2, True, True)


@pytest.mark.parametrize(("without", "words"), [("pyarrow", "scale"), ("ray", "ray")])
def test_a_package_that_is_missing_is_named_with_what_installs_it(
    folder: Path, tmp_path: Path, without: str, words: str
):
    ray = ["--ray"] if without == "ray" else []
    code, said, complaints = run("batch", str(folder), str(tmp_path / "out"), *ray, without=without)
    assert (code, said) == (2, "")
    assert f'pip install "penstock[{words}]", or in a clone pip install ".[{words}]"' in complaints
    assert complaints.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_after_ctrl_c_it_says_how_to_go_on_and_the_same_command_does(
    penstock: Penstock, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(input_parts, "PART_RECORDS", 1)
    arguments = ("batch", str(folder), str(tmp_path / "out"), "--workers", "1")
    with monkeypatch.context() as patch:
        read_part = batch_engines.read_part

        def interrupted(work: Any, given: Any) -> Any:
            if given.number == 2:
                raise KeyboardInterrupt
            return read_part(work, given)

        patch.setattr(batch_engines, "read_part", interrupted)
        said = "penstock: stopped; what was read is kept, and the same command goes on behind it\n"
        assert penstock(*arguments) == (130, "", said)
    kept = {name: content for name, content in files_in(tmp_path / "out").items() if "part" in name}
    assert len(kept) == 2 * 5
    assert penstock(*arguments)[0] == 0
    assert kept.items() <= files_in(tmp_path / "out").items()
    assert len(tables_in(tmp_path / "out")["records"]) == 4


def test_ctrl_c_reaches_all_of_its_processes_and_leaves_none_and_nothing_half(tmp_path: Path):
    lines = json.dumps({"text": HERMES}) + "\n"
    (tmp_path / "in.jsonl").write_text(lines * 20_000)
    out = tmp_path / "out"
    first = out / "records" / "part-00000000.parquet"
    arguments = ("batch", str(tmp_path / "in.jsonl"), str(out), "--workers", "2")
    with started(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        while not first.exists():
            assert process.poll() is None
            time.sleep(0.01)
        children = psutil.Process(process.pid).children(recursive=True)
        for each in (psutil.Process(process.pid), *children):  # as a terminal does it
            each.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complaints == b"penstock: stopped; what was read is kept, and the same command goes on behind it\n"
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert not [name for name in files_in(out) if "/." in name]
    assert 0 < len(list((out / "records").iterdir())) < 20
