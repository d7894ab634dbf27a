"""JSON Schemas of tools' parameters, and values that fit one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NULL = {"type": "null"}
names = st.sampled_from(("a", "b", "c"))


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    def described(properties: dict[str, Any], optional: set[str]) -> dict[str, Any]:
        required = [name for name in properties if name not in optional]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}

    return st.builds(described, st.dictionaries(names, inner, min_size=1, max_size=3), st.sets(names))


_leaves = st.one_of(
    st.just({"type": "string"}),
    st.just({"type": "string", "description": "d", "minLength": 0}),
    st.just({"type": "integer", "minimum": 0, "default": 1}),
    st.just({"type": ["boolean", "null"]}),
    st.just({"enum": ["x", 1]}),
    st.just({"const": "k"}),
    st.just({"$ref": "#/$defs/D"}),
    st.just({"$ref": "#/$defs/D", "description": "d"}),
)
_values = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        _objects(inner),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda one: {"anyOf": [one, NULL], "description": "d"}, inner),
        st.builds(lambda one, two: {"oneOf" if one != two else "anyOf": [one, two]}, inner, inner),
        st.builds(lambda one: {"allOf": [one], "description": "e"}, inner),
    ),
    max_leaves=6,
)
parameters = st.builds(
    lambda root, one: {**root, "$defs": {"D": one}},
    _objects(_values),
    st.one_of(
        st.just({"type": "number"}),
        st.just({"type": "object", "properties": {"p": {"type": "string"}}}),
        st.just(NULL),
    ),
)
"""Of objects that nothing in the strict modes keeps out."""

_OF_KIND: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(("", "x", "k")),
    "integer": st.integers(0, 3),
    "number": st.integers(0, 3),
    "boolean": st.booleans(),
    "null": st.none(),
}


@st.composite
def fitting(draw: st.DrawFn, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Draw a value that fits a schema of those that `strict_schema` gives; unions may draw more than fits."""
    if "$ref" in schema:
        return draw(fitting(root["$defs"][schema["$ref"].rpartition("/")[2]], root))
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "anyOf" in schema:
        return draw(fitting(draw(st.sampled_from(schema["anyOf"])), root))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = draw(st.sampled_from(kinds))
    if kind == "object":
        required = schema.get("required", [])
        chosen = [name for name in schema["properties"] if name in required or draw(st.booleans())]
        return {name: draw(fitting(schema["properties"][name], root)) for name in chosen}
    if kind == "array":
        return draw(st.lists(fitting(schema["items"], root), max_size=2))
    return draw(_OF_KIND[kind])
