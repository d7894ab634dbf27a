"""The app: a page on this machine that shows answers while they stream, and asks before anything is done."""
