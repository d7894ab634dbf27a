"""What a piece of a call in text costs, in plain Python calls, and how many files it passes."""

from __future__ import annotations

from looped import looped
from piece_cost import COMMON, MOST, WRITING, cost_of


def test_the_bounds_hold_on_average():
    cost = cost_of(*COMMON)
    assert cost.with_markers <= MOST.with_markers, cost
    assert cost.inside <= MOST.inside, cost


@looped("name", WRITING)
def test_no_piece_costs_more_than_the_bounds(name: str):
    cost = cost_of(name)
    assert cost.most.calls <= MOST.calls, cost.most
    assert len(cost.widest.files) <= MOST.files, cost.widest
