from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterable
from typing import Any

import pytest
from answered import answered
from hypothesis import given
from hypothesis import strategies as st
from operator_contract import CALLS_IN_TEXT, FROM_CALLS, Case, call, frozen, thawed
from strategies.cuts import cuts, every_cut_in_two

from penstock.events.answer_end import AnswerEnd
from penstock.events.chunk_response import ChunkResponse, ToolCallDelta
from penstock.events.errors import ProviderError
from penstock.events.segment_event import SegmentContent, SegmentEvent
from penstock.events.tool_invocation import Notice
from penstock.operators.detect_text_calls import ANYWHERE, AT_THE_BEGIN, REACH, detect_text_calls
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, stage
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_segments import to_segments

CONTRACT = (Case("detect_text_calls", detect_text_calls(), (*FROM_CALLS, *CALLS_IN_TEXT)),)

module: Any = importlib.import_module("penstock.operators.detect_text_calls")

EXAMPLES: tuple[tuple[str, ...], ...] = (
    (
        '[TOOL_CALL] run_bash {"command":"pwd"}',
        '[TOOL_CALLS][{"name"',
        '[TOOL_CALLS]f[ARGS]{"a"',
        "[TOOL_CALL]\n{tool =>",
    ),
    (
        '<tool_call>\n{"name"',
        "<tool_call>f\n<arg_key>",
        "<minimax:tool_call>\n<invoke",
        "<longcat_tool_call>{",
        "<tool_calls>[",
    ),
    ("<function_calls>\n<invoke", "<function_call>{", "<function_calls>f(a=1)", "<dots_function_call>\n<"),
    ('<TOOLCALL>[{"name"',),
    ("<function=write_file>\n<parameter=path>", '<function name="f">'),
    ('<invoke name="f">', "<tool name='f'>", "<steptml:invoke name=f>"),
    (
        "<|tool_call|>",
        "<|tool_calls_section_begin|>",
        "<｜tool▁calls▁begin｜>",
        "<|tool_call_start|>",
        "<｜DSML｜function_calls>",
    ),
    (
        "<|python_tag|>f.call(",
        "<|START_ACTION|>\n[",
        "<|action_start|><|plugin|>",
        "<|tools_prefix|>[",
        "<|python_start|>[f()",
    ),
    (
        '<｜DSML｜invoke name="f">',
        '<|open|>call tool="f"',
        "<|content_invoke_tool_json|>{",
        '<|role_sep|>\n{"name"',
    ),
    ("<start_function_call>call:f{",),
    ('functools[{"name"',),
    ("functions.run_bash:0 {", "functions.get-it:12<|tool_call_argument_begin|>"),
    ("to=functions.f <|constrain|>json",),
    ("```tool_call\n{", "```tool_code\nf()"),
    ('```json\n[{"name": "f", "arguments": {', '```\n{"name": "f", "parameters": {'),
)
AT_THE_BEGIN_EXAMPLES: tuple[tuple[str, ...], ...] = (
    (
        '{"name": "f", "arguments": {}}',
        '[{"id": "c_1", "type": "function", "name":"f","parameters":{',
        '{"name":"f","arguments":"{',
    ),
    ('{"arguments": {"a": 1}, "name": "f"}',),
    ('{"tool_calls": [{"function"', '{"tool": {"function"', '{"function":{"name"'),
    ('[get_weather(city="Paris")]', "[f()]"),
)
FORMS = [text for texts in (*EXAMPLES, *AT_THE_BEGIN_EXAMPLES) for text in texts]
PROSE = (
    "Models write `<tool_call>` and `</tool_call>` around calls.",
    "The tags <tool_call>...</tool_call> come from Hermes, [TOOL_CALLS] from Mistral.",
    "An [TOOL_CALL] marker, the <invoke> tag, and <function=...> too.",
    "See functions.py:12 and functions.main for more; to=functions is a word.",
    '{"name": "Ada", "age": 36}',
    '{"city": "Paris", "arguments": "none"}',
    "[a link](https://example.org) and [1, 2]",
    '```json\n{"name": "Ada"}\n```',
    "```tool_call```",
    'as in {"name": "f", "arguments": {}}',
    "<|python_tag|> is a token",
    "if a < b and c[TOOL]: <tool>",
)
TURN = "turn"


def text_chunks(*texts: str) -> list[ChunkResponse]:
    return [ChunkResponse(content=text) for text in texts]


def run(chunks: Iterable[ChunkResponse], how: How | None = None) -> list[Any]:
    chain = stage(to_segments(turn_id=TURN), detect_text_calls())
    return [*(event for chunk in chunks for event in chain.feed(chunk)), *chain.close(how)]


def notices(events: Iterable[Any]) -> list[Notice]:
    return [event for event in events if isinstance(event, Notice)]


def snippets(events: Iterable[Any]) -> list[str]:
    return [notice.detail.partition("The text: ")[2] for notice in notices(events)]


def expected(text: str) -> list[str]:
    """Return the snippet by looking at the text as a whole."""
    found = module._AT_THE_BEGIN.match(text) or module._ANYWHERE.search(text)
    return [" ".join(text[found.start() :][:960].split())[:240]] if found else []


# What is a call in text.


@pytest.mark.parametrize("text", FORMS)
def test_a_call_in_text_is_told_with_its_beginning_in_any_cutting(text: str) -> None:
    wanted = [" ".join(text.split())]
    for pieces in [list(text), *every_cut_in_two(text)]:
        assert snippets(run(text_chunks(*pieces))) == wanted


def test_each_entry_of_the_table_has_examples_that_it_finds() -> None:
    for patterns, examples in ((ANYWHERE, EXAMPLES), (AT_THE_BEGIN, AT_THE_BEGIN_EXAMPLES)):
        for pattern, texts in zip(patterns, examples, strict=True):
            for text in texts:
                assert re.search(pattern, text), (pattern, text)


def test_no_entry_of_the_table_matches_as_much_as_is_looked_ahead() -> None:
    parse = importlib.import_module("re._parser").parse
    assert all(parse(pattern.pattern).getwidth()[1] < REACH for pattern in (module._ANYWHERE, module._AT_THE_BEGIN))


@pytest.mark.parametrize("text", PROSE)
def test_prose_that_names_a_marker_is_no_call(text: str) -> None:
    assert notices(run(text_chunks(text))) == []


@pytest.mark.parametrize("fence", ["", "\n\n", "```json\n", "```\n"])
def test_json_counts_where_the_text_begins_with_it(fence: str) -> None:
    assert len(notices(run(text_chunks(fence + '{"arguments": {"a": 1}, "name": "f"}')))) == 1
    assert notices(run(text_chunks(f'so: {fence}{{"arguments": {{"a": 1}}, "name": "f"}}'))) == []


def test_the_notice_says_what_happened_and_what_to_do() -> None:
    (notice,) = notices(run(text_chunks('Sure. [TOOL_CALL] run_bash {"command":\n\n   "pwd"}')))
    assert notice.code == "text_call"
    assert "no tool was executed" in notice.detail
    assert "choose a strategy that reads them" in notice.detail
    assert notice.detail.endswith('The text: [TOOL_CALL] run_bash {"command": "pwd"}')


def test_the_snippet_is_short_and_its_blanks_are_collapsed() -> None:
    (snippet,) = snippets(run(text_chunks("<function=f>", *" \n\tab" * 300)))
    assert len(snippet) == 240
    assert snippet.startswith("<function=f> ab ab ab")
    (blank,) = snippets(run(text_chunks("<function=f>", *" " * 5_000, "x")))
    assert blank == "<function=f>"


# When it is told.


@pytest.mark.parametrize("how", [Completed(), Interrupted("stop"), Failed(ProviderError("x"))])
def test_everything_passes_as_it_was_and_the_notice_comes_before_the_end_of_the_answer(how: How) -> None:
    chain = stage(to_segments(turn_id=TURN))
    chunks = [*text_chunks("I call <func", "tion=f>"), ChunkResponse(reasoning="<function=f>")]
    before = [*(event for chunk in chunks for event in chain.feed(chunk)), *chain.close(how)]
    detector = stage(detect_text_calls())
    *given, notice, end = (event for event in before for event in detector.feed(event))
    assert all(mine is its for mine, its in zip([*given, end], before, strict=True))
    assert (type(notice), type(end)) == (Notice, AnswerEnd)
    assert detector.close(how) == []
    assert run(chunks, how) == [*given, notice, end]


def test_of_several_answers_each_has_its_warning_before_its_end() -> None:
    chunks = [ChunkResponse("<function=f>"), ChunkResponse("<function=g>", choice=1)]
    kinds = [type(event) for event in run(chunks) if not isinstance(event, SegmentEvent)]
    assert kinds == [Notice, AnswerEnd, Notice, AnswerEnd]


def test_an_answer_without_an_end_has_its_warning_at_the_end_of_the_stream() -> None:
    segments = answered(text_chunks("<function=f>"), to_segments(turn_id=TURN))
    assert [type(event) for event in drive(segments, detect_text_calls())][-1] is Notice


def test_each_text_segment_has_one_notice_at_most() -> None:
    twice = "<function=f> <function=g>"
    chunks = [*text_chunks(twice, twice), ChunkResponse(reasoning="hm"), *text_chunks("no"), ChunkResponse(refusal="-")]
    assert snippets(run([*chunks, *text_chunks("<function=h>")])) == [twice + twice, "<function=h>"]


@pytest.mark.parametrize("fields", [(), (stream_fields(),)])
@pytest.mark.parametrize("order", ["before", "after", "around"])
def test_there_is_none_where_a_native_call_came_in_the_turn(fields: Any, order: str) -> None:
    text = text_chunks("[TOOL_CALL] f {}")
    native = call(0, "c", "write_file", '{"path": "a", "content": "b"}', done=True)
    chunks = {"before": [*native, *text], "after": [*text, *native], "around": [*text, *native, *text]}[order]
    assert notices(drive(chunks, to_segments(), *fields, detect_text_calls())) == []


def test_a_call_that_the_provider_runs_is_no_native_call_of_ours() -> None:
    search = ToolCallDelta(0, "c", "web_search", "{}", executed_by="provider", done=True)
    assert len(notices(run([ChunkResponse(tool_calls=(search,)), *text_chunks("[TOOL_CALL] f {}")]))) == 1


def test_turns_are_judged_each_by_itself() -> None:
    text = list(drive(text_chunks("[TOOL_CALL] f {}"), to_segments(turn_id="a")))
    native = list(drive(call(0, "c", "f", "{}", done=True), to_segments(turn_id="b")))
    assert len(notices(drive([*text, *native], detect_text_calls()))) == 1
    assert len(notices(drive([*native, *text], detect_text_calls()))) == 1


def test_what_is_no_segment_passes() -> None:
    others = [
        Notice("late_text", "x"),
        "anything",
        SegmentContent("unknown", "text", "[TOOL_CALL] f {"),
    ]
    assert list(drive(others, detect_text_calls())) == others


def test_segments_that_nobody_ended_are_ended() -> None:
    chain = stage(detect_text_calls())
    for event in answered(text_chunks("<function=f>"), to_segments(turn_id=TURN))[:-1]:
        chain.feed(event)
    assert [getattr(event, "type", event) for event in chain.close()][:1] == ["SEGMENT_END"]


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        assert notices(run(text_chunks("[TOOL_CALL] f {}")))
    assert caplog.records == []


# Laws.

PIECES = st.sampled_from((*FORMS, *PROSE, "<tool_call>", "<function=", "[TOOL_CALL", " ", "\n", "{", "f"))
PADDING = st.builds(
    lambda letter, length: letter * length, st.sampled_from((" ", "x", "<", "[TOOL_CALL]")), st.integers(0, 5_500)
)
TEXTS = st.lists(st.one_of(PIECES, PADDING), max_size=4).map("".join)


@given(st.data())
def test_any_cutting_gives_what_a_look_at_the_whole_gives(data: st.DataObject) -> None:
    text = data.draw(TEXTS)
    pieces = data.draw(cuts(text))
    assert snippets(run(text_chunks(*pieces))) == expected(text)


@pytest.mark.parametrize("place", [0, 1, 3_400, *range(4_085, 4_110), 4_700, *range(4_725, 4_750), 9_000])
def test_a_call_is_found_wherever_a_block_ends(place: int) -> None:
    text = "x" * place + "[TOOL_CALL] run_bash {" + "y" * 5_000
    for size in (1, 7, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert snippets(run(text_chunks(*pieces))) == [f"[TOOL_CALL] run_bash {{{'y' * 218}"]


@pytest.mark.parametrize("size", [1, 7, 4_736])
def test_json_in_mid_text_is_no_call_wherever_a_block_begins(size: int) -> None:
    for place in (*range(4_080, 4_110), 4_736):
        text = "x" * place + "[f()]" + "y" * 5_000
        assert notices(run(text_chunks(*(text[at : at + size] for at in range(0, len(text), size))))) == []


def test_a_short_match_does_not_hide_a_longer_one_before_it_that_is_not_all_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_ANYWHERE", re.compile("<x{600}>|short"))
    text = "-" * 4_500 + "<" + "x" * 300 + "short"
    assert snippets(run(text_chunks(text, "y" * 5_000))) == ["short" + "y" * 235]
    long = "-" * 4_300 + "<" + "x" * 600 + ">"
    monkeypatch.setattr(module, "_ANYWHERE", re.compile("<x{600}>|x{300}"))
    for size in (1, 4_750, len(long)):
        assert snippets(run(text_chunks(*(long[at : at + size] for at in range(0, len(long), size))))) == [
            long[4_300:4_540]
        ]


@given(st.data())
def test_frozen_after_any_event_it_goes_on_the_same(data: st.DataObject) -> None:
    pieces = data.draw(cuts(data.draw(TEXTS)))
    native = data.draw(st.sampled_from(((), call(0, "c", "f", "{}"))))
    more = text_chunks("<function=f>") if data.draw(st.booleans()) else []
    events = list(drive([*text_chunks(*pieces), *native, *more], to_segments(turn_id=TURN)))
    place = data.draw(st.integers(0, len(events)))
    chain = stage(detect_text_calls())
    for event in events[:place]:
        chain.feed(event)
    copy = thawed(detect_text_calls(), frozen(chain))
    for one in (chain, copy):
        for event in events[place:]:
            one.feed(event)
    assert copy.close() == chain.close()


@pytest.mark.parametrize("size", [1, 7, 5_000, 100_000])
def test_each_character_is_searched_about_once_and_little_is_kept(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0
    pattern = module._ANYWHERE

    class Counting:
        def search(self, text: str) -> Any:
            nonlocal searched
            searched += len(text)
            return pattern.search(text)

    monkeypatch.setattr(module, "_ANYWHERE", Counting())
    text = "a < b, [c] and functions; " * 4_000
    chain = stage(to_segments(turn_id=TURN), detect_text_calls())
    kept = 0
    for at in range(0, len(text), size):
        chain.feed(ChunkResponse(content=text[at : at + size]))
        if at % 5_000 < size:
            kept = max(kept, len(frozen(chain)))
    assert chain.close()
    assert searched <= len(text) * 1.2
    assert kept < 6_000


def test_what_is_decided_is_let_go() -> None:
    chain = stage(to_segments(turn_id=TURN), detect_text_calls())
    chain.feed(ChunkResponse(content="<function=f>" + "x" * 6_000))
    small = len(frozen(chain))
    for _ in range(100):
        chain.feed(ChunkResponse(content="x" * 2_000))
    assert len(frozen(chain)) == small
