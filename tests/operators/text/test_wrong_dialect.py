"""Whole calls of another dialect than those that a text is read in."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from looped import looped
from operator_contract import frozen, thawed
from strategies.text_flows import cut_by
from text_laws import work_of

from penstock.events import AnswerEnd, ChunkResponse, Notice, ToolInvocation
from penstock.operators import drive, parse_text, to_invocations
from penstock.operators.calls.text_call_watch import KEPT
from penstock.operators.catalogue.dialect_for import AUTO, DIALECTS
from penstock.operators.engine.stage import Completed, stage
from penstock.operators.writing.render_call import can_render, render_call

ARGUMENTS = {"path": "a.py", "content": "x = 1\n"}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {key: {"type": "string"} for key in ARGUMENTS}}
TOOLS: Any = {"write_file": SCHEMA}
NOTHING: Any = None
CALL = ("write_file", ARGUMENTS)
HERMES = '<tool_call>{"name": "write_file", "arguments": {"path": "a.py", "content": ""}}</tool_call>'
PYTHONIC = '[write_file(path="a.py", content="")]'


def written(names: tuple[str, ...]) -> list[tuple[str, str]]:
    found = (DIALECTS[name] for name in names if DIALECTS[name].grammar)
    return [(each.name, render_call(each, *CALL)) for each in found if can_render(each, *CALL) is None]


def told(text: str, *own: str, tools: Any = TOOLS, finish: Any = "stop", **options: Any) -> list[str]:
    """Return the details of the notices, which do not depend on the cutting."""
    found: list[list[str]] = []
    for pieces in ([text], list(text), cut_by(Random(len(text)), text)):
        chunks = [*(ChunkResponse(each) for each in pieces), ChunkResponse(finish_reason=finish)]
        events = [*drive(chunks, parse_text(*own, tools=tools, turn_id="t", **options))]
        found.append([each.detail for each in events if isinstance(each, Notice)])
    assert found[1:] == found[:-1]
    return found[0]


def dialect_in(detail: str) -> str:
    said = re.search(r"in the dialect '(\w+)'", detail)
    assert said is not None, detail
    return said[1]


def invoked(text: str, *own: str, tools: Any = TOOLS) -> list[tuple[str, Any]]:
    events = drive([text], parse_text(*own, tools=tools), to_invocations())
    return [(each.name, each.arguments) for each in events if isinstance(each, ToolInvocation)]


def assert_goes_on_anywhere(text: str, own: str) -> None:
    """Freeze the reader behind each character: what it has yet to say, one notice in it, is the same."""
    operator = parse_text(own, turn_id="t", tools=TOOLS)
    for place in range(len(text)):
        chain = stage(operator)
        chain.feed(text[:place])
        copy = thawed(operator, frozen(chain))
        wanted = [*chain.feed(text[place:]), *chain.close(Completed())]
        assert [*copy.feed(text[place:]), *copy.close(Completed())] == wanted
        assert sum(isinstance(each, Notice) for each in wanted) == 1


@looped("dialect, text", lambda: written((*AUTO, "json", "minicpm5_xml", "pythonic")))
def test_a_call_of_another_dialect_is_told_with_a_dialect_that_reads_it(dialect: str, text: str):
    for tools in (TOOLS, NOTHING) if dialect in AUTO else (TOOLS,):
        for own in ("aider", "bolt_artifact") if dialect != "bolt_artifact" else ("aider",):
            (detail,) = told(f"I do it.\n\n{text}", own, tools=tools)
            assert invoked(text, dialect_in(detail), tools=tools) == invoked(text, dialect, tools=tools) != []
            assert invoked(text, own, tools=tools) == []


@looped("dialect, text", lambda: written(("hermes", "qwen3_coder", "glm45")))
def test_so_is_one_that_fails_because_it_begins_as_those_of_its_own_do(dialect: str, text: str):
    for own in {"hermes", "qwen3_coder", "glm45"} - {dialect}:
        (detail,) = told(f"I do it.\n\n{text}\nDone.", own)
        assert invoked(text, dialect_in(detail)) == [CALL]
        assert invoked(text, own) == []
        assert_goes_on_anywhere(text, own)


@looped("dialect, text", lambda: written(("hermes", "qwen3_coder", "glm45")))
def test_a_broken_call_of_its_own_is_called_one_of_another_dialect_only_if_that_runs_it(dialect: str, text: str):
    for place in range(0, len(text), 3):
        broken = text[:place] + "x" + text[place + 1 :]
        for detail in () if invoked(broken, dialect) else told(broken, dialect):
            assert invoked(broken, dialect_in(detail))


@pytest.mark.parametrize("tools", [TOOLS, NOTHING])
@looped("dialect, text", lambda: written(tuple(DIALECTS)))
def test_a_call_of_its_own_is_no_other(dialect: str, text: str, tools: Any):
    assert told(f"{text}\n{text}", dialect, tools=tools) == []


def test_the_notice_says_what_happened_and_what_to_do():
    (detail,) = told(f"Now.\n{HERMES}", "glm4")
    assert detail.startswith("the model wrote a call of 'write_file' in the dialect 'hermes', which is not one")
    assert 'Pipeline("hermes")' in detail
    assert 'parse_text("hermes")' in detail
    assert detail.endswith(f"The text: {HERMES}")


@pytest.mark.parametrize(
    "text",
    [
        "Models write `<tool_call>` around JSON, and write_file(path) in code.",
        "<p>write_file</p> [1] {write_file}",
        HERMES[:-20],
        HERMES.replace('"arguments"', '"arguments'),
        f"`{HERMES}`",
        f"```text\n{HERMES}\n```",
    ],
)
def test_prose_code_and_what_is_broken_or_cut_is_no_call(text: str):
    for tools in (TOOLS, NOTHING):
        assert told(text, "aider", tools=tools, finish="length") == []
        assert told(text, "aider", tools=tools) == []


def test_without_a_declared_tool_only_unmistakable_markers_count():
    assert [dialect_in(each) for each in told(f"So: {PYTHONIC}", "aider")] == ["pythonic"]
    assert told(f"So: {PYTHONIC}", "aider", tools=NOTHING) == []
    other = HERMES.replace("write_file", "other")
    assert told(other, "aider") == []
    assert len(told(other, "aider", tools=NOTHING)) == 1


def test_what_a_call_of_its_own_writes_is_no_text():
    call = render_call(DIALECTS["qwen3_coder"], "write_file", {"path": "formats.md", "content": f"So: {PYTHONIC}\n"})
    for tools in (TOOLS, NOTHING):
        assert told(f"Now.\n{call}\nDone.", "qwen3_coder", tools=tools) == []


def test_text_behind_a_call_does_not_go_on_with_what_is_before_it():
    begin, end = '<tool_call>{"name": "write_', 'file", "arguments": {}}</tool_call>'
    between = render_call(DIALECTS["sentinel"], *CALL)
    assert told(f"{begin}\n{between}\n{end}", "sentinel") == []


def test_with_calls_off_nothing_is_looked_for():
    assert told(HERMES, "aider", calls=False) == []


def test_each_call_is_told_once_before_the_end_of_its_answer():
    chunks = [ChunkResponse(HERMES * 2), ChunkResponse(HERMES, choice=1)]
    events = [*drive(chunks, parse_text("aider"))]
    assert [type(each) for each in events if isinstance(each, Notice | AnswerEnd)] == [
        *(Notice, Notice, AnswerEnd),
        *(Notice, AnswerEnd),
    ]


def test_so_much_of_a_text_is_looked_at_and_kept():
    prose = "x" * 50 + "\n"
    for length, count in ((KEPT - 2 * len(HERMES), 1), (KEPT - len(HERMES) // 2, 0), (2 * KEPT, 0)):
        text = (prose * (length // len(prose) + 1))[:length] + HERMES
        assert len(told(text, "aider", tools=NOTHING)) == count
    chain = stage(parse_text("aider", turn_id="t"))
    for _ in range(9 * KEPT // len(prose)):
        chain.feed(prose)
    assert len(frozen(chain)) < 2 * KEPT


def test_frozen_after_any_piece_it_goes_on_the_same():
    assert_goes_on_anywhere(f"Now I do it. {HERMES} Done.", "aider")


@pytest.mark.parametrize("tools", [TOOLS, NOTHING])
def test_a_piece_of_prose_is_appended_and_no_more(tools: Any):
    def of_more(**options: Any) -> int:
        operator = parse_text("aider", tools=tools, **options)
        return work_of(operator, ["word "] * 6400) - work_of(operator, ["word "] * 640)

    assert of_more() - of_more(calls=False) <= 2.2 * (6400 - 640), "to append and to count the pieces is two calls of C"
