"""A pipeline of spaCy's with our parts, and back."""
