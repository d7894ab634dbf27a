"""Who adds a dialect as the page says touches three files; everything else finds it."""

from __future__ import annotations

import json
import re

import pytest
from checkout_copy import CheckoutCopy, code_blocks

pytestmark = pytest.mark.tooling
PAGE = "new-dialect.md"
TABLE = "operators/catalogue/dialect_for.py"
FILES = ["CHANGELOG.md", TABLE, "operators/dialects/otter.py"]

CALL = """
from penstock.operators import dialect_for, drive, parse_text, render_call, to_invocations
from penstock.operators.catalogue import AUTO, DIALECTS
import json

otter = DIALECTS["otter"]
schema = {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
text = render_call(otter, "weather", {"city": "Oslo", "days": 2}, schema=schema)
read = {
    name: [(call.name, call.arguments) for call in [*drive(list(text), parse_text(name, tools={"weather": schema}), to_invocations())][:-1]]
    for name in ("otter", "auto")
}
models = {name: list(dialect_for(name).names) for name in ("acme/Otter-2-7B", "otter-2-thinking", "otter", "otter_v2")}
print(json.dumps([text, read, models, dialect_for("otter-2-thinking").starts_in_reasoning, AUTO[-1]]))
"""
STRATEGIES = """
from penstock.studio.cli.cli import code_of, loaded

for asked in {}:
    sys.argv = ["penstock", "strategies", *asked]
    assert code_of(loaded()) == 0
    print("----")
"""
PAGE_MADE = """
import runpy
print(runpy.run_path('docs/complete_pages.py')['whole_page']('dialect-catalogue.md'))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> CheckoutCopy:
    """Return a copy of the checkout with the dialect of the page, put where the page says."""
    copy = CheckoutCopy(tmp_path_factory.mktemp("dialect"))
    (dialect,) = code_blocks(PAGE, "py")
    copy.write("operators/dialects/otter.py", dialect)
    copy.put_before(TABLE, "from ..dialects.pythonic ", "from ..dialects.otter import OTTER\n")
    copy.put_before(TABLE, "    # without a marker that nothing else has", "    OTTER,\n")
    copy.put_before(TABLE, "]\n# fmt: on\n", '    "otter",\n')
    copy.put_before("CHANGELOG.md", "- `split_reasoning`", "- The dialect `otter`.\n")
    return copy


def test_it_is_written_read_and_known_by_its_models(checkout: CheckoutCopy):
    text, read, models, thinks, last = json.loads(checkout.penstock(CALL))
    assert text == "<|call|>weather<|arg|>city<|is|>Oslo<|arg|>days<|is|>2<|done|>"
    assert read == {name: [["weather", {"city": "Oslo", "days": 2}]] for name in ("otter", "auto")}
    assert set(map(tuple, models.values())) == {("otter",)}
    assert thinks
    assert last == "otter"


def test_where_it_says_why_auto_does_not_read_it(checkout: CheckoutCopy):
    file = checkout.root / FILES[2]
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("    answer=", '    not_in_auto="harmony",\n    answer='), encoding="utf-8")
    call = CALL.replace('("otter", "auto")', '("otter",)')
    said, _, shown = checkout.penstock(call + STRATEGIES.format([["otter"]])).partition("\n")
    *_, last = json.loads(said)
    file.write_text(text, encoding="utf-8")
    assert last == "tool_code"
    assert "- not in `auto`: `harmony` reads it" in shown


def test_the_catalogue_has_it_on_its_page_and_in_the_terminal(checkout: CheckoutCopy):
    asked = [["otter"], ["--find", "key and a value between"]]
    page = checkout.penstock(PAGE_MADE)
    shown, found, _ = checkout.penstock(STRATEGIES.format(asked)).split("----\n")
    row = "| [`otter`](#otter) | Otter: each argument is a key and a value between markers. | the chat template of acme"
    assert row in page
    entry = page.partition("## otter\n\n")[2].partition("\n## ")[0].strip()
    assert "- models: `otter-2`, `otter-2*thinking`" in entry
    assert "- in `auto`" in entry
    assert entry in shown
    assert "otter" in found


def test_the_tests_of_dialects_ask_it_and_are_content(checkout: CheckoutCopy):
    asked = checkout.pytest(
        *("tests/operators/dialects/test_dialects.py", "tests/operators/catalogue", "tests/project/test_imports.py"),
        *(
            "tests/laws/test_render_parse.py",
            "-k",
            "otter or every_dialect or each_dialect or tables_name or reads_as or alone or some_name or parsers or its_call",
            "-rA",
        ),
    )
    for question in (
        "test_the_answer_that_a_dialect_shows_gives_its_call[otter]",
        "test_every_dialect_has_an_entry_whose_call_it_reads",
        "test_a_call_is_the_same_as_for_its_dialect_alone[otter]",
        "test_each_pattern_is_the_one_that_counts_for_some_name[otter-2*thinking]",
        "test_what_servers_call_their_parsers_is_understood[otter_v2",
    ):
        name, _, row = question.partition("[")
        of_row = rf"\[.*{re.escape(row.rstrip(']'))}.*\]" if row else ""
        assert re.search(rf"^(?:ROW |PASSED .*::){name}{of_row}", asked, re.MULTILINE), question


def test_three_files_are_touched(checkout: CheckoutCopy):
    assert checkout.touched() == FILES
