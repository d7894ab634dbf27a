"""`penstock gateway --doctor` as its user meets it: the table, what to do, the exit code, and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from app_server import serving
from cli_command import ROOT, Penstock, penstock, started
from doctor_answers import ANSWERS, faulty
from scripted_upstream import ScriptedUpstream, body_of, text_chunks
from speaking_model import Said, Serve, answering, parsed, vllm_without_parser

__all__ = ["penstock"]  # the fixture
MODEL = "Qwen3-8B"


def server(serve: Serve, owner: str) -> ScriptedUpstream:
    return ScriptedUpstream(
        answering(ANSWERS, serve), routes={"/v1/models": {"data": [{"id": MODEL, "owned_by": owner}]}}
    )


def test_it_prints_what_is_mended_and_what_to_do(penstock: Penstock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "120")
    with serving(server(vllm_without_parser(MODEL), "vllm").app) as address:
        code, said, complaints = penstock("gateway", "--doctor", "--upstream", f"http://{address}/v1", "--model", MODEL)
    lines = said.splitlines()
    assert (code, complaints) == (0, "")
    assert lines[0].startswith(f"http://{address}: vllm, model {MODEL}, lane raw: vLLM without --tool-call-parser")
    rows = {line.split("  ")[0].strip(): line for line in lines if line.startswith((" mended", " ok"))}
    assert rows.keys() == {"mended"}
    assert sum("the same error" in line for line in lines) == len(ANSWERS) - 1
    assert lines[-1] == "Put the gateway in front of the server: run the same command without --doctor."


def test_the_picture_in_the_docs_is_what_it_prints(penstock: Penstock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "110")
    with serving(server(faulty, "me").app) as address:
        _, said, _ = penstock("gateway", "--doctor", "--upstream", f"http://{address}")
    picture = said.replace(address, "127.0.0.1:8080")
    assert f"```text\n{picture}```\n" in (ROOT / "docs/gateway-mends.md").read_text(encoding="utf-8")


def test_each_model_of_a_file_is_asked_at_its_server(penstock: Penstock, tmp_path: Path):
    with (
        serving(server(parsed(), "library").app) as good,
        serving(server(vllm_without_parser(MODEL), "vllm").app) as vllm,
    ):
        file = tmp_path / "gateway.toml"
        lines = [f'[upstreams.{name}]\nurl = "http://{at}"\n' for name, at in (("a", good), ("b", vllm))]
        file.write_text("\n".join([*lines, f'[models."{MODEL}"]', 'upstreams = ["a", "b"]']), encoding="utf-8")
        code, said, _ = penstock("gateway", "--doctor", "--config", str(file))
    assert code == 0
    assert [line.partition(",")[0] for line in said.splitlines() if line.startswith("http://")] == [
        f"http://{good}: ollama",
        f"http://{vllm}: vllm",
    ]


def test_what_stays_broken_is_an_exit_code_of_one(penstock: Penstock):
    with serving(server(lambda said, body: parsed()(said, body)[:-2], "library").app) as address:
        code, said, _ = penstock("gateway", "--doctor", "--upstream", f"http://{address}")
    assert code == 1
    assert " not mended " in said
    assert said.splitlines()[-1].startswith("What is not mended comes so from")


def test_a_server_that_is_not_there_is_told_in_one_line_with_what_to_do(penstock: Penstock):
    code, said, complaint = penstock("gateway", "--doctor", "--upstream", "http://127.0.0.1:1")
    assert (code, said) == (2, "")
    assert complaint.startswith("penstock: nothing answers at http://127.0.0.1:1")
    assert complaint.endswith("start the server, or check --upstream\n")


def test_ctrl_c_leaves_no_question_open():
    waiting = ScriptedUpstream([*body_of(text_chunks(["Hi"], None), done=False), None])
    with (
        serving(waiting.app) as address,
        started(
            *("gateway", "--doctor", "--upstream", f"http://{address}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process,
    ):
        assert waiting.begun.get(timeout=60) == "begun"
        process.send_signal(signal.SIGINT)
        assert waiting.closed.get(timeout=20) == "closed"
        assert process.communicate(timeout=20) == ("", "")
        assert process.returncode == 130


def test_what_the_model_does_not_do_is_not_called_broken(penstock: Penstock):
    with serving(server(lambda _, body: parsed()(Said("Yes."), body), "library").app) as address:
        code, said, _ = penstock("gateway", "--doctor", "--upstream", f"http://{address}")
    assert code == 1
    assert "not mended" not in said
    assert said.splitlines()[-1].startswith("The model called no tool.")
