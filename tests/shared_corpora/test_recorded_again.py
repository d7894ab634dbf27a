"""All recorded streams, recorded by us and replayed in virtual time: the stream again."""

from __future__ import annotations

import json
from pathlib import Path

from api_families import FAMILIES
from chat_client import collected
from recorded_time import in_virtual_time

from penstock.sources import from_recording, from_wire
from penstock.studio import record


def test_the_replay_at_any_pace_is_the_stream(shared: Path, tmp_path: Path) -> None:
    folder = shared / "recordings"
    entries = [each for each in json.loads((folder / "index.json").read_text()) if FAMILIES.get(each["family"])]
    assert len(entries) >= 251
    for number, entry in enumerate(entries):
        body, api, path = (folder / entry["file"]).read_bytes(), FAMILIES[entry["family"]], tmp_path / f"{number}.jsonl"
        pieces = [body[at : at + 1000] for at in range(0, len(body), 1000)]
        chunks, ends = collected(from_wire(api, record(path)(pieces), turn_id="t"))
        told = list(map(str, ends))
        again = collected(from_recording(path, api, turn_id="t"))
        assert (again[0], list(map(str, again[1]))) == (chunks, told), entry["file"]
        for pace in ("original", 3.0):
            assert in_virtual_time(path, api=api, pace=pace) == (chunks, told), entry["file"]
