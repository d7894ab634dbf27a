"""A chain of one's own: python examples/custom_chain.py prints the headings and the files of an answer as they come.

Own operators stand beside Penstock's: one reads the text of the segments, one counts what a file has so far.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock import AnswerEnd, SegmentContent, ToolInvocation, collect, compose, lift, to_invocations, to_segments
from penstock.operators import stream_fields, within
from penstock.sources import from_recording

STREAM = Path(__file__).with_name("streams") / "chat_two_files.sse"


class Lines:
    """Text in pieces to whole lines: a stage, without Rx and without I/O."""

    def __init__(self) -> None:
        self.rest = ""

    def feed(self, text: str) -> Iterable[str]:
        *lines, self.rest = (self.rest + text).split("\n")
        return [f"{line}\n" for line in lines]

    def close(self, _: object) -> Iterable[str]:
        return [self.rest] if self.rest else []

    def dump(self) -> Any:
        return self.rest

    def load(self, state: Any) -> None:
        self.rest = state


chain = compose(to_segments(), stream_fields(), within("write_file", lift(Lines)), to_invocations(keep_segments=True))
lines: dict[str, int] = {}


def show(event: Any) -> None:
    match event:
        case SegmentContent(segment_type="text", delta=text):
            print(text, end="", flush=True)
        case SegmentContent(segment_type="write_file", segment_id=file, delta=line):
            lines[file] = lines.get(file, 0) + 1
            if "<h1>" in line or line.startswith("#"):
                print(f"\n{file}, line {lines[file]}: {line.strip()}")
        case ToolInvocation(arguments={"path": str(path), "content": str(content)}):
            print(f"{path} is whole: {len(content)} characters")
        case AnswerEnd(status=status, usage=usage):
            print(f"{status}, {usage.total if usage else 0} tokens")
        case _:
            pass


if __name__ == "__main__":
    events = from_recording(STREAM).pipe(chain)
    events.subscribe(show)
    print(collect(events).text == collect(from_recording(STREAM).pipe(to_segments())).text)
