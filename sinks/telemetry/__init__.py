"""Telemetry of answers and calls: `observe_otel` for OpenTelemetry, `log_answers` for logging."""
