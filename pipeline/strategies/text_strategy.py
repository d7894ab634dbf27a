"""`TextStrategy`: a strategy for models that write their calls into their text, in one dialect or several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Unpack

from ...events.errors import UsageError
from ...operators.calls.field_spec import KNOWN_FILE_TOOLS, MARKED_FILE_TOOLS, FieldSpec
from ...operators.catalogue.dialect_for import dialects_named
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import Operator
from ...operators.engine.step import lasting
from ...operators.grammar.dialect import Dialect
from ...operators.parse_text import parse_text
from ...operators.text.text_options import ParseTextOptions, spelled_out
from ...operators.to_invocations import Tools
from .act_on_calls import act_on_calls
from .strategy import StrategyEvent

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
        known = lasting(tools)
        return act_on_calls(
            parse_text(*self._given, tools=known, turn_id=turn_id, limits=limits, **options),
            known,
            fields=self._file_tools if fields is None else fields,
            start=start,
            ignore_case=True,
            updates=updates,
            limits=limits,
        )

    @property
    def _file_tools(self) -> tuple[FieldSpec, ...]:
        return MARKED_FILE_TOOLS if any(each.name in _MARKED for each in self.dialects) else KNOWN_FILE_TOOLS
