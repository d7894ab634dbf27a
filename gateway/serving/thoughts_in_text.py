"""`thoughts_in_text`: what a model thought, where the server left it in the text, becomes reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from msgspec.structs import replace

from ...events.chunk_response import ChunkResponse
from ...operators.catalogue.dialect_for import dialect_for, dialects_named
from ...operators.engine.stage import How, Operator, lift
from ...operators.engine.state import Stateful


def thoughts_in_text(model: str) -> Operator[ChunkResponse, ChunkResponse]:
    """Make reasoning of the beginning of a text, where it stands between the markers that a model writes around it.

        text                      --<thi--nk>Why--?</think>--So--|
        thoughts_in_text("qwen")  --------Why-----?----------So--|      Why? is reasoning

    Servers leave it there that were started without a parser of reasoning. Blanks before and behind the markers are
    left out. A text that begins otherwise passes as it is, and so does all that follows reasoning of the server's own.

    >>> from penstock.operators import drive
    >>> chunks = [ChunkResponse(content=each) for each in ("<thi", "nk>Why?</think>So")]
    >>> [(each.reasoning, each.content) for each in drive(chunks, thoughts_in_text("qwen3"))]
    [('', ''), ('Why?', 'So')]
    """
    pairs = dict.fromkeys(pair for each in dialects_named(*dialect_for(model).names) for pair in each.reasoning)
    return lift(partial(_ThoughtsInText, sorted(pairs, key=lambda pair: -len(pair[0]))))


class _ThoughtsInText(Stateful):
    STATE = ("_closer", "_held", "_place")

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = pairs
        """Openers and closers, long ones first."""
        self._place: Literal["before", "inside", "behind", "text"] = "before"
        self._held = ""
        self._closer = ""

    def feed(self, chunk: ChunkResponse) -> Sequence[ChunkResponse]:
        if self._place == "text":
            return (chunk,)
        thought, said = ("", "") if chunk.reasoning else self._split(chunk.content)
        if chunk.reasoning or chunk.tool_calls or chunk.finish_reason is not None:
            rest = self._rest()
            self._place = "text"
            if chunk.reasoning:
                return (*rest, chunk)
            thought += "".join(each.reasoning for each in rest)
            said += "".join(each.content for each in rest)
        return (replace(chunk, reasoning=thought or chunk.reasoning, content=said),)

    def close(self, _: How) -> Sequence[ChunkResponse]:
        return self._rest()

    def _split(self, text: str) -> tuple[str, str]:
        """Return what of a piece of text is thought, and what is said."""
        thought = ""
        self._held += text
        if self._place == "before":
            begun = self._held.lstrip()
            found = next((pair for pair in self._pairs if begun.startswith(pair[0])), None)
            if found is not None:
                self._place, self._closer = "inside", found[1]
                self._held = begun.removeprefix(found[0])
            elif any(opener.startswith(begun) for opener, _ in self._pairs):
                return "", ""
            else:
                self._place = "text"
        if self._place == "inside":
            thought, closer, behind = self._held.partition(self._closer)
            if closer:
                self._place, self._held = "behind", behind
            else:
                kept = _beginning(self._closer, thought)
                thought, self._held = thought[: len(thought) - kept], thought[len(thought) - kept :]
        if self._place == "behind":
            self._held = self._held.lstrip()
            if self._held:
                self._place = "text"
        if self._place != "text":
            return thought, ""
        said, self._held = self._held, ""
        return thought, said

    def _rest(self) -> list[ChunkResponse]:
        held, self._held = self._held, ""
        if not held:
            return []
        return [ChunkResponse(reasoning=held) if self._place == "inside" else ChunkResponse(content=held)]


def _beginning(marker: str, text: str) -> int:
    """Return how many of the last characters of a text may be the beginning of a marker."""
    return next((size for size in range(min(len(marker) - 1, len(text)), 0, -1) if marker.startswith(text[-size:])), 0)
