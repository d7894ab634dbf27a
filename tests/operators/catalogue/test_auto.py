"""Many dialects read together: the same calls as alone, and nothing where no call is."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from answered import answered
from auto_cases import CALLS, NOT_IN_AUTO, Seen, explained_by, is_cut_short, reading, seen
from depth import some_of, stride
from hypothesis import given
from looped import looped
from prose_texts import PROSE
from strategies.dialect_texts import answer_by, written_by
from strategies.randoms import examples, randoms
from strategies.rendered_calls import schema_of
from strategies.text_flows import cut_by, flow_by, options_by
from text_laws import check

from penstock.operators.catalogue.catalogue import catalogue_entry
from penstock.operators.catalogue.dialect_for import AUTO, AUTO_WITH_TOOLS, DIALECTS
from penstock.operators.grammar.dialect import NAME, Dialect, Text
from penstock.operators.parse_text import parse_text
from penstock.operators.writing.render_call import can_render, render_call

TWO_WAYS = (
    ("<tool_call>word</tool_call>", "hermes", "glm47"),
    ("<tool_call>word</tool_call>", "qwen3_coder", "glm47"),
    ("<function=f></function>", "functionary_v31", "qwen3_coder"),
)
"""(text, a dialect for which it is something else, the one as which `auto` reads it)."""
STOOD_FOR = [name for name, other in NOT_IN_AUTO.items() if other in AUTO]
LEFT_OUT = [name for name in NOT_IN_AUTO if name not in STOOD_FOR]


def rendered(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return texts with a call of a dialect, and the options with which its values have types."""
    dialect = DIALECTS[name]
    texts: list[tuple[str, dict[str, Any]]] = []
    for tool, arguments in CALLS:
        schema = schema_of(arguments)
        if dialect.grammar and can_render(dialect, tool, arguments, schema=schema) is None:
            for layout in ("", "\n"):
                call = render_call(dialect, tool, arguments, schema=schema, layout=layout)
                texts.append((f"Let me see. {call}\nDone.", {"tools": {tool: schema}}))
    return texts


def calls_in(found: list[Seen]) -> list[Seen]:
    return [each for each in found if each.type == "tool_call"]


def test_auto_is_the_name_of_all_of_them_and_may_stand_beside_others() -> None:
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call> {"name": "g", "arguments": {}}'
    for more in ((), ("json_bare", "hermes")):
        assert [*answered([text], parse_text("auto", *more, turn_id="t"))] == [
            *answered([text], parse_text(*AUTO, *(each for each in more if each not in AUTO), turn_id="t"))
        ]


def test_each_dialect_is_one_of_auto_or_left_out_for_a_reason() -> None:
    assert sorted([*AUTO, *NOT_IN_AUTO]) == sorted(DIALECTS)
    assert [name for name, why in NOT_IN_AUTO.items() if why in NOT_IN_AUTO] == []


@pytest.mark.laws
@looped("name", AUTO)
def test_a_call_is_the_same_as_for_its_dialect_alone(name: str) -> None:
    texts = rendered(name)
    assert texts
    for text, options in texts[:: stride(3)]:
        alone = reading(text, [name], options)
        assert calls_in(alone)
        assert reading(text, AUTO, options) == alone


@looped("name", STOOD_FOR)
def test_what_another_one_stands_for_is_the_same_too(name: str) -> None:
    for text, options in rendered(name):
        assert reading(text, AUTO, options) == reading(text, [name], options)
        assert reading(text, [NOT_IN_AUTO[name]], options) == reading(text, [name], options)


@pytest.mark.laws
@looped("name", some_of(LEFT_OUT, 9))
def test_what_is_left_out_can_be_given_beside_it(name: str) -> None:
    for text, options in rendered(name)[:: stride(4)]:
        assert reading(text, [*AUTO, name], options) == reading(text, [name], options)


@pytest.mark.laws
@looped("name", AUTO)
def test_whatever_a_grammar_says_is_the_same_or_a_call_of_another_dialect(name: str) -> None:
    others = [DIALECTS[other] for other in AUTO if other != name]

    @examples(15)
    @given(randoms)
    def holds(random: Random) -> None:
        text = f"Hi {written_by(random, DIALECTS[name].grammar)} Ok"
        alone, together = reading(text, [name], {}), reading(text, AUTO, {})
        assert alone == together or explained_by(text, alone, together, others, {}) or is_cut_short(alone, together)

    holds()


@examples(60)
@given(randoms)
def test_the_laws_hold_for_all_of_them_together(random: Random) -> None:
    answer = answer_by(random, [DIALECTS[name] for name in AUTO])
    check(["auto"], flow_by(random, answer.text), options_by(random, answer.tools), random)


@pytest.mark.laws
@looped("kind", PROSE)
def test_what_is_no_call_stays_as_it_is(kind: str) -> None:
    text = PROSE[kind]

    @examples(25)
    @given(randoms)
    def holds(random: Random) -> None:
        for pieces in (cut_by(random, text), list(text)):
            events = answered(pieces, parse_text("auto", tools=random.choice((None, {"f": None})), turn_id="t"))
            assert {event.segment_type for event in events} == {"text"}
            assert "".join(getattr(event, "delta", "") for event in events) == text

    holds()


@looped("name", [name for name in LEFT_OUT if name not in ("muse_glimmer", "glm4")])
def test_what_is_left_out_takes_some_of_it_for_its_own(name: str) -> None:
    readings = {kind: reading(text, [name], {}) for kind, text in PROSE.items()}
    assert [kind for kind, found in readings.items() if [each.text for each in found] != [PROSE[kind]]]


def test_glm4_would_take_an_example_that_names_a_declared_tool_for_a_call() -> None:
    text, tools = 'Call it so:\nf\n{"a": 1}\n', {"tools": {"f": None}}
    assert [each.text for each in reading(text, ["auto"], tools)] == [text]
    assert [each.text for each in reading(text, ["glm4"], tools)] != [text]


def test_muse_would_take_markers_of_harmony_for_its_own() -> None:
    text = "The role and <|message|>what is said."
    assert [each.text for each in reading(text, AUTO, {})] == [text]
    assert [each.text for each in reading(text, [*AUTO, "muse_glimmer"], {})] != [text]


@looped("pair", sorted({pair for name in AUTO for pair in DIALECTS[name].reasoning}))
def test_reasoning_of_every_dialect_is_found_and_ends_with_its_own_closer(pair: tuple[str, str]) -> None:
    opener, closer = pair
    others = {each for name in AUTO for both in DIALECTS[name].reasoning for each in both}
    strange = " ".join(sorted(each for each in others if each != closer))
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    found = reading(f"{opener}Hm {strange} so{closer}Yes.{call}", AUTO, {})
    assert [(each.type, each.text) for each in found] == [
        ("reasoning", f"Hm {strange} so"),
        ("text", "Yes."),
        ("tool_call", ""),
    ]


@looped("closer", sorted({closer for name in AUTO for _, closer in DIALECTS[name].reasoning}))
def test_reasoning_that_the_prompt_opened_ends_with_any_closer(closer: str) -> None:
    found = reading(f"Hm{closer}Yes.", AUTO, {"starts_in_reasoning": True})
    assert [(each.type, each.text) for each in found] == [("reasoning", "Hm"), ("text", "Yes.")]


@pytest.mark.parametrize(("text", "alone", "read_as"), TWO_WAYS)
def test_what_cannot_be_told_apart_is_read_as_the_page_says(text: str, alone: str, read_as: str) -> None:
    assert reading(text, AUTO, {}) == reading(text, [read_as], {}) != reading(text, [alone], {})


def test_a_tool_named_as_a_word_of_another_dialect_is_found_where_the_other_one_reads_none() -> None:
    text = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{}<｜tool▁sep｜>{{}}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    for tool in ("function", "functions"):
        for names in (AUTO, ("deepseek_v3_r1", "deepseek_v31")):
            (call,) = calls_in(reading(text.format(tool), names, {}))
            assert call.end["metadata"]["tool_name"] == tool


def test_where_nothing_tells_two_apart_the_first_one_decides() -> None:
    exact = Dialect("exact", ("<c>", NAME, "<v>", Text("value"), "</c>"))
    trimmed = Dialect("trimmed", ("<c>", NAME, "<v>", Text("value", trim="blanks"), "</c>"))
    text = "<c>f<v> x </c>"
    assert reading(text, (exact,), {}) != reading(text, (trimmed,), {})
    several: tuple[tuple[str | Dialect, ...], ...] = ((exact, trimmed), (trimmed, exact), (exact, *AUTO))
    for names in several:
        assert reading(text, names, {}) == reading(text, names[:1], {})


def test_several_dialects_may_follow_each_other() -> None:
    names = ("hermes", "kimi_k2", "gemma4", "mistral_v11", "deepseek_v31", "qwen3_coder")
    text = "\n".join(render_call(DIALECTS[name], name, {}) for name in names)
    assert [each.end["metadata"]["tool_name"] for each in calls_in(reading(text, AUTO, {}))] == list(names)


def test_the_catalogue_says_what_is_in_it_and_why_the_rest_is_not() -> None:
    for name in AUTO:
        assert "- in `auto`" in catalogue_entry(name).splitlines()
    for name, why in NOT_IN_AUTO.items():
        reason = f"`{why}` reads it" if why in AUTO else why
        where = "in `auto` only where tools are declared" if name in AUTO_WITH_TOOLS else "not in `auto`"
        assert f"- {where}: {reason}" in catalogue_entry(name).splitlines()


@pytest.mark.parametrize(
    ("text", "said", "called"),
    [
        ('Now {"name": "f", "arguments": {"a": 1}} then', "Now  then", True),
        ('```json\n{"tool": {"function": "f", "parameters": {"a": 1}}}\n```', "```json\n\n```", True),
        ('<tool name="f"><arg name="a">1</arg></tool>', "", True),
        ('{"name": "my-app", "parameters": {"a": 1}}', None, False),
        ('<tool name="hammer"><arg name="a">1</arg></tool>', None, False),
        ('Use <tool name="x"> tags, as in HTML.', None, False),
        ('```python\nprint({"name": "f", "arguments": {"a": 1}})\n```', None, False),
    ],
)
def test_with_tools_it_reads_json_and_xml_for_calls_of_these_tools(text: str, said: str | None, called: bool) -> None:
    tools = {"f": {"properties": {"a": {"type": "integer"}}}}
    for pieces in ([text], list(text)):
        found = seen(answered(pieces, parse_text("auto", tools=tools, turn_id="t")))
        assert [each.end["metadata"]["tool_name"] for each in calls_in(found)] == ["f"] * called
        assert "".join(each.text for each in found if each.type == "text") == (text if said is None else said)
    assert not calls_in(reading(text, ["auto"], {}))


MUTANTS = {
    "a call of an unknown tool behind a mere bracket passes": ("with_tools", ("operators/text/text_options.py", 'or ("pass" if is_marked else "text")', 'or "pass"')),
    "of several dialects it is not the first one that decides": ("first_one_decides", ("operators/parse_text.py", "    positions = compiled(", "    found = tuple(sorted(found, key=lambda each: each.name))\n    positions = compiled(")),
}  # fmt: skip
