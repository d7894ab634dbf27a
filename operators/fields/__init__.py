"""What `stream_fields` needs: the specs of each tool, and the calls that are being streamed."""
