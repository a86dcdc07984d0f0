"""Helpers for every part: no layers, and nothing of spaCy."""
