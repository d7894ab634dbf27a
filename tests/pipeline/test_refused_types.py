"""Types that cannot validate are refused when the pipeline is made, not at each answer."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from penstock.events import UsageError
from penstock.pipeline import Pipeline


class Unfinished(BaseModel):
    part: NotYetThere  # type: ignore[name-defined] # pyright: ignore[reportUndefinedVariable] # noqa: F821


CASES = [
    (Unfinished, "'NotYetThere' is not defined"),
    (list["NotYetThere"], "'NotYetThere' is not defined"),  # type: ignore[name-defined] # pyright: ignore[reportUndefinedVariable] # noqa: F821
    (Annotated[str, Field(pattern="(")], "validator"),
    (object(), "must be a type that pydantic can validate"),
]


@pytest.mark.parametrize(("given", "said"), CASES)
def test_a_type_that_cannot_validate_is_refused_at_once_with_the_reason(given: Any, said: str):
    with pytest.raises(UsageError, match=said):
        Pipeline(output_type=given)
