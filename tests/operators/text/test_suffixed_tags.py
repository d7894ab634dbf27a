"""The tags of a checkpoint have a suffix of its own: the first one that comes says it, whatever it is."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from answered import answered
from looped import looped
from strategies.text_flows import Flow
from text_laws import check

from penstock.events.tool_invocation import InvocationFailed, ToolInvocation
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed, stage
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations

SUFFIXES = ("opensource", "6124c78e", "0", "v2.1-rc", "密", "x" * 64)
CALL = (
    "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>x < y</arg_value>\n"
    "</tool_call>\n</tool_calls>"
)


def suffixed(text: str, suffix: str) -> str:
    """Return a text with a suffix in each of its tags."""
    return (
        text.replace("_calls>", f"_calls:{suffix}>")
        .replace("_call>", f"_call:{suffix}>")
        .replace("_sep>", f"_sep:{suffix}>")
        .replace("_key>", f"_key:{suffix}>")
        .replace("_value>", f"_value:{suffix}>")
        .replace("think>", f"think:{suffix}>")
    )


def outcome(text: str, dialect: str = "hunyuan_v3", **options: Any) -> tuple[str, str, list[Any]]:
    events = answered(list(text), parse_text(dialect, turn_id="t", **options), to_invocations(keep_segments=True))
    said = {"text": "", "reasoning": ""}
    for event in events:
        if getattr(event, "segment_type", "") in said:
            said[event.segment_type] += getattr(event, "delta", "")
    calls = [(each.name, each.arguments) for each in events if isinstance(each, ToolInvocation)]
    assert not any(isinstance(each, InvocationFailed) for each in events)
    return said["text"], said["reasoning"], calls


@looped("suffix", SUFFIXES)
@looped("dialect", ["hunyuan_v3", "auto"])
def test_any_suffix_is_read_as_none_is(suffix: str, dialect: str):
    for text in (f"<think>Plan.</think>Hi. {CALL}", f"{CALL}", f"<think>Plan.</think>{CALL} Then {CALL}"):
        assert outcome(suffixed(text, suffix), dialect) == outcome(text, dialect), text


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_closer_alone_says_the_suffix_too(suffix: str):
    text = suffixed(f"Plan.</think>Hi. {CALL}", suffix)
    assert outcome(text, starts_in_reasoning=True) == ("Hi. ", "Plan.", [("f", {"a": "x < y"})])


@pytest.mark.parametrize(
    "text",
    ["<think: about it", "<think:", "<tool_calls:a b>", "<tool_calls:>", f"<tool_calls:{'x' * 65}>", "<think:a<b>"],
)
def test_what_is_no_suffix_is_text(text: str):
    assert outcome(text) == (text, "", [])


@pytest.mark.parametrize(("text", "is_held"), [("<think: ", False), ("<think:a", True), ("<think:a b", False)])
def test_only_what_may_still_be_a_suffix_waits(text: str, is_held: bool):
    given = stage(parse_text("hunyuan_v3")).feed(text)
    assert "".join(getattr(each, "delta", "") for each in given).strip() == ("" if is_held else text.strip())


def test_a_tag_with_another_suffix_is_no_tag():
    text = f"{suffixed(CALL, 'a')} {suffixed(CALL, 'b')}"
    said, _, calls = outcome(text)
    assert (said.strip(), len(calls)) == (suffixed(CALL, "b"), 1)


def test_the_laws_hold_for_suffixed_tags():
    random = Random(32)
    texts = [f"<think>Plan.</think>Hi {CALL}.", f"{CALL}", f"a <think: b {CALL}", "Plan.</think>Hi", f"<think>{CALL}"]
    for text in texts:
        for suffix in SUFFIXES:
            for cut in range(0, len(text), 29):
                written = suffixed(text, suffix)[: len(suffixed(text, suffix)) - cut]
                options: dict[str, Any] = {"starts_in_reasoning": random.random() < 0.3}
                if random.random() < 0.2:
                    options["limits"] = Limits(deferred_length=40)
                check(["hunyuan_v3"], Flow((written,), Completed(), is_text=True), options, random)
