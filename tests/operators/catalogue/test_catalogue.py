"""The catalogue has every dialect, says the truth, and its folder can be read as one."""

from __future__ import annotations

import re
import runpy
import statistics
from collections import Counter
from functools import cache
from pathlib import Path

from answered import answered
from looped import looped

from penstock.operators.catalogue import DIALECTS
from penstock.operators.catalogue.catalogue import about_dialect, catalogue_entry
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations
from penstock.operators.writing.dialect_instructions import dialect_instructions
from penstock.operators.writing.render_call import render_call

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "operators/dialects"
entry_of = cache(catalogue_entry)


def test_the_page_has_an_entry_for_every_dialect():
    made = runpy.run_path(str(ROOT / "docs/complete_pages.py"))["whole_page"]("dialect-catalogue.md")
    assert made.startswith(text_of(ROOT / "docs/dialect-catalogue.md"))
    assert re.findall(r"^## (\w+)$", made, re.MULTILINE) == list(DIALECTS)
    for name in DIALECTS:
        assert f"| [`{name}`](#{name}) | " in made
        assert f"## {name}\n\n{entry_of(name)}\n" in made


def test_of_every_dialect_it_is_told_how_it_is_known():
    assert [name for name, each in DIALECTS.items() if not (each.proven_by or each.written_from)] == []


@looped("name", sorted(DIALECTS))
def test_every_dialect_has_an_entry_whose_call_it_reads(name: str):
    entry = entry_of(name)
    assert entry.startswith(about_dialect(name))
    if "A call:" not in entry:
        assert DIALECTS[name].grammar == ()
        return
    block = entry.partition("A call:\n\n")[2].partition("\n\n- ")[0]
    lines = block.splitlines()
    call = "\n".join(line[4:] for line in lines) if block.startswith("    ") else "\n".join(lines[1:-1])
    (found,) = answered([call], parse_text(name), to_invocations())
    example = DIALECTS[name].example
    assert (found.name == example[0]) if example else (found.name in ("weather", "shell", "search_replace"))
    assert found.arguments


def files_of_dialects() -> dict[str, Path]:
    """Return the file that each dialect stands in."""
    made = re.compile(r'^\w+ = KnownDialect\(\s*"(\w+)"', re.MULTILINE)
    return {found[1]: path for path in FOLDER.glob("*.py") for found in made.finditer(text_of(path))}


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_each_dialect_stands_in_the_file_of_a_family_and_says_what_it_is():
    assert set(files_of_dialects()) == set(DIALECTS)
    assert [name for name in DIALECTS if not about_dialect(name).endswith(".")] == []


def test_the_folder_reads_as_a_catalogue():
    lengths = {path: len(text_of(path).splitlines()) for path in files_of_dialects().values()}
    dialects = Counter(files_of_dialects().values())
    assert statistics.median(lengths[path] / dialects[path] for path in lengths) <= 25
    assert max(lengths.values()) <= 250


def test_a_dialect_renders_and_instructs_as_the_functions_do():
    hermes = DIALECTS["hermes"]
    tool = {"name": "now", "parameters": {"properties": {"zone": {"type": "string"}}, "required": ["zone"]}}
    call = '<tool_call>{"name": "now", "arguments": {"zone": "some zone"}}</tool_call>'
    assert render_call(hermes, "now", {"zone": "some zone"}, layout="") == call
    assert dialect_instructions(hermes, [tool], layout="").endswith(f"Example:\n{call}")
    assert render_call(DIALECTS["mistral_v11"], "now", {}, call_id="a1") == "[TOOL_CALLS]now[CALL_ID]a1[ARGS]{}"
    schema = {"properties": {"n": {"type": "integer"}}}
    assert render_call(DIALECTS["glm47"], "f", {"n": 1}, schema=schema) == (
        "<tool_call>f<arg_key>n</arg_key><arg_value>1</arg_value></tool_call>"
    )
