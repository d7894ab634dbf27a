"""The UI message stream of the Vercel AI SDK."""
