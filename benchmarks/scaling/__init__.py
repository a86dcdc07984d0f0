"""Measure how the time and the memory of spaCy's layers and ours grow: with what, and how fast."""
