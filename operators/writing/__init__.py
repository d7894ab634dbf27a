"""Write calls as text, and describe dialects in words."""
