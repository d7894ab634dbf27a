"""`log_contained`: report an exception that must not end the stream that is observed."""

from __future__ import annotations

import logging

from ...operators.engine.where_raised import where_raised

_LOGGER = logging.getLogger("penstock")


def log_contained(what: str, error: Exception) -> None:
    """Log the class and the line of an exception; its message and traceback may be confidential: at DEBUG only."""
    _LOGGER.error("observe_otel %s: %s; the stream goes on", what, where_raised(error))
    _LOGGER.debug("observe_otel %s", what, exc_info=error)
