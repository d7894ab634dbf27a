"""Streams whose readers may come back: frames are kept, readers attach and leave."""
