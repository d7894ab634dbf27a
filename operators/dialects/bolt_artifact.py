"""bolt.new and bolt.diy: files and commands."""

from ..grammar.dialect import Attrs, Call, KnownDialect, Many, Text

BOLT_ARTIFACT = KnownDialect(
    "bolt_artifact",
    (
        *("<boltArtifact", Attrs((("id", "skip"), ("title", "skip"), ("type", "skip"))), ">"),
        Many(
            Call(
                "<boltAction",
                Attrs((("type", "name"),)),
                ">",
                Text("value", key="content", trim="newline"),
                "</boltAction>",
            ),
        ),
        "</boltArtifact>",
    ),
    proven_by=("bolt.new",),
    example=("file", {"filePath": "app.js", "content": "let x = 1"}),
)
