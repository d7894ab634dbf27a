from __future__ import annotations

from typing import Any

import msgspec
import pytest
from chunk_grammar import Call, checked
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.events.chunk_response import ArgumentsKind
from penstock.operators.engine.limits import DEFAULT_LIMITS, Limits
from penstock.sources.base.call_tracker import CallTracker

Wire = list[dict[str, Any]]


def tracker(choice: int = 0, limits: Limits = DEFAULT_LIMITS) -> CallTracker:
    return CallTracker(lambda: "t", choice, limits)


def fed(wire: Wire, tracker_: CallTracker | None = None) -> list[Call]:
    """Run wire deltas of (key, call_id, name, arguments), as sources do; return the calls."""
    it = tracker_ or tracker()
    deltas: list[ToolCallDelta | None] = []
    for each in wire:
        delta = it.delta(**each)
        deltas += [*it.pending_deltas(), delta]
    deltas += it.rest()
    return checked([ChunkResponse(tool_calls=(delta,)) for delta in deltas if delta]).calls


def d(key: Any, arguments: Any = None, call_id: Any = None, name: Any = None, **more: Any) -> dict[str, Any]:
    return {"key": key, "arguments": arguments, "call_id": call_id, "name": name, **more}


def said(calls: list[Call]) -> list[tuple[str, str, str]]:
    return [(call.call_id, call.name, call.arguments) for call in calls]


CASES: dict[str, tuple[Wire, list[tuple[str, str, str]]]] = {
    "parallel deltas by index": (
        [d(0, "", "a", "f"), d(1, "", "b", "g"), d(1, "{2"), d(0, "{1"), d(1, "}"), d(0, "}")],
        [("a", "f", "{1}"), ("b", "g", "{2}")],
    ),
    "fifteen calls that are all index 0": (
        [d(0, f"[{number}]", f"id{number}", "f") for number in range(15)],
        [(f"id{number}", "f", f"[{number}]") for number in range(15)],
    ),
    "an index that starts at 1": (
        [d(1, "{", "a", "f"), d(1, "}"), d(2, "{}", "b", "f")],
        [("a", "f", "{}"), ("b", "f", "{}")],
    ),
    "index -1": ([d(-1, "{", "a", "f"), d(-1, "}"), d(-1, "{}", "b", "f")], [("a", "f", "{}"), ("b", "f", "{}")]),
    "no index": ([d(None, "{", "a", "f"), d(None, "}"), d(None, "[]", "b", "f")], [("a", "f", "{}"), ("b", "f", "[]")]),
    "an index at first only": ([d(3, "{", "a", "f"), d(None, "1"), d(-1, "}")], [("a", "f", "{1}")]),
    "no index and no id": (
        [d(None, "{}", None, "f"), d(None, "[]", None, "f")],
        [("t:call_0", "f", "{}"), ("t:call_1", "f", "[]")],
    ),
    "an index and no id": (
        [d(0, "{", None, "f"), d(0, "}"), d(1, "[]", "", "f")],
        [("t:call_0", "f", "{}"), ("t:call_1", "f", "[]")],
    ),
    "another name where there are no ids": (
        [d(0, "{}", None, "f"), d(0, "[]", None, "g")],
        [("t:call_0", "f", "{}"), ("t:call_1", "g", "[]")],
    ),
    "ids and names that come empty or again": (
        [d(0, None, "a", "f"), d(0, "{", "", ""), d(0, "1", None, None), d(0, "}", "a", "f"), d(0, "", "a", "f")],
        [("a", "f", "{1}")],
    ),
    "an id without a name is no new call": ([d(0, "{", "a", "f"), d(0, "}", "other")], [("a", "f", "{}")]),
    "arguments before the name": ([d(0, "{", "a"), d(0, "1"), d(0, "}", None, "f")], [("a", "f", "{1}")]),
    "arguments before name and id": ([d(0, "{"), d(0, "1", "a"), d(0, "}", "a", "f")], [("a", "f", "{1}")]),
    "arguments before the name, and the id never": ([d(0, "{"), d(0, "}", None, "f")], [("t:call_0", "f", "{}")]),
    "null, object, list and number arguments": (
        [
            d(0, None, "a", "f"),
            d(1, {"b": [1, "é", None]}, "b", "f"),
            d(2, [1.5], "c", "f"),
            d(3, 0, "d", "f"),
            d(4, "null", "e", "f"),
        ],
        [("a", "f", ""), ("b", "f", '{"b":[1,"é",null]}'), ("c", "f", "[1.5]"), ("d", "f", "0"), ("e", "f", "null")],
    ),
    "a number for an id, and the word null for none": (
        [d(0, "", 12, "f"), d(1, "", "null", "null")],
        [("12", "f", ""), ("t:call_1", "null", "")],
    ),
    "the same id under a new index": ([d(0, "1", "a", "f"), d(1, "2", "a", "f")], [("a", "f", "1"), ("a", "f", "2")]),
    "a call whose name comes after another call": (
        [d(0, "1", "a"), d(1, "2", "b", "g"), d(0, "", None, "f")],
        [("b", "g", "2"), ("a", "f", "1")],
    ),
    "names of a wire's own keys": (
        [d("fc_1", "1", "a", "f"), d("fc_2", "2", "b", "f"), d("fc_1", "3")],
        [("a", "f", "13"), ("b", "f", "2")],
    ),
    "halves of a character over two deltas": (
        [d(0, "\ud83d", "a", "f"), d(1, "x\ude00", "b", "f"), d(0, "\ude00!"), d(1, "y\ud83d")],
        [("a", "f", "😀!"), ("b", "f", "x\ufffdy\ufffd")],
    ),
}


@looped("case", CASES)
def test_calls_keep_the_grammar_with(case: str):
    wire, wanted = CASES[case]
    assert said(fed(wire)) == wanted


def test_a_later_id_cannot_change_the_one_that_is_out_and_is_given_for_the_provider():
    calls = fed([d(0, "{", None, "f"), d(0, "", "late", None), d(0, "}", "late", "f")])
    assert said(calls) == [("t:call_0", "f", "{}")]
    assert calls[0].native == {"id": "late"}


def test_a_new_id_and_name_after_a_call_without_an_id_is_a_new_call():
    calls = fed([d(0, "{}", None, "f"), d(0, "[]", "b", "g")])
    assert said(calls) == [("t:call_0", "f", "{}"), ("b", "g", "[]")]


def test_made_ids_of_other_choices_name_the_choice():
    calls = fed([d(0, "", None, "f")], tracker(choice=2))
    assert calls[0].call_id == "t:choice_2:call_0"


def test_a_call_whose_name_never_comes_is_a_call_without_one_and_has_its_text():
    calls = fed([d(0, "{", "a"), d(0, "}"), d(1, "[]"), d(2, "1", "c", "f"), d(3)])
    assert said(calls) == [("c", "f", "1"), ("a", "", "{}"), ("", "", "[]")]


def test_a_call_without_a_name_is_given_up_where_another_begins_under_its_index():
    it = tracker()
    assert it.delta(0, call_id="a", arguments="{") is None
    assert it.delta(0, call_id="b", name="f") == ToolCallDelta(1, "b", "f")
    assert it.pending_deltas() == [ToolCallDelta(0, "a", arguments_delta="{")]
    assert it.rest() == [ToolCallDelta(1, status="incomplete")]


def test_the_whole_arguments_count_only_where_no_delta_came():
    it = tracker()
    it.delta("x", call_id="a", name="f")
    assert it.whole("x", '{"a": 1}') == ToolCallDelta(0, arguments_delta='{"a": 1}')
    assert it.whole("x", '{"a": 1}') is None
    it.delta("y", call_id="b", name="f", arguments="{}")
    assert it.whole("y", "{}") is None
    assert it.whole("unknown", "{}") is None


def test_done_ends_a_call_and_frees_its_key():
    it = tracker()
    it.delta(0, call_id="a", name="f", arguments="{\ud83d", executed_by="provider")
    assert it.done(0) == ToolCallDelta(0, arguments_delta="\ufffd", done=True, executed_by="provider")
    assert it.done(0) is None
    assert it.delta(0, call_id="a", name="f") == ToolCallDelta(1, "a", "f")


def test_what_comes_for_a_call_that_is_done_comes_under_its_index():
    it = tracker()
    it.delta(0, call_id="a", name="f", arguments="{}")
    it.done(0)
    assert it.delta(0, arguments="\ud83dx") == ToolCallDelta(0, arguments_delta="\ufffdx")
    assert it.delta(0, arguments="") is None


def comparing(kind: Any = "json", **more: Any) -> CallTracker:
    it = CallTracker(lambda: "t", compares=True)
    it.delta(0, call_id="a", name="f", kind=kind, **more)
    return it


def test_arguments_that_come_again_and_mean_the_same_are_no_contradiction():
    it = comparing()
    it.delta(0, arguments='{"a": 1,')
    it.delta(0, arguments=' "b": [true, 1e999]}')
    assert it.whole(0, '{"b":[true,1e999],"a":1.0}', "done") is None
    assert it.whole(0, "", "item") is None
    assert it.done(0, "completed") == ToolCallDelta(0, done=True, status="completed")
    assert it.again(0, '{"a": 1, "b": [true, 1e999]}', "response", None) is None


@looped(
    "kind, came, again",
    [
        ("json", '{"a": 1}', '{"a": 2}'),
        ("json", '{"a": 1}', '{"a": true}'),
        ("json", '{"a": 1}', '{"a": "1"}'),
        ("json", '{"a": 1', '{"a":1}'),
        ("json", '{"a": 1}', '{"a": 1}{"b": 2}'),
        ("json", '{"a": [1, 2]}', '{"a": [2, 1]}'),
        ("json", '{"a": 1}', "[]"),
        ("object", '{"a": 1}', '{"a": []}'),
        ("text", "{}", "{ }"),
    ],
)
def test_arguments_that_come_again_and_differ_are_told_when_the_call_is_done(kind: Any, came: str, again: str):
    it = comparing(kind, arguments=came)
    assert it.whole(0, again, "item") is None
    texts = {"deltas": came, "item": again}
    assert it.done(0) == ToolCallDelta(0, kind=kind, done=True, contradiction=texts)


@pytest.mark.parametrize(
    ("kind", "came", "whole"),
    [("json", '{"a": "1', '{"a": "12"}'), ("object", "{", "{}}"), ("text", "{}", "{} and on")],
)
def test_the_rest_of_a_whole_is_given_out_whose_beginning_came(kind: Any, came: str, whole: str):
    it = comparing(kind, arguments=came)
    assert it.whole(0, whole, "item") == ToolCallDelta(0, arguments_delta=whole.removeprefix(came), kind=kind)
    assert it.whole(0, whole, "response") is None
    told = it.done(0, "completed")
    assert told == ToolCallDelta(0, kind=kind, done=True, status="completed")


@pytest.mark.parametrize("placeholder", ["{}", " { }\n", "null"])
def test_an_empty_object_behind_arguments_is_only_a_placeholder(placeholder: str):
    it = comparing(arguments='{"a": 1}')
    assert it.whole(0, placeholder, "item") is None
    assert it.done(0) == ToolCallDelta(0, done=True)
    assert it.again(0, placeholder, "response", None) is None


def test_an_empty_object_before_arguments_is_only_a_placeholder():
    it = comparing()
    assert it.whole(0, "{}", "done") is None
    assert it.whole(0, '{"a": 1}', "item") == ToolCallDelta(0, arguments_delta='{"a": 1}')
    assert it.done(0) == ToolCallDelta(0, done=True)


def test_an_empty_object_alone_is_the_arguments():
    it = comparing()
    assert it.whole(0, "{}", "done") is None
    assert it.whole(0, "{}", "item") == ToolCallDelta(0, arguments_delta="{}")
    assert it.done(0, "completed") == ToolCallDelta(0, done=True, status="completed")


def test_pieces_that_wait_for_a_name_give_way_to_the_whole_that_they_end():
    it = CallTracker(lambda: "t", compares=True)
    assert it.delta(0, arguments='a.txt"}') is None
    assert it.whole(0, '{"path": "a.txt"}', "done") is None
    assert it.delta(0, call_id="a", name="f") == ToolCallDelta(0, "a", "f", '{"path": "a.txt"}')
    assert it.whole(0, '{"path": "a.txt"}', "item") is None
    assert it.done(0) == ToolCallDelta(0, done=True)


def test_pieces_that_wait_for_a_name_and_are_no_end_of_the_whole_contradict_it():
    it = CallTracker(lambda: "t", compares=True)
    it.delta(0, arguments='b.txt"}')
    it.whole(0, '{"path": "a.txt"}', "done")
    it.delta(0, call_id="a", name="f")
    it.whole(0, '{"path": "a.txt"}', "item")
    told = it.done(0)
    assert told is not None
    assert told.contradiction == {"deltas": 'b.txt"}', "item": '{"path": "a.txt"}'}


def test_an_announced_whole_gives_the_rest_of_deltas_that_are_its_beginning():
    it = tracker()
    it.delta(0, call_id="a", name="f", announced={"a": 12})
    it.delta(0, arguments='{"a":1')
    assert it.done(0) == ToolCallDelta(0, arguments_delta="2}", done=True)


def test_a_contradiction_says_where_each_text_stood():
    it = comparing()
    assert it.whole(0, '{"a": 1}', "done") == ToolCallDelta(0, arguments_delta='{"a": 1}')
    it.whole(0, '{"a": 2}', "item")
    assert it.rest() == [ToolCallDelta(0, done=True, contradiction={"done": '{"a": 1}', "item": '{"a": 2}'})]
    assert it.rest() == []


def test_what_differs_after_the_call_was_done_is_told_once():
    it = comparing(arguments="{}")
    it.done(0)
    assert it.again(0, "[]", "response", None) == ToolCallDelta(0, done=True, contradiction={"response": "[]"})
    assert it.again(0, "[]", "response", None) is None
    assert it.again(9, "[]", "response", None) is None


def test_what_comes_again_is_all_of_arguments_of_which_nothing_had_come():
    kinds: tuple[tuple[ArgumentsKind, str, str], ...] = (("json", "{}", '{"a": 1}'), ("text", "", "a"))
    for kind, same, other in kinds:
        it = comparing(kind)
        it.done(0, "completed")
        assert it.again(0, same, "response", None) is None
        told = it.again(0, other, "response", None)
        assert it.pending_deltas() == [ToolCallDelta(0, arguments_delta=other, kind=kind)]
        assert told == (ToolCallDelta(0, done=True) if kind == "json" else None)
        assert [each.contradiction for each in it.rest()] == [None] * (kind == "text")


def test_a_call_that_nothing_was_kept_of_is_not_compared():
    it = tracker()
    it.delta(0, call_id="a", name="f", arguments="{}")
    it.whole(0, "[]")
    assert it.done(0) == ToolCallDelta(0, done=True)
    assert it.again(0, "[]", "response", None) is None


def test_the_end_of_a_call_that_proves_nothing_waits_for_what_does():
    it = comparing("text", arguments="x")
    for key, name in enumerate("ghij", 1):
        it.delta(key, call_id=name, name=name)
    it.delta(5, call_id="k", name="k", arguments="{}")
    assert [it.done(key) for key in range(5)] == [None] * 5
    assert it.done(5) == ToolCallDelta(5, done=True)
    assert it.again(0, "x", "response", "incomplete") == ToolCallDelta(0, kind="text", done=True, status="incomplete")
    assert it.again(5, "{}", "response", "completed") is None
    assert it.delta(1, arguments="y") == ToolCallDelta(1, arguments_delta="y")
    assert it.ended.followed() == []
    assert it.rest() == [ToolCallDelta(index, done=True, status="completed") for index in (2, 3, 4)]
    assert it.rest() == []


def test_free_form_input_that_had_ended_and_goes_on_is_a_contradiction():
    it = comparing("text", arguments="x")
    assert it.done(0) is None
    assert it.delta(0, arguments="y") == ToolCallDelta(0, kind="text", done=True, contradiction={"late": "y"})


def test_what_waits_at_the_end_of_the_answer_is_done_without_a_status():
    it = tracker()
    it.delta(0, call_id="a", name="f")
    assert it.done(0) is None
    assert it.rest() == [ToolCallDelta(0, done=True)]
    assert it.ended.followed() == it.concluded(is_regular=True) == []


@pytest.mark.parametrize(("is_regular", "status"), [(True, "completed"), (False, "incomplete")])
def test_another_end_of_the_answer_concludes_what_cannot_show_that_it_is_whole(is_regular: bool, status: Any):
    it = tracker()
    it.delta(9, call_id="before", name="f")
    assert it.rest() == []
    calls: tuple[tuple[Any, str], ...] = (("json", ""), ("json", "{}"), ("text", "x"), ("json", ""))
    for key, (kind, text) in enumerate(calls):
        it.delta(key, call_id=f"id{key}", name="f", kind=kind, arguments=text)
    it.done(3)
    assert it.concluded(is_regular=is_regular) == [
        ToolCallDelta(4, done=True, status=status),
        ToolCallDelta(1, status=status),
        ToolCallDelta(3, kind="text", status=status),
    ]


def test_arguments_that_were_announced_count_where_no_others_come():
    it = tracker()
    for key in range(4):
        it.delta(key, call_id=f"id{key}", name="f", announced={"a": 1})
    it.delta(1, arguments='{"a": 1}')
    it.delta(2, arguments="{}")
    assert it.done(0) == ToolCallDelta(0, arguments_delta='{"a":1}', done=True)
    assert it.done(1) == ToolCallDelta(1, done=True)
    assert it.done(2) == ToolCallDelta(2, done=True, contradiction={"deltas": "{}", "start": '{"a":1}'})
    it.delta(3, call_id="other", name="f", announced={"a": 2})
    assert it.pending_deltas() == [ToolCallDelta(3, arguments_delta='{"a":1}')]
    assert it.rest() == [ToolCallDelta(4, arguments_delta='{"a":2}')]


def test_halves_of_characters_that_come_apart_are_compared_whole():
    for kind, around in (("text", ("a", "b")), ("json", ('{"a": "', '"}'))):
        it = comparing(kind)
        it.delta(0, arguments=f"{around[0]}\ud83d")
        it.delta(0, arguments=f"\ude00{around[1]}")
        assert it.whole(0, f"{around[0]}😀{around[1]}", "item") is None
        told = it.done(0, "completed")
        assert told is not None
        assert told.contradiction is None


def test_blanks_are_no_arguments_that_others_could_contradict():
    it = comparing(arguments=" ")
    assert it.whole(0, '{"a": 1}', "done") == ToolCallDelta(0, arguments_delta='{"a": 1}')
    assert it.done(0) == ToolCallDelta(0, done=True)


def test_blanks_that_come_again_are_no_more_arguments():
    it = comparing(arguments=" ")
    assert it.whole(0, " ", "done") is None
    assert it.done(0) is None
    assert it.rest() == [ToolCallDelta(0, done=True)]


def test_of_a_call_over_the_limit_nothing_is_kept():
    it = CallTracker(lambda: "t", limits=Limits(arguments_length=10), compares=True)
    it.delta(0, call_id="a", name="f")
    for _ in range(5):
        it.delta(0, arguments="12345")
    ((_, call),) = it.dump()["_open"]["$dict"]
    assert call["$part"]["kept"] == [""]


def test_a_contradiction_is_told_before_the_next_call_begins():
    it = comparing(arguments="{}")
    it.whole(0, "[]", "done")
    it.delta(1, call_id="b", name="g")
    assert it.pending_deltas() == [ToolCallDelta(0, done=True, contradiction={"deltas": "{}", "done": "[]"})]


def test_kind_and_executor_stay_with_a_call():
    it = tracker()
    first = it.delta(0, call_id="a", name="f", kind="text", executed_by="provider", native={"type": "custom"})
    assert first == ToolCallDelta(0, "a", "f", kind="text", executed_by="provider", native={"type": "custom"})
    assert it.delta(0, arguments="x") == ToolCallDelta(0, arguments_delta="x", kind="text", executed_by="provider")


def test_how_many_calls_may_be_open_is_for_those_to_say_who_see_them_end():
    wire = [d(key, f"{key}", f"id{key}", "f") for key in range(5)] + [d(1, "!"), d(4, "?")]
    calls = fed(wire, tracker(limits=Limits(open_calls=3)))
    assert [call.arguments for call in calls] == ["0", "1!", "2", "3", "4?"]


def test_many_calls_one_after_the_other_are_not_open_at_the_same_time():
    wire = [d(0, "{}", f"id{number}", "f") for number in range(20)]
    assert len(fed(wire, tracker(limits=Limits(open_calls=1)))) == 20


def test_what_waits_for_a_name_is_limited():
    it = tracker(limits=Limits(arguments_length=10))
    assert [it.delta(0, arguments="12345678") for _ in range(2)] == [None] * 2
    assert it.pending_deltas() == [ToolCallDelta(0, arguments_delta="1234567812345678")]
    assert it.delta(0, arguments="9") == ToolCallDelta(0, arguments_delta="9")


wire_deltas = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from((None, -1, 0, 1, 2, "k")),
            "call_id": st.sampled_from((None, "", "a", "b", "null", 5)),
            "name": st.sampled_from((None, "", "f", "g")),
            "arguments": st.one_of(
                st.none(), st.sampled_from(("", "{", "é", "\ud83d", "\ude00")), st.just({"a": "\ud83d"})
            ),
        },
    ),
    max_size=24,
)


@settings(max_examples=scaled(300), deadline=None)
@given(wire_deltas)
def test_whatever_the_wire_does_the_grammar_holds_and_no_text_is_lost(wire: Wire):
    calls = fed(wire)
    given_text = sum(len(each["arguments"] or "") for each in wire if isinstance(each["arguments"], str | None))
    whole = [len('{"a":"x"}') for each in wire if isinstance(each["arguments"], dict)]
    given_text += sum(whole)
    begun = [1 if each["arguments"] == "{" else whole[0] for each in wire if str(each["arguments"])[:1] == "{"]
    halves = sum(each["arguments"] in ("\ud83d", "\ude00") for each in wire)
    found = sum(len(call.arguments) for call in calls)
    said_again = sum(begun[1:])  # at most: arguments that come again from their beginning
    assert given_text - halves // 2 - said_again <= found <= given_text


@settings(max_examples=scaled(200), deadline=None)
@given(wire_deltas)
def test_it_goes_on_from_its_dumped_state_after_any_delta(wire: Wire):
    straight, moving = tracker(), tracker()
    for each in wire:
        assert moving.delta(**each) == straight.delta(**each)
        state = msgspec.json.decode(msgspec.json.encode(moving.dump()))
        moving = tracker()
        moving.load(state)
    assert moving.rest() == straight.rest()
    assert moving.pending_deltas() == straight.pending_deltas()


def test_a_contradiction_of_a_call_is_told_at_the_end_though_another_call_has_its_key():
    calls = tracker()
    for name, arguments in ((None, {"a": 1}), ("f", None), (None, {"a": 1}), (None, "{"), ("f", None)):
        calls.delta(key=None, call_id=None, name=name, arguments=arguments)
    (first,) = calls.rest()
    assert (first.index, first.done, first.contradiction) == (0, True, {"again": "{"})


MUTANTS = {
    "nothing that comes later seals what is done": ("waits", ("sources/base/call_keys.py", 'found.append(self._tell(call, status="completed"))', "pass")),
    "a call without a name is lost": ("name", ("sources/base/call_tracker.py", "        deltas, self._pending_deltas = self._pending_deltas, EMPTY\n        return deltas\n", "        return []\n")),
}  # fmt: skip
