"""`to_segments`: turn chunks into segments of text, reasoning and native calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from .calls.answer_segments import AnswerSegments, SegmentOutput
from .calls.response_answers import NewAnswer, ResponseAnswers
from .calls.text_call_watch import TextCallWatch, name_search
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator, lift
from .engine.turn_ids import TurnIds
from .schemas.json_schema import tool_parameters

if TYPE_CHECKING:
    from .grammar.compiled_grammar import CompiledGrammar
    from .text.text_engine import TextEngine
    from .text.text_options import TextOptions


@public_operator
def to_segments(
    *,
    tools: Any = None,
    text_calls: Literal["off", "notice", "call"] = "notice",
    turn_id: str | None = None,
    eager: bool = False,
    end_arguments: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[ChunkResponse, SegmentOutput]:
    """Turn a provider's chunks into segment events: text, reasoning, refusal, media and tool calls.

        chunks         --a------b--c--------d--e--|
        to_segments()  --(S,x)--y--(E,T,v)--w--F--(A,|)
        where a = ChunkResponse(content="Hel")
              b = ChunkResponse(content="lo")
              c = ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "f", '{"a"'),))
              d = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=": 1}"),))
              e = ChunkResponse(finish_reason="tool_calls")
              S = SegmentStart(segment_type="text")
              x = SegmentContent(delta="Hel")
              y = SegmentContent(delta="lo")
              E = SegmentEnd(segment_type="text", status="complete")
              T = SegmentStart(segment_id="c1", segment_type="tool_call", metadata={"tool_name": "f"})
              v = SegmentContent(delta='{"a"')
              w = SegmentContent(delta=": 1}")
              F = SegmentEnd(segment_id="c1", status="complete")
              A = AnswerEnd(finish_reason="tool_calls")

    >>> from penstock.events import ChunkResponse
    >>> from penstock.operators import drive
    >>> for event in drive([ChunkResponse(content="Hi", finish_reason="stop")], to_segments(turn_id="t")):
    ...     print(event)
    SegmentStart(segment_id='t:text_0', segment_type='text', turn_id='t')
    SegmentContent(segment_id='t:text_0', segment_type='text', delta='Hi', turn_id='t', raw='Hi')
    SegmentEnd(segment_id='t:text_0', segment_type='text', status='complete', turn_id='t')
    AnswerEnd(turn_id='t', finish_reason='stop')

    A text or reasoning segment ends when another segment starts; parallel calls are open at the same time. A call ends,
    and is *sealed*, when its JSON root has closed and either the provider said `done`, or another call of the same
    answer began, or the answer was finished, or the stream completed. A call without a closing bracket of its own
    (free-form text, the object of a built-in tool, no arguments) is sealed only if there is evidence that the model
    finished it: the provider's status `completed`, a later part of the answer, or a regular finish. A call that did not
    close ends as `truncated`; arguments that are not JSON as `failed` with the reason `malformed`; arguments that the
    provider sent twice and differently as `failed` with the reason `contradiction`. Nothing is ever completed by
    guessing.

    Each answer ends with an `AnswerEnd`, also if the stream breaks; what only a provider has comes as `ProviderEvent`s.

    - `tools`: as in `to_invocations`, or definitions in any provider's form; only calls of these are found in text.
    - `text_calls`: what becomes of a whole call of one of the `tools` that the model wrote into its text or its
      reasoning instead of calling natively: `notice` emits a `Notice` with the code `text_call` and leaves the text as
      it is, at the latest 64 chunks behind the call; `call` makes it a call like a native one; `off` does not look for
      it. With `call`, a call that a server parsed and left in the text is executed twice.
    - `turn_id`: the turn id of every event; by default the wire's response id, else a random one per subscription. A
      retry, such as `ops.retry(2)` of reactivex, has a turn id of its own: `t#2`.
    - `eager`: seal a call as soon as its JSON root closes; only JSON that the model wrote.
    - `end_arguments`: put the decoded `arguments` into the END metadata of each complete JSON call.
    """
    if text_calls not in ("off", "notice", "call"):
        message = f"text_calls= must be 'off', 'notice' or 'call', got {text_calls!r}"
        raise UsageError(message)
    schemas = {} if tools is None else tool_parameters(tools)
    new_answer = partial(AnswerSegments, limits=limits, eager=eager, with_arguments=end_arguments, schemas=schemas)
    if not schemas or text_calls == "off":
        return lift(partial(ResponseAnswers, turn_id, new_answer))
    from .text.text_options import TextOptions  # noqa: PLC0415 - native calls need nothing that reads text

    in_text, in_reasoning = (
        TextOptions(schemas=schemas, blanks="keep", limits=limits, segment_type=kind) for kind in ("text", "reasoning")
    )
    if text_calls == "call":
        return lift(partial(ResponseAnswers, turn_id, partial(_read_answer, new_answer, in_text, in_reasoning)))
    new_watch = partial(TextCallWatch, names=name_search(schemas), new_reader=partial(_unseen_reader, in_text))
    return lift(partial(ResponseAnswers, turn_id, partial(_watched_answer, new_answer, new_watch)))


def _read_answer(
    new_answer: NewAnswer, in_text: TextOptions, in_reasoning: TextOptions, number: int, ids: TurnIds
) -> AnswerSegments:
    """Return an answer whose text and reasoning are read."""
    from .text.text_engine import TextEngine  # noqa: PLC0415 - as above

    answer = new_answer(number, ids)
    answer.text_reader = TextEngine(_any_dialect(), answer, in_text)
    answer.reasoning_reader = TextEngine(_any_dialect(), answer, in_reasoning)
    return answer


def _watched_answer(
    new_answer: NewAnswer, new_watch: Callable[[str], TextCallWatch], number: int, ids: TurnIds
) -> AnswerSegments:
    """Return an answer whose text and reasoning are emitted as they are, and looked at."""
    answer = new_answer(number, ids)
    answer.text_watch, answer.reasoning_watch = new_watch("text"), new_watch("reasoning")
    return answer


def _unseen_reader(options: TextOptions) -> TextEngine:
    """Return a reader whose segments belong to no answer."""
    from .text.call_in_reasoning import answer_aside  # noqa: PLC0415 - as above
    from .text.text_engine import TextEngine  # noqa: PLC0415

    return TextEngine(_any_dialect(), answer_aside(options), options)


@lru_cache(maxsize=1)
def _any_dialect() -> CompiledGrammar:
    """Return the dialects that a model may fall into; only the names of tools tell their calls from other text."""
    from .catalogue.dialect_for import dialects_beside  # noqa: PLC0415 - as above
    from .grammar.compiled_grammar import compiled  # noqa: PLC0415

    return compiled(dialects_beside())
