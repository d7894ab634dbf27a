"""The size of a stage's state is known, whatever text is in it."""

from __future__ import annotations

from penstock.operators import holdback
from penstock.studio import trace


def test_half_of_a_surrogate_pair_has_a_size_too():
    seen = trace(holdback("a\ud83d\ude00b")).run(["a\ud83d", "\ude00b"])
    assert [each.stages[0].outputs for each in seen] == [(), ("a\ud83d\ude00b",), ()]
    assert seen[0].stages[0].state_size > 0
