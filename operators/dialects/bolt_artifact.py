"""bolt.new and bolt.diy: files and commands."""

from ..grammar.dialect import Attrs, Call, Dialect, Many, Text

BOLT_ARTIFACT = Dialect(
    "bolt_artifact",
    (
        *("<boltArtifact", Attrs((("id", "skip"), ("title", "skip"), ("type", "skip"))), ">"),
        Many(
            Call(
                "<boltAction",
                Attrs((("type", "name"),)),
                ">",
                Text("value", key="content", trim="blanks"),
                "</boltAction>",
            ),
        ),
        "</boltArtifact>",
    ),
)
