"""Types that a structured answer may have, each with its values, and JSON texts of these in any form."""

from __future__ import annotations

import json
from dataclasses import make_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from typing_extensions import TypedDict


class Typed(NamedTuple):
    """A type, and its values."""

    type: Any
    values: st.SearchStrategy[Any]


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


_texts = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(['"', "\\", "a\nb", "😀", "é\u2028"])
_LEAVES = (
    Typed(str, _texts),
    Typed(int, st.integers(-(2**70), 2**70)),
    Typed(float, st.floats(allow_nan=False, allow_infinity=False)),
    Typed(bool, st.booleans()),
    Typed(date, st.dates()),
    Typed(datetime, st.datetimes(timezones=st.just(UTC))),
    Typed(bytes, st.binary(max_size=4).map(lambda value: value.hex().encode())),
    Typed(UUID, st.uuids()),
    Typed(Decimal, st.decimals(-1000, 1000, places=3)),
    Typed(Size, st.sampled_from(Size)),
    Typed(Literal["a", 1], st.sampled_from(["a", 1])),
    Typed(Annotated[int, Field(ge=0)], st.integers(0, 99)),
)
_NAMES = ("name", "steps", "zone")


def _model(name: str, fields: dict[str, Any], *, is_strict: bool) -> Any:
    base = {"__base__": _Strict} if is_strict else {}
    return create_model(name, **base, **fields)  # type: ignore[call-overload]


def _objects(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    def made(kind: str, fields: dict[str, Typed]) -> Typed:
        types = {name: each.type for name, each in fields.items()}
        values = st.fixed_dictionaries({name: each.values for name, each in fields.items()})
        if kind == "TypedDict":
            return Typed(TypedDict("Entry", types), values)  # type: ignore[operator]
        if kind == "dataclass":
            entry = make_dataclass("Entry", types.items())
            return Typed(entry, values.map(lambda given: entry(**given)))
        named = {name: (each, Field(alias=f"{name}-1") if kind == "aliased" else ...) for name, each in types.items()}
        model = _model("Entry", named, is_strict=kind == "strict")
        by_name = (lambda name: f"{name}-1") if kind == "aliased" else str
        return Typed(model, values.map(lambda given: model(**{by_name(name): each for name, each in given.items()})))

    kinds = st.sampled_from(("model", "strict", "aliased", "dataclass", "TypedDict"))
    return st.builds(made, kinds, st.dictionaries(st.sampled_from(_NAMES), inner, min_size=1, max_size=3))


def _containers(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    return st.one_of(
        _objects(inner),
        inner.map(lambda each: Typed(list[each.type], st.lists(each.values, max_size=3))),  # type: ignore[name-defined]
        inner.map(lambda each: Typed(each.type | None, st.none() | each.values)),
        inner.map(
            lambda each: Typed(
                dict[str, each.type],  # type: ignore[name-defined]
                st.dictionaries(_texts, each.values, max_size=2),
            )
        ),
        st.builds(
            lambda one, two: Typed(tuple[one.type, two.type], st.tuples(one.values, two.values)),  # type: ignore[name-defined]
            inner,
            inner,
        ),
    )


output_types: st.SearchStrategy[Typed] = st.recursive(st.sampled_from(_LEAVES), _containers, max_leaves=5).filter(
    lambda each: each.type is not str
)
"""Any type but `str`, of which the text itself is the value."""


@st.composite
def written(draw: st.DrawFn, typed: Typed) -> str:
    """Draw the JSON text of one of the type's values, in one of the forms that models write."""
    value = draw(typed.values)
    data = json.loads(TypeAdapter(typed.type).dump_json(value, by_alias=True))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]))
    return json.dumps(
        data,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.none() | st.just(2)),
        separators=separators,
    )
