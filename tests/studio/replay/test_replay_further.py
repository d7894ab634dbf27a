"""The replay server before the SDKs of Bedrock, Cohere, Gemini Interactions and OpenAI Assistants."""

from __future__ import annotations

import pytest
from chat_client import collected
from further_sdks import FURTHER_SDKS, FurtherSdk

from penstock.events import ProviderError
from penstock.sources import from_stream, from_wire
from penstock.studio.testing import ReplayServer

each_sdk = pytest.mark.parametrize("sdk", FURTHER_SDKS, ids=[sdk.api for sdk in FURTHER_SDKS])


def body_of(sdk: FurtherSdk) -> bytes:
    return next(path for path in sdk.streams() if path.stem == "write_file").read_bytes()


@each_sdk
def test_a_recording_is_played_to_the_sdk(sdk: FurtherSdk):
    with ReplayServer({"recording.sse": body_of(sdk)}) as server, sdk.client(server.url) as start:
        played = collected(from_stream(start, turn_id="t"))
    assert played == collected(from_wire(sdk.api, [body_of(sdk)], turn_id="t"))


@each_sdk
def test_an_error_in_the_middle_is_the_providers(sdk: FurtherSdk):
    with (
        ReplayServer({"recording.sse": body_of(sdk)}, fault="error:100") as server,
        sdk.client(server.url) as start,
    ):
        _, [end] = collected(from_stream(start, turn_id="t"))
    assert isinstance(end, ProviderError)
    assert not end.transport
