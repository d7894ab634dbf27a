"""`from_wire` on every stream of our own: what each source's own tests compare its SDK with, however it is cut."""

from __future__ import annotations

from chat_client import collected
from looped import looped
from own_streams import OWN, WIRES, options_of

from penstock.sources import from_wire


@looped("api, name, body", OWN)
def test_whole_and_byte_by_byte_it_gives_what_the_sources_tests_compare_with(api: str, name: str, body: bytes):
    options = options_of(api, name)
    whole = collected(from_wire(api, [body], turn_id="t", **options))
    pieces = [body[at : at + 1] for at in range(len(body))]
    by_bytes = collected(from_wire(api, pieces, turn_id="t", **options))
    assert (by_bytes[0], str(by_bytes[1])) == (whole[0], str(whole[1]))
    if api in WIRES:
        wanted = WIRES[api][1]([body], **options)
        assert (whole[0], str(whole[1])) == (wanted[0], str(wanted[1]))
