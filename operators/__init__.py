"""What transforms the flow: one operator a file, the file named as its function. Needs no provider SDK."""

from .aggregate_fragments import PathValue, aggregate_fragments
from .extract_json_fields import extract_json_fields
from .field_spec import FILE_TOOLS, FieldSpec
from .holdback import holdback
from .json_fragments import json_fragments
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
    "PathValue",
    "Stage",
    "adrive",
    "aggregate_fragments",
    "compose",
    "drive",
    "extract_json_fields",
    "holdback",
    "json_fragments",
    "lift",
    "stage",
    "stream_fields",
    "strip_markers",
    "to_invocations",
    "to_segments",
]
