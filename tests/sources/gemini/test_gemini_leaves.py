from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.gemini.message import ArgumentLeaf, leaf_of, with_leaves

KEYS = st.text("ab.' ", min_size=1, max_size=3)
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    max_leaves=8,
)


def leaves_of(value: Any, path: str = "$") -> list[ArgumentLeaf]:
    if isinstance(value, dict):
        return [each for key, inner in value.items() for each in leaves_of(inner, f"{path}[{json.dumps(key)}]")]
    if isinstance(value, list):
        return [each for index, inner in enumerate(value) for each in leaves_of(inner, f"{path}[{index}]")]
    if isinstance(value, str):
        return [ArgumentLeaf(path, value[:1]), ArgumentLeaf(path, value[1:])]
    return [ArgumentLeaf(path, value=value)]


@given(st.dictionaries(KEYS, VALUES))
def test_arguments_are_put_together_from_their_leaves(arguments: dict[str, Any]):
    assert with_leaves(None, leaves_of(arguments)) == arguments


def test_leaves_add_to_whole_arguments_and_unreadable_paths_are_left_out():
    leaves = [
        ArgumentLeaf("$.b", "x"),
        ArgumentLeaf("$", value=1),
        ArgumentLeaf("?", value=2),
        ArgumentLeaf("$[0]", value=3),
        ArgumentLeaf("$.a.c", value=4),
    ]
    assert with_leaves({"a": 1}, leaves) == {"a": 1, "b": "x"}


def test_an_index_that_leaves_a_gap_is_the_next_one():
    assert with_leaves(None, [ArgumentLeaf("$.a[0]", value=1), ArgumentLeaf("$.a[999999999]", value=2)]) == {
        "a": [1, 2]
    }


def test_a_leaf_without_a_value_only_ends_a_text():
    assert leaf_of({"jsonPath": "$.a", "willContinue": False}) is None
    assert leaf_of({"jsonPath": "$.a", "nullValue": "NULL_VALUE"}) == ArgumentLeaf("$.a")
    assert leaf_of({"jsonPath": "$.a", "numberValue": 2.0}) == ArgumentLeaf("$.a", value=2)
    assert leaf_of(None) is None
