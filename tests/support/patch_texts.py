"""Patches and files drawn at random: mostly as models write them, sometimes cut, mixed up or of another file."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

LINES = ("a", "b", "", "  c", "x = 1", "\td", "-- e", "*** End Patch", "@@", "=======", "é😀")
"""Few of them, so that they repeat."""


@st.composite
def texts(draw: st.DrawFn, most: int = 8) -> str:
    """Return the text of a file: with LF, CRLF or both, with or without an end of its last line."""
    lines = draw(st.lists(st.sampled_from(LINES), max_size=most))
    ends = draw(st.sampled_from((("\n",), ("\r\n",), ("\n", "\r\n"))))
    text = "".join(line + draw(st.sampled_from(ends)) for line in lines)
    return text if draw(st.booleans()) else text.removesuffix("\n").removesuffix("\r")


def _body(draw: st.DrawFn, text: str) -> tuple[int, list[tuple[str, str]]]:
    """Return some lines of a text, from which on, with changes among them."""
    lines = [line.removesuffix("\n").removesuffix("\r") for line in text.split("\n")]
    start = draw(st.integers(0, len(lines) - 1))
    body: list[tuple[str, str]] = []
    for line in lines[start : start + draw(st.integers(0, 4))]:
        mark = draw(st.sampled_from("   --+"))
        body.append((mark if mark != "+" else " ", line))
        if mark != " ":
            body.append(("+", draw(st.sampled_from(LINES))))
    if draw(st.integers(0, 9)) == 0:
        body.insert(draw(st.integers(0, len(body))), (draw(st.sampled_from(" -")), draw(st.sampled_from(LINES))))
    return start, body or [("+", draw(st.sampled_from(LINES)))]


@st.composite
def v4a(draw: st.DrawFn, files: dict[str, str]) -> str:
    """Return a V4A patch of some files."""
    lines = ["*** Begin Patch"]
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from((*files, "new", "other")))
        kind = draw(st.sampled_from(("Update", "Update", "Update", "Add", "Delete")))
        lines.append(f"*** {kind} File: {name}")
        if kind == "Add":
            lines += [f"+{draw(st.sampled_from(LINES))}" for _ in range(draw(st.integers(0, 3)))]
        elif kind == "Update":
            if draw(st.integers(0, 4)) == 0:
                lines.append(f"*** Move to: {draw(st.sampled_from((*files, 'moved')))}")
            for _ in range(draw(st.integers(0, 3))):
                lines += [f"@@ {draw(st.sampled_from(LINES))}".rstrip()] * draw(st.integers(0, 2))
                lines += [f"{mark}{line}" for mark, line in _body(draw, files.get(name, "a\nb\n"))[1]]
                lines += ["*** End of File"] * (draw(st.integers(0, 5)) == 0)
        lines += [""] * draw(st.integers(0, 1))
    return _spoilt(draw, [*lines, "*** End Patch"])


@st.composite
def blocks(draw: st.DrawFn, text: str) -> str:
    """Return blocks of SEARCH and REPLACE for a file."""
    lines: list[str] = ["```"] * draw(st.integers(0, 1))
    for _ in range(draw(st.integers(1, 3))):
        start, body = _body(draw, text)
        lines.append("<<<<<<< SEARCH")
        if draw(st.integers(0, 2)) == 0:
            lines += [f":start_line:{start + draw(st.integers(0, 2))}", *["-------"] * draw(st.integers(0, 1))]
        lines += [_escaped(line) for mark, line in body if mark != "+"]
        lines += ["=======", *(_escaped(line) for mark, line in body if mark != "-"), ">>>>>>> REPLACE"]
    return _spoilt(draw, lines)


def _escaped(line: str) -> str:
    return f"\\{line}" if line.startswith("=") else line


@st.composite
def unified(draw: st.DrawFn, files: dict[str, str], *, named: bool = True) -> str:
    """Return a unified diff of some files, with headers as `diff -u` and git write them."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3)) if named else 1):
        name = draw(st.sampled_from((*files, "new", "other")))
        lines += draw(st.sampled_from(_headers(name))) if named else []
        moved = 0
        for _ in range(draw(st.integers(0, 3)) if named else 1):
            start, body = _body(draw, files.get(name, "a\nb\n"))
            old, new = (sum(mark in marks for mark, _ in body) for marks in (" -", " +"))
            begin = start + (old > 0)
            lines.append(f"@@ -{begin},{old} +{max(0, begin + moved)},{new} @@{draw(st.sampled_from(('', ' f()')))}")
            moved += new - old
            for mark, line in body:
                lines.append(f"{mark}{line}")
                lines += ["\\ No newline at end of file"] * (draw(st.integers(0, 12)) == 0)
        lines += [""] * (draw(st.integers(0, 4)) == 0)
    return _spoilt(draw, lines)


def _headers(name: str) -> tuple[list[str], ...]:
    restated = [f"--- a/{name}", f"+++ b/{name}"]
    git = f"diff --git a/{name} b/{name}"
    moved = [f"diff --git a/{name} b/moved", f"rename from {name}", "rename to moved"]
    return (
        restated,
        [f"--- {name}\t2024-01-01", f"+++ {name}\t2024-01-02"],
        ["--- /dev/null", f"+++ b/{name}"],
        [f"--- a/{name}", "+++ /dev/null"],
        [git, "index 1234567..89abcde 100644", *restated],
        [git, "old mode 100644", "new mode 100755"],
        [git, "new file mode 100644", "--- /dev/null", f"+++ b/{name}"],
        [git, "deleted file mode 100644", f"--- a/{name}", "+++ /dev/null"],
        moved,
        [*moved, f"--- a/{name}", "+++ b/moved"],
    )


def _spoilt(draw: st.DrawFn, lines: list[str]) -> str:
    """Return lines as a text, which is now and then cut, or has a line that is not like the others."""
    if draw(st.integers(0, 7)) == 0:
        odd = st.sampled_from(("", " ", "rest", "+", "--- a", "@@ -1 +1 @@", "<<<<<<< SEARCH", "\\ No newline", *LINES))
        lines.insert(draw(st.integers(0, len(lines))), draw(odd))
    ends = draw(st.sampled_from((("\n",), ("\n",), ("\r\n",), ("\n", "\n", "\r\n"))))
    text = "".join(line + draw(st.sampled_from(ends)) for line in lines)
    if draw(st.integers(0, 9)) == 0:
        return text[: draw(st.integers(0, len(text)))]
    return text if draw(st.booleans()) else text.removesuffix("\n").removesuffix("\r")


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """Return the pieces of a text, cut anywhere, or after each character."""
    if draw(st.integers(0, 3)) == 0:
        return list(text)
    places: Any = draw(st.lists(st.integers(0, len(text)), max_size=6))
    ends = [0, *sorted(places), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]
