"""What `code()` writes gives an equal chain; what has no name is refused."""

from __future__ import annotations

from operator import ne
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from pydantic import BaseModel

from penstock import operators, pipeline, sources
from penstock.events import UsageError
from penstock.operators import (
    FieldSpec,
    Limits,
    argument_progress,
    compose,
    extract_json_fields,
    holdback,
    lift,
    parse_text,
    split_reasoning,
    to_invocations,
    to_segments,
    within,
)
from penstock.operators.calls import field_spec
from penstock.operators.calls.field_spec import MARKED_FILE_TOOLS
from penstock.operators.grammar.dialect import Dialect, Json
from penstock.operators.schemas.value_typing import TypingRules
from penstock.pipeline import STRATEGIES, Pipeline, Settings, tool
from penstock.sinks import collect, plain_view
from penstock.sources import decode_wire


class WriteFile(BaseModel):
    path: str


def look(what: str) -> str:
    """Look at something."""
    return what


write_file = tool({"name": "write_file", "parameters": {"type": "object"}})


class Louder:
    def feed(self, item: Any) -> list[Any]:
        return [item]

    def close(self, how: object) -> list[Any]:
        return []

    def dump(self) -> None:
        return None

    def load(self, state: object) -> None:
        assert state is None


class OwnSpec(FieldSpec, frozen=True, kw_only=True):
    title: str
    marked: bool = False


def is_text(start: Any) -> bool:
    return bool(start.segment_type == "text")


def only_text(source: Any) -> Any:
    return source


NAMES = {
    **{name: getattr(room, name) for room in (operators, pipeline, sources) for name in room.__all__},
    **{name: getattr(field_spec, name) for name in ("FILE_TOOLS", "KNOWN_FILE_TOOLS", "MARKED_FILE_TOOLS")},
    "TypingRules": TypingRules,
    **{each.__name__: each for each in (WriteFile, look, Louder, OwnSpec, is_text, only_text, collect)},
    "write_file": write_file,
}


def evaluated(given: Pipeline, **names: Any) -> Pipeline:
    made = eval(given.code(), {**NAMES, **names})
    assert isinstance(made, Pipeline)
    return made


def assert_round_trip(original: Pipeline) -> None:
    copy = evaluated(original)
    assert copy.chain == original.chain
    assert copy.tools == original.tools
    assert copy.code() == original.code()
    assert repr(copy) == repr(original)
    assert str(original).partition("  #")[0] == original.code()


@looped("name", STRATEGIES)
def test_every_strategys_code_gives_an_equal_chain(name: Any):
    assert_round_trip(Pipeline(name, tools=[look, WriteFile, write_file], turn_id="t"))


@pytest.mark.parametrize("tools", [None, []], ids=["no tools", "none of them"])
@pytest.mark.parametrize("name", ["api_tool_call", "pass_through", "hermes", "xml"])
def test_the_code_tells_no_tools_from_none_of_them(name: Any, tools: list[Any] | None):
    assert_round_trip(Pipeline(name, tools=tools))


CHANGED = {
    "environment": Pipeline(),
    "settings": Pipeline(settings=Settings(eager=True, start="immediate", limits={"depth": 3})),
    "replaced": Pipeline(tools=[look]).replace("to_segments", to_segments(eager=True)),
    "inserted": Pipeline("hermes", tools=[look]).insert(argument_progress(), before="stream_fields"),
    "lifted": Pipeline("hermes").insert(lift(Louder), after="to_invocations"),
    "a function": Pipeline([to_segments(), within(is_text, holdback("<a>"))]),
    "several types": Pipeline([to_segments(), within({"text", "reasoning"}, holdback('"', "'"), lift(Louder))]),
    "one type": Pipeline([to_segments(), within(("text",), holdback("\n\x9b"))]),
    "own fields": Pipeline(fields=[FieldSpec("look", "what", metadata=("a",), markers=("<", ">"), strict=False)]),
    "a spec of one's own": Pipeline(
        fields=[OwnSpec("look", "what", title="a"), OwnSpec("f", "g", title="", marked=True)]
    ),
    "no fields": Pipeline(fields=()),
    "fitted fields": Pipeline(tools=[write_file, tool(look, name="edit_file")], turn_id="t"),
    "marked fields": Pipeline(fields=MARKED_FILE_TOOLS),
    "models": Pipeline([to_segments(), to_invocations({"w": WriteFile, "x": None})]),
    "own tools": Pipeline(compose(to_segments(turn_id="t"), to_invocations([WriteFile, write_file]))),
    "definitions": Pipeline(
        [parse_text("xml", tools=[{"name": "f", "parameters": {"type": "object", "x": [1, 2.5]}}])]
    ),
    "reasoning": Pipeline([split_reasoning(("<a>", "</a>"), ("b", "c"))]),
    "paths": Pipeline([lift(Louder), extract_json_fields("a", ("b", 0, ...), ())]),
    "Rx": Pipeline([to_segments(), only_text, to_invocations()], tools=[look]),
    "a source": Pipeline([decode_wire("openai-chat", choices="all", turn_id="t"), to_segments()]),
    "everything": Pipeline(
        "auto",
        tools=[look],
        api="openai-chat",
        choices="all",
        turn_id="t",
        sinks=[collect],
        queue_size=3,
        when_full="fail",
        close_timeout=1.5,
        typing=TypingRules(untyped="json"),
        limits=Limits(depth=9),
        updates=True,
    ),
    "a function of one's own": Pipeline(
        lambda tools=None, *, turn_id=None: compose(parse_text("hermes", turn_id=turn_id), to_invocations(tools)),
        tools=[look],
    ),
}


@looped("case", [each for each in CHANGED if each not in ("fitted fields", "a function of one's own")])
def test_a_changed_chains_code_gives_an_equal_chain(case: str):
    assert_round_trip(CHANGED[case])


def test_tools_that_not_all_operators_have_are_written_where_they_are():
    copy = evaluated(CHANGED["a function of one's own"], look=tool(look))
    assert copy.chain == CHANGED["a function of one's own"].chain
    assert copy.chain[1].steps[0].settings["tools"] == CHANGED["a function of one's own"].tools  # type: ignore[union-attr]


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "turn_id": st.text(min_size=1),
        "start": st.sampled_from(["deferred", "immediate"]),
        "calls": st.booleans(),
        "starts_in_reasoning": st.booleans(),
        "repeated_opener": st.sampled_from(["drop", "text"]),
        "unknown_tool": st.sampled_from(["pass", "text", "fail"]),
        "blanks": st.sampled_from(["lone", "keep", "drop"]),
        "typing": st.builds(TypingRules, untyped=st.sampled_from(["text", "json", "literal", "scalar"])),
        "updates": st.booleans(),
        "text_calls": st.sampled_from(["off", "notice", "call"]),
        "limits": st.builds(Limits, depth=st.integers(1, 999), open_calls=st.integers(1, 9)),
        "tools": st.lists(st.sampled_from([look, WriteFile, write_file]), unique=True),
        "fields": st.lists(
            st.builds(
                FieldSpec, st.text(min_size=1, max_size=3).map("x{}".format), st.text(min_size=1), st.tuples(st.text())
            )
            | st.builds(FieldSpec, st.sampled_from(("y", "z")), paths=st.sampled_from((("a", "b[*].c"), ("a",)))),
            unique_by=lambda spec: spec.tool,
        ),
    },
)
NATIVE = {"turn_id", "start", "updates", "text_calls", "limits", "tools", "fields"}


@settings(max_examples=scaled(40))
@given(OPTIONS, st.sampled_from(["hermes", "xml", "api_tool_call"]))
def test_whatever_the_options_the_code_gives_an_equal_chain(options: dict[str, Any], name: Any):
    if name == "api_tool_call":
        options = {key: each for key, each in options.items() if key in NATIVE}
    else:
        options.pop("text_calls", None)
    assert_round_trip(Pipeline(name, **options))


def local() -> Any:
    class Local(BaseModel):
        path: str

    return Local


def local_spec() -> Any:
    class LocalSpec(FieldSpec, frozen=True):
        pass

    return LocalSpec


MINE = Dialect("mine", ("<c>", Json(), "</c>"))


@looped(
    "nameless, message",
    [
        (Pipeline([to_segments(), within(lambda _: True, holdback("a"))]), r"within\(\.\.\.\): <lambda> has no name"),
        (
            Pipeline([to_segments(), lift(lambda *_: Louder())]),
            r"lift\(\.\.\.\): <lambda> has no name that code could use",
        ),
        (Pipeline([to_segments(), to_invocations([local()])]), r"to_invocations\(tools=\.\.\.\): Local has no name"),
        (Pipeline(tools=[tool(look, name="a-b")]), r"Pipeline\(tools=\.\.\.\): a-b has no name"),
        (Pipeline(tools=[tool(look, name="Pipeline")]), r"Pipeline\(tools=\.\.\.\): Pipeline has no name"),
        (Pipeline(tools=[tool(look, name="to_segments")]), "two things in this chain are named 'to_segments'"),
        (Pipeline([to_segments(), lift(Louder)], tools=[tool(look, name="Louder")]), "two things .* named 'Louder'"),
        (
            Pipeline([to_segments(), argument_progress(fields=[local_spec()("look", "what")])]),
            r"argument_progress\(fields=\.\.\.\): LocalSpec has no name",
        ),
        (Pipeline(MINE), r"parse_text\(\.\.\.\): mine has no name"),
        (Pipeline(sinks=[plain_view()]), r"Pipeline\(sinks=\.\.\.\): "),
        (Pipeline([to_segments(), lambda source: source]), "an Rx operator: <lambda> has no name"),
        (Pipeline([to_segments(), argument_progress(fields=[FieldSpec("f", MINE)])]), "mine has no name"),  # type: ignore[arg-type]
    ],
)
def test_what_has_no_name_is_refused_and_shown_all_the_same(nameless: Pipeline, message: str):
    with pytest.raises(UsageError, match=message) as told:
        nameless.code()
    assert "\n" not in str(told.value)
    assert str(nameless).startswith("Pipeline([\n")


def test_equal_tools_have_one_name():
    pipeline = Pipeline([parse_text("hermes", tools=[tool(look)]), to_invocations([tool(look)])])
    assert pipeline.code().count("tools=[look]") == 2


def test_what_is_recorded_does_not_follow_later_changes():
    selected = {"text"}
    pipeline = Pipeline([to_segments(), within(selected, holdback("a"))])
    selected.add("reasoning")
    assert '{"text"}' in pipeline.code()


def test_tools_made_of_the_same_function_are_equal():
    assert tool(look) == tool(look)
    assert ne(tool(look), tool(look)) is False
    assert ne(to_segments().steps[0], to_segments().steps[0]) is False
    assert hash(tool(look)) == hash(tool(look))
    assert tool(look) != tool(look, description="Else.")
    assert tool(look) != tool(look, coerce=False)
    assert tool(look) != "look"
    assert tool(WriteFile) == tool(WriteFile)
