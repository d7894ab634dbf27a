"""Where the flow ends: what collects, shows, stores or sends the events."""

from .collect import Collected, Segment, acollect, collect

__all__ = ["Collected", "Segment", "acollect", "collect"]
