"""Machinery of sinks: queues, the thread or task of a sink, the fan-out of a run."""
