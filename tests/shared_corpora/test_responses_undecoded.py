"""All recorded streams through the real clients' undecoded responses, beside the same clients' objects."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from every_sdk import Sdk
from provider_client import cut_at_random
from raw_responses import SDKS, WAYS, client_of, run_of, told
from recording_checks import UNFRAMED_ERRORS

FAMILIES = {
    "openai-chat": ("chat", 124),
    "openai-responses": ("responses", 48),
    "anthropic-messages": ("anthropic", 40),
}


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
def test_every_recording_gives_the_same_undecoded_as_by_the_sdks_objects(shared: Path, sdk: Sdk, is_async: bool):
    family, at_least = FAMILIES[sdk.api]
    folder = shared / "recordings"
    entries: list[dict[str, Any]] = json.loads((folder / "index.json").read_text())
    files = [entry["file"] for entry in entries if entry["family"] == family]
    assert len(files) >= at_least
    random, ways = Random(17), list(WAYS)
    options: dict[str, Any] = {"choices": "all"} if family == "chat" else {}
    for number, file in enumerate(files):
        pieces = list(cut_at_random((folder / file).read_bytes(), random))
        client = client_of(sdk, pieces, is_async=is_async)
        wanted = told(run_of(sdk, "create", client, **options))
        got = told(run_of(sdk, ways[number % len(ways)], client, decode="wire", **options))
        if file in UNFRAMED_ERRORS:
            assert "completed" in str(wanted[1]), file
            assert "completed" not in str(got[1]), file
            assert [each for each in got[0] if "error" not in each] == wanted[0], file
        else:
            assert got == wanted, file
