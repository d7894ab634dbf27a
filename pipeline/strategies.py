"""The strategies: chains that act on native calls, on structured answers, and on calls in text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias, Unpack

from ..events.answer_end import AnswerEnd, Output, OutputFailed
from ..events.chunk_response import ChunkResponse, ProviderEvent
from ..events.errors import UsageError
from ..events.segment_event import AnySegmentEvent
from ..events.tool_invocation import (
    FileResult,
    InvocationFailed,
    Notice,
    ToolCallStatus,
    ToolCallUpdate,
    ToolInvocation,
    ToolResult,
)
from ..operators.calls.field_spec import KNOWN_FILE_TOOLS, MARKED_FILE_TOOLS, FieldSpec
from ..operators.catalogue.dialect_for import DIALECTS, DialectName, dialects_named
from ..operators.engine.known_names import known_names
from ..operators.engine.limits import DEFAULT_LIMITS, Limits
from ..operators.engine.operator_call import reiterable
from ..operators.engine.stage import Operator, compose
from ..operators.grammar.dialect import Dialect
from ..operators.parse_text import parse_text
from ..operators.partial_output import PartialOutput
from ..operators.stream_fields import stream_fields
from ..operators.text.text_options import ParseTextOptions, spelled_out
from ..operators.to_invocations import Tools, to_invocations
from ..operators.to_segments import to_segments
from ..operators.tool_call_updates import tool_call_updates


def act_on_calls(
    finder: Operator[Any, Any],
    tools: Tools | None,
    *,
    fields: Iterable[FieldSpec],
    start: Literal["deferred", "immediate"],
    ignore_case: bool,
    updates: bool,
    limits: Limits,
    unknown_tool: Literal["fail", "pass"] = "fail",
) -> Operator[Any, Any]:
    """Return the chain: `finder`, the optional operators, `stream_fields`, `to_invocations`."""
    specs = _checked(fields)
    return compose(
        finder,
        *([tool_call_updates(keep_segments=True)] if updates else []),
        stream_fields(specs, tools=tools, start=start, ignore_case=ignore_case, limits=limits),
        to_invocations(
            tools,
            keep_segments=True,
            fields=specs,
            ignore_case=ignore_case,
            unknown_tool=unknown_tool,
            limits=limits,
        ),
    )


def _checked(fields: Iterable[FieldSpec]) -> tuple[FieldSpec, ...]:
    given: Any = fields
    if isinstance(given, FieldSpec) or not isinstance(given, Iterable):
        message = f"fields= must be an iterable of FieldSpec, got {given!r}; put it in a list"
        raise UsageError(message)
    return tuple(fields)


StrategyEvent: TypeAlias = (
    AnySegmentEvent
    | ToolInvocation
    | InvocationFailed
    | Notice
    | ProviderEvent
    | AnswerEnd
    | ToolCallUpdate
    | PartialOutput
    | Output
    | OutputFailed
)
"""An event of a strategy, and so of a pipeline's stream; `ToolCallUpdate`s come only with `updates=True`, the last
three only with `output_type=`."""

PipelineEvent: TypeAlias = StrategyEvent | ToolCallStatus | ToolResult | FileResult
"""An event of a pipeline's async stream; the last three come only with `steps=`."""


class StrategyOptions(ParseTextOptions, total=False):
    """The options of the strategies, for `Pipeline(strategy, **options)`: those of text, and of native calls."""

    fields: Iterable[FieldSpec] | None
    start: Literal["deferred", "immediate"]
    eager: bool
    updates: bool
    text_calls: Literal["off", "notice", "call"]
    limits: Limits


class Strategy(Protocol):
    """Makes the operator of a strategy; every strategy takes these options, and may take others."""

    def __call__(
        self, tools: Tools | None = None, *, turn_id: str | None = None
    ) -> Operator[ChunkResponse, StrategyEvent]: ...


_MARKED = frozenset(("xml", "sentinel"))
"""The dialects whose prompts ask for `__START_CONTENT__` and `__END_CONTENT__` around a file."""


class TextStrategy:
    r"""Read the calls that a model writes into its text: text, files and commands as they arrive, then the calls.

        text     --Hi <tool_c--all>{"name": "write_file", "arguments": {"path": "a.py", "con--tent": "x = 1--\n"}}--|
        hermes   --S text C--E-------------------------------------------------------S write_file-C--E invocation---|

    >>> from penstock.operators import drive
    >>> either = TextStrategy("hermes", "llama3_json")
    >>> text = '<tool_call>{"name": "run_bash", "arguments": {"command": "ls"}}</tool_call>'
    >>> for event in drive([text], either()):
    ...     print(type(event).__name__)
    SegmentStart
    SegmentContent
    SegmentEnd
    ToolInvocation
    AnswerEnd

    - `dialects`: names, or grammars of your own; several are read as one.
    - `name`: what it is called; else the dialects' names.

    `UsageError` for an unknown dialect.
    """

    def __init__(self, *dialects: str | Dialect, name: str = "") -> None:
        if not dialects:
            message = 'TextStrategy needs at least one dialect: TextStrategy("hermes")'
            raise UsageError(message)
        self._given = dialects
        self.dialects: tuple[Dialect, ...] = dialects_named(*dialects)
        names = [each if isinstance(each, str) else each.name for each in dialects]
        self.__name__ = name or "+".join(names)
        form = (
            f"as {self.__name__}"
            if len(self.dialects) == 1
            else f"in any of {len(self.dialects)} dialects: {self.__name__}"
        )
        self.__doc__ = (
            f"Act on the calls that a model writes into its text {form}.\n\n"
            f"It is parse_text({', '.join(names)}), stream_fields and to_invocations in a row.\n"
            "Native calls in the same answer pass through them, too."
        )

    def __repr__(self) -> str:
        return f"<TextStrategy {self.__name__}>"

    @spelled_out
    def __call__(
        self,
        tools: Tools | None = None,
        *,
        turn_id: str | None = None,
        fields: Iterable[FieldSpec] | None = None,
        start: Literal["deferred", "immediate"] = "deferred",
        updates: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        **options: Unpack[ParseTextOptions],
    ) -> Operator[Any, StrategyEvent]:
        """Make the operator: `parse_text`, `stream_fields` and `to_invocations(keep_segments=True)` in a row.

        It takes texts as well as chunks, whose native calls pass through the same way. `tools` give raw values their
        types, and validate the arguments. `fields` are the tools with streamed arguments, `KNOWN_FILE_TOOLS` unless
        given; `start` and `updates` as with `api_tool_call`; all others as with `parse_text`. The case of
        tool names that the model wrote does not matter.
        """
        known = reiterable(tools)
        return act_on_calls(
            parse_text(*self._given, tools=known, turn_id=turn_id, limits=limits, **options),
            known,
            fields=self._file_tools if fields is None else fields,
            start=start,
            ignore_case=True,
            updates=updates,
            limits=limits,
            unknown_tool="pass" if options.get("unknown_tool") == "pass" else "fail",
        )

    @property
    def _file_tools(self) -> tuple[FieldSpec, ...]:
        return MARKED_FILE_TOOLS if any(each.name in _MARKED for each in self.dialects) else KNOWN_FILE_TOOLS


auto: Final = TextStrategy("auto")
"""Read calls in any dialect whose markers are unmistakable."""
xml: Final = TextStrategy("xml")
"""Read calls as XML, as prompts ask for it: `<tool name="…">` and `<write_file path="…">`."""
json: Final = TextStrategy("json")
"""Read calls as JSON without markers, in the shapes that prompts ask for."""
sentinel: Final = TextStrategy("sentinel")
"""Read blocks between `[[SEG_START {…}]]` and `[[SEG_END]]`."""
tool_call: Final = TextStrategy("tool_call")
"""Read `<tool_call>` as prompts ask for it, where a stop sequence may cut the end tag."""
json_answer: Final = TextStrategy("json_answer")
"""Read a whole answer that is one JSON object, with a text and perhaps a call."""
hermes: Final = TextStrategy("hermes")
"""Read `<tool_call>` as Nous Hermes, Qwen 2.5 and 3 and many others write it."""
qwen3_coder: Final = TextStrategy("qwen3_coder")
"""Read `<function=…>` as Qwen3-Coder and its successors write it."""
harmony: Final = TextStrategy("harmony")
"""Read the channels of gpt-oss, and the calls in them."""
pythonic: Final = TextStrategy("pythonic")
"""Read lists of calls as Python writes them, as Llama 3.2 and 4 do."""

_NAMED = (auto, xml, json, sentinel, tool_call, json_answer, hermes, qwen3_coder, harmony, pythonic)

TEXT_STRATEGIES: Final[Mapping[str, TextStrategy]] = MappingProxyType(
    {each.__name__: each for each in _NAMED}
    | {name: TextStrategy(name) for name in DIALECTS if name not in {each.__name__ for each in _NAMED}}
)
"""The strategies by name: `auto`, and one for each dialect."""


def api_tool_call(  # noqa: PLR0913 - the options of its three operators
    tools: Tools | None = None,
    *,
    turn_id: str | None = None,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    start: Literal["deferred", "immediate"] = "deferred",
    eager: bool = False,
    updates: bool = False,
    text_calls: Literal["off", "notice", "call"] = "notice",
    unknown_tool: Literal["fail", "pass"] = "fail",
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[ChunkResponse, StrategyEvent]:
    r"""Read the native tool calls of a provider's API: text, files and commands as they are written, then the calls.

        chunks          --"Hi"--write_file {"path": "a.py", "con--tent": "x = 1--\n"}--finish--|
        api_tool_call   --text--S write_file a.py-----------------C x = 1--------C ⏎---E invocation--|

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive
    >>> call = ToolCallDelta(0, "call_1", "run_bash", '{"command": "ls"}', done=True)
    >>> for event in drive([ChunkResponse(tool_calls=(call,), finish_reason="tool_calls")], api_tool_call()):
    ...     print(type(event).__name__)
    SegmentStart
    SegmentContent
    SegmentEnd
    ToolInvocation
    AnswerEnd

    It is `to_segments`, `stream_fields` and `to_invocations(keep_segments=True)` in a row, with their options: `tools`
    are the models to validate with, `fields` the tools with one streamed argument, `start` when their segments begin,
    `eager` seals a call as soon as its JSON closes. `updates` adds a `ToolCallUpdate` for each piece of a call's
    arguments. `text_calls` says what becomes of whole calls of `tools` that the model wrote into its text: a `Notice`
    (`notice`), a call (`call`), or nothing (`off`); `unknown_tool`, whether native calls of other tools `fail` or
    `pass`. An invocation, or a failure, follows its call's END directly.
    """
    known = reiterable(tools)
    return act_on_calls(
        to_segments(tools=known, text_calls=text_calls, turn_id=turn_id, eager=eager, limits=limits),
        known,
        fields=fields,
        start=start,
        ignore_case=False,
        updates=updates,
        limits=limits,
        unknown_tool=unknown_tool,
    )


def pass_through(
    tools: Tools | None = None,
    *,
    turn_id: str | None = None,
    text_calls: Literal["off", "notice", "call"] = "notice",
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[ChunkResponse, StrategyEvent]:
    """Emit segments only: calls are segments, and none becomes an invocation.

    `text_calls` says what becomes of whole calls of `tools` that the model wrote into its text, as with `to_segments`.

    >>> from penstock import ChunkResponse, SegmentContent, drive
    >>> events = drive([ChunkResponse(content="<tool>", finish_reason="stop")], pass_through())
    >>> [event.delta for event in events if isinstance(event, SegmentContent)]
    ['<tool>']
    """
    return compose(to_segments(tools=tools, text_calls=text_calls, turn_id=turn_id, limits=limits))


_NATIVE: Mapping[str, Strategy] = {"api_tool_call": api_tool_call, "pass_through": pass_through}

StrategyName: TypeAlias = DialectName | Literal["api_tool_call", "pass_through", "auto"]
"""The names of `STRATEGIES`, for type checkers; `strategy_named` takes any text."""

STRATEGIES: Mapping[str, Strategy] = MappingProxyType({**_NATIVE, **TEXT_STRATEGIES})
"""The strategies by name, for settings and the command line; compose any other chain yourself."""


def strategy_named(name: str) -> Strategy:
    """Return a strategy by its name, in upper or lower case; `UsageError` with similar names for an unknown one.

    For a name in a variable, which type checkers cannot know: `Pipeline(strategy_named(name))`.
    """
    known = name.strip().lower()
    if known in STRATEGIES:
        return STRATEGIES[known]
    message = f"unknown strategy {name!r}; {known_names(known, STRATEGIES)}"
    raise UsageError(message)
