"""A chunk that has a piece and nothing else is read the short way: what comes out is what the long way gives."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.operators import Completed
from penstock.sources.openai_chat.machine import OpenAIChat

TEXTS = st.sampled_from([None, "", "a", "bc ", "ü", "\ud83d", "\ude00", "a\ud83d"])
CALLS = st.lists(
    st.fixed_dictionaries(
        {"index": st.sampled_from([0, 1, 1.0, None, "x"])},
        optional={
            "id": st.sampled_from([None, "", "call_1", "call_2"]),
            "type": st.sampled_from(["function", None]),
            "function": st.fixed_dictionaries(
                {},
                optional={
                    "name": st.sampled_from([None, "", "f"]),
                    "arguments": st.sampled_from([None, "", '{"a"', ": 1}", "\ud83d", {"b": 2}]),
                },
            ),
            "new": st.sampled_from([None, 1]),
        },
    ),
    max_size=2,
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": TEXTS,
        "role": st.just("assistant"),
        "tool_calls": st.none() | CALLS,
        "refusal": TEXTS,
        "reasoning": st.sampled_from([None, "hm"]),
    },
)
CHUNKS = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries(
                {"delta": st.none() | DELTAS},
                optional={
                    "index": st.sampled_from([0, 1, None]),
                    "finish_reason": st.sampled_from([None, "", "stop"]),
                    "logprobs": st.none(),
                },
            ),
            max_size=2,
        )
    },
    optional={
        "id": st.sampled_from([None, "r"]),
        "model": st.sampled_from([None, "m", "n"]),
        "usage": st.sampled_from([None, {"prompt_tokens": 1}]),
        "object": st.sampled_from(["chat.completion.chunk", "error"]),
        "new": st.sampled_from([None, {}, 1]),
    },
)


class LongWay(OpenAIChat):
    def lane(self, data: str, chunk: Any = None, /) -> None:
        return None


@given(st.lists(CHUNKS, max_size=6), st.sampled_from([0, 1, "all"]))
def test_the_short_way_gives_what_the_long_way_gives(chunks: list[Any], choices: Any):
    short, long = (machine(turn_id="t", choices=choices) for machine in (OpenAIChat, LongWay))
    for chunk in chunks:
        assert short.feed(chunk) == long.feed(chunk)
        assert short.dump() == long.dump()
    assert short.close(Completed()) == long.close(Completed())
