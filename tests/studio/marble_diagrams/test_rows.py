"""Marble strings are read as reactivex reads them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex.observable.marbles import parse

from penstock.events.errors import UsageError
from penstock.operators import Completed, Failed
from penstock.studio.marble_diagrams.marble_string import messages_of, read_lines, read_row


def test_a_row_has_items_with_their_frames_and_its_end():
    gone = ValueError("gone")
    assert read_row("-a-(b,2)--#", {"b": None}, gone).items == ((1.0, "a"), (3.0, None), (3.0, 2))
    assert read_row("-a-(b,2)--#", error=gone).ended == (10.0, Failed(gone))
    assert read_row(" - a | ").ended == (2.0, Completed())
    assert read_row("-^-a").items == ((1.0, "^"), (3.0, "a"))
    assert read_row("-a--").ended is None


@given(st.text(st.sampled_from("-ab1(),|#^ "), max_size=10))
def test_what_is_read_is_what_reactivex_reads(text: str):
    try:
        expected = [(time, str(each)) for time, each in parse(text, raise_stopped=True)]
    except ValueError:
        with pytest.raises(UsageError):
            messages_of(text)
        return
    if set("()") & set(re.sub(r"\([^()]*\)", "", text)):
        with pytest.raises(UsageError, match="the brackets"):
            messages_of(text)
        return
    assert [(time, str(each)) for time, each in messages_of(text)] == expected


@pytest.mark.parametrize("text", ["-(a,b", "-a)-", "-((a))", ")("])
def test_brackets_that_do_not_match_are_refused(text: str):
    with pytest.raises(UsageError, match="do not match; a group is written as"):
        read_row(text)


@pytest.mark.parametrize("text", ["-a,b-", "-|a", "#--|"])
def test_what_reactivex_refuses_is_refused(text: str):
    with pytest.raises(UsageError, match=r"is not a marble string: .*[^.]$"):
        read_row(text)


def test_lines_have_names():
    assert read_lines("\n  a b   -a-|\n\n  c  --\n") == {"a b": "-a-|", "c": "--"}
    with pytest.raises(UsageError, match="the line 'a' is not a name, two blanks or more"):
        read_lines("a")
