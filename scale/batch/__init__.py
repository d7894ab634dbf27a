"""Many recordings, bodies and texts, read into Parquet files by processes of this machine, or by Ray."""
