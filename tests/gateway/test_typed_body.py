from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from penstock.gateway.typed_body import ToolNames


@given(
    st.lists(
        st.tuples(st.none() | st.sampled_from(["a", "a_", "a.b"]), st.text("a_.b", max_size=3) | st.text(max_size=80))
    )
)
def test_each_tool_has_a_name_of_its_own_that_every_server_takes(tools: list[tuple[str | None, str]]) -> None:
    names = ToolNames()
    flat = [names.flat(name, namespace) for namespace, name in tools]
    assert len({*flat}) == len({*tools})
    assert [names.flat(name, namespace) for namespace, name in tools] == flat
    assert [each for each in flat if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", each)] == []
    back = [names.changed.get(each, (None, each)) for each in flat]
    assert back == tools


def test_several_names_that_would_be_one_are_counted() -> None:
    names = ToolNames()
    assert [names.flat(name) for name in ("a_b_2", "a.b", "a b", "a:b")] == ["a_b_2", "a_b", "a_b_3", "a_b_4"]
    long = [names.flat("x" * 64), names.flat("x", "x" * 61), names.flat("." + "x" * 63), names.flat(":" + "x" * 63)]
    assert long[2:] == ["_" + "x" * 63, "_" + "x" * 61 + "_2"]
    assert len({*long}) == 4
