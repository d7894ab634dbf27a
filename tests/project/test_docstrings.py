"""What the documentation shows is what the code does."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
from pathlib import Path
from typing import get_args

import pytest

from penstock import ROOMS
from penstock.events.chunk_response import FinishReason
from penstock.sources.base import endings

ROOT = Path(__file__).parents[2]
WITH_EXAMPLES = [
    path.relative_to(ROOT)
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
PAGES = {
    path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))
}
# A block of code, and where a `text` block follows it at once, what it prints.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
BLOCKS = [
    # The lines before a block are kept, as empty ones: for tracebacks.
    pytest.param(page, "\n" * line + match[1], match[2] or "", id=f"{page} line {line + 1}")
    for page, text in sorted(PAGES.items())
    for match in BLOCK.finditer(text)
    for line in [text.count("\n", 0, match.start(1))]
]
FINISH_REASONS = {
    "OpenAI chat and relatives": endings.CHAT_FINISHES,
    "Responses": endings.RESPONSES_FINISHES,
    "Anthropic": endings.ANTHROPIC_FINISHES,
    # Numbers are what a server may write for the words.
    "Gemini": {word: ours for word, ours in endings.GEMINI_FINISHES.items() if not word.isdecimal()},
    "Ollama": endings.OLLAMA_FINISHES,
}


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=str)
def test_the_examples_in_a_files_docstrings_do_what_they_show(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    parts = path.with_suffix("").parts
    module = importlib.import_module(".".join(("penstock", *(part for part in parts if part != "__init__"))))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report = io.StringIO()
    for example in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(example, out=report.write)
    assert runner.tries > 0, "there are examples in the file, but in no docstring that doctest finds"
    assert runner.failures == 0, report.getvalue()


def test_every_block_of_code_in_a_page_is_found():
    assert len(BLOCKS) == sum(text.count("```python\n") for text in PAGES.values())
    assert {"README.md", "docs/sources.md"} <= {str(block.values[0]) for block in BLOCKS}


@pytest.mark.parametrize(("page", "code", "printed"), BLOCKS)
def test_a_pages_code_runs_and_prints_what_it_shows(
    page: Path, code: str, printed: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(page), "exec", dont_inherit=True), {"__name__": page.stem})
    assert output.getvalue() == printed


def test_the_table_of_finish_reasons_has_every_word_of_the_code_and_no_other():
    section = PAGES[Path("docs/sources.md")].split("### Reasons to finish", 1)[1].split("###", 1)[0]
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if "|" in line]
    assert head[1:] == list(FINISH_REASONS)
    assert {row[0].strip("`") for row in rows} == set(get_args(FinishReason))
    for place, (provider, reasons) in enumerate(FINISH_REASONS.items(), 1):
        told = {word: row[0].strip("`") for row in rows for word in re.findall("`(.+?)`", row[place])}
        assert told == {word: finish.reason for word, finish in reasons.items()}, provider
        regular = {word for row in rows for word in re.findall(r"\*\*`(.+?)`\*\*", row[place])}
        assert regular == {word for word, finish in reasons.items() if finish.is_regular}, provider
