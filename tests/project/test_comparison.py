"""The README compares Penstock with others: what it says of Penstock, a test shows."""

from __future__ import annotations

import ast
from pathlib import Path

from looped import looped

ROOT = Path(__file__).parents[2]
SHOWN_BY = {
    "shows an argument while it is being written": (
        "decoded, from its first character",
        "tests/laws/test_laws.py::test_the_content_of_a_field_is_out_as_soon_as_it_is_certain_and_its_start_may_come",
    ),
    "keeps interleaved calls apart": (
        "yes",
        "tests/operators/test_stream_fields.py::test_two_calls_at_once_do_not_mix",
    ),
    "never runs a call that was cut": ("yes", "tests/laws/test_cut_models.py::test_what_is_invoked_is_the_uncut_call"),
    "cost of each delta": (
        "constant",
        "tests/laws/test_laws.py::test_a_piece_costs_the_same_however_much_came_before",
    ),
    "same answer however the stream is chunked": (
        "yes",
        "tests/laws/test_laws.py::test_any_cutting_of_an_answer_gives_the_same",
    ),
    "provider-neutral": ("yes", "tests/sources/test_from_stream.py::test_every_sdks_stream_gives_what_the_wire_gives"),
    "finds calls that a model writes into its text": (
        "yes",
        "tests/laws/test_render_parse.py::test_calls_that_were_written_are_read_again",
    ),
    "replays recordings through the real SDKs": (
        "yes",
        "tests/studio/replay/test_replay_server_sdks.py::test_a_recording_arrives_as_from_recording_gives_it",
    ),
    "asks again with the results until the model is done": (
        "yes, your function sends the request",
        "tests/pipeline/test_turns.py::test_it_asks_again_with_the_results_until_the_answer_expects_no_reply",
    ),
}
"""Of each row what our column says, and the test that shows it."""


def rows() -> dict[str, str]:
    """Return what the table says of Penstock in each row."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Why not …")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    head, _, *body = lines
    assert head[0] == "Penstock"  # above the rows' names stands nothing
    return {cells[0]: cells[1] for cells in body}


def test_every_row_has_a_test_that_shows_it():
    assert rows() == {row: says for row, (says, _) in SHOWN_BY.items()}


@looped("node", [node for _, node in SHOWN_BY.values()])
def test_the_test_is_there(node: str):
    path, _, name = node.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
