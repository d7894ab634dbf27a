"""`parse_text`: find tool calls and reasoning in a model's text, as segments."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Unpack
from weakref import proxy

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from .calls.answer_segments import AnswerSegments, SegmentOutput
from .calls.response_answers import ResponseAnswers
from .catalogue.dialect_for import DIALECTS, dialect_name, dialects_beside, dialects_named, with_names
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator, lift
from .engine.turn_ids import TurnIds
from .grammar.compiled_grammar import CompiledGrammar, compiled
from .grammar.dialect import Dialect
from .schemas.json_schema import tool_parameters
from .text.text_options import ParseTextOptions, TextOptions, spelled_out

if TYPE_CHECKING:
    from .text.call_in_reasoning import UnclosedReasoning
    from .text.text_engine import TextEngine
    from .text.wrong_dialect import OtherDialects


@public_operator(positional=dialect_name)
@spelled_out
def parse_text(
    *dialects: str | Dialect,
    tools: Any = None,
    turn_id: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    **options: Unpack[ParseTextOptions],
) -> Operator[str | ChunkResponse, SegmentOutput]:
    """Find tool calls and reasoning in text while it streams; native calls in the same chunks pass through.

        text                  --a------b--c----------|
        parse_text("hermes")  --(S,x)-----(E,T,y,F)--(A,|)
        where a = "Hi <tool"
              b = '_call>{"name": "f", "argu'
              c = 'ments": {"a": 1}}</tool_call>'
              S = SegmentStart(segment_type="text")
              x = SegmentContent(delta="Hi ")
              E = SegmentEnd(segment_type="text", status="complete")
              T = SegmentStart(segment_type="tool_call", metadata={"tool_name": "f"})
              y = SegmentContent(delta='{"a": 1}')
              F = SegmentEnd(segment_type="tool_call", status="complete")
              A = AnswerEnd()

    >>> from penstock.operators import drive
    >>> text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    >>> for event in drive([text], parse_text("hermes", turn_id="t")):
    ...     print(event)
    SegmentStart(segment_id='t:call_0', segment_type='tool_call', metadata={'tool_name': 'f'}, turn_id='t', ...)
    SegmentContent(segment_id='t:call_0', segment_type='tool_call', delta='{}', turn_id='t', ...)
    SegmentEnd(segment_id='t:call_0', segment_type='tool_call', status='complete', metadata={'tool_name': 'f'}, ...)
    AnswerEnd(turn_id='t')

    Several dialects are read at once; the first text that differs decides. The START of a call is emitted when its name
    is known and its arguments begin. Before that, a block that turns out not to be a call is emitted as text; after
    that, a mismatch fails the call, with all its text. Closers and blanks at the very end that belong to no event are
    in the `raw` of a text segment without CONTENT.

    - `tools`: as in `to_invocations`, or definitions in any provider's form; they determine the types of raw values.
      With none of them (`[]`) calls stay in the text, with a `Notice` for each whole one at the end. Else there is one
      for each whole call of another dialect: of one of the tools, or without `tools` if its markers are unmistakable.
    - `calls`: with False, calls stay in the text, and only reasoning is found.
    - `starts_in_reasoning`: whether the prompt has opened the reasoning, so that the text has only its closer. With
      `auto`, the first closer without an opener shows it: the closer is dropped, and a `Notice` says that the text
      before it, which was emitted as text, was reasoning. Reasoning that the server gives apart outweighs True.
    - `repeated_opener`: whether an opener of reasoning at the begin of a text that starts in reasoning is dropped
      (`drop`) or is `text`; None: a token such as `<think>` is dropped, a sentence is text.
    - `opener_in_reasoning`: whether a call in reasoning is `text`, or `ends` it at once; None: in dialects whose models
      call so, it ends the reasoning if that is not closed behind it, which is known where the answer ends; in others it
      is text. In code it is text. A whole call of one of the `tools` in reasoning that never closes is a `Notice`.
    - `unknown_tool`: whether a call of a tool that is not in `tools` passes (`pass`), is `text`, or fails (`fail`);
      None: it passes behind a marker such as `<tool_call>`, and is text behind one that is common, such as a mere `{`.
    - `unknown_argument`: whether an argument that is not in the tool's schema passes (`pass`) or, if values are raw
      text, is dropped (`drop`); None: as the dialect says, which drops it only in `minicpm5_xml`.
    - `between`: whether text after the first call is emitted (`text`) or dropped (`drop`); it always stays in `raw`.
    - `blanks`: blanks beside calls and reasoning: `lone` drops those at the edges of reasoning, and those beside calls
      if there is no other text; `keep` emits all of them, and `drop` none.
    - `fences`: whether calls inside a ``` fence are read if its language is the dialect's (`language`), always
      (`calls`), or never (`text`). Calls between backticks on one line are always text.
    - `seal`: when a call with raw values ends, which may contain their own closers: at the end of the answer or before
      the next call (`end`), so that text behind the call waits until then; or at its closers (`closer`), so that a
      value with a whole call in it is cut.
    - `lenient`: whether a call with raw values runs although its text can be read in two ways.
    - `typing`: the rules by which raw texts become values.
    """
    if not dialects:
        message = f"parse_text needs at least one dialect; choose from auto, {', '.join(DIALECTS)}"
        raise UsageError(message)
    schemas = None if tools is None else tool_parameters(tools)
    found = dialects_named(*dialects, has_tools=bool(schemas))
    positions = compiled(tuple(with_names(each, schemas or ()) for each in found))
    if schemas is not None and not schemas:
        options["unknown_tool"] = "text"
    others = partial(_others, bool(schemas))
    read = TextOptions(schemas=schemas, limits=limits, others=others, **options)
    return lift(partial(ResponseAnswers, turn_id, partial(_answer, positions=positions, options=read), takes_text=True))


@lru_cache(maxsize=2)
def _others(has_tools: bool) -> OtherDialects:  # noqa: FBT001
    """Return the dialects that a model may fall into: one set for every text, which is compiled once."""
    from .text.wrong_dialect import MAY_OPEN, OtherDialects, openers_of  # noqa: PLC0415 - as in `_readers`

    dialects = dialects_beside(has_tools=has_tools)
    return OtherDialects(dialects, MAY_OPEN if has_tools else openers_of(dialects))


def _answer(number: int, ids: TurnIds, *, positions: CompiledGrammar, options: TextOptions) -> AnswerSegments:
    unclosed_reasoning, text_engine = _readers()
    answer = AnswerSegments(
        number, ids, options.limits, eager=False, with_arguments=False, schemas=options.schemas or {}
    )
    answer.text_reader = text_engine(positions, proxy(answer), options)
    if options.schemas and options.calls:
        answer.reasoning_watch = unclosed_reasoning("reasoning", positions, options, text_engine)
    return answer


@lru_cache(maxsize=1)
def _readers() -> tuple[type[UnclosedReasoning], type[TextEngine]]:
    from .text.call_in_reasoning import UnclosedReasoning  # noqa: PLC0415 - a pipeline for native calls never reads text
    from .text.text_engine import TextEngine  # noqa: PLC0415 - as above

    return UnclosedReasoning, TextEngine
