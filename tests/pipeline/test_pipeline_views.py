from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from harmless_html import EVIL, assert_harmless

from penstock.operators import Operator, holdback, lift, to_segments
from penstock.operators.engine.stage import Completed, compose
from penstock.pipeline.pipeline_views import flow_picture, thing_name
from penstock.pipeline.strategies import api_tool_call
from penstock.sinks.collect import collect
from penstock.sinks.notebook_view import notebook_view


class Louder:
    def feed(self, item: str) -> list[str]:
        return [item.upper()]

    def close(self, how: object) -> list[str]:
        assert how == Completed()
        return []

    def dump(self) -> None:
        return None

    def load(self, state: object) -> None:
        assert state is None


def test_a_chain_is_its_operators_in_their_order_between_the_source_and_the_loop():
    louder: Operator[Any, Any] = lift(Louder)
    chain = compose(holdback("<a>"), louder, to_segments())
    assert flow_picture(chain)["text/plain"].splitlines() == [
        "Pipeline",
        "    a provider's stream → holdback → Louder → to_segments → your loop",
    ]


def test_tools_and_sinks_are_named():
    picture = flow_picture(api_tool_call(), tools=["write_file", "run_bash"], sinks=[notebook_view(), collect])
    assert picture["text/plain"].splitlines()[1:] == [
        "    a provider's stream → to_segments → stream_fields → to_invocations → your loop + notebook_view + collect",
        "    tools: write_file, run_bash",
    ]
    page = assert_harmless(picture["text/html"])
    for said in ("Pipeline", "write_file, run_bash", "stream_fields", "→", "notebook_view", "collect"):
        assert said in page.text


def test_no_tools_and_none_of_them_are_different_things():
    assert "tools" not in flow_picture(to_segments())["text/plain"]
    assert flow_picture(to_segments(), tools=[])["text/plain"].endswith("tools: none, so nothing is invoked")


def test_many_tools_are_counted():
    text = flow_picture(to_segments(), tools=[f"tool_{number}" for number in range(1000)])["text/plain"]
    assert text.endswith("tool_11, and 988 more")


def test_names_of_others_never_become_part_of_the_page():
    evil: Any = type(EVIL, (Louder,), {})
    html = flow_picture(lift(evil), tools=[EVIL], sinks=[evil()], title=EVIL)["text/html"]
    assert assert_harmless(html).text.count(EVIL) == 4


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (partial(partial(collect)), "collect"),
        (Louder, "Louder"),
        (Louder(), "Louder"),
        (Louder().feed, "feed"),
        (lambda item: item, "<lambda>"),
        (notebook_view(), "notebook_view"),
    ],
)
def test_the_name_is_the_one_that_somebody_wrote(thing: object, name: str):
    assert thing_name(thing) == name
