"""`gap_frames`: an object of ours, or the error of another's protocol without what begins a stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pytest

from penstock.operators.engine.stage import Failed
from penstock.sinks.resume.stream_runs import gap_frames
from penstock.sinks.web.protocols import PROTOCOLS, ProtocolRow

OOPS = b'{"type":"oops","said":"the events from 4 to 8 are no longer kept"}'


class Theirs:
    def __init__(self, *, kind: str = "oops") -> None:
        self._kind = kind

    def feed(self, event: Any) -> Iterable[Any]:
        return [event]

    def close(self, how: Any, error: Any) -> Iterable[Any]:
        yield {"type": "begin"}
        if isinstance(how, Failed):
            assert error["class"] == "StreamGapError"
            yield {"type": self._kind, "said": error["detail"]}
        yield {"type": "end"}


@pytest.fixture(autouse=True)
def _theirs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(cast("dict[Any, ProtocolRow]", PROTOCOLS), "theirs", ProtocolRow(Theirs))


@pytest.mark.parametrize(
    ("protocol", "options", "frames"),
    [
        ("segments", {}, [b'{"type":"STREAM_GAP","after":3,"next":9}']),
        ("tool_call_updates", {"message_id": "m"}, [b'{"type":"STREAM_GAP","after":3,"next":9}']),
        ("theirs", {}, [OOPS]),
        ("theirs", {"kind": "end"}, [b'{"type":"begin"}', OOPS.replace(b"oops", b"end"), b'{"type":"end"}']),
    ],
)
def test_a_gap_is_told(protocol: Any, options: Any, frames: list[bytes]):
    assert gap_frames(protocol, options, after=3, oldest=9) == (frames, protocol != "theirs")


def test_an_event_that_the_stream_never_had_is_told_as_that():
    theirs: Any = "theirs"
    said = b'{"type":"oops","said":"the stream has no event 99; read it from the beginning"}'
    assert gap_frames(theirs, {}, after=99, oldest=1) == ([said], False)
