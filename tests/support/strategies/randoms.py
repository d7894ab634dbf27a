"""What draws by a `Random`: a draw at each place costs a hundred times as much."""

from __future__ import annotations

from random import Random

from hypothesis import Phase, settings
from hypothesis import strategies as st

randoms: st.SearchStrategy[Random] = st.integers(0, 2**32).map(Random)


def examples(number: int) -> settings:
    """Return the settings for so many examples where a profile has a hundred; one that failed is not made smaller."""
    number = max(1, settings().max_examples * number // 100)
    return settings(max_examples=number, phases=[Phase.explicit, Phase.generate])
