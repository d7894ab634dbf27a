"""The notebooks run, on a real kernel, and what is saved in them is what they give."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import every_sdk
import nbformat
import pytest
from body_server import BodyServer
from harmless_html import Page
from notebook_servers import kernel_environment

from penstock import SegmentContent, ToolInvocation
from penstock.studio import trace_stream

pytestmark = pytest.mark.tooling
ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
STREAMS = sorted((ROOT / "notebooks" / "streams").glob("*.sse"))
RUN = Path(__file__).with_name("run_notebook.py")
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
# A path of somebody's machine, a server's address, an object's address.
OF_ONE_MACHINE = re.compile(r"(?<![\w.])/(?:home|root|tmp|var|Users)\b|127\.0\.0\.1|localhost|0x[0-9a-f]{8,}")


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def plain(output: Any) -> dict[str, Any]:
    """Return what an output shows, without what belongs to one run. The bytes of a plot are those of one matplotlib."""
    shown = {name: output[name] for name in ("output_type", "name", "text", "data") if name in output}
    if "image/png" in shown.get("data", {}):
        shown["data"] = shown["data"] | {"image/png": bool(shown["data"]["image/png"])}
    return shown


def texts(notebook: Any) -> list[str]:
    return [
        text
        for cell in code_cells(notebook)
        for output in cell.outputs
        for kind, text in {"text": output.get("text", ""), **output.get("data", {})}.items()
        if kind != "image/png"
    ]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which a kernel finds this checkout, and none of the user's settings."""
    return kernel_environment(tmp_path_factory.mktemp("kernel"))


def test_there_are_notebooks_and_streams():
    assert [path.stem for path in NOTEBOOKS] == [
        "01_first_stream",
        "02_anatomy_of_a_tool_call",
        "03_compose_your_own",
        "04_a_dialect_in_ten_lines",
        "05_where_the_waiting_goes",
        "06_a_broken_stream",
        "07_guards",
    ]
    assert len(STREAMS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_gives_the_outputs_that_are_saved_in_it(
    path: Path, tmp_path: Path, environment: dict[str, str]
):
    pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    result = tmp_path / path.name
    command = [sys.executable, *map(str, (RUN, path, result))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    saved, run = (code_cells(nbformat.read(each, 4)) for each in (path, result))
    for old, new in zip(saved, run, strict=True):
        # What gives something else on purpose is saved with: python tests/project/run_notebook.py NOTEBOOK
        assert [plain(output) for output in new.outputs] == [plain(output) for output in old.outputs], new.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_saved_was_run_once_from_the_top_without_an_error(path: Path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert [cell.source for cell in cells if not cell.outputs] == []
    assert len(outputs) >= 5
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_one_machine_is_saved(path: Path):
    notebook = nbformat.read(path, 4)
    assert [found for text in texts(notebook) if (found := OF_ONE_MACHINE.search(text))] == []
    assert not [text for text in texts(notebook) if str(ROOT) in text]
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not [cell.metadata for cell in notebook.cells if cell.metadata]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_its_title_and_says_how_to_use_a_key(path: Path):
    first, *more = nbformat.read(path, 4).cells
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert len(re.findall("[Ww]ith a key", "\n".join(cell.source for cell in (first, *more)))) == 1


def saved(path: Path, kind: str) -> list[str]:
    outputs = [output for cell in code_cells(nbformat.read(path, 4)) for output in cell.outputs]
    return [output.data[kind] for output in outputs if kind in output.get("data", {})]


def test_most_notebooks_have_pages_and_pictures():
    assert [len(saved(path, "text/html")) > 0 for path in NOTEBOOKS] == [True, True, True, True, False, True, True]
    assert [len(saved(path, "image/svg+xml")) for path in NOTEBOOKS] == [1, 4, 1, 1, 0, 1, 1]
    assert [len(saved(path, "image/png")) for path in NOTEBOOKS] == [0, 0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_saved_pages_bring_no_script_and_load_nothing(path: Path):
    for html in saved(path, "text/html"):
        assert not Page(html).elements & {"script", "style", "link", "img", "iframe", "object"}
        assert "://" not in html.replace(NAMESPACE, "")
    for svg in saved(path, "image/svg+xml"):
        assert not Page(svg).elements & {"script", "link", "image", "iframe", "object", "use", "foreignobject"}
        assert "://" not in svg.replace(NAMESPACE, "")


def test_the_live_view_leaves_each_segment_and_each_call_as_an_output():
    notebook = nbformat.read(NOTEBOOKS[0], 4)
    [shown] = [cell for cell in code_cells(notebook) if "notebook_view()(" in cell.source]
    first_words = [output.data["text/plain"].split()[:3] for output in shown.outputs]
    assert [words[0] for words in first_words] == ["text", "write_file", "→", "run_bash", "→", "answer"]
    assert [words[2] for words in first_words[:2]] == ["complete", "complete"]


def test_what_is_said_to_be_shown_and_sealed_is_of_one_call():
    printed = "".join(
        output.get("text", "") for cell in code_cells(nbformat.read(NOTEBOOKS[4], 4)) for output in cell.outputs
    )
    rows = re.findall(r"^(openai-chat|openai-responses|anthropic|gemini) +(\d+) +(\d+) +(\d+)$", printed, re.MULTILINE)
    assert len(rows) == 4
    demo = resources.files("penstock.studio.demo")
    bodies = ("demo_stream.sse", "demo_responses.sse", "demo_anthropic.sse", "demo_gemini.sse")
    for (api, shown, sealed, end), body in zip(rows, bodies, strict=True):
        seen = trace_stream(demo / body)
        events = [(item.number, event) for item in seen for event in item.stages[-1].outputs]
        [start, *_] = [event for _, event in events if getattr(event, "segment_type", None) == "write_file"]
        pieces = [
            number
            for number, event in events
            if isinstance(event, SegmentContent) and event.segment_id == start.segment_id
        ]
        calls = [
            number for number, event in events if isinstance(event, ToolInvocation) and event.id == start.segment_id
        ]
        assert [pieces[0], *calls, len(seen) - 1] == [int(shown), int(sealed), int(end)], api


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_the_providers_sdk_reads_the_stream_of_the_anatomy_as_the_wire_decoder_does(path: Path):
    [sdk] = [each for each in every_sdk.SDKS if each.api == path.stem]
    body = path.read_bytes()
    with BodyServer(body) as server:
        chunks, ends = sdk.by_sdk(server.url)
    assert ends == ["completed"]
    assert [call.name for chunk in chunks for call in chunk.tool_calls if call.name] == ["write_file"]
    assert (chunks, ends) == sdk.by_wire([body])
