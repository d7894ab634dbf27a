"""What transforms the flow: one operator a file, the file named as its function. Needs no provider SDK."""

from .field_spec import FILE_TOOLS, FieldSpec
from .holdback import holdback
from .limits import Limits
from .stage import Completed, Failed, Interrupted, Operator, Stage, adrive, compose, drive, lift, stage
from .stream_fields import stream_fields
from .strip_markers import strip_markers
from .to_invocations import to_invocations
from .to_segments import to_segments

__all__ = [
    "FILE_TOOLS",
    "Completed",
    "Failed",
    "FieldSpec",
    "Interrupted",
    "Limits",
    "Operator",
    "Stage",
    "adrive",
    "compose",
    "drive",
    "holdback",
    "lift",
    "stage",
    "stream_fields",
    "strip_markers",
    "to_invocations",
    "to_segments",
]
