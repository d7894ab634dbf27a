"""JSON Schemas of every kind that says which types a value may have, each with a value that fits it."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(("1", "-1.5", "true", "False", "null", "None", "[1]", '{"a": 1}', '"a"', " x ", "\n", "007", "")),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.sampled_from(("a", "b", "x_1", "key with blanks"))
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), FLOATS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=5,
)
DEFINITIONS: dict[str, Any] = {
    "Number": {"type": "number"},
    "Named": {"$anchor": "named", "type": ["boolean", "null"]},
    "Speed": {"enum": ["slow", "fast", 3, None]},
    "Point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    "Through": {"$ref": "#/$defs/Point"},
    "a/b~c": {"type": "integer"},
    "Tree": {
        "type": "object",
        "properties": {"left": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]}, "of": {"type": "string"}},
        "additionalProperties": False,
    },
    "Nested": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/Nested"}}]},
}


class Fitting(NamedTuple):
    """A schema, and a value that it allows."""

    schema: Any
    value: Any


_OF_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "integer": st.one_of(st.integers(-(10**30), 10**30), st.integers(-5, 5).map(float)),
    "number": st.one_of(st.integers(-(10**30), 10**30), FLOATS),
    "boolean": st.booleans(),
    "null": st.none(),
    "array": st.lists(ANYTHING, max_size=3),
    "object": st.dictionaries(KEYS, ANYTHING, max_size=3),
}
_trees: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({}, optional={"of": TEXTS}),
    lambda inner: st.fixed_dictionaries({"left": st.one_of(st.none(), inner)}, optional={"of": TEXTS}),
    max_leaves=4,
)
_nested: st.SearchStrategy[Any] = st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=3), max_leaves=4)
_POINTS = st.fixed_dictionaries({"x": st.integers()}, optional={"y": ANYTHING})
_REFERRED: tuple[tuple[str, st.SearchStrategy[Any]], ...] = (
    ("#/$defs/Number", _OF_TYPE["number"]),
    ("#named", st.sampled_from((True, False, None))),
    ("#/$defs/Speed", st.sampled_from(("slow", "fast", 3, None))),
    ("#/$defs/Point", _POINTS),
    ("#/$defs/Through", _POINTS),
    ("#/$defs/a~1b~0c", st.integers()),
    ("#/%24defs/a~1b~0c", st.integers()),
    ("#/$defs/Tree", _trees),
    ("#/$defs/Nested", _nested),
)


def _chosen(schemas: dict[str, Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Fitting]:
    return st.builds(Fitting, st.just(schemas), values)


@st.composite
def _listed(draw: st.DrawFn) -> Fitting:
    members = draw(st.lists(ANYTHING, min_size=1, max_size=4))
    value = draw(st.sampled_from(members))
    return Fitting(draw(st.sampled_from(({"enum": members}, {"const": value}))), value)


@st.composite
def _of_types(draw: st.DrawFn) -> Fitting:
    kinds = draw(st.lists(st.sampled_from(sorted(_OF_TYPE)), min_size=1, max_size=3, unique=True))
    value = draw(_OF_TYPE[draw(st.sampled_from(kinds))])
    return Fitting({"type": kinds[0] if len(kinds) == 1 and draw(st.booleans()) else kinds}, value)


_leaves = st.one_of(
    _of_types(),
    _of_types(),
    _listed(),
    st.one_of([_chosen({"$ref": reference}, values) for reference, values in _REFERRED]),
    _chosen({}, ANYTHING),
)


@st.composite
def _alternatives(draw: st.DrawFn, inner: st.SearchStrategy[Fitting]) -> Fitting:
    ways = draw(st.lists(inner, min_size=1, max_size=3))
    said = {"anyOf": [each.schema for each in ways]} | draw(st.sampled_from(({}, {"description": "d"})))
    return Fitting(said, draw(st.sampled_from(ways)).value)


@st.composite
def _at_once(draw: st.DrawFn, inner: st.SearchStrategy[Fitting]) -> Fitting:
    one = draw(inner)
    more = draw(st.sampled_from(({}, {"description": "d"}, {"enum": [one.value]}, {"anyOf": [one.schema, False]})))
    return Fitting({"allOf": [one.schema, more]}, one.value)


@st.composite
def _containers(draw: st.DrawFn, inner: st.SearchStrategy[Fitting]) -> Fitting:
    one = draw(inner)
    if draw(st.booleans()):
        return Fitting({"type": "array", "items": one.schema}, [one.value] * draw(st.integers(0, 2)))
    key = draw(KEYS)
    return Fitting({"type": "object", "properties": {key: one.schema}}, {key: one.value})


fitting: st.SearchStrategy[Fitting] = st.recursive(
    _leaves,
    lambda inner: st.one_of(_alternatives(inner), _at_once(inner), _containers(inner)),
    max_leaves=4,
)
"""The references in the schemas look into `{"$defs": DEFINITIONS}`."""
