"""The wire's lanes on all recorded streams: how many events take them, and that nothing else comes of it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from lanes import APIS, assert_both_ways, assert_recut, data_of
from recording_checks import recordings_of

FAMILIES = dict(zip(APIS, ("chat", "responses", "anthropic", "gemini"), strict=True))


@pytest.mark.parametrize("api", APIS)
def test_recorded_events_are_read_alike_both_ways_and_nine_of_ten_have_a_lane(api: str, shared: Path) -> None:
    fits = count = 0
    for _, body in recordings_of(shared, FAMILIES[api]):
        events = data_of(api, body)
        fits += assert_both_ways(api, events)
        count += len(events)
    assert fits >= 0.9 * count


@pytest.mark.parametrize("api", APIS)
def test_recorded_streams_cut_at_random_give_what_the_general_way_gives(api: str, shared: Path) -> None:
    for number, (_, body) in enumerate(recordings_of(shared, FAMILIES[api])):
        assert_recut(api, body, Random(number))
