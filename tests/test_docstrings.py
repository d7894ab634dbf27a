"""What the documentation shows is what the code does."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("events", "operators", "sources", "sinks", "pipeline")
WITH_EXAMPLES = [
    path.relative_to(ROOT)
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# A block of code, and where a `text` block follows it at once, what it prints.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
BLOCKS = [
    pytest.param("\n" * line + match[1], match[2] or "", id=f"line {line + 1}")  # the lines before it: for tracebacks
    for match in BLOCK.finditer(README)
    for line in [README.count("\n", 0, match.start(1))]
]


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


def test_the_readme_shows_code():
    assert len(BLOCKS) == README.count("```python\n") > 0


@pytest.mark.parametrize(("code", "printed"), BLOCKS)
def test_the_readmes_code_runs_and_prints_what_it_shows(code: str, printed: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert output.getvalue() == printed
