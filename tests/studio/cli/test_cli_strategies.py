"""`penstock strategies` as its user meets it: the list, a search in it, and the catalogue's entries."""

from __future__ import annotations

import inspect
import os
import pty
import re

import pytest
from cli_command import ENVIRONMENT, Penstock, penstock, read_terminal, started
from depth import some_of

from penstock.operators.catalogue import DIALECTS
from penstock.operators.catalogue.catalogue import about_dialect, catalogue_entry
from penstock.pipeline import STRATEGIES

__all__ = ["penstock"]  # the fixture


def names_in(out: str) -> list[str]:
    return [line[2:].split()[0] for line in out.splitlines()]


def test_the_strategies_are_listed_and_the_environments_is_marked(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PENSTOCK_STREAM_PARSER", raising=False)
    monkeypatch.delenv("AUTOBYTEUS_STREAM_PARSER", raising=False)
    for current in ("api_tool_call", "pass_through"):
        code, out, err = penstock("strategies")
        assert (code, err) == (0, "")
        assert names_in(out) == list(STRATEGIES)
        assert names_in("\n".join(line for line in out.splitlines() if line.startswith("*"))) == [current]
        monkeypatch.setenv("PENSTOCK_STREAM_PARSER", " Pass_Through ")


def test_a_wrong_name_in_the_environment_is_told_behind_the_list(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_STREAM_PARSER", "xmm")
    code, out, err = penstock("strategies")
    assert code == 2
    assert "  api_tool_call " in out
    assert err == "penstock: unknown strategy 'xmm'; did you mean 'xml'?\n"


@pytest.mark.laws
@pytest.mark.parametrize("name", some_of(STRATEGIES, 20))
def test_one_strategy_is_explained_with_its_options_and_their_defaults(penstock: Penstock, name: str) -> None:
    code, out, err = penstock("strategies", name)
    assert (code, err) == (0, "")
    told = catalogue_entry(name) if name in DIALECTS else (inspect.getdoc(STRATEGIES[name]) or "").splitlines()[0]
    assert out.startswith(f"{told}\n\n")
    options = [each for each in inspect.signature(STRATEGIES[name]).parameters if each not in ("tools", "turn_id")]
    assert [option for option in options if f"\n    {option}=" not in out] == []


def test_every_dialect_is_listed_with_what_its_file_says(penstock: Penstock) -> None:
    _, out, _ = penstock("strategies")
    lines = {line[2:].split()[0]: line for line in out.splitlines()}
    assert [name for name in DIALECTS if not lines[name].endswith(about_dialect(name).splitlines()[0])] == []


@pytest.mark.parametrize(("text", "found"), [("QWEN", "mimo"), ("gpt-oss", "harmony"), ("api_", "api_tool_call")])
def test_the_list_can_be_searched(penstock: Penstock, text: str, found: str) -> None:
    code, out, err = penstock("strategies", "--find", text)
    assert (code, err) == (0, "")
    assert found in names_in(out)
    assert all(text.casefold() in line.casefold() for line in out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hermess"], ["'hermess'", "did you mean 'hermes'"]),
        (["nothing"], ["'nothing'", "'api_tool_call'"]),
        (["--find", "nowhere at all"], ["'nowhere at all'", "penstock strategies"]),
    ],
)
def test_a_name_that_is_none_is_said_in_one_line(penstock: Penstock, arguments: list[str], words: list[str]) -> None:
    code, out, err = penstock("strategies", *arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert [word for word in words if word not in line] == []


@pytest.mark.parametrize(("name", "words"), [((), DIALECTS), (("minimax_m2",), ("<parameter name=", "NAME", "mlx-lm"))])
def test_on_a_terminal_it_is_laid_out_for_its_width(name: tuple[str, ...], words: tuple[str, ...]) -> None:
    environment = {**ENVIRONMENT, "TERM": "xterm-256color", "COLUMNS": "60", "LINES": "24"}
    ours, theirs = pty.openpty()
    with started("strategies", *name, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        output = b""
        while piece := read_terminal(ours):
            output += piece
        assert process.wait(30) == 0
    os.close(ours)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", output.decode()).splitlines()
    assert max(map(len, lines)) <= 60
    assert [word for word in words if word not in "\n".join(lines)] == []
    assert "```" not in "".join(lines)


def test_the_states_of_a_dialect_are_shown_as_a_table(penstock: Penstock) -> None:
    code, out, err = penstock("strategies", "hermes", "--table")
    assert (code, err) == (0, "")
    first, *rows = out.splitlines()
    assert first.split() == ["state", "call", "read", "next"]
    assert [row.split()[0] for row in rows] == [str(number) for number in range(len(rows))]
    assert any("end" in row.split() for row in rows)


def test_a_table_of_what_is_no_dialect_is_refused(penstock: Penstock) -> None:
    for asked, name in (
        (("strategies", "--table"), None),
        (("strategies", "api_tool_call", "--table"), "api_tool_call"),
    ):
        code, _, err = penstock(*asked)
        assert (code, err) == (2, f"penstock: --table needs a dialect, got {name!r}; penstock strategies lists them\n")
