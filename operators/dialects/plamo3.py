"""PLaMo 3: tags of its own around everything, and JSON for the arguments."""

from ..grammar.dialect import NAME, Call, KnownDialect, Many, Maybe
from .parts import ARGUMENTS


def _tags(name: str) -> tuple[str, str]:
    return f"<|plamo:begin_{name}:plamo|>", f"<|plamo:end_{name}:plamo|>"


_CALLS, _CALL, _NAMED, _GIVEN = map(_tags, ("tool_requests", "tool_request", "tool_name", "tool_arguments"))

PLAMO3 = KnownDialect(
    "plamo3",
    (
        _CALLS[0],
        Many(
            Call(
                *(_CALL[0], _NAMED[0], NAME, _NAMED[1]),
                *(_GIVEN[0], Maybe("<|plamo:msg|>"), ARGUMENTS, _GIVEN[1], _CALL[1]),
            )
        ),
        Maybe(_CALLS[1]),
    ),
    reasoning=(_tags("think"),),
    models=("plamo-3",),
    written_from="the tags of PLaMo 3's tokenizer",
    answer=(
        f"{_CALLS[0]}{_CALL[0]}{_NAMED[0]}weather{_NAMED[1]}{_GIVEN[0]}<|plamo:msg|>"
        f'{{"city": "Oslo", "days": 2}}{_GIVEN[1]}{_CALL[1]}{_CALLS[1]}'
    ),
)
