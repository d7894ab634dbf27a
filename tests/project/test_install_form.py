"""Installing is told in one form everywhere: what a user types in a clone, such as `pip install ".[cli]"`."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from looped import looped

from penstock import ROOMS
from penstock.events.errors import UsageError, how_to_install, install_command
from penstock.sinks.edits.hunk import RefusedError
from penstock.sinks.edits.unified_diff import unified_diff
from penstock.sources.bedrock.wire import BedrockDecoder
from penstock.sources.recordings.read_recording import body_in_cassette

ROOT = Path(__file__).parents[2]
TEXTS = sorted(
    path.relative_to(ROOT)
    for path in (
        *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "mkdocs.yml")),
        *(
            path
            for folder in (*ROOMS, "benchmarks", "docs", "examples", "notebooks")
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".py", ".md", ".ipynb"} and ".ipynb_checkpoints" not in path.parts
        ),
    )
)
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
ON_THEIR_OWN = {"anthropic", "matplotlib", "mistralai", "ollama", "openai", "otter-sdk"}
"""SDKs, what a notebook plots with, and the example of a new provider."""
OURS = re.compile(r'"\.\[([a-z]+(?:[,-][a-z]+)*)\]"')
COMMAND = re.compile(r"pip install\s+(\S+)")
OTHER_FORMS = re.compile(r"penstock\[|\bextras? [`\"'][a-z]|-m pip\b|\bpip3\b|\buv (?:pip|add)\b|pip install -")


def other_forms(text: str) -> list[str]:
    """Return the places of a text that tell to install in another form, or what is not there."""
    text = text.replace('\\"', '"')  # in the JSON of a notebook
    wrong = [text[max(0, found.start() - 20) : found.end() + 20] for found in OTHER_FORMS.finditer(text)]
    for found in COMMAND.finditer(text):
        named = OURS.match(found[1])
        is_wrong = bool(set(named[1].split(",")) - EXTRAS) if named else found[1].rstrip("`\"',") not in ON_THEIR_OWN
        wrong += [found[0]] * is_wrong
    return wrong


def texts_of_code(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the strings of a file that are no docstrings, each with its line."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


TELLING = [path for path in TEXTS if re.search(r"install|extra|\bpip", (ROOT / path).read_text("utf-8"))]


@looped("path", TELLING, ids=str)
def test_a_text_tells_to_install_in_the_one_form(path: Path):
    # The functions that make the command write it for any extra.
    # Messages also say what works from an index, which pages do not, before there is one.
    text = (ROOT / path).read_text("utf-8").replace("{extra}", "cli")
    assert other_forms(text.replace('pip install "penstock[cli]", or in a clone ', "")) == []


@looped(
    "text",
    [
        'pip install "penstock[cli]"',
        "pip install penstock",
        "pip install .[cli]",
        "pip install '.[cli]'",
        'pip install -e ".[cli]"',
        'python -m pip install ".[cli]"',
        'pip install ".[clii]"',
        'pip install fastapi ".[cli]"',
        'pip install \\".[cli,clii]\\"',
        "needs the extra `cli`",
        "(extras `cli` and `otel`)",
    ],
)
def test_another_form_is_found(text: str):
    assert other_forms(text)


@pytest.mark.parametrize(
    "text", ['pip install ".[cli,pydantic-ai]" fastapi', "`pip install ollama`, or", "an extra line"]
)
def test_the_form_itself_is_not(text: str):
    assert other_forms(text) == []


def test_the_codes_messages_take_their_command_from_one_place():
    named: list[tuple[str, str]] = []
    written: list[str] = []
    for path in (path for path in TEXTS if path.suffix == ".py" and path.parts[0] in ROOMS):
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        written += [f"{path}:{line}" for line, text in texts_of_code(tree) if 'install ".' in text]
        named += [
            (str(path), node.args[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {how_to_install.__name__, install_command.__name__}
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ]
    assert [place.partition(":")[0] for place in written] == ["events/errors.py"]
    assert len(named) > 10
    assert [each for each in named if each[1] not in EXTRAS] == []


@pytest.mark.parametrize(
    ("module", "extra", "needing"),
    [
        ("unidiff.patch", "files", lambda: unified_diff("")),
        ("yaml", "cassettes", lambda: body_in_cassette(b"", None)),
        ("botocore.eventstream", "bedrock", lambda: BedrockDecoder().feed(b"\0")),
    ],
)
def test_what_lacks_its_package_says_what_to_install(
    module: str, extra: str, needing: Callable[[], object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises((UsageError, RefusedError), match=rf"; {re.escape(how_to_install(extra))}$"):
        needing()


def test_the_readme_lists_every_extra_of_a_user():
    readme = (ROOT / "README.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `([a-z-]+)` \| the library and", readme, re.MULTILINE)) | {"cli"}
    assert listed == EXTRAS - {"bench", "dev", "docs"}
