"""`explore` takes what people have, and its state may be set from Python."""

from __future__ import annotations

import builtins
import gc
import gzip
import json
import weakref
from pathlib import Path
from typing import Any

import pytest
import yaml
from traitlets import TraitError

from penstock import ChunkResponse, Pipeline, UsageError
from penstock.operators import holdback
from penstock.studio import explore, trace
from penstock.studio.explorer.explored_runs import ExploredRuns, RunChoice

BODY = Path(__file__).parents[2] / "streams" / "openai_chat" / "write_file.sse"


def shown(explorer: Any) -> dict[str, Any]:
    return json.loads(gzip.decompress(explorer.data))


def test_it_takes_a_trace_a_path_and_a_stream():
    assert shown(explore(trace(holdback("<tool>")).run(["a<to"])))["stages"] == ['holdback("<tool>")']
    assert shown(explore(BODY))["title"] == "write_file.sse"
    assert shown(explore(str(BODY), Pipeline("hermes")))["stages"][1] == 'parse_text("hermes")'
    answer = [ChunkResponse(content="Hi", is_complete=True, finish_reason="stop")]
    assert shown(explore(answer))["stages"][:2] == ["decode_sdk()", "to_segments()"]
    assert shown(explore(lambda: answer, Pipeline("pass_through")))["stages"] == ["decode_sdk()", "to_segments()"]


def test_another_strategy_and_another_cutting_are_set_from_python():
    explorer = explore(BODY)
    before = shown(explorer)
    explorer.strategy = "hermes"
    assert explorer.trace.stages[1] == 'parse_text("hermes")'
    assert (shown(explorer)["strategy"], shown(explorer)["is_changed"]) == ("hermes", True)
    explorer.set_state({"strategy": "", "chunk_size": 10})  # as the page sends them
    assert (explorer.trace.stages[1], shown(explorer)["chunk_size"]) == ("to_segments()", 10)
    assert len(shown(explorer)["raw"]) > len(before["raw"])
    explorer.chunk_size = 0
    assert shown(explorer) == before


def test_a_choice_that_is_refused_leaves_what_was_there():
    explorer = explore(BODY, Pipeline("hermes"))
    explorer.chunk_size = 5
    explorer.strategy = "nonsense"
    assert explorer.problem.startswith("unknown strategy 'nonsense'")
    assert (explorer.strategy, explorer.chunk_size, shown(explorer)["chunk_size"]) == ("", 5, 5)
    explorer.strategy = "auto"
    assert explorer.problem == ""


def test_of_a_refused_choice_nothing_else_is_run(monkeypatch: pytest.MonkeyPatch):
    explorer = explore(BODY)
    asked: list[RunChoice] = []
    traced = ExploredRuns.traced

    def counted(runs: ExploredRuns, choice: RunChoice) -> Any:
        asked.append(choice)
        return traced(runs, choice)

    monkeypatch.setattr(ExploredRuns, "traced", counted)
    explorer.set_state({"strategy": "nonsense", "chunk_size": 10})
    assert asked == [("nonsense", 10)]
    assert (explorer.strategy, explorer.chunk_size) == ("", 0)
    assert explorer.problem.startswith("unknown strategy 'nonsense'")


def test_what_a_closed_widget_had_is_freed():
    explorer = explore(BODY)
    explorer.chunk_size = 10
    kept = [weakref.ref(each) for each in (explorer, explorer.trace, explorer._runs.first)]
    explorer.close()
    del explorer
    gc.collect()
    assert [each() for each in kept] == [None, None, None]


@pytest.mark.parametrize("speed", [0, -1, 1001])
def test_a_speed_at_which_nothing_can_be_played_is_refused(speed: float):
    explorer = explore(BODY)
    with pytest.raises(TraitError, match="speed"):
        explorer.speed = speed
    assert explorer.speed == 1


def test_a_code_host_that_runs_no_widget_shows_a_picture():
    bundle: Any = explore(BODY)._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"]


def test_a_response_of_a_cassette_is_chosen_in_the_words_of_code(tmp_path: Path):
    path = tmp_path / "two.yaml"
    bodies = [BODY.read_bytes(), BODY.with_name("plain_text.sse").read_bytes()]
    path.write_text(yaml.safe_dump({"interactions": [{"response": {"body": {"string": each}}} for each in bodies]}))
    assert shown(explore(path, interaction=0))["raw"] == shown(explore(BODY))["raw"]
    assert shown(explore(path, interaction=1))["raw"] != shown(explore(BODY))["raw"]
    with pytest.raises(UsageError, match=r"; choose one with interaction=, from 0 to 1$"):
        explore(path)
    with pytest.raises(UsageError, match=r": interaction= chooses from a cassette of VCR.py; leave it out$"):
        explore(BODY, interaction=0)
    with pytest.raises(UsageError, match="leave it out, or pass the cassette's path"):
        explore(["a text"], interaction=0)
    with pytest.raises(UsageError, match="cannot tell which API this is; name it with api=, one of"):
        explore(__file__)


def test_wrong_arguments_are_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UsageError, match="a trace has been run already"):
        explore(trace(holdback("a")).run([]), Pipeline())
    with pytest.raises(UsageError, match="cannot be read"):
        explore("nowhere.sse")
    with pytest.raises(UsageError):
        explore(17)
    importing = builtins.__import__

    def without_widgets(name: str, *rest: Any) -> Any:
        if name.endswith("explorer_widget"):
            raise ModuleNotFoundError(name="anywidget")
        return importing(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_widgets)
    with pytest.raises(UsageError, match=r'pip install "\.\[notebook\]"'):
        explore(BODY)
