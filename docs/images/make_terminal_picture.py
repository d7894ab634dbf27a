"""Draw what a terminal shows: the live view in terminal.svg, and the gateway's doctor in doctor.svg.

    python docs/images/make_terminal_picture.py

In the live view is an answer of ours, stopped in the middle of two files. It goes through the same operators and the
same view as on a terminal; only the last step is rich's drawing of what the terminal would show. What the doctor prints
is taken from its page, which a test compares with the command. The pictures need nothing from anywhere: no font is
fetched, any monospaced one will do.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.operators import stage
from penstock.pipeline import api_tool_call
from penstock.sinks.terminal.terminal_page import TerminalPage

PICTURE = Path(__file__).with_name("terminal.svg")
DOCTOR = Path(__file__).with_name("doctor.svg")
DOCTORS_PAGE = Path(__file__).parents[1] / "gateway-mends.md"
DOCTORS_WIDTH = 110
VERDICTS = {"mended": "green", "not mended": "red", "ok": "cyan"}
WIDTH, ROWS = 104, 17
PIECE = 9
"""Characters of a delta."""

TEXT = "I'll write the counter and its test side by side 🌱 and then run them."
COUNTER = '''\
"""Count the words of a text."""

from collections import Counter


def words(text: str) -> Counter[str]:
    """Words in lower case, without punctuation."""
    stripped = (word.strip(".,;:!?") for word in text.split())
    return Counter(word.lower() for word in stripped if word)


def most_common(text: str, number: int = 10) -> list[str]:
    return [word for word, _ in words(text).most_common(number)]
'''
TEST = """\
from counter import words


def test_case_and_punctuation_do_not_count():
    assert words("So, so!") == {"so": 2}


def test_an_empty_text_has_no_words():
    assert not words("")
"""
FILES = ("src/counter.py", COUNTER), ("tests/test_counter.py", TEST)
STOP = 14
"""Deltas before the first file's last one at which the picture is taken."""

COLOURS = TerminalTheme(
    background=(22, 27, 34),
    foreground=(201, 209, 217),
    normal=[
        (72, 79, 88), (255, 123, 114), (86, 211, 100), (227, 179, 65),
        (121, 192, 255), (210, 168, 255), (86, 212, 221), (201, 209, 217),
    ],
)  # fmt: skip
FONTS = "ui-monospace, 'SF Mono', Menlo, 'DejaVu Sans Mono', 'Liberation Mono', 'Courier New', monospace"
ASPECT = 0.602
"""How wide a character of these fonts is, for its height."""


def answer() -> Iterator[ChunkResponse]:
    """Yield the chunks: a thought, a sentence, then two calls whose arguments come by turns."""
    yield ChunkResponse(reasoning="Two small files, and one command to check them.")
    yield ChunkResponse(content=TEXT)
    arguments = [json.dumps({"path": path, "content": content}) for path, content in FILES]
    yield ChunkResponse(tool_calls=tuple(ToolCallDelta(n, f"call_{n}", "write_file") for n in range(len(FILES))))
    pieces = ([text[at : at + PIECE] for at in range(0, len(text), PIECE)] for text in arguments)
    for together in zip_longest(*pieces):
        # A call that has come whole is done at once: its file is run while the other is being written.
        yield ChunkResponse(
            tool_calls=tuple(
                ToolCallDelta(n, arguments_delta=text or "", done=not text) for n, text in enumerate(together)
            )
        )


class Screen:
    """What a terminal would show, as something that rich can draw."""

    def __init__(self, lines: list[list[Segment]]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self._lines:
            for segment in line:
                # Blanks before a text are not drawn as text: not every program that shows SVG keeps them.
                text = segment.text.lstrip(" ")
                yield Segment(" " * (len(segment.text) - len(text)))
                yield Segment(text, segment.style)
            yield Segment.line()


def picture() -> str:
    """Return the picture as SVG."""
    console = _recording(WIDTH)
    page = TerminalPage(console, None)
    chain = stage(api_tool_call())
    for chunk in list(answer())[:-STOP]:
        for event in chain.feed(chunk):
            page.feed(event)
    above, live = page.take(WIDTH, ROWS)
    console.print(Screen([*above, *live]), crop=False, end="")
    return _svg_of(console, "penstock")


def doctors_picture() -> str:
    """Return what the doctor prints as SVG, with a colour for each verdict."""
    console, text = _recording(DOCTORS_WIDTH), Text(printed_by_the_doctor())
    for verdict, colour in VERDICTS.items():
        text.highlight_regex(rf"(?m)^ {verdict}(?=  )", colour)
    console.print(Screen(console.render_lines(text, pad=False)), crop=False, end="")
    return _svg_of(console, "penstock gateway --doctor")


def printed_by_the_doctor() -> str:
    """Return what the page of the doctor says that it prints."""
    [printed] = re.findall(r"^```text\n(.*?)^```$", DOCTORS_PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return str(printed).rstrip()


def _recording(width: int) -> Console:
    return Console(file=io.StringIO(), record=True, force_terminal=True, width=width, color_system="truecolor")


def _svg_of(console: Console, title: str) -> str:
    svg = console.export_svg(title=title, theme=COLOURS, font_aspect_ratio=ASPECT, unique_id="penstock")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"font-family: [^;]*;", f"font-family: {FONTS};", svg)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    DOCTOR.write_text(doctors_picture(), encoding="utf-8")
