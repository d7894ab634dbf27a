"""The APIs of OpenAI, chat completions and Responses, and Mistral's dialect of chat."""
