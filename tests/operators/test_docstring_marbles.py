"""Each operator's docstring has a marble diagram, and the operator does what it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from looped import looped
from public_operators import OPERATORS

from penstock.operators import Operator, json_fragments, lift
from penstock.studio.marble_diagrams.docstring_marble import differences, docstring_marble, run_docstring


def test_all_operators_are_found():
    assert {"holdback", "interrupt_on", "lift", "compose", "to_segments", "within"} <= {
        each.__name__ for each in OPERATORS
    }
    assert len(OPERATORS) >= 19


@looped("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_an_operator_does_what_its_marble_diagram_shows(operator: Callable[..., Any]):
    calls = [name for name in docstring_marble(operator).rows if not name.isidentifier()]
    assert calls[-1].startswith(f"{operator.__name__}(")
    assert differences(operator) == []


@looped("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_every_letter_of_a_diagram_is_told_and_used(operator: Callable[..., Any]):
    marble = docstring_marble(operator)
    signs = {sign for row in marble.rows.values() for sign in row.translate(str.maketrans("-,()#|", "      ")).split()}
    assert set(marble.where) <= signs
    assert {sign for sign in signs if len(sign) == 1 and not sign.isdecimal()} - set(marble.where) <= {"a", "b", "c"}


def shown(diagram: str, operator: Callable[..., Any] = json_fragments) -> Callable[..., Any]:
    """Return an operator with another diagram in its docstring."""

    def other() -> Operator[Any, Any]:
        operated: Operator[Any, Any] = operator()
        return operated

    other.__doc__ = "Do.\n\n" + diagram.strip("\n") + "\n\n    More.\n"
    return other


RIGHT = """
        source              --a<--to--ol>b--------|
        holdback("<tool>")  --a-------(<tool>,b)--|"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("--a-------(<tool>,b)--|", "---a------(<tool>,b)--|", "expected 'a' at 3, got 'a' at 2"),
        ("(<tool>,b)--|", "(<tool>,c)--|", "expected 'c' at 10, got 'b' at 10"),
        ("(<tool>,b)--|", "<tool>-----|", "expected the completion at 21, got 'b' at 10"),
        ("(<tool>,b)--|", "(<tool>,b)--#", "expected an error at 22, got Completed() at 22"),
        ("(<tool>,b)--|", "(<tool>,b)---", "expected nothing, got Completed() at 22"),
    ],
)
def test_a_diagram_that_is_wrong_is_found(right: str, wrong: str, told: str):
    assert differences(shown(RIGHT)) == []
    (found,) = differences(shown(RIGHT.replace(right, wrong)))
    assert found == f'holdback("<tool>"): {told}'


@pytest.mark.parametrize(
    ("pattern", "is_right"),
    [
        ('Fragment(("a",), "SCALAR", 1)', True),
        ('Fragment(path=("a",))', True),
        ('Fragment(("b",), "SCALAR", 1)', False),
        ('JsonError(reason="malformed")', False),
    ],
)
def test_a_letter_of_an_output_is_a_pattern(pattern: str, is_right: bool):
    diagram = f"""
        source                    --a-----b--|
        extract_json_fields("a")  --(x,d)----|
        where a = '{{"a": 1, '
              b = '"b": 2}}'
              x = {pattern}
              d = Fragment(("a",), kind="DONE")"""
    assert (differences(shown(diagram)) == []) is is_right


def test_an_error_of_the_input_is_shown():
    diagram = """
        source               --a<--#
        holdback("<tool>")   --a---(<,#)"""
    assert differences(shown(diagram)) == []


def test_what_stands_in_a_row_that_was_not_shown_is_told():
    (row,) = list(run_docstring(shown(RIGHT)).values())[1:]
    assert row.items == ((2.0, "a"), (10.0, "<tool>"), (10.0, "b"))


def test_classes_of_the_examples_may_stand_in_a_diagram():
    assert "class Doubled" in (lift.__doc__ or "")
    assert differences(lift) == []


def test_a_docstring_without_a_diagram_says_what_to_write():
    with pytest.raises(Exception, match="the docstring of other has no marble diagram; write one as an indented"):
        docstring_marble(shown("        >>> 1\n        1"))
