"""End a block that is open at the end of the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..calls.segment_end import end_status, ended_regularly
from ..engine.stage import Completed, How
from .block_json import BlockJson
from .block_text import BlockText

if TYPE_CHECKING:
    from .text_block import TextBlock
    from .text_call import TextCall


def end_last_call(block: TextBlock, call: TextCall, how: How, finish: str | None) -> None:
    """End the call that is open at the end of the stream: as complete if its closer arrived."""
    status, reason = end_status(how, finish)
    is_regular = ended_regularly(how, finish)
    arguments_ended = call.closed and isinstance(how, Completed) and finish != "error"
    at_rest = block.reader is None and block.boundary is not None
    is_at_end = block.may_end and (block.is_over or _may_be_closed(block))
    is_sealed = at_rest and (arguments_ended or (is_regular and is_at_end))
    is_ambiguous = isinstance(block.reader, BlockText) and block.reader.is_ambiguous
    block.reader = None
    if is_sealed:
        block.end_call(block.source_buffer.position, "complete")
    elif is_ambiguous and is_regular:
        block.end_call(block.source_buffer.position, "failed", "malformed")
    else:
        block.end_call(block.source_buffer.position, "truncated" if status == "complete" else status, reason)


def _may_be_closed(block: TextBlock) -> bool:
    """Return whether the rest of the text is empty, or a prefix of a marker that ends the call."""
    source_buffer, boundary = block.source_buffer, block.boundary
    rest = source_buffer.buffer[source_buffer.position :].lstrip()
    if boundary is None or not rest:
        return not rest
    fold = block.grammar.fold
    return any(fold(closer).startswith(fold(rest)) for closer in block.grammar.closing(boundary))


def end_block(block: TextBlock, how: How, finish: str | None) -> None:
    """Leave the block that is open at the end of the stream."""
    source_buffer = block.source_buffer
    if block.call is not None:
        end_last_call(block, block.call, how, finish)
        block.leave()
    elif block.saying:
        reader = block.reader
        block.reader = None
        if isinstance(reader, BlockText):
            reader.end_said()
        block.saying = ""
        block.had_call = True
        block.leave()
    elif block.may_end and (block.name or block.had_call):
        block.leave_before_blanks(start=bool(block.name))
    elif block.had_call and (
        (source_buffer.since == source_buffer.position and not any(source_buffer.loose))
        or (isinstance(block.reader, BlockJson) and block.reader.slot.is_saying)
    ):
        block.leave()
    else:
        block.back_to_text()
