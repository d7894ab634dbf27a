from __future__ import annotations

from penstock.events import InvocationFailed, ToolResult
from penstock.pipeline.answer import CallsOfMessage
from penstock.sources.base.request import AnswerCall, MessageCall


def call(call_id: str, name: str = "now", failure: InvocationFailed | None = None) -> AnswerCall:
    return AnswerCall(call_id, name, "{}", {}, False, True, True, False, None, failure)


def pairs(in_message: list[MessageCall], calls: list[AnswerCall]) -> list[str]:
    """Return the id of the answer's call that was found for each call of the message, then of those in the text."""
    results = {each.id: ToolResult(each.id, value=each.id) for each in calls}
    found = CallsOfMessage(in_message, calls, results)
    return [str(result.value or result.error) for _, result in (*found.answered, *found.in_text)]


def test_calls_are_found_by_their_ids_in_the_order_of_the_message():
    assert pairs([MessageCall("b", "now"), MessageCall("a", "now")], [call("a"), call("b")]) == ["b", "a"]


def test_a_repeated_id_means_the_next_call_that_has_it():
    in_message = [MessageCall("a", "now"), MessageCall("a", "now"), MessageCall("b", "now")]
    assert pairs(in_message, [call("a"), call("b"), call("a#2")]) == ["a", "a#2", "b"]


def test_without_an_id_it_is_the_next_call_of_that_name():
    in_message = [MessageCall("", "look"), MessageCall("", "now"), MessageCall("", "now")]
    assert pairs(in_message, [call("t:0"), call("t:1", "look"), call("t:2")]) == ["t:1", "t:0", "t:2"]


def test_an_id_that_came_too_late_for_the_answer_is_found_by_the_name_and_takes_no_other_calls_result():
    in_message = [MessageCall("late", "now"), MessageCall("b", "now")]
    assert pairs(in_message, [call("b"), call("t:0")]) == ["t:0", "b"]


def test_a_call_that_only_the_message_has_is_answered_too():
    assert pairs([MessageCall("x", "other")], [call("a")]) == [
        "the call was not run: it is not a call of this answer",
        "a",
    ]


def test_the_details_of_a_failure_are_told():
    errors = ({"loc": ["a", 0], "msg": "too small", "type": "t"}, {"at": 5, "expected": "a value"})
    failure = InvocationFailed("a", name="now", reason="invalid", errors=errors)
    found = CallsOfMessage([MessageCall("a", "now")], [call("a", failure=failure)], {})
    assert found.answered[0].result.error == "the call was not run: invalid (a.0: too small; at 5, expected a value)"
