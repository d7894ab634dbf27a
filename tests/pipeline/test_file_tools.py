from __future__ import annotations

from typing import Any

import pytest
from looped import looped
from pydantic import ValidationError

from penstock.operators.calls.field_spec import FILE_TOOLS
from penstock.pipeline.tool_schemas import FILE_TOOL_DEFINITIONS, tool_schemas
from penstock.sources.recognition.apis import PROVIDERS


def test_they_are_the_tools_whose_arguments_stream_by_their_names():
    assert list(FILE_TOOL_DEFINITIONS) == [spec.tool for spec in FILE_TOOLS]
    for spec in FILE_TOOLS:
        definition = FILE_TOOL_DEFINITIONS[spec.tool]
        properties = definition.parameters["properties"]
        assert definition.name == spec.tool
        assert set(properties) == {spec.field, *spec.metadata}
        assert set(definition.parameters["required"]) == {spec.field, *spec.required}
        assert properties[spec.field]["type"] == "string"
        assert definition.description
        assert all(each["description"] for each in properties.values())


def test_a_file_is_written_only_with_a_path_and_may_be_empty():
    write = FILE_TOOL_DEFINITIONS["write_file"]
    given: Any = write.validate({"path": "a", "content": ""})
    assert given.content == ""
    for arguments in ({"path": "", "content": "x"}, {"content": "x"}, {"path": "a"}):
        with pytest.raises(ValidationError):
            write.validate(arguments)


def test_a_command_may_have_a_time_limit_and_a_folder():
    run = FILE_TOOL_DEFINITIONS["run_bash"]
    given: Any = run.validate({"command": "ls", "timeout_seconds": None})
    assert (given.command, given.timeout_seconds, given.cwd) == ("ls", None, None)
    for timeout in (0, -1, "soon"):
        with pytest.raises(ValidationError):
            run.validate({"command": "ls", "timeout_seconds": timeout})


@looped("provider", PROVIDERS)
def test_every_provider_takes_them(provider: Any):
    schemas = tool_schemas(FILE_TOOL_DEFINITIONS.values(), provider, strict=PROVIDERS[provider].strict is not None)
    assert schemas is not None
    assert len(schemas) == (1 if provider == "gemini" else 4)
