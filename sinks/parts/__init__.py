"""The parts of an answer, in which the streams of other protocols are written, and events in words, safe to print."""
