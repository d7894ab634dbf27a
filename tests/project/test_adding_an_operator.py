"""Who adds an operator as the page says touches four files; everything else finds it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checkout_copy import CheckoutCopy, code_blocks

pytestmark = pytest.mark.tooling
PAGE = "new-operator.md"
NAME = "single_spaces"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> CheckoutCopy:
    """Return a copy of the checkout with the operator of the page, put where the page says."""
    copy = CheckoutCopy(tmp_path_factory.mktemp("operator"))
    (operator,) = code_blocks(PAGE, "python")
    (test,) = code_blocks(PAGE, "py")
    copy.write(
        f"operators/{NAME}.py", operator.partition("\n\nprint(")[0].replace("penstock.operators.engine", ".engine")
    )
    copy.put_before("operators/__init__.py", "    from .split_reasoning ", f"    from .{NAME} import {NAME}\n")
    copy.put_before("operators/__init__.py", '    "split_reasoning",', f'    "{NAME}",\n')
    copy.write(f"tests/operators/test_{NAME}.py", test)
    copy.put_before("CHANGELOG.md", "- `split_reasoning`", f"- `{NAME}`: one space where there were several.\n")
    return copy


@pytest.fixture(scope="module")
def asked(checkout: CheckoutCopy) -> str:
    """Return what is said by the tests that ask the operator, or something of the whole project."""
    return checkout.pytest(
        *(f"tests/operators/test_{NAME}.py", "tests/contract/test_operator_contract.py"),
        "tests/operators/test_docstring_marbles.py",
        *("tests/project/test_docs.py", "tests/project/test_imports.py", "tests/project/test_docstrings.py"),
        *(
            "-k",
            f"public or tells or navigation or {NAME} or circle or test_operator_contract or marble_diagram_shows",
            "-rA",
        ),
    )


def test_it_is_asked_every_question_of_the_contract_and_its_own_and_the_projects_tests_are_content(asked: str):
    rows = set(re.findall(rf"^ROW (\w+)\[.*{NAME}", asked, re.MULTILINE))
    questions = rows - {"test_an_operator_does_what_its_marble_diagram_shows"}
    others = (Path(__file__).parents[1] / "contract/test_operator_contract.py").read_text(encoding="utf-8")
    assert questions == set(re.findall(r"^@by_(?:case|input)\ndef (\w+)", others, re.MULTILINE))
    assert "test_spaces_are_counted_across_items" in asked
    assert re.search(rf"test_an_operator_does_what_its_marble_diagram_shows\[.*{NAME}", asked)
    passed = re.findall(r"^PASSED tests/project/(\w+)\.py::", asked, re.MULTILINE)
    assert set(passed) == {"test_docs", "test_imports", "test_docstrings"}


def test_without_its_cases_the_contract_misses_it(checkout: CheckoutCopy):
    test = checkout.root / f"tests/operators/test_{NAME}.py"
    text = test.read_text(encoding="utf-8")
    test.write_text(text.replace("CONTRACT =", "CASES ="), encoding="utf-8")
    with pytest.raises(AssertionError, match=NAME):
        checkout.pytest("tests/contract/test_operator_contract.py", "-k", "every_public_operator")
    test.write_text(text, encoding="utf-8")


def test_the_page_of_operators_has_it(checkout: CheckoutCopy):
    made = checkout.penstock(
        "import runpy\nprint(runpy.run_path('docs/complete_pages.py')['whole_page']('operators.md'))"
    )
    assert f"| [`{NAME}`](#{NAME}) | `Operator[str, str]` | Let one space through where several" in made
    assert f"### {NAME}\n\n```py\ndef {NAME}() -> Operator[str, str]:\n```\n" in made
    its_own = made.partition(f"### {NAME}\n")[2].partition("\n### ")[0]
    assert f"{NAME}(): 2 items, completed" in its_own.partition("<desc")[2].partition("</desc>")[0]


def test_four_files_are_touched(checkout: CheckoutCopy):
    assert checkout.touched() == [
        "CHANGELOG.md",
        "operators/__init__.py",
        f"operators/{NAME}.py",
        f"tests/operators/test_{NAME}.py",
    ]
