"""bolt.new and bolt.diy: files and commands; other text in an artifact is nobody's."""

from ..grammar.dialect import Alt, Attrs, Call, KnownDialect, Many, Text

BOLT_ARTIFACT = KnownDialect(
    "bolt_artifact",
    (
        *("<boltArtifact", Attrs((("id", "skip"), ("title", "skip"), ("type", "skip"))), ">"),
        Many(
            Alt(
                Call(
                    *("<boltAction", Attrs((("type", "name"),)), ">"),
                    *(Text("value", key="content", trim="newline"), "</boltAction>"),
                ),
                Text("skip"),
            ),
        ),
        "</boltArtifact>",
    ),
    proven_by=("bolt.new",),
    example=("file", {"filePath": "app.js", "content": "let x = 1"}),
)
