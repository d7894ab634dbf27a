"""The app's colours in a real browser: every language has its mode, no text is lost, and a hostile one costs little."""

from __future__ import annotations

from typing import Any

import pytest
from app_page import app_served
from app_tab import opened, replay
from browser import browser_tab

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
