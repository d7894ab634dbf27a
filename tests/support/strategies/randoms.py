"""What draws by a `Random`: a draw at each place costs a hundred times as much."""

from __future__ import annotations

from random import Random

from depth import scaled
from hypothesis import Phase, settings
from hypothesis import strategies as st

randoms: st.SearchStrategy[Random] = st.integers(0, 2**32).map(Random)


def examples(number: int) -> settings:
    """Return the settings for so many examples where a profile has a hundred; one that failed is not made smaller."""
    return settings(max_examples=scaled(number), phases=[Phase.explicit, Phase.generate])
