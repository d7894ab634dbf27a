"""Cards that grow while the stream plays: what is drawn, how often, and that the last state is always shown."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import reactivex

from penstock.events import (
    ChunkResponse,
    Notice,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
)
from penstock.events.showing import Excerpt
from penstock.operators import drive
from penstock.pipeline.strategies import api_tool_call
from penstock.sinks.card import MimeBundle, mime_bundle
from penstock.sinks.collect import Segment
from penstock.sinks.event_cards import LINES_OPEN, OpenCard
from penstock.sinks.notebook_view import NotebookView, TextView, notebook_view

ROOT = Path(__file__).parents[2]
CALL = ToolCallDelta(0, "w", "write_file", '{"path": "a.py", "content": "x = 1\\n')
CHUNKS = [
    ChunkResponse(content="Hel"),
    ChunkResponse(content="lo"),
    ChunkResponse(tool_calls=(CALL, ToolCallDelta(1, "b", "run_bash", '{"command": "l'))),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='y = 2"}', done=True),)),
    ChunkResponse(finish_reason="tool_calls"),
]
EVENTS = list(drive(CHUNKS, api_tool_call(turn_id="t")))
SHOWN_AT_THE_END = [
    "text · complete\n    Hello",
    "write_file · complete · a.py\n    x = 1\n    y = 2",
    "run_bash · truncated\n    l",
    "→ write_file(path='a.py', content='x = 1\\ny = 2') · ready to run",
]


def start(segment_type: str = "text", segment_id: str = "s", turn_id: str | None = None) -> SegmentEvent:
    return SegmentStart(segment_id, segment_type, turn_id=turn_id)


def content(text: str, segment_id: str = "s", turn_id: str | None = None) -> SegmentContent:
    return SegmentContent(segment_id, None, text, turn_id=turn_id)


def end(segment_id: str = "s", turn_id: str | None = None) -> SegmentEvent:
    return SegmentEnd(segment_id, None, "complete", turn_id=turn_id)


class Screen:
    """A cell's outputs, each with all that was drawn in it, and a clock that goes when it is told to."""

    def __init__(self, rate: float = 10.0) -> None:
        self.outputs: list[list[str]] = []
        self.now = 0.0
        self.waiting: list[tuple[float, Callable[[], None]]] = []
        self.view = NotebookView(self.show, rate, lambda: self.now, self.later)

    def show(self, bundle: MimeBundle) -> Any:
        drawn = [bundle["text/plain"]]
        self.outputs.append(drawn)

        class Output:
            def update(self, bundle: MimeBundle, /) -> None:
                drawn.append(bundle["text/plain"])

        return Output()

    def later(self, seconds: float, call: Callable[[], None]) -> Any:
        entry = (self.now + seconds, call)
        self.waiting.append(entry)
        screen = self

        class Waiting:
            def cancel(self) -> None:
                if entry in screen.waiting:
                    screen.waiting.remove(entry)

        return Waiting()

    def go(self, seconds: float) -> None:
        until = self.now + seconds
        while self.waiting and min(self.waiting)[0] <= until:
            self.now, call = self.waiting.pop(self.waiting.index(min(self.waiting, key=lambda entry: entry[0])))
            call()
        self.now = until

    @property
    def last(self) -> list[str]:
        return [drawn[-1] for drawn in self.outputs]


def test_each_segment_and_each_result_has_an_output_in_the_order_of_the_stream():
    screen = Screen()
    for event in EVENTS:
        screen.view.feed(event)
    screen.view.close(None)
    assert screen.last[:4] == SHOWN_AT_THE_END
    assert screen.last[4].startswith("run_bash · not run: truncated")
    assert screen.last[5:] == ["answer · complete · tool_calls"]


def test_a_fast_stream_is_drawn_at_most_so_many_times_a_second_and_whole_at_the_end():
    screen = Screen(rate=10)
    screen.view.feed(start())
    for _ in range(1000):
        screen.view.feed(content("x"))
        screen.go(0.002)
    screen.view.feed(end())
    [drawn] = screen.outputs
    # Two seconds: twenty redraws, the first at once, beside those of START and END.
    assert 19 <= len(drawn) - 2 <= 21
    assert drawn[-1] == "text · complete\n    " + "x" * 1000


def test_the_rate_is_the_users():
    screen = Screen(rate=2)
    screen.view.feed(start())
    for _ in range(100):
        screen.view.feed(content("x"))
        screen.go(0.05)
    assert 9 <= len(screen.outputs[0]) - 1 <= 11


def test_what_came_before_a_silence_is_shown_during_it():
    screen = Screen()
    screen.view.feed(start())
    for text in ("one ", "two ", "three"):
        screen.view.feed(content(text))
    assert screen.last == ["text · open\n    one "]
    screen.go(0.1)
    assert screen.last == ["text · open\n    one two three"]
    assert screen.waiting == []
    screen.go(60)
    assert len(screen.outputs[0]) == 3


def test_what_has_ended_is_not_drawn_again():
    screen = Screen()
    for event in (start(), content("a"), content("b"), end(), start(segment_id="u"), content("c", "u")):
        screen.view.feed(event)
    drawn = len(screen.outputs[0])
    screen.go(10)
    screen.view.close(None)
    assert len(screen.outputs[0]) == drawn
    assert screen.last == ["text · complete\n    ab", "text · open\n    c"]
    assert screen.waiting == []


def test_segments_that_are_open_together_grow_together():
    screen = Screen()
    for event in (start("f", "1"), start("g", "2"), content("a", "1"), content("b", "2"), content("c", "1")):
        screen.view.feed(event)
    screen.go(1)
    assert screen.last == ["f · open\n    ac", "g · open\n    b"]


def test_one_id_in_two_turns_is_two_segments():
    screen = Screen()
    for turn in ("t1", "t2"):
        screen.view.feed(start(turn_id=turn))
    for turn in ("t1", "t2"):
        screen.view.feed(content(turn, turn_id=turn))
        screen.view.feed(end(turn_id=turn))
    assert screen.last == ["text · complete\n    t1", "text · complete\n    t2"]


def test_an_open_segment_shows_its_last_lines_and_an_ended_one_its_first():
    screen = Screen()
    screen.view.feed(start("write_file"))
    for number in range(1, 201):
        screen.view.feed(content(f"line {number}\n"))
    screen.go(1)
    lines = screen.last[0].splitlines()
    assert lines[1] == f"    … {200 - LINES_OPEN} lines above"
    assert lines[2:] == [f"    line {number}" for number in range(201 - LINES_OPEN, 201)]
    screen.view.feed(end())
    assert screen.last[0].splitlines()[1] == "    line 1"
    assert screen.last[0].splitlines()[0] == "write_file · complete · 200 lines"


def test_an_open_file_is_coloured_by_what_stands_above_it():
    text = '"""Opens here.\n' + "words of the docstring\n" * 30
    card = OpenCard(Segment("s", "write_file", {"path": "a.py"}))
    for at in range(0, len(text), 7):
        card.take(content(text[at : at + 7]))
    html = mime_bundle((card.card(),))["text/html"]
    assert "… 15 lines above" in html
    assert '<span style="color:var(--s)">words of the docstring\n' in html


def test_an_open_patch_is_coloured_as_one_from_its_beginning_on():
    card = OpenCard(Segment("s", "edit_file", {"path": "a.py"}))
    for piece in ("@", "@ -1 +1 @@\n", *("-old\n+new\n" for _ in range(3000))):
        card.take(content(piece))
    assert card.card().code == ".diff"


def test_above_an_open_file_only_as_much_is_read_as_needed():
    card = OpenCard(Segment("s", "write_file", {"path": "a.py"}))
    for _ in range(400):
        card.take(content("def f():\n    return 12\n"))
    shown = card.card()
    assert isinstance(shown.body, Excerpt)
    assert shown.body.lead.startswith("def f():\n")
    assert len(shown.body.lead) < 5_000
    assert '<span style="color:var(--n)">12' in mime_bundle((shown,))["text/html"]


def test_an_open_line_without_end_is_shown_from_its_end():
    screen = Screen()
    screen.view.feed(start("write_file"))
    for number in range(3_000):
        screen.view.feed(content(f"{number} "))
        screen.go(1)
    assert screen.last[0].endswith(" 2998 2999 ")
    assert max(map(len, screen.outputs[0])) < 5_000


def test_events_that_are_not_shown_are_let_by():
    screen = Screen()
    for event in (content("a"), end(), "something else", ChunkResponse(content="a")):
        screen.view.feed(event)
    assert screen.outputs == []


def test_a_stream_that_breaks_shows_all_that_came_and_why():
    screen = Screen()
    for event in (start(), content("a"), content("b")):
        screen.view.feed(event)
    screen.view.close(OSError("gone"))
    assert screen.last == ["text · open\n    ab", "the stream broke · OSError\n    gone"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()], ids=repr)
def test_a_stream_that_is_stopped_shows_all_that_came(error: BaseException):
    screen = Screen()
    for event in (start(), content("a"), content("b")):
        screen.view.feed(event)
    screen.view.close(error)
    assert screen.last == ["text · open\n    ab"]
    assert screen.waiting == []


def test_the_timer_of_the_real_clock_draws_what_came_last():
    drawn = threading.Event()
    texts: list[str] = []

    class Output:
        def update(self, bundle: MimeBundle, /) -> None:
            texts.append(bundle["text/plain"])
            if texts[-1].endswith("ab"):
                drawn.set()

    view = NotebookView(lambda _: Output(), 50)
    for event in (start(), content("a"), content("b")):
        view.feed(event)
    assert drawn.wait(20)
    view.close(None)
    assert texts[-1] == "text · open\n    ab"


class Handle:
    def __init__(self, drawn: list[str]) -> None:
        self._drawn = drawn

    def update(self, bundle: MimeBundle, /, **options: Any) -> None:
        assert options == {"raw": True}
        self._drawn.append(bundle["text/plain"])


class Kernel:
    """IPython as a notebook's kernel has it."""

    def __init__(self) -> None:
        self.outputs: list[list[str]] = []

    def get_ipython(self) -> object:
        return object()

    def display(self, bundle: MimeBundle, **options: Any) -> Handle:
        assert options == {"raw": True, "display_id": True}
        self.outputs.append([bundle["text/plain"]])
        return Handle(self.outputs[-1])

    @property
    def last(self) -> list[str]:
        return [drawn[-1] for drawn in self.outputs]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", kernel)
    return kernel


def plainly(events: list[Any]) -> None:
    notebook_view()(events)


def with_await(events: list[Any]) -> None:
    async def stream() -> AsyncIterator[Any]:
        for event in events:
            await asyncio.sleep(0)
            yield event

    async def main() -> None:
        await notebook_view()(stream())

    asyncio.run(main())


def as_observable(events: list[Any]) -> None:
    notebook_view()(reactivex.of(*events))


@pytest.mark.parametrize("show", [plainly, with_await, as_observable])
def test_it_takes_a_stream_of_any_kind_to_its_end(show: Callable[[list[Any]], None], kernel: Kernel):
    show(EVENTS)
    assert kernel.last[:4] == SHOWN_AT_THE_END


def test_one_view_shows_any_number_of_streams(kernel: Kernel):
    view = notebook_view()
    view(EVENTS)
    view(EVENTS)
    assert kernel.last[:4] == kernel.last[6:10] == SHOWN_AT_THE_END


def test_no_stream_shows_nothing(kernel: Kernel):
    notebook_view()([])
    assert kernel.outputs == []


def test_a_streams_exception_is_shown_and_passes(kernel: Kernel):
    def broken() -> Iterator[Any]:
        yield from EVENTS[:2]
        raise OSError(2, "gone")

    with pytest.raises(OSError, match="gone"):
        notebook_view()(broken())
    assert kernel.last == ["text · open\n    Hel", "the stream broke · FileNotFoundError\n    [Errno 2] gone"]


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
def test_a_rate_that_is_none_is_told_at_once(rate: float):
    with pytest.raises(UsageError, match="max_updates_per_second= must be above 0"):
        notebook_view(max_updates_per_second=rate)


def test_text_is_printed_once_for_each_segment_when_it_ends():
    said: list[str] = []
    view = TextView(said.append)
    for event in (*EVENTS[:-3], Notice("c", "d"), ToolInvocation("i", name="f")):
        view.feed(event)
    view.close(None)
    assert said == [
        SHOWN_AT_THE_END[0],
        SHOWN_AT_THE_END[1],
        SHOWN_AT_THE_END[3],
        "notice · c\n    d",
        "→ f() · ready to run",
        "run_bash · open\n    l",
    ]


def test_a_stream_that_breaks_is_printed_with_its_reason():
    said: list[str] = []
    view = TextView(said.append)
    view.feed(start())
    view.close(OSError("gone"))
    assert said == ["text · open", "the stream broke · OSError\n    gone"]


def test_outside_of_a_notebook_it_prints(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    notebook_view()(EVENTS[:4])
    assert capsys.readouterr().out == "text · complete\n    Hello\n"


def test_in_the_terminal_of_ipython_it_prints(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    class TerminalInteractiveShell:
        pass

    class Embedded(TerminalInteractiveShell):
        pass

    class IPython:
        shells: ClassVar[list[object]] = [None, TerminalInteractiveShell(), Embedded()]

        def get_ipython(self) -> object:
            return self.shells.pop()

    monkeypatch.setitem(sys.modules, "IPython", IPython())
    while IPython.shells:
        notebook_view()(EVENTS[:4])
        assert capsys.readouterr().out == "text · complete\n    Hello\n"


def test_ipython_is_imported_by_nobody_who_does_not_show_anything():
    code = f"""
import sys
from types import ModuleType
sys.modules["penstock"] = ModuleType("penstock")
sys.modules["penstock"].__path__ = [{str(ROOT)!r}]
from penstock.sinks.collect import Segment
from penstock.sinks.notebook_view import notebook_view
notebook_view()([])
print("IPython" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False"], done.stderr
