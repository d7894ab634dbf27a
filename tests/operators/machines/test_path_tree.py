from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.events.errors import UsageError
from penstock.operators.machines.json_values import following, path_tree, read_path, write_path

STEPS = st.one_of(st.text(alphabet='ab.*[]"\\\n/é ', max_size=4), st.integers(0, 10**9 - 1), st.just(...))


@given(st.lists(STEPS, min_size=1, max_size=5).map(tuple))
def test_a_written_path_is_read_as_the_same_path(path):
    assert read_path(write_path(path)) == path


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("content", ("content",)),
        ("a.b", ("a", "b")),
        ('["a.b"]', ("a.b",)),
        ("edits[*].new_text", ("edits", ..., "new_text")),
        ("files.*.text", ("files", ..., "text")),
        ("matrix[0][12]", ("matrix", 0, 12)),
        ("snake_case-kebab with space", ("snake_case-kebab with space",)),
    ],
)
def test_keys_have_dots_and_elements_brackets(written, path):
    assert read_path(written) == path


@looped(
    "written",
    ["", ".", ".a", "a.", "a..b", "a[", "a[]", "a[-1]", "a[01]", "a[b]", "a]b", 'a"b', "a*b", "a.[0]", '["\\x"]'],
)
def test_what_is_not_a_path_is_refused(written):
    with pytest.raises(UsageError, match="is not a path"):
        read_path(written)


def test_a_tree_is_followed_by_each_key_and_by_any():
    root = path_tree([("a", ..., "x"), ("a", 0, "y")])
    (node,) = following((root,), "a")
    assert [sorted(each.following) for each in following((node,), 0)] == [["y"], ["x"]]
    assert following((root,), "b") == ()
    assert following(following((node,), 1), "x")[0].chosen
