"""The app's colours in a real browser: of every language, and those that programs write for a terminal.

No text is lost, and a hostile one costs little.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from accessibility import faint_texts
from app_page import app_served
from app_tab import COMMAND_CARD, ask, card, leave, lines, opened, replay
from browser import Tab, browser_tab
from chat_chunks import call, closing
from every_sdk import nothing_left
from looped import looped
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

COLOUR = """async ([name, lines]) => {
    const { highlighted } = await import("/static/highlight.js");
    const { languageOf } = await import("/static/languages.js");
    let state = 0;
    return lines.map((line) => {
        const [pieces, next] = highlighted(line, languageOf(name), state);
        state = next;
        return [pieces, next === "plain"];
    });
}"""
MODES = """async () => {
    const { suffixes, languageOf } = await import("/static/languages.js");
    await import("/static/highlight.js");
    return suffixes.map((suffix) => [suffix, CodeMirror.getMode({}, languageOf(`a.${suffix}`)).name]);
}"""
KINDS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "a.py": (
        'def f(x):\n    """a\n    return b"""\n    return 12  # c',
        [("keyword", "def"), ("string", '    return b"""')],
    ),
    "a.ts": ("/* a\nlet b */ export class A {}", [("comment", "let b */"), ("keyword", "export")]),
    "a.json": ('{"a": [1, "x"]}', [("property", '"a"'), ("number", "1"), ("string", '"x"')]),
    "a.html": ('<p class="a">\n<script>\nlet a = 1;\n</script>', [("tag", "<p"), ("keyword", "let")]),
    "a.md": ("# Title\n\n```py\nx = 1\n```", [("keyword", "# Title"), ("comment", "x = 1")]),
    "a.patch": ("@@ -1 +1 @@\n-a\n+b", [("minus", "-a"), ("plus", "+b")]),
    "a.sh": ("cat > a <<'E'\nif x\nE\nfor a in b", [("string", "if x"), ("keyword", "for")]),
    "Dockerfile": ("FROM a", [("keyword", "FROM")]),
}
HOSTILE = ["(" * 2000, "<a " * 600, "${" * 1000, "\"'`" * 600, "[a](" * 500, "/*" * 1000, "\x00\ud83d", "", "end"]


def test_lines_are_coloured_by_what_stands_above_them_and_no_text_is_lost(
    monkeypatch: pytest.MonkeyPatch, chromium: Any
):
    with browser_tab(chromium) as tab, replay() as provider, app_served(monkeypatch, provider) as served:
        page = opened(tab, served)
        modes = page.evaluate(MODES)
        assert len(modes) > 40
        assert [suffix for suffix, mode in modes if mode in (None, "null")] == []
        for name, (text, kinds) in KINDS.items():
            coloured = page.evaluate(COLOUR, [name, text.split("\n")])
            assert "\n".join("".join(piece for _, piece in pieces) for pieces, _ in coloured) == text
            assert not any(is_plain for _, is_plain in coloured)
            found = [tuple(each) for pieces, _ in coloured for each in pieces]
            assert [each for each in kinds if each not in found] == [], name
        for suffix, _ in modes:
            lines: list[Any] = page.evaluate(COLOUR, [f"a.{suffix}", HOSTILE * 3])
            said = ["".join(piece for _, piece in pieces) for pieces, _ in lines]
            assert [each.encode("utf-16", "surrogatepass") for each in said] == [
                each.encode("utf-16", "surrogatepass") for each in HOSTILE * 3
            ]
        deep = page.evaluate(COLOUR, ["a.py", ["("] * 2000])
        assert deep[-1][1]  # what is open at a line's end is bounded
        assert tab.complaints == []


TERMINAL = """async ([text]) => {
    const { terminalLines } = await import("/static/terminal_text.js");
    return terminalLines(text);
}"""
WRITTEN: list[tuple[str, list[list[list[str]]]]] = [
    ("\x1b[1;31mFAILED\x1b[0m a\n\x1b[32mok\x1b[39m", [[["red t-bold", "FAILED"], ["", " a"]], [["green", "ok"]]]),
    ("\x1b[33ma\nb\x1b[mc", [[["yellow", "a"]], [["yellow", "b"], ["", "c"]]]),
    ("\x1b[38;5;28ma\x1b[48;2;9;9;200mb\x1b[38:2::200:0:0;49mc", [[["green", "a"], ["blue", "b"], ["red", "c"]]]),
    ("\x1b[38;5m\x1b[38;2;1ma\x1b[999;38mb", [[["", "a"], ["", "b"]]]),
    ("\x1b[90ma\x1b[97;3mb\x1b[4:3;23mc", [[["dim", "a"], ["italic", "b"], ["underline", "c"]]]),
    ("\x1b[7m\x1b[102m PASS \x1b[49;27m", [[["green", " PASS "]]]),
    (
        "\x1b]8;;http://a.b\x1b\\link\x1b]8;;\x1b\\\x1b]0;t\x07 a\x1b[2Kb\x1b[?25l\x1b(B",
        [[["", "link"], ["", " a"], ["", "b"]]],
    ),
    ("1%\r2%\r\nend\r\r\n", [[["", "1%"]], [["", "2%"]], [["", "end"]], []]),
    ("\x1b[>4;2ma\x1b[12", [[["", "a\x1b[12"]]]),
    ("", [[]]),
]
"""What a program writes, and its lines as pieces with their colours."""
HOSTILE_CODES = [
    "\x1b]" * 90_000,
    "\x1b[" * 90_000,
    "\x1b[" + "31;" * 80_000 + "m",
    "\x1b" + " " * 200_000,
    "\x1b]" + "x" * 200_000,
]


def test_what_a_program_writes_for_a_terminal_has_the_colours_of_the_theme(tab: Tab, monkeypatch: pytest.MonkeyPatch):
    with replay() as provider, app_served(monkeypatch, provider) as served:
        page = opened(tab, served)
        for text, expected in WRITTEN:
            assert page.evaluate(TERMINAL, [text]) == expected, text
        for text in HOSTILE_CODES:
            began = page.evaluate("performance.now()")
            page.evaluate(TERMINAL, [text])
            assert page.evaluate("performance.now()") - began < 5_000  # a quadratic one takes minutes
        leave(tab)
    assert tab.complaints == []


@looped("scheme", ["light", "dark"])
def test_the_result_of_a_command_has_its_colours_and_no_codes(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scheme: Any
):
    run = r"printf '\033[1;31mFAILED\033[0m test\n\033[32mok\033[m\a\n\033[2md\033[33mr\033[34ma\033[35mi\033[36mn'"
    slow = r"printf '\033[31mred\033[0m'; sleep 100"
    events = [
        call(0, json.dumps({"command": run}), "call_1", "run_bash"),
        call(1, json.dumps({"command": slow, "timeout_seconds": 1}), "call_2", "run_bash"),
        *closing(),
    ]
    with (
        nothing_left(),
        replay(events) as provider,
        app_served(monkeypatch, provider, root=tmp_path, commands=True) as served,
    ):
        tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page = opened(tab, served)
        ask(page)
        approvals = page.get_by_role("button", name=f"Approve: {COMMAND_CARD}")
        for waiting in (2, 1):  # a button that was clicked is there until the answer has come
            expect(approvals).to_have_count(waiting)
            approvals.first.click()
        shown = card(page, COMMAND_CARD).first
        expect(lines(shown, "result")).to_have_text(["FAILED test", "ok\\x07", "drain"])
        red = shown.locator(".t-red.t-bold")
        expect(red).to_have_text("FAILED")
        colour = {"light": "rgb(168, 42, 30)", "dark": "rgb(255, 147, 133)"}[scheme]
        expect(red).to_have_css("color", colour)
        note = card(page, COMMAND_CARD).last.locator(".note.bad")
        expect(note).to_have_text("UsageError: the command ran longer than 1 seconds: red")
        assert faint_texts(page) == []
        leave(tab)
    assert tab.complaints == []
