"""A model that acts: it makes a file with the client's own tools, adds a line to it, and says that it is done."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, TypeAlias

from scripted_upstream import body_of, text_chunks
from starlette.responses import JSONResponse, Response
from strategies.cuts import cut_at
from strategies.dialect_texts import markers

from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.writing.render_call import render_call

Step: TypeAlias = Literal["create", "edit", "end"]
STEPS: tuple[Step, ...] = ("create", "edit", "end")
PROSE: Mapping[Step, str] = {"create": "I make the file.", "edit": "I add a line.", "end": "Both are done."}
THOUGHT: Mapping[Step, str] = {"create": "It is not there yet.", "edit": "One line is missing.", "end": "That is all."}
_LINE = "the second line\n"
_ADDED = f"{_LINE}and one behind it\n"
"""In the place of the line: what adds it twice leaves two."""


class Call(NamedTuple):
    name: str
    arguments: dict[str, Any]


class Hand(NamedTuple):
    """The tools by which one client writes and edits files."""

    write: str
    edit: str
    written: Callable[[str, str], dict[str, Any]]
    edited: Callable[[str, str, str], dict[str, Any]]


def _keys(*names: str) -> Callable[..., dict[str, Any]]:
    return lambda *values: dict(zip(names, values, strict=True))


def _appended(path: str, text: str) -> dict[str, Any]:
    """Write with a command that writes twice if it is run twice."""
    return {"cmd": f"cat >> {path} <<'END'\n{text}END"}


def _patched(path: str, old: str, new: str) -> dict[str, Any]:
    lines = [*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
    patch = "\n".join(("*** Begin Patch", f"*** Update File: {path}", "@@", *lines, "*** End Patch"))
    return {"cmd": f"apply_patch <<'END'\n{patch}\nEND"}


HANDS = (
    Hand("exec_command", "exec_command", _appended, _patched),  # Codex
    Hand("write", "edit", _keys("filePath", "content"), _keys("filePath", "oldString", "newString")),  # opencode
    Hand("write_file", "edit", _keys("file_path", "content"), _keys("file_path", "old_string", "new_string")),  # Qwen
    Hand("Write", "Edit", _keys("file_path", "content"), _keys("file_path", "old_string", "new_string")),  # Claude
    Hand("editor", "editor", _keys("path", "new_text"), _keys("path", "old_text", "new_text")),  # Cline
)


class Fault(NamedTuple):
    """What goes wrong with an answer.

    - `kind`: the connection is `cut` in the middle of a call, there is an `error` in place of the answer, or the server
      is silent in the middle of a call, for `seconds`.
    - `step`: at which step. `times`: how often; then the step is answered.
    """

    kind: Literal["cut", "error", "silence"]
    step: Step
    times: int = 1
    seconds: float = 0.0


class ActingModel:
    """Answers a request by what its conversation says is done already, in the text of a dialect, cut at random places.

    The file's text has each marker of the dialect. It is a script of `ScriptedUpstream`.

    - `asked`: the steps that it was asked for, one a request; requests without tools, as for a title, are not among
      them.
    """

    def __init__(self, dialect: str, path: Path, *, seed: int, fault: Fault | None = None) -> None:
        self.asked: list[Step] = []
        self.created = "".join(("the first line\n", _LINE, *(f"a {each} b\n" for each in markers(DIALECTS[dialect]))))
        self.edited = self.created.replace(_LINE, _ADDED)
        self._dialect, self._path, self._random = DIALECTS[dialect], str(path), Random(seed)
        self._fault, self._left = fault, 0 if fault is None else fault.times

    def __call__(self, body: Mapping[str, Any]) -> Response | Sequence[Any]:
        tools: dict[str, Any] = {each["function"]["name"]: each["function"] for each in body.get("tools", ())}
        if not tools:
            return self._pieces(spoken(self._dialect, "Hm.", "A file", ""))
        calls = self._calls(tools)
        made = made_calls(body["messages"])
        step: Step = next((each for each in STEPS[:2] if not any(_is_it(calls[each], one) for one in made)), "end")
        self.asked.append(step)
        pieces = self._pieces(
            spoken(self._dialect, THOUGHT[step], PROSE[step], self._written(calls, step, tools, made))
        )
        fault = self._fault
        if fault is None or step != fault.step or not self._left:
            return pieces
        self._left -= 1
        if fault.kind == "error":
            return JSONResponse({"error": {"code": 500, "message": "out of memory", "type": "server_error"}}, 500)
        middle = len(pieces) * 3 // 4
        return [*pieces[:middle], *((...,) if fault.kind == "cut" else (fault.seconds, *pieces[middle:]))]

    def _calls(self, tools: Mapping[str, Any]) -> dict[Step, Call]:
        hand = next(each for each in HANDS if {each.write, each.edit} <= tools.keys())
        return {
            "create": Call(hand.write, hand.written(self._path, self.created)),
            "edit": Call(hand.edit, hand.edited(self._path, _LINE, _ADDED)),
        }

    def _written(self, calls: Mapping[Step, Call], step: Step, tools: Mapping[str, Any], made: Sequence[Call]) -> str:
        if step == "end":
            return ""
        name, arguments = calls[step]
        # Kimi counts its calls; the other dialects have no ids, or the server's.
        call_id = f"functions.{name}:{len(made)}" if self._dialect.name == "kimi_k2" else None
        return render_call(self._dialect, name, arguments, call_id=call_id, schema=tools[name].get("parameters"))

    def _pieces(self, text: str) -> list[bytes]:
        places = [self._random.randint(0, len(text)) for _ in range(len(text) // 5)]
        return body_of(text_chunks(each for each in cut_at(text, places) if each))


def _is_it(call: Call, made: Call) -> bool:
    """Return whether a call of the conversation is this one; clients add what a tool takes by default."""
    return call.name == made.name and call.arguments.items() <= made.arguments.items()


def made_calls(messages: Sequence[Mapping[str, Any]]) -> list[Call]:
    """Return the calls of a conversation of Chat Completions."""
    return [
        Call(call["function"]["name"], json.loads(call["function"]["arguments"]))
        for message in messages
        for call in message.get("tool_calls") or ()
    ]


def spoken(dialect: Dialect, thought: str, prose: str, call: str) -> str:
    """Return an answer as a model of the dialect writes it: what it thinks, what it says, and a call, if there is one."""
    if dialect.name == "harmony":
        said = "commentary" if call else "final"
        thinking = f"<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant"
        return f"{thinking}<|channel|>{said}<|message|>{prose}{'<|end|>' if call else '<|return|>'}{call}"
    opener, closer = dialect.reasoning[0]
    return f"{opener}{thought}{closer}{prose}{call}"
