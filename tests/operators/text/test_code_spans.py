"""What is code in a text, and what in it is still a call."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from answered import answered
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from strategies.randoms import examples, randoms
from strategies.text_flows import cut_by

from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.grammar.outside_markers import CodeSpans, hides
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations

HERMES = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
BARE = '{"name": "f", "arguments": {}}'
PYTHONIC = "[f(a=1)]"

PAIRS: tuple[tuple[str, str, str], ...] = (
    # an inline code span
    ("hermes", f"`x` {HERMES}", f"`x {HERMES}`"),
    ("hermes", f"``a ` b`` {HERMES}", f"``a ` {HERMES}``"),
    ("hermes", f"a ` alone\n{HERMES}", f"a ` alone {HERMES}"),
    ("json", f"`x` {BARE}", f"`{BARE}`"),
    (
        "glm45",
        "Wrap calls in `<tool_call>`.\n<tool_call>f</tool_call>",
        "Wrap calls in `<tool_call>` and `</tool_call>`.",
    ),
    ("glm45", "<tool_call>\n  f</tool_call>", "Wrap calls in <tool_call> and </tool_call>."),
    ("xml", 'Use `<tool>` tags.\n<tool name="f"></tool>', 'Use `<tool name="x">` tags, then stop.'),
    # a fence
    ("hermes", f"```python\nx = 1\n```\n{HERMES}", f"```python\nx = 1\n{HERMES}\n```"),
    ("hermes", f"````\n```\n````\n{HERMES}", f"````\n```\n{HERMES}\n````"),
    ("hermes", f'```py\ns = "```"\n```\n{HERMES}', f'```py\ns = "```"\n{HERMES}\n```'),
    ("hermes", f"Use ``` to fence.\n{HERMES}", f"Use ```xml\n{HERMES}"),
    ("json", f"```json\n{BARE}\n```", f"```python\n{BARE}\n```"),
    ("json", f"```\n{BARE}\n```", f"```yaml\n{BARE}\n```"),
    ("pythonic", f"```python\n{PYTHONIC}\n```", f"```json\n{PYTHONIC}\n```"),
    ("xml", '```xml\n<tool name="f"></tool>\n```', '```html\n<tool name="f"></tool>\n```'),
    ("fenced_json", f"```json\n{BARE}\n```", f"`` ```json\n{BARE}\n```".replace("\n", " ")),
)
"""A dialect, a text with a call, and one that only shows it."""


def called(name: str, pieces: list[str], **options: Any) -> int:
    events = answered(pieces, parse_text(name, turn_id="t", **options), to_invocations())
    return sum(isinstance(each, ToolInvocation) for each in events)


@looped("name, call, shown", PAIRS)
def test_a_call_in_code_is_text(name: str, call: str, shown: str):
    for tools in (None, {"f": None}):
        for text, count in ((call, 1), (shown, 0)):
            for pieces in ([text], list(text), *(cut_by(Random(seed), text) for seed in range(5))):
                assert called(name, pieces, tools=tools) == count, pieces
        events = answered([shown], parse_text(name, tools=tools, turn_id="t"))
        assert "".join(getattr(event, "delta", "") for event in events) == shown


def test_all_fences_can_be_read_or_none():
    fenced = f"```python\n{HERMES}\n```"
    assert called("hermes", [fenced], fences="calls") == 1
    assert called("hermes", [f"`{HERMES}`"], fences="calls") == 0
    assert called("json", [f"```json\n{BARE}\n```"], fences="text") == 0


@examples(300)
@given(st.text("`x \n", max_size=40), randoms)
def test_where_code_is_does_not_depend_on_how_the_text_is_cut(text: str, random: Random):
    assert hidden(cut_by(random, text)) == hidden([text]) == as_markdown(text), text


def hidden(pieces: list[str]) -> bool:
    """Return whether the end of a text is code, followed by a word."""
    spans = CodeSpans()
    for piece in [*pieces, "w"]:
        position = 0
        while position < len(piece):
            if spans.is_undecided:
                position = spans.go_on(piece, position)
                if position == len(piece) or spans.is_undecided:
                    continue
            stops = [place for stop in spans.stops if (place := piece.find(stop, position)) >= 0]
            upto = min(stops, default=len(piece))
            if piece == "w":
                return hides(spans.place, ())
            if spans.keeps_line:
                spans.note(piece[position:upto])
            position = spans.go_on(piece, upto) if upto < len(piece) else upto
    return hides(spans.place, ())


def as_markdown(text: str) -> bool:
    """Return the same, found line by line in the whole text."""
    fence = 0
    lines = f"{text}w".split("\n")
    for place, line in enumerate(lines):
        is_last = place == len(lines) - 1
        if fence:
            closer = re.search(r"(`+)[ \t\r]*\Z", line)
            if not is_last and closer and len(closer[1]) >= fence:
                fence = 0
            continue
        open_run = 0
        said = ""
        for run, between in re.findall(r"(`+)([^`]*)", line):
            if not open_run:
                open_run, said = len(run), between
            elif len(run) == open_run:
                open_run = 0
            else:
                said += run + between
        if is_last:
            return open_run > 0
        if open_run >= 3 and re.fullmatch(r"[ \t]*[\w+#./-]*[ \t\r]*", said):
            fence = open_run
    return True


MUTANTS = {
    "a stray backtick hides what is on the next line": ("", ("operators/grammar/outside_markers.py", '        self._state = "text" if said is None else "fence"\n', '        self._state = "span" if said is None else "fence"\n')),
    "the language of a fence does not matter": ("", ("operators/grammar/outside_markers.py", 'return state == "span" or not (', 'return state == "span" and not (')),
}  # fmt: skip
